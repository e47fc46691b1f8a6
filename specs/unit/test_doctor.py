"""Each finding of `focusguard doctor`, on what is really there and with a control; starting an app is elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from focusguard import cli, doctor
from focusguard.doctor import Finding, State, Subject
from focusguard.electron.display import Display
from focusguard.electron.errors import RuntimeMissing
from focusguard.electron.runtimes import (
    FUSE_ASAR_INTEGRITY,
    FUSE_NODE_INSPECTOR_ARGUMENTS,
    FUSE_NODE_OPTIONS,
    FUSE_SENTINEL,
    Runtime,
    file_sha256,
    fuses_at,
)


def program(folder: Path, name: str) -> Path:
    """Something that can be executed."""
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


class TestRuntime:
    @pytest.mark.parametrize("untouched", [True, False])
    def test_its_hash_is_that_of_the_installation(self, tmp_path: Path, untouched: bool) -> None:
        executable = program(tmp_path, "electron")
        installed = Runtime("33.2.1", executable, "cache", file_sha256(executable))
        if not untouched:
            executable.write_text("something else\n")
        found = doctor.runtime(installed)
        assert found.state is (State.OK if untouched else State.BAD)
        assert found.advice == ("" if untouched else "run `focusguard electron install 33.2.1 --force`")

    def test_another_s_is_shown(self, tmp_path: Path) -> None:
        found = doctor.runtime(Runtime("1.2.3", tmp_path / "electron", "path", "ab" * 32))
        assert found.state is State.OK
        assert "sha256 abababababab" in found.found


class TestLibraries:
    def test_all_are_there(self) -> None:
        found = doctor.libraries(Path(os.path.realpath("/bin/ls")))
        assert found.state is State.OK
        assert "that ls is linked with" in found.found

    def test_a_missing_one_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # A real program that wants another library than it did.
        changed = tmp_path / "changed"
        data = Path(os.path.realpath("/bin/ls")).read_bytes()
        assert data.count(b"libc.so.6\0") == 1
        changed.write_bytes(data.replace(b"libc.so.6\0", b"libq.so.6\0"))
        changed.chmod(0o755)
        found = doctor.libraries(changed)
        assert (found.state, found.found) == (State.BAD, "missing: libq.so.6")
        assert found.advice == "install the packages that have libq.so.6"
        monkeypatch.setitem(doctor.LIBRARY_PACKAGES, "libq.so.6", "libq6")
        assert doctor.libraries(changed).advice == "run `apt-get install -y libq6`"

    def test_a_script_has_none(self, tmp_path: Path) -> None:
        assert doctor.libraries(program(tmp_path, "app")).state is State.NOTE


class TestFuses:
    @staticmethod
    def built(folder: Path, wire: bytes, *, version: int = 1, length: int | None = None) -> Path:
        path = folder / "electron"
        size = len(wire) if length is None else length
        path.write_bytes(b"\x7fELF before " + FUSE_SENTINEL + bytes([version, size]) + wire)
        return path

    def test_they_are_read_as_electron_reads_them(self, tmp_path: Path) -> None:
        fuses = fuses_at(self.built(tmp_path, b"1010r01"))
        assert fuses == {0: True, 1: False, 2: True, 3: False, 5: False, 6: True}
        assert (FUSE_NODE_OPTIONS, FUSE_NODE_INSPECTOR_ARGUMENTS, FUSE_ASAR_INTEGRITY) == (2, 3, 4)

    @pytest.mark.parametrize(
        ("wire", "bridge", "state", "advice"),
        [
            (b"10110010", "preload", State.OK, ""),
            (b"10110010", "inject", State.OK, ""),
            (b"10010010", "preload", State.BAD, "use --bridge inject, or have the app require"),
            (b"10000010", "preload", State.BAD, "have the app require process.env.FOCUSGUARD_BRIDGE"),
            (b"10010010", "inject", State.OK, ""),
            (b"10100010", "inject", State.BAD, "have the app require process.env.FOCUSGUARD_BRIDGE"),
            (b"10000010", "app", State.OK, ""),
            (b"10001010", "app", State.NOTE, "before the app is packaged"),
        ],
    )
    def test_what_they_let_through(
        self, tmp_path: Path, wire: bytes, bridge: doctor.Bridge, state: State, advice: str
    ) -> None:
        found = doctor.fuses(self.built(tmp_path, wire), bridge)
        assert found.state is state
        assert found.advice.startswith(advice) or advice in found.advice
        assert bool(found.advice) == bool(advice)
        assert f"NODE_OPTIONS {'on' if wire[2:3] == b'1' else 'off'}" in found.found
        assert f"--inspect {'on' if wire[3:4] == b'1' else 'off'}" in found.found
        assert f"ASAR integrity {'on' if wire[4:5] == b'1' else 'off'}" in found.found

    def test_only_an_asar(self, tmp_path: Path) -> None:
        found = doctor.fuses(self.built(tmp_path, b"10110110"), "preload")
        assert "only an app.asar is loaded" in found.found

    def test_a_build_without_any(self, tmp_path: Path) -> None:
        found = doctor.fuses(Path(os.path.realpath("/bin/ls")), "preload")
        assert (found.state, found.found) == (State.OK, "the build has none, so nothing is switched off")
        script = doctor.fuses(program(tmp_path, "electron"), "preload")
        assert script.state is State.NOTE
        assert "a script that starts it" in script.advice

    @pytest.mark.parametrize(("version", "length"), [(2, None), (1, 200)])
    def test_a_wire_that_cannot_be_read(self, tmp_path: Path, version: int, length: int | None) -> None:
        path = self.built(tmp_path, b"1011", version=version, length=length)
        assert doctor.fuses(path, "preload").state is State.NOTE

    def test_an_empty_file(self, tmp_path: Path) -> None:
        (tmp_path / "electron").touch()
        assert doctor.fuses(tmp_path / "electron", "preload").state is State.NOTE


class TestDisplay:
    @pytest.mark.headful
    async def test_one_that_answers(self, display: Display) -> None:
        found = await doctor.display({"DISPLAY": display.name})
        assert (found.state, found.found) == (State.OK, f"DISPLAY is {display.name}, and answers")

    @pytest.mark.parametrize("name", [":987654", "nonsense", "no-such-host.invalid:0"])
    async def test_one_that_does_not(self, name: str) -> None:
        found = await doctor.display({"DISPLAY": name})
        assert found.state is State.BAD
        assert name in found.found
        assert found.advice == "set DISPLAY to one that is running, or unset it"

    async def test_none(self) -> None:
        found = await doctor.display({})
        assert found.state is State.NOTE
        assert "xvfb-run" in found.advice
        wayland = await doctor.display({"WAYLAND_DISPLAY": "wayland-0"})
        assert wayland.state is State.NOTE
        assert "Xwayland" in wayland.advice

    async def test_a_display_of_the_rig(self) -> None:
        assert (await doctor.own_display()).state is State.OK

    async def test_a_control_without_its_programs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        found = await doctor.own_display()
        assert (found.state, found.found) == (State.BAD, "Xvfb is not installed")
        assert found.advice.startswith("run `apt-get install -y xvfb openbox`")

    @pytest.mark.parametrize(
        ("shown", "own", "states"),
        [
            (State.OK, State.OK, [State.OK, State.OK]),
            (State.NOTE, State.OK, [State.NOTE, State.OK]),
            (State.NOTE, State.BAD, [State.BAD, State.BAD]),
            (State.OK, State.BAD, [State.OK, State.BAD]),
            (State.BAD, State.OK, [State.BAD, State.OK]),
        ],
    )
    def test_one_of_the_two_is_needed(self, shown: State, own: State, states: list[State]) -> None:
        both = doctor.displays(Finding("display", shown, ""), Finding("isolated display", own, ""))
        assert [finding.state for finding in both] == states


class TestInputMethod:
    @pytest.fixture(autouse=True)
    def path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path

    def test_none(self) -> None:
        found = doctor.input_methods({})
        assert (found.state, found.found) == (State.OK, "none is asked for; installed: none")

    @pytest.mark.parametrize(
        ("variables", "name"),
        [
            ({"GTK_IM_MODULE": "fcitx", "XMODIFIERS": "@im=fcitx"}, "fcitx5"),
            ({"GTK_IM_MODULE": "ibus", "XMODIFIERS": "@im=ibus"}, "ibus-daemon"),
        ],
    )
    def test_one_that_is_asked_for(self, path: Path, variables: dict[str, str], name: str) -> None:
        missing = doctor.input_methods(variables)
        assert missing.state is State.BAD
        assert f"GTK_IM_MODULE is for {name}, which is not there" in missing.advice
        program(path, name)
        there = doctor.input_methods(variables)
        assert there.state is State.OK
        assert f"installed: {name}" in there.found

    def test_one_for_x_alone(self, path: Path) -> None:
        program(path, "fcitx5")
        assert doctor.input_methods({"XMODIFIERS": "@im=fcitx"}).state is State.NOTE

    def test_gtk_s_own(self) -> None:
        assert doctor.input_methods({"GTK_IM_MODULE": "gtk-im-context-simple"}).state is State.OK


class TestSubject:
    def test_an_app_and_a_packaged_app(self, tmp_path: Path) -> None:
        electron = program(tmp_path, "electron")
        packaged = program(tmp_path, "my-app")
        app = tmp_path / "app"
        app.mkdir()
        (app / "package.json").write_text("{}")
        (app / "main.cjs").write_text("")
        for given in (app, app / "main.cjs"):
            subject = doctor.subject_of(str(electron), given)
            assert (subject.runtime.executable, subject.app, subject.given) == (electron, given, True)
        subject = doctor.subject_of(None, packaged)
        assert (subject.runtime.executable, subject.app, subject.given) == (packaged, None, True)
        assert doctor.subject_of(str(electron), None) == Subject(subject_runtime(electron), None, given=False)

    def test_what_is_neither(self, tmp_path: Path) -> None:
        electron = str(program(tmp_path, "electron"))
        (tmp_path / "empty").mkdir()
        (tmp_path / "notes.txt").write_text("")
        for name in ("empty", "notes.txt"):
            with pytest.raises(ValueError, match="is neither an app"):
                doctor.subject_of(electron, tmp_path / name)
        with pytest.raises(ValueError, match="leave --electron out"):
            doctor.subject_of(electron, tmp_path / "electron")
        with pytest.raises(RuntimeMissing):
            doctor.subject_of(str(tmp_path / "nowhere"), None)


def subject_runtime(path: Path) -> Runtime:
    return Runtime("unknown", path, "path", file_sha256(path))


class TestCommand:
    @pytest.fixture(autouse=True)
    def nothing_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.delenv("FOCUSGUARD_ELECTRON", raising=False)
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.setattr("focusguard.electron.runtimes.REPOSITORY", tmp_path)

    def test_without_an_electron_something_will_not_work(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli._run(["doctor", "--json"]) == 1
        told = json.loads(capsys.readouterr().out)
        assert told["ok"] is False
        last = told["findings"][-1]
        assert (last["name"], last["state"]) == ("runtime", "bad")
        assert "focusguard electron install" in last["advice"]
        assert cli._run(["doctor"]) == 1
        text = capsys.readouterr().out
        assert "bad   runtime" in text
        assert "to do: Electron 33.2.1 is not installed" in text

    @pytest.mark.parametrize(
        "arguments",
        [["no-such-app"], ["--bridge", "none"], ["--electron", "no-such-electron"], ["--nope"], [sys.prefix]],
    )
    def test_wrong_usage(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert cli._run(["doctor", *arguments]) == 2
        assert "Error:" in capsys.readouterr().err

    def test_what_is_not_electron_does_not_start(self, capsys: pytest.CaptureFixture[str]) -> None:
        there = shutil.which("false")
        assert there is not None
        assert cli._run(["doctor", "--json", there]) == 1
        findings = {each["name"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
        assert findings["CDP pipe"]["state"] == "bad"
        assert "ended with 1" in findings["CDP pipe"]["found"]
        assert findings["bridge"]["state"] == "bad"
