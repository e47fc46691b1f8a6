"""Ends process groups and removes what they leave. Standard library only: it is run as a script, too.

As a script it is the janitor's other half. It reads JSON lines from standard input; when that pipe closes,
its owner is gone, however it went, and everything that is still watched is ended and removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterable
from pathlib import Path

#: Present in the environment of everything that the rig starts, with a value of its own per janitor.
MARK_VARIABLE = "FOCUSGUARD_RIG"
#: Seconds between SIGTERM and SIGKILL.
GRACE = 2.0


def stat_fields(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` from `state` on; empty where there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text[text.rfind(")") + 2 :].split()


def started_at(pid: int) -> str:
    """A process's start time in clock ticks: with the pid it names one process for good."""
    fields = stat_fields(pid)
    return fields[19] if len(fields) > 19 else ""


def group_members(pgid: int) -> list[int]:
    """The living processes of a group. A dead one that nobody has waited for does not count."""
    members = []
    for pid in _pids():
        fields = stat_fields(pid)
        if len(fields) > 2 and fields[2] == str(pgid) and fields[0] not in "ZX":
            members.append(pid)
    return members


def marked_processes(mark: str, folders: Iterable[str] = ()) -> list[int]:
    """The living processes, other than this one, that belong to a janitor.

    They carry its mark in their environment; Electron writes its title over that, but has its profile, which
    is in one of the janitor's folders, on every command line.
    """
    wanted = f"{MARK_VARIABLE}={mark}".encode()
    profiles = tuple(f"--user-data-dir={folder}/".encode() for folder in folders)
    found = []
    for pid in _pids():
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes() if profiles else b""
        except OSError:
            continue
        belongs = wanted in environment.split(b"\0") or any(item in arguments for item in profiles)
        if belongs and pid != os.getpid() and stat_fields(pid)[:1] not in ([], ["Z"], ["X"]):
            found.append(pid)
    return found


def signal_group(pgid: int, number: signal.Signals) -> None:
    """Signals a group; one that is gone is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def remove_path(path: str | os.PathLike[str]) -> None:
    """Removes a file, socket or folder; one that is gone is fine."""
    target = Path(path)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            target.unlink()


def remove_x_files(number: int, server: int) -> None:
    """Removes what a dead X server left: the lock that names it, and the socket if nobody answers there.

    A server that was told to choose its number writes no lock, and a later one may have taken the number.
    """
    lock, place = Path(f"/tmp/.X{number}-lock"), f"/tmp/.X11-unix/X{number}"
    with contextlib.suppress(OSError, ValueError):
        if int(lock.read_text()) == server:
            lock.unlink()
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(place)
        except ConnectionRefusedError:
            remove_path(place)
        except OSError:
            pass


class _Watch:
    """What is watched, and how it is ended."""

    def __init__(self) -> None:
        self.groups: dict[int, str] = {}
        self.paths: dict[str, None] = {}
        self.displays: dict[int, int] = {}
        self.mark = ""

    def apply(self, order: dict[str, object]) -> None:
        what, value = order["op"], order["value"]
        if what == "mark":
            self.mark = str(value)
        elif what == "watch-group":
            self.groups[int(str(value))] = started_at(int(str(value)))
        elif what == "release-group":
            self.groups.pop(int(str(value)), None)
        elif what == "watch-path":
            self.paths[str(value)] = None
        elif what == "release-path":
            self.paths.pop(str(value), None)
        elif what == "watch-display":
            self.displays[int(str(value))] = int(str(order["server"]))
        elif what == "release-display":
            self.displays.pop(int(str(value)), None)

    def end(self) -> None:
        mine = [pgid for pgid, born in self.groups.items() if not born or started_at(pgid) in ("", born)]
        # The newest first: a window manager before its display, an app before both.
        for pgid in reversed(mine):
            signal_group(pgid, signal.SIGTERM)
        self._wait(mine, GRACE)
        for pgid in mine:
            signal_group(pgid, signal.SIGKILL)
        for pid in marked_processes(self.mark, self.paths):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        self._wait(mine, GRACE)
        for number, server in self.displays.items():
            remove_x_files(number, server)
        for path in reversed(self.paths):
            remove_path(path)

    def _wait(self, groups: list[int], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (
            any(group_members(pgid) for pgid in groups) or marked_processes(self.mark, self.paths)
        ):
            time.sleep(0.02)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 (names only, and often)


def main() -> None:
    """Watches until standard input closes, then ends and removes everything that is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watch = _Watch()
    for line in sys.stdin:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            watch.apply(json.loads(line))
    watch.end()


if __name__ == "__main__":
    main()
