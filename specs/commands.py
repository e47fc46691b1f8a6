"""`focusguard …` as a process of its own, and what it has printed so far."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

ROOT = Path(__file__).parents[1]
PROGRAM = [sys.executable, "-c", "from focusguard.cli import main; main()"]


class Command:
    """A running command. Made by `started`."""

    def __init__(self, process: Process, out: Path, complaints: Path) -> None:
        self.process = process
        self._out, self._complaints = out, complaints

    @property
    def lines(self) -> list[str]:
        """The whole lines on standard output."""
        return self._out.read_text("utf-8").split("\n")[:-1]

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The same as JSON."""
        return [json.loads(line) for line in self.lines]

    @property
    def complaints(self) -> str:
        """What is on standard error."""
        return self._complaints.read_text("utf-8")

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The lines of `--json` that tell of this."""
        return [each for each in self.objects if each.get("event") == kind]

    async def ends(self, *, seconds: float = 30) -> int | None:
        """Its exit code."""
        with anyio.fail_after(seconds):
            return await self.process.wait()


@asynccontextmanager
async def started(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[Command]:
    """Starts it, and kills it if it is still there at the end of the block."""
    out, complaints = folder / f"{arguments[0]}.out", folder / f"{arguments[0]}.err"
    with out.open("wb") as stdout, complaints.open("wb") as stderr:
        process = await anyio.open_process(
            [*PROGRAM, *arguments],
            env={**os.environ, **(env or {})},
            cwd=ROOT,
            stdin=None,
            stdout=stdout,
            stderr=stderr,
        )
    try:
        yield Command(process, out, complaints)
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()
