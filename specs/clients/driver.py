"""The clients that are measured, and a driver: a client in a process of its own, told what to do line by line.

A driver (`drivers/`) is written against the client's public API as its documentation has it. It reads
`{"id": 1, "task": "click", "args": {"selector": "#button"}}` and answers `{"id": 1, "ok": true, "value": null}` or
`{"id": 1, "ok": false, "error": "the message as the client shows it"}`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from focusguard.electron.janitor import end_group, open_janitor

HERE = Path(__file__).parent
NOT_OFFERED = "not offered by the client"
#: Seconds for one task; longer than any client's own bound that is met here.
TASK_SECONDS = 35.0
#: The longest answer: a screenshot, bytes.
LINE_LIMIT = 16 * 1024 * 1024
#: Seconds for a driver to leave by itself.
GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class Client:
    """A client library or tool.

    Attributes:
        name: As its own documentation calls it.
        package: What the registry calls it.
        registry: Which.
        driver: File in `drivers/`.
    """

    name: str
    package: str
    registry: Literal["npm", "PyPI"]
    driver: str

    @property
    def command(self) -> list[str]:
        """Starts the driver."""
        program = "node" if self.driver.endswith(".mjs") else sys.executable
        return [program, str(HERE / "drivers" / self.driver)]

    @property
    def version(self) -> str:
        """Of what is installed."""
        if self.registry == "PyPI":
            return importlib.metadata.version(self.package)
        manifest = HERE / "node_modules" / self.package / "package.json"
        return str(json.loads(manifest.read_text("utf-8"))["version"])


CLIENTS = (
    Client("Playwright", "playwright", "PyPI", "playwright_driver.py"),
    Client("Puppeteer", "puppeteer-core", "npm", "puppeteer.mjs"),
    Client("chrome-remote-interface", "chrome-remote-interface", "npm", "remote_interface.mjs"),
    Client("pychrome", "pychrome", "PyPI", "pychrome_driver.py"),
    Client("cdp-use", "cdp-use", "PyPI", "cdp_use_driver.py"),
    Client("agent-browser", "agent-browser", "npm", "agent_browser.py"),
    Client("Playwright MCP", "@playwright/mcp", "npm", "playwright_mcp.py"),
    Client("Chrome DevTools MCP", "chrome-devtools-mcp", "npm", "chrome_devtools_mcp.py"),
)


class Refused(Exception):
    """The client could not do it; the message is the client's."""


class DriverFailed(Exception):
    """The driver ended, or said nothing in time: no result."""


class Driver:
    """A client in its process. Made by `open_driver`."""

    def __init__(self, process: Process, complaints: Path) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._input = process.stdin
        self._lines = BufferedByteReceiveStream(process.stdout)
        self._complaints = complaints
        self._last = 0

    async def ask(self, task: str, **args: Any) -> Any:
        """Has the client do something.

        Raises:
            Refused: It could not.
            DriverFailed: There is no telling.
        """
        self._last += 1
        order = {"id": self._last, "task": task, "args": args}
        try:
            with anyio.fail_after(TASK_SECONDS):
                await self._input.send(json.dumps(order).encode() + b"\n")
                answer = json.loads(await self._lines.receive_until(b"\n", LINE_LIMIT))
        except TimeoutError:
            raise self._failed(f"no answer within {TASK_SECONDS:g} s", task) from None
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            raise self._failed("the driver has ended", task) from None
        assert answer["id"] == self._last, answer
        if not answer["ok"]:
            raise Refused(answer["error"])
        return answer["value"]

    def _failed(self, what: str, task: str) -> DriverFailed:
        said = self._complaints.read_text("utf-8", "replace")[-2000:]
        return DriverFailed(f"{task}: {what}; it said: {said}")


@asynccontextmanager
async def open_driver(client: Client, folder: Path) -> AsyncIterator[Driver]:
    """Starts a client's driver; on leaving, it and all that it has started is ended, and if this process is killed.

    Args:
        client: Which.
        folder: For what it complains of, and for the client's own files.

    Yields:
        The driver.
    """
    complaints = folder / f"{client.package.replace('/', '-')}-{len(list(folder.iterdir()))}.txt"
    # A janitor of its own: some clients leave a process behind that is in no group of ours, but carries its mark.
    async with open_janitor() as janitor:
        with complaints.open("wb") as stderr:
            process = await anyio.open_process(
                client.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **janitor.env, "HOME": str(folder)},
                cwd=folder,
                start_new_session=True,
            )
        janitor.watch_group(process.pid)
        try:
            yield Driver(process, complaints)
        finally:
            assert process.stdin is not None
            with anyio.CancelScope(shield=True):
                await process.stdin.aclose()
                with anyio.move_on_after(GRACE_SECONDS):
                    await process.wait()
                await end_group(process, grace=GRACE_SECONDS)
                await process.aclose()
