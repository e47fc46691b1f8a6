"""`focusguard probe --app` on an app that knows nothing of it: what its own pages say they were typed is the oracle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from focusguard.electron.runtimes import Runtime
from probes.landing.schema import LandingResult, Row, read_result

pytestmark = [pytest.mark.electron, pytest.mark.headful]

ROOT = Path(__file__).parents[2]
APP = Path(__file__).parent / "own_app"
CASES = ("key", "key.cross-site-frame", "mouse-press", "bring-to-front")
LETTERS, DIGITS = "qwe", "1234567890"


def probe(runtime: Runtime, temporary: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command on the app; nothing of it is left."""
    command = [sys.executable, "-c", "from focusguard.cli import main; main()", "probe", "--app", str(APP)]
    command += ["--electron", str(runtime.executable), *arguments]
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    (temporary / "tmp").mkdir()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
        env={**env, "TMPDIR": str(temporary / "tmp")},
    )
    assert list((temporary / "tmp").glob("focusguard-*")) == []
    return done


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own") / "journal"


@pytest.fixture(scope="module")
def result(runtime: Runtime, journal: Path) -> LandingResult:
    """One run for all."""
    cases = [word for case in CASES for word in ("--case", case)]
    done = probe(
        runtime,
        journal.parent,
        *cases,
        f"--app-arg=--journal={journal}",
        "--json",
        "--out",
        str(journal.parent),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((journal.parent / "landing.json").read_text())
    return read_result(journal.parent)


class TestMeasuring:
    def row(self, result: LandingResult, case: str, route: str) -> Row:
        found = result.row(case, "webview", "headful", route)
        assert found is not None
        return found

    def test_it_says_what_was_measured(self, result: LandingResult) -> None:
        assert result.subject is not None
        assert (result.subject.host_field, result.subject.guest_field) == ("textarea#notes", "input#search")
        assert result.subject.guest == (APP / "guest.html").as_uri()
        assert [(control.route, control.name, control.passed) for control in result.controls] == [
            (route, name, True) for route in ("raw", "guarded") for name in ("idle", "leak", "theft")
        ]

    def test_raw_keys_leak(self, result: LandingResult) -> None:
        row = self.row(result, "key", "raw")
        assert (row.landing, row.leaked, row.stolen, row.focus_kept) == (["host"], 3, 0, True)

    def test_a_raw_press_steals(self, result: LandingResult) -> None:
        row = self.row(result, "mouse-press", "raw")
        assert (row.landing, row.leaked, row.stolen, row.focus_kept) == (["guest"], 0, 10, False)
        assert row.evidence.typed is not None
        assert row.evidence.typed.elsewhere == {"guest": DIGITS}

    @pytest.mark.parametrize("case", ["key", "mouse-press"])
    def test_the_guard_keeps_both_apart(self, result: LandingResult, case: str) -> None:
        row = self.row(result, case, "guarded")
        assert (row.landing, row.leaked, row.stolen, row.focus_kept) == (["guest"], 0, 0, True)
        assert row.evidence.twin == "fault"

    @pytest.mark.parametrize("route", ["raw", "guarded"])
    def test_what_the_app_has_not_is_unsupported(self, result: LandingResult, route: str) -> None:
        row = self.row(result, "key.cross-site-frame", route)
        assert (row.status, row.evidence.reason) == (
            "unsupported",
            "the guest has no frame of another site with a field that takes text and is shown",
        )

    @pytest.mark.parametrize("route", ["raw", "guarded"])
    def test_the_pages_say_the_same(self, result: LandingResult, journal: Path, route: str) -> None:
        rows = [row for row in result.rows if row.route == route and row.status == "observed"]
        lines = [line.split() for line in journal.read_text().splitlines()]
        seen = Counter((where, key) for pid, where, key in lines if int(pid) == rows[0].evidence.pid)
        # The controls: the letters once in each page, the digits twice in the host and once in the guest.
        leaks = 1 + sum(row.leaked for row in rows) // 3
        thefts = 1 + sum(row.stolen for row in rows) // 10
        arrived = 1 + sum(row.landing == ["guest"] and row.case == "key" for row in rows)
        assert seen == Counter(
            {("host", key): leaks for key in LETTERS}
            | {("guest", key): arrived for key in LETTERS}
            | {("host", key): 2 + len(rows) - (thefts - 1) for key in DIGITS}
            | {("guest", key): thefts for key in DIGITS}
        )


class TestFailing:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--host-field", "#nope"), "no page of the app but its guest has an element '#nope'."),
            (("--host-field", "textarea"), f"the host's page {APP.as_uri()}/index.html"),
            (("--host-field", "h1"), "has an element 'h1' that takes no text."),
            (
                ("--guest-field", "#nope"),
                f"the guest's page {APP.as_uri()}/guest.html has no element '#nope'.",
            ),
            (
                ("--guest", "nowhere"),
                "no guest for --guest nowhere; the guard's guests are:\n  webview file:",
            ),
        ],
    )
    def test_what_cannot_be_found_is_wrong_usage_and_what_there_is_is_listed(
        self, runtime: Runtime, temporary: Path, arguments: tuple[str, ...], said: str
    ) -> None:
        done = probe(runtime, temporary, *arguments, "--wait", "1.5", "--out", str(temporary / "out"))
        assert done.returncode == 2
        assert said in done.stderr
        listed = [line.strip() for line in done.stderr.splitlines()]
        if arguments[0] == "--host-field":
            assert listed[-3:-1] == ["textarea#notes", "textarea#deaf"]
        elif arguments[0] == "--guest-field":
            assert listed[-2] == "input#search"
        else:
            assert f"webview {APP.as_uri()}/guest.html" in listed
        assert not (temporary / "out").exists()

    def test_a_field_that_gets_no_keys_fails_the_control(self, runtime: Runtime, temporary: Path) -> None:
        arguments = (
            "--host-field",
            "#deaf",
            "--route",
            "raw",
            "--case",
            "key",
            "--out",
            str(temporary / "out"),
        )
        done = probe(runtime, temporary, *arguments)
        assert done.returncode == 2
        assert "incomplete: control idle failed on webview headful raw" in done.stderr
        result = read_result(temporary / "out")
        assert (result.complete, result.rows) == (False, [])
