"""`focusguard doctor` starts the app for a moment: what works, what does not, and nothing stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from focusguard import doctor
from focusguard.doctor import State, Subject
from focusguard.electron import reaper
from focusguard.electron.runtimes import FUSE_NODE_INSPECTOR_ARGUMENTS, FUSE_NODE_OPTIONS, Runtime, fuses_at
from probes.fixture import FIXTURE

pytestmark = pytest.mark.electron

ROOT = Path(__file__).parents[2]


def examined(*arguments: str, temporary: Path) -> tuple[int, dict[str, dict[str, str]]]:
    """The command's exit code and its findings by name."""
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", "from focusguard.cli import main; main()", "doctor", "--json", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
        env={**env, "TMPDIR": str(temporary)},
    )
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["ok"] is (done.returncode == 0)
    return done.returncode, {each["name"]: each for each in told["findings"]}


class TestCommand:
    @pytest.mark.parametrize("arguments", [(), (str(FIXTURE),), ("--bridge", "inject", str(FIXTURE))])
    def test_all_is_fine_and_nothing_stays(
        self, runtime: Runtime, temporary: Path, arguments: tuple[str, ...]
    ) -> None:
        code, findings = examined("--electron", str(runtime.executable), *arguments, temporary=temporary)
        assert code == 0, findings
        names = ["display", "isolated display", "input method", "runtime", "libraries", "fuses"]
        names.append("CDP pipe" if runtime.has_debugging_pipe else "CDP port")
        assert list(findings) == names + (["bridge"] if arguments else [])
        assert findings["display"]["state"] == "note"
        assert [name for name in names[1:] if findings[name]["state"] != "ok"] == []
        assert list(temporary.glob("focusguard-*")) == []
        assert reaper.marked_processes("", [str(temporary)]) == []

    def test_a_control_an_app_that_ends_at_once(
        self, runtime: Runtime, rig_app: Path, temporary: Path
    ) -> None:
        (rig_app / "start.js").write_text("require('electron').app.exit(7);\n")
        code, findings = examined("--electron", str(runtime.executable), str(rig_app), temporary=temporary)
        assert code == 1
        assert "ended with 7" in findings["bridge"]["found"]
        assert list(temporary.glob("focusguard-*")) == []


class TestBridge:
    async def test_a_control_an_app_that_does_not_require_it(
        self, runtime: Runtime, rig_app: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(doctor, "START_SECONDS", 5.0)
        endpoint, bridge = await doctor.starting(Subject(runtime, rig_app, given=True), "app")
        assert endpoint.state is State.OK
        assert (bridge.state, bridge.found) == (State.BAD, "the app runs, and no bridge said hello (app)")
        assert "require(process.env.FOCUSGUARD_BRIDGE)" in bridge.advice

    async def test_an_app_that_requires_it(self, runtime: Runtime) -> None:
        findings = await doctor.starting(Subject(runtime, FIXTURE, given=True), "app")
        assert [finding.state for finding in findings] == [State.OK, State.OK]


class TestRealExecutables:
    def test_their_fuses_are_read(self, known_runtime: Runtime) -> None:
        found = fuses_at(known_runtime.executable)
        if known_runtime.major == 9:
            assert found is None
        else:
            assert found is not None
            assert found[FUSE_NODE_OPTIONS] and found[FUSE_NODE_INSPECTOR_ARGUMENTS]
        assert doctor.fuses(known_runtime.executable, "preload").state is State.OK

    def test_their_libraries_are_here(self, known_runtime: Runtime) -> None:
        found = doctor.libraries(known_runtime.executable)
        assert found.state is State.OK, found

    def test_they_are_what_was_installed(self, known_runtime: Runtime) -> None:
        assert doctor.runtime(known_runtime).state is State.OK
