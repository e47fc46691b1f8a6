"""The janitor: what the rig starts ends with it, even when the rig itself is killed.

A small process of its own reads orders from a pipe whose other end only this process holds. Orders that were
written stay readable when the writer dies, so there is no moment in which something runs and nobody would end
it: a path is watched before it is made, and a process carries a mark in its environment from the start.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import Process

from focusguard.electron import reaper
from focusguard.electron.errors import RigError
from focusguard.electron.reaper import MARK_VARIABLE

#: Seconds that the janitor's process may take to end everything: two graces and the removal.
CLOSE_SECONDS = 15.0


class Janitor:
    """Watches process groups, paths and displays while this process lives. Made by `open_janitor`."""

    def __init__(self, orders: int) -> None:
        self._orders = orders
        self._mark = secrets.token_hex(16)
        self._order("mark", self._mark)

    @property
    def env(self) -> dict[str, str]:
        """Goes into the environment of everything that is started under this janitor."""
        return {MARK_VARIABLE: self._mark}

    def watch_group(self, pgid: int) -> None:
        """Ends this process group when the owner is gone."""
        self._order("watch-group", pgid)

    def release_group(self, pgid: int) -> None:
        """Forgets a group that has been ended."""
        self._order("release-group", pgid)

    def watch_path(self, path: Path) -> None:
        """Removes this file, socket or folder when the owner is gone.

        Raises:
            RigError: The path is not absolute, or far too much to remove.
        """
        if not path.is_absolute() or len(path.parts) < 3 or path == Path.home():
            raise RigError(f"the janitor does not take charge of {path}")
        self._order("watch-path", str(path))

    def release_path(self, path: Path) -> None:
        """Forgets a path that has been removed."""
        self._order("release-path", str(path))

    def watch_display(self, number: int, server: int) -> None:
        """Removes the lock and socket of display `:number`, if they still belong to the X server `server`."""
        self._order("watch-display", number, server=server)

    def release_display(self, number: int) -> None:
        """Forgets a display that has been stopped."""
        self._order("release-display", number)

    def _order(self, what: str, value: object, **more: object) -> None:
        line = json.dumps({"op": what, "value": value, **more}) + "\n"
        try:
            os.write(self._orders, line.encode())
        except OSError as error:
            raise RigError(f"the janitor is gone ({error}); stop and start again") from error


@asynccontextmanager
async def open_janitor() -> AsyncIterator[Janitor]:
    """Starts a janitor; on leaving, all that is still watched is ended and removed.

    Yields:
        The janitor.
    """
    reading, writing = os.pipe()
    try:
        process = await anyio.open_process(
            # Isolated and without site: it starts in a few milliseconds and imports nothing of ours.
            [sys.executable, "-I", "-S", reaper.__file__],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    try:
        yield Janitor(writing)
    finally:
        os.close(writing)
        await _wait_for_end(process)


@asynccontextmanager
async def janitor_or_own(janitor: Janitor | None) -> AsyncIterator[Janitor]:
    """The given janitor, or one of its own where there is none.

    Yields:
        The janitor.
    """
    if janitor is not None:
        yield janitor
    else:
        async with open_janitor() as own:
            yield own


async def end_group(process: Process, *, grace: float) -> None:
    """Ends the process group that `process` leads: SIGTERM, after `grace` seconds SIGKILL, then waits for it.

    Args:
        process: Started with `start_new_session`.
        grace: Seconds between the two signals.
    """
    pgid = process.pid
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            # The leader only: an app's helpers lose their way, and log about it, when they are told first.
            process.terminate()
        with anyio.move_on_after(grace):
            await process.wait()
        reaper.signal_group(pgid, signal.SIGKILL)
        with anyio.move_on_after(5):
            await process.wait()
            while reaper.group_members(pgid):
                await anyio.sleep(0.01)


async def _wait_for_end(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        with anyio.move_on_after(CLOSE_SECONDS):
            await process.wait()
            return
        process.kill()
        await process.wait()
