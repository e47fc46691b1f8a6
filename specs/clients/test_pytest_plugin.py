"""The fixtures for specs of other apps: the documentation's example, with both asynchronous plugins, and what stays."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from focusguard.electron import reaper
from focusguard.electron.install import ensure_runtime
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing-your-app.md"
#: Bounds a run of pytest within these specs.
SECONDS = 150
LONGEST = 30
#: Playwright's own clicks need `element.checkVisibility`, which Chromium has since 105.
PLAYWRIGHT_CLICKS = int(ensure_runtime().version.partition(".")[0]) >= 22

ANYIO = """
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""


def example() -> str:
    """The first Python block of the page."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


class Inner:
    """A run of pytest beside this one, in a folder of its own."""

    def __init__(self, pytester: pytest.Pytester, temporary: Path) -> None:
        self.pytester = pytester
        self.temporary = temporary

    def run(self, *arguments: str) -> pytest.RunResult:
        return self.pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments, timeout=SECONDS)

    def left(self) -> list[str]:
        """What the run has left: temporary folders of the rig, and processes with one of them."""
        folders = [str(path) for path in self.temporary.glob("focusguard-*")]
        processes = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                told = (path / "environ").read_bytes() + (path / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.temporary).encode() in told and reaper.stat_fields(int(path.name))[:1] not in (
                [],
                ["Z"],
            ):
                processes.append(f"{path.name} {(path / 'cmdline').read_bytes()!r}")
        return folders + processes


@pytest.fixture
def inner(
    pytester: pytest.Pytester, runtime: Runtime, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> Inner:
    started = Inner(pytester, temporary)
    (pytester.path / "electron_fixture").symlink_to(FIXTURE)
    monkeypatch.setenv("TMPDIR", str(started.temporary))
    monkeypatch.setenv(
        "FOCUSGUARD_ELECTRON", str(runtime.executable)
    )  # HOME is another here, and so the cache
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return started


class TestLoading:
    def test_it_is_an_entry_point_and_adds_three_fixtures_and_no_option(self, inner: Inner) -> None:
        listed = inner.run("--fixtures", "--help")
        text = listed.stdout.str()
        assert "focusguard" not in text
        listed = inner.run("--fixtures")
        fixtures = re.findall(r"^(\w+).* -- .*focusguard/pytest_plugin.py", listed.stdout.str(), re.MULTILINE)
        assert fixtures == ["isolated_display", "person", "guarded_app"]

    def test_loading_it_imports_nothing_of_the_rig_or_the_guard(self) -> None:
        program = (
            "import sys, focusguard.pytest_plugin;"
            "print([name for name in sys.modules if name.startswith(('focusguard.', 'Xlib', 'anyio', 'websockets'))])"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
        )
        assert done.stdout.strip() == "['focusguard.errors', 'focusguard.pytest_plugin']"

    def test_the_page_s_example_is_short(self) -> None:
        assert len([line for line in example().splitlines() if line.strip()]) <= LONGEST


@pytest.mark.headful
class TestExample:
    __test__ = PLAYWRIGHT_CLICKS

    @pytest.mark.parametrize("plugin", ["asyncio", "anyio"])
    def test_it_passes_and_leaves_nothing(self, inner: Inner, plugin: str) -> None:
        inner.pytester.makeconftest(ANYIO if plugin == "anyio" else "")
        inner.pytester.makepyfile(test_typing=example().replace("mark.asyncio", f"mark.{plugin}"))
        inner.run().assert_outcomes(passed=1)
        assert inner.left() == []

    def test_a_control_a_wrong_expectation_fails_and_leaves_nothing(
        self, inner: Inner, runtime: Runtime
    ) -> None:
        wrong = example().replace('== "mine"', '== "not mine"')
        assert wrong != example()
        inner.pytester.makepyfile(test_typing=wrong)
        result = inner.run()
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*AssertionError: assert 'mine' == 'not mine'*"])
        assert inner.left() == []


ASYNC_FIXTURE = """
import {library}
import pytest
from focusguard.electron.runtimes import find_runtime

@{fixture}
async def app(guarded_app):
    async with guarded_app(find_runtime(), "electron_fixture") as guard:
        yield guard

@pytest.mark.{plugin}
async def test_one(app):
    assert len(await app.wait_for_guests(1)) == 1

@pytest.mark.{plugin}
async def test_a_failure(app):
    assert len(await app.wait_for_guests(1)) == 2
"""

SYNCHRONOUS = """
import pytest
from playwright.sync_api import sync_playwright
from focusguard.electron.runtimes import find_runtime

@pytest.fixture(scope="module")
def electron():
    return find_runtime()

@pytest.fixture
def app(guarded_app, electron):
    with guarded_app(electron, "electron_fixture") as guard:
        yield guard

def test_one(app, isolated_display, person):
    app.wait_for_guests(1)
    window = app.call(lambda: isolated_display.wait_for_window(active=True))
    with sync_playwright() as playwright:
        page = playwright.chromium.connect_over_cdp(app.endpoint).contexts[0].pages[0]
        app.call(person.click, window.x + 100, window.y + 60)
        page.click("input")
        app.call(person.type, "mine")
        page.keyboard.type("the agent's")
        assert page.input_value("input") == "the agent's"

def test_keys_that_are_left_down_are_released(person, isolated_display):
    test_keys_that_are_left_down_are_released.person = person
    import asyncio
    asyncio.run(person.key_down("a"))
    assert [stroke.kind for stroke in person.journal] == ["key-down"]

def test_they_have_been():
    journal = test_keys_that_are_left_down_are_released.person.journal
    assert [stroke.kind for stroke in journal] == ["key-down", "key-up"]
"""


@pytest.mark.headful
class TestOtherKinds:
    @pytest.mark.parametrize(
        ("plugin", "library", "fixture"),
        [
            ("asyncio", "pytest_asyncio", "pytest_asyncio.fixture"),
            ("anyio", "anyio", "pytest.fixture"),
        ],
    )
    def test_in_an_asynchronous_fixture(self, inner: Inner, plugin: str, library: str, fixture: str) -> None:
        inner.pytester.makeconftest(ANYIO if plugin == "anyio" else "")
        inner.pytester.makepyfile(ASYNC_FIXTURE.format(plugin=plugin, library=library, fixture=fixture))
        inner.run().assert_outcomes(passed=1, failed=1)
        assert inner.left() == []


@pytest.mark.headful
class TestSynchronous:
    __test__ = PLAYWRIGHT_CLICKS

    def test_in_ordinary_tests_and_fixtures(self, inner: Inner) -> None:
        inner.pytester.makepyfile(SYNCHRONOUS)
        inner.run("-p", "no:asyncio", "-p", "no:anyio").assert_outcomes(passed=3)
        assert inner.left() == []


class TestFailing:
    def test_without_xvfb_it_fails_and_says_what_to_install(
        self, inner: Inner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inner.pytester.makepyfile("def test_it(person): pass\ndef test_other(): pass")
        monkeypatch.setenv("PATH", str(inner.temporary))
        result = inner.run()
        result.assert_outcomes(errors=1, passed=1)
        result.stdout.fnmatch_lines(["*Xvfb is not installed; run `apt-get install -y xvfb openbox`*"])
        assert "Traceback" not in result.stdout.str()

    @pytest.mark.headful
    def test_an_app_that_cannot_be_started_is_an_error_of_the_test(self, inner: Inner) -> None:
        inner.pytester.makepyfile(
            """
            import pytest, focusguard

            @pytest.mark.asyncio
            async def test_it(guarded_app):
                with pytest.raises(focusguard.RuntimeMissing):
                    async with guarded_app("nowhere"):
                        pass

            def test_without_await(guarded_app):
                with pytest.raises(focusguard.RuntimeMissing):
                    with guarded_app("nowhere"):
                        pass

            @pytest.mark.asyncio
            async def test_one_that_ends_at_once(guarded_app):
                async with guarded_app("/bin/false"):
                    pass
            """
        )
        result = inner.run()
        result.assert_outcomes(passed=2, failed=1)
        result.stdout.fnmatch_lines(["*LaunchFailed: the app ended before it was guarded*ended with 1*"])
        assert inner.left() == []

    @pytest.mark.headful
    def test_on_another_event_loop_it_says_what_to_do(self, inner: Inner) -> None:
        inner.pytester.makepyfile(
            """
            import pytest, focusguard

            def test_it(guarded_app):
                entering = guarded_app("electron").__aenter__()
                with pytest.raises(focusguard.RigError, match="runs on asyncio: have the fixture anyio_backend"):
                    entering.send(None)
            """
        )
        inner.run().assert_outcomes(passed=1)

    @pytest.mark.headful
    def test_killed_it_leaves_nothing(self, inner: Inner) -> None:
        inner.pytester.makepyfile(
            """
            import os, signal
            from focusguard.electron.runtimes import find_runtime

            def test_it(guarded_app):
                with guarded_app(find_runtime(), "electron_fixture"):
                    os.kill(os.getpid(), signal.SIGKILL)
            """
        )
        assert inner.run().ret == -9
        deadline = time.monotonic() + 15
        while inner.left() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert inner.left() == []

    def test_a_control_what_a_run_leaves_is_seen(self, inner: Inner) -> None:
        inner.pytester.makepyfile(
            """
            import subprocess, tempfile

            def test_it():
                tempfile.mkdtemp(prefix="focusguard-")
                print("pid", subprocess.Popen(["sleep", "60"], start_new_session=True).pid)
            """
        )
        result = inner.run("-s")
        pid = next(line.split()[-1] for line in result.outlines if "pid" in line)
        left = inner.left()
        os.kill(int(pid), signal.SIGKILL)
        assert [item.split()[0].rpartition("/")[2][:11] for item in left] == ["focusguard-", pid]
