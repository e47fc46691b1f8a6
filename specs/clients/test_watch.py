"""`focusguard watch` at a real app: what an agent does is seen from outside, and the terminal is left as it was."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from specs.commands import ROOT, started
from specs.guarded import Stage, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
#: The program in a session of its own, whose terminal is its standard input: there Ctrl-C is a key.
IN_A_TERMINAL = (
    "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);from focusguard.cli import main; main()"
)
ALTERNATE, MAIN, HIDDEN, VISIBLE = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h"


@pytest.fixture(scope="module")
async def on(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Stage]:
    async with stage("guarded", runtime, display, janitor, window="hidden") as running:
        yield running


class Terminal:
    """A terminal with a program in it."""

    def __init__(self, master: int, slave: int, process: Process) -> None:
        self._master, self._slave, self.process = master, slave, process
        self.written = b""

    @property
    def shown(self) -> str:
        """All that was written to it, without what steers it."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", self.written.decode("utf-8", "replace"))
        return " ".join(text.split())

    @property
    def settings(self) -> list[Any]:
        """What `stty` would show."""
        return termios.tcgetattr(self._slave)

    def key(self, data: bytes) -> None:
        """Somebody presses a key."""
        os.write(self._master, data)

    async def read(self) -> None:
        """Takes what is written, until nobody is left to write."""
        while True:
            await anyio.wait_readable(self._master)
            self.written += os.read(self._master, 65536)


@asynccontextmanager
async def terminal(*arguments: str) -> AsyncIterator[Terminal]:
    """Runs `focusguard` in a terminal of 110 by 30."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (30, 110))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "110", "LINES": "30"}
    process = await anyio.open_process(
        [sys.executable, "-c", IN_A_TERMINAL, *arguments],
        env=environment,
        cwd=ROOT,
        stdin=slave,
        stdout=slave,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with anyio.create_task_group() as tasks:
            inside = Terminal(master, slave, process)
            tasks.start_soon(inside.read)
            yield inside
            tasks.cancel_scope.cancel()
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()
        os.close(master)
        os.close(slave)


class TestLines:
    async def test_an_agents_key_and_press_and_a_guest_that_goes(
        self, on: Stage, runtime: Runtime, tmp_path: Path, eventually: Eventually
    ) -> None:
        assert on.guard is not None
        since = await on.fresh()
        async with started(tmp_path, "watch", "--json", on.guard.endpoint) as watch:
            await eventually(lambda: len(watch.lines) >= 2, seconds=20)
            await on.click("text")
            assert await on.key("x") is None
            added = await on.fixture.add_guest()
            await eventually(lambda: watch.events("guest.ready"))
            await on.fixture.destroy_guest(1)
            await eventually(lambda: watch.events("guest.gone"))
            actions = [
                (each["type"], each["verdict"], each["way"])
                for each in watch.events("action")
                if each["type"] != "mouseMoved"
            ]
            ready, gone = watch.events("guest.ready")[0], watch.events("guest.gone")[0]
            status = next(each["status"] for each in watch.objects if "status" in each)
            everything = "\n".join(watch.lines)
        # What the page itself has logged is what is told of the press and the key.
        seen = await on.seen(since)
        assert seen.guest().values["text"].endswith("x")
        assert len(seen.guest().records("mousedown")) == len(seen.guest().records("keydown")) == 1
        counts_presses = int(runtime.version.partition(".")[0]) >= 22
        assert actions == [
            ("mousePressed", "handled" if counts_presses else "unverified", "borrow"),
            ("mouseReleased", "unverified", "cdp"),
            ("keyDown", "handled", "send-input-event"),
            ("keyUp", "handled", "send-input-event"),
        ]
        assert ready["targetId"] == gone["targetId"]
        assert added.url.startswith(ready["url"].removesuffix("?…"))
        assert status["mode"] == "bridge"
        assert '"x"' not in everything
        assert "KeyX" not in everything


class TestTerminal:
    @pytest.mark.parametrize("ended_by", ["Ctrl-C", "SIGTERM"])
    async def test_it_draws_and_leaves_the_terminal_as_it_was(
        self, on: Stage, ended_by: str, eventually: Eventually
    ) -> None:
        assert on.guard is not None
        async with terminal("watch", on.guard.endpoint) as there:
            before = there.settings
            await eventually(lambda: "with the bridge" in there.shown, seconds=20)
            assert await on.insert("secret words") is None
            await eventually(lambda: "Input.insertText" in there.shown)
            if ended_by == "Ctrl-C":
                there.key(b"\x03")
            else:
                there.process.terminate()
            with anyio.fail_after(10):
                assert await there.process.wait() == (130 if ended_by == "Ctrl-C" else 143)
            await eventually(lambda: MAIN in there.written.decode() and VISIBLE in there.written.decode())
            written = there.written.decode()
            assert written.index(ALTERNATE) < written.rindex(MAIN)
            assert written.rindex(HIDDEN) < written.rindex(VISIBLE)
            assert there.settings == before
            assert "Electron" in there.shown
            assert "secret" not in there.shown
            assert on.guard.endpoint not in there.shown

    async def test_it_says_when_the_guard_has_gone(
        self, runtime: Runtime, display: Display, janitor: Janitor, eventually: Eventually
    ) -> None:
        async with stage("guarded", runtime, display, janitor, window="hidden") as other:
            assert other.guard is not None and other.guard.process is not None
            async with terminal("watch", other.guard.ws_endpoint) as there:
                await eventually(lambda: "with the bridge" in there.shown, seconds=20)
                os.kill(other.guard.process.pid, signal.SIGKILL)
                with anyio.fail_after(10):
                    assert await there.process.wait() == 0
                await eventually(lambda: "the guard is gone: the app is gone" in there.shown)
                assert there.written.decode().rindex(MAIN) > there.written.decode().rindex(ALTERNATE)
