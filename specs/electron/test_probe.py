"""The landing probe on a real Electron: complete runs, controls that are broken on purpose, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from focusguard.electron.reaper import stat_fields
from focusguard.electron.runtimes import Runtime
from probes.landing.schema import LandingResult, read_result

pytestmark = pytest.mark.electron

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from focusguard.cli import main; main()", "probe"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: sockets have little room for their names."""
    with tempfile.TemporaryDirectory(prefix="fg-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def environment(runtime: Runtime, temporary: Path) -> dict[str, str]:
    return {**os.environ, "FOCUSGUARD_ELECTRON": str(runtime.executable), "TMPDIR": str(temporary)}


def run_probe(runtime: Runtime, folder: Path, *arguments: str) -> tuple[int, LandingResult]:
    temporary = folder / "t"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [*COMMAND, *arguments, "--out", str(folder / "out")],
        cwd=REPOSITORY,
        env=environment(runtime, temporary),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (folder / "out" / "landing.json").exists(), done.stderr
    assert list(temporary.iterdir()) == [], "the run left something in its temporary folder"
    return done.returncode, read_result(folder / "out")


def test_a_quick_run_is_complete(runtime: Runtime, folder: Path) -> None:
    code, result = run_probe(runtime, folder, "--quick", "--window", "hidden")
    assert result.incomplete_because == []
    assert result.complete
    assert len(result.rows) == result.plan.cells
    assert all(control.passed for control in result.controls)
    assert {control.name for control in result.controls} == {"leak", "theft", "idle"}
    assert code == (1 if result.guarded_faults else 0)
    for name in ("landing.md", "landing.html"):
        assert (folder / "out" / name).stat().st_size > 1000


def test_raw_input_is_seen_to_leak_and_the_guard_to_keep_it(runtime: Runtime, folder: Path) -> None:
    cases = ("key", "insert-text", "mouse-press", "frame-session.key", "key.cross-site-frame")
    arguments = [part for case in cases for part in ("--case", case)]
    code, result = run_probe(runtime, folder, "--window", "hidden", *arguments)
    assert (code, result.complete) == (0, True), result.incomplete_because
    for case in ("key", "insert-text", "key.cross-site-frame"):
        raw = result.row(case, "webview", "hidden", "raw")
        assert raw is not None
        assert raw.landing == ["host"]
        assert raw.reply == "ok", "the reply claims success for input that went elsewhere"
    raw = result.row("mouse-press", "webview", "hidden", "raw")
    assert raw is not None
    assert (raw.landing, raw.focus_kept) == (["guest"], False)
    for row in result.rows:
        if row.route == "guarded":
            assert (row.leaked, row.stolen, row.focus_kept) == (0, 0, True), row


@pytest.mark.parametrize("broken", ["observer-off", "leak-suppressed", "theft-suppressed", "idle-disturbed"])
def test_a_broken_control_makes_the_run_incomplete(runtime: Runtime, folder: Path, broken: str) -> None:
    code, result = run_probe(
        runtime, folder, "--case", "key", "--window", "hidden", "--route", "raw", "--break-control", broken
    )
    assert code == 2
    assert not result.complete
    assert result.rows == [], "no verdict without controls"
    assert any(reason.startswith("control ") for reason in result.incomplete_because)
    assert not all(control.passed for control in result.controls)


def test_the_menu_of_faults_is_told_apart(runtime: Runtime, folder: Path) -> None:
    _, result = run_probe(runtime, folder, "--case", "key", "--window", "headful", "--route", "raw")
    assert len({control.seen for control in result.controls}) == len(result.controls) == 4


def descendants(pid: int) -> set[int]:
    """Everything below a process now, by parent."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = stat_fields(int(entry.name))
            if len(fields) > 1:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = set[int](), [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found |= set(below)
        todo += below
    return found


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode("utf-8", "replace")
    except OSError:
        return ""


def alive(pid: int) -> bool:
    return stat_fields(pid)[:1] not in ([], ["Z"], ["X"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_probe_leaves_nothing(runtime: Runtime, folder: Path, number: signal.Signals) -> None:
    temporary = folder / "t"
    temporary.mkdir()
    displays = set(Path("/tmp/.X11-unix").glob("X*"))
    process = subprocess.Popen(
        [*COMMAND, "--quick", "--window", "headful", "--out", str(folder / "out")],
        cwd=REPOSITORY,
        env=environment(runtime, temporary),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr is not None
        begun = 0
        for line in process.stderr:
            begun += line.rstrip().endswith(": controls")
            if begun == 2:  # both routes are up
                break
        everything = descendants(process.pid)
        started = {Path(name_of(pid)).name for pid in everything}
        assert {"Xvfb", "openbox"} <= started
        assert any("electron" in name for name in started)
        process.send_signal(number)
        process.wait(timeout=30)
    finally:
        process.kill()
        if process.stderr is not None:
            process.stderr.close()
    end = time.monotonic() + 20
    while (left := [pid for pid in everything if alive(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    assert {pid: name_of(pid) for pid in left} == {}
    while list(temporary.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    assert list(temporary.iterdir()) == [], "sockets or profiles are left"
    assert {
        place for place in Path("/tmp/.X11-unix").glob("X*") if place not in displays and dead(place)
    } == set()
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert not read_result(folder / "out").complete


def dead(place: Path) -> bool:
    """Whether nobody answers at an X socket; another spec's display may have come up meanwhile."""
    import socket

    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(str(place))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False
