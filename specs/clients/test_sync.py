"""The synchronous front, with synchronous Playwright: the same guard, without an event loop of one's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import sync_playwright

import focusguard
from focusguard.electron import reaper
from focusguard.electron.display import Display
from focusguard.electron.install import ensure_runtime
from focusguard.electron.launching import ElectronProcess, launch_electron
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime
from focusguard.guard import GuestInfo
from probes.fixture import FIXTURE

pytestmark = pytest.mark.headful

ROOT = Path(__file__).parents[2]
#: Starts an app, says who it is, and waits for what comes.
PROGRAM = """
import sys, time, focusguard
with focusguard.sync.launch(sys.argv[1], sys.argv[2]) as guard:
    print(guard.process.pid, guard.process.user_data_dir.parent, flush=True)
    {then}
"""


def gone(process: ElectronProcess | None) -> bool:
    assert process is not None
    return process.group == [] and not process.user_data_dir.parent.exists()


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)


class TestLaunch:
    #: Playwright's own clicks need `element.checkVisibility`, which Chromium has since 105.
    __test__ = int(ensure_runtime().version.partition(".")[0]) >= 22

    def test_playwright_and_a_person_type(
        self, runtime: Runtime, isolated_display: Display, person: Person
    ) -> None:
        kinds: list[str] = []
        opened: list[tuple[GuestInfo, int, bool]] = []
        with focusguard.sync.launch(runtime, FIXTURE, display=isolated_display) as guard:
            here = threading.get_ident()
            guard.watch(lambda report: kinds.append(report.kind))
            guard.on_guest(
                # A callback may ask the guard.
                opened=lambda info: opened.append((info, len(guard.guests()), threading.get_ident() == here))
            )
            (guest,) = guard.wait_for_guests(1)
            window = guard.call(lambda: isolated_display.wait_for_window(active=True))
            with sync_playwright() as playwright:
                browser = playwright.chromium.connect_over_cdp(guard.endpoint)
                page = browser.contexts[0].pages[0]
                assert page.url == guard.guests()[0]["url"]
                guard.call(person.click, window.x + 100, window.y + 60)
                page.click("input")
                typing = threading.Thread(target=guard.call, args=(person.type, "mine"))
                typing.start()
                page.keyboard.type("the agent's", delay=40)
                typing.join()
                assert page.input_value("input") == "the agent's"
                browser.close()
                # The same with an ordinary URL and headers.
                again = playwright.chromium.connect_over_cdp(guard.address, headers=guard.headers)
                assert again.contexts[0].pages[0].input_value("input") == "the agent's"
                with pytest.raises(Exception, match="403"):
                    playwright.chromium.connect_over_cdp(guard.address)
                again.close()
            assert guard.bridge is not None
            assert guard.metrics()["borrows"] is not None
            assert guard.ws_endpoint.startswith("ws://127.0.0.1:")
            assert guard.lost is None
            process = guard.process
        assert [(info["targetId"], count, same) for info, count, same in opened] == [
            (guest["targetId"], 1, False)
        ]
        assert "client.joined" in kinds
        assert gone(process)

    def test_it_tells_when_the_app_is_gone(self, runtime: Runtime, isolated_display: Display) -> None:
        with focusguard.sync.launch(runtime, FIXTURE, display=isolated_display) as guard:
            guard.wait_for_guests(1)
            with pytest.raises(TimeoutError):
                guard.wait_for_guests(2, seconds=0.1)
            assert guard.process is not None
            os.kill(guard.process.pid, signal.SIGTERM)
            assert "closed" in guard.wait_until_lost()
        assert gone(guard.process)


class TestAttach:
    def test_an_app_that_runs_already(self, runtime: Runtime, isolated_display: Display) -> None:
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(
                launch_electron(runtime, FIXTURE, display=isolated_display, debugging="port")
            ) as process,
        ):
            assert process.debugging_url is not None
            with focusguard.sync.attach(process.debugging_url, token=None) as guard:
                assert guard.bridge is None
                assert guard.process is None
                assert guard.headers == {}
                assert len(guard.wait_for_guests(1)) == 1
                with sync_playwright() as playwright:
                    browser = playwright.chromium.connect_over_cdp(guard.endpoint)
                    assert browser.contexts[0].pages[0].evaluate("1 + 1") == 2
                    browser.close()
            assert process.returncode is None  # attached to, not owned


class TestEnding:
    def test_an_exception_ends_the_app_and_is_the_same(
        self, runtime: Runtime, isolated_display: Display
    ) -> None:
        error = ZeroDivisionError("of the caller's")
        with (
            pytest.raises(ZeroDivisionError) as caught,
            focusguard.sync.launch(runtime, FIXTURE, display=isolated_display) as guard,
        ):
            process = guard.process
            raise error
        assert caught.value is error
        assert gone(process)

    @pytest.mark.parametrize("when", ["starting", "asleep", "waiting"])
    def test_ctrl_c_ends_the_app(
        self, runtime: Runtime, isolated_display: Display, temporary: Path, when: str
    ) -> None:
        then = {
            "starting": "pass",
            "asleep": "time.sleep(60)",
            "waiting": "guard.wait_for_guests(9, seconds=60)",
        }
        program = PROGRAM.format(then=then[when])
        env = {**os.environ, **isolated_display.env, "TMPDIR": str(temporary)}
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(runtime.executable), str(FIXTURE)],
            env=env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        if when == "starting":
            until(lambda: any(temporary.glob("focusguard-electron-*")))
        else:
            pid, folder = process.stdout.readline().split()
            assert reaper.group_members(int(pid))
            assert Path(folder).parent == temporary
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=30)
        assert process.returncode == -signal.SIGINT
        assert complaint.rstrip().endswith("KeyboardInterrupt")
        assert list(temporary.glob("focusguard-*")) == []
        assert reaper.marked_processes("", [str(path) for path in [temporary]]) == []


class TestErrors:
    def test_those_of_the_start_come_as_they_are(self, isolated_display: Display) -> None:
        with (
            pytest.raises(focusguard.LaunchFailed, match="ended with 1"),
            focusguard.sync.launch("/bin/false", display=isolated_display),
        ):
            pass
        with pytest.raises(focusguard.RuntimeMissing), focusguard.sync.launch("nowhere"):
            pass
        with (
            pytest.raises(focusguard.UpstreamFailed, match="no CDP endpoint answers"),
            focusguard.sync.attach("ws://127.0.0.1:9/devtools/browser/x"),
        ):
            pass
