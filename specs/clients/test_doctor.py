"""`focusguard doctor` starts the app for a moment: what works, what does not, and nothing stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest

from focusguard import doctor
from focusguard.doctor import State, Subject
from focusguard.electron import inspector, reaper
from focusguard.electron.runtimes import (
    FUSE_NODE_INSPECTOR_ARGUMENTS,
    FUSE_NODE_OPTIONS,
    Runtime,
    fuses_at,
    set_fuses,
)
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
        assert [each["name"] for each in findings.values() if "ended with 7" in each["found"]]
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


@pytest.fixture(scope="module")
def packaged(runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An executable of another name, with its app inside."""
    folder = tmp_path_factory.mktemp("packaged") / "my-app"
    shutil.copytree(runtime.executable.parent, folder, ignore=shutil.ignore_patterns("focusguard-*", "app*"))
    shutil.copytree(FIXTURE, folder / "resources" / "app", ignore=shutil.ignore_patterns("node_modules"))
    return (folder / runtime.executable.name).rename(folder / "my-app")


class TestPackaged:
    """Electron takes it for a packaged app by its name."""

    @pytest.mark.parametrize("bridge", ["preload", "inject", "app"])
    async def test_it_ignores_what_node_options_ask_for(
        self, packaged: Path, monkeypatch: pytest.MonkeyPatch, bridge: doctor.Bridge
    ) -> None:
        monkeypatch.setattr(doctor, "START_SECONDS", 5.0)
        subject = await anyio.to_thread.run_sync(doctor.subject_of, None, packaged)
        endpoint, found = await doctor.starting(subject, bridge)
        assert endpoint.state is State.OK
        assert found.state is (State.BAD if bridge == "preload" else State.OK)
        assert ("try --bridge inject" in found.advice) is (bridge == "preload")

    @pytest.mark.parametrize("bridge", ["preload", "inject"])
    async def test_a_control_a_build_that_forbids_it(
        self, packaged: Path, monkeypatch: pytest.MonkeyPatch, bridge: doctor.Bridge
    ) -> None:
        if fuses_at(packaged) is None:
            assert doctor.fuses(packaged, bridge).state is State.OK  # Electron 9 has none to forbid it with
            return
        monkeypatch.setattr(doctor, "START_SECONDS", 3.0)
        monkeypatch.setattr(inspector, "START_SECONDS", 3.0)
        whole = packaged.read_bytes()
        off = {FUSE_NODE_OPTIONS: False, FUSE_NODE_INSPECTOR_ARGUMENTS: False}
        packaged.write_bytes(set_fuses(whole, off))
        try:
            told = doctor.fuses(packaged, bridge)
            findings = await doctor.starting(doctor.subject_of(None, packaged), bridge)
        finally:
            packaged.write_bytes(whole)
        assert told.state is State.BAD
        assert told.found == "NODE_OPTIONS off, --inspect off, ASAR integrity off"
        assert findings[-1].state is State.BAD
        assert ("its build forbids it (fuse nodeCliInspect)" in findings[-1].found) is (bridge == "inject")


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
