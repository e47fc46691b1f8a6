"""`focusguard run` as a command: Ctrl-C ends the app, and the last line says so."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
ROOT = Path(__file__).parents[2]


async def test_ctrl_c_is_told_of_last_and_nothing_stays(
    runtime: Runtime, display: Display, tmp_path: Path, temporary: Path, eventually: Eventually
) -> None:
    out, complaints = tmp_path / "out", tmp_path / "err"
    command = [sys.executable, "-c", "from focusguard.cli import main; main()", "run", "--json", "--"]
    with out.open("wb") as stdout, complaints.open("wb") as stderr:
        process = await anyio.open_process(
            [*command, str(runtime.executable), str(FIXTURE)],
            env={**os.environ, **display.env, "TMPDIR": str(temporary)},
            cwd=ROOT,
            stdin=None,
            stdout=stdout,
            stderr=stderr,
        )

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in out.read_text("utf-8").splitlines()]

    try:
        await eventually(lambda: any(line.get("event") == "guest.ready" for line in lines()), seconds=60)
        process.send_signal(signal.SIGINT)
        with anyio.fail_after(30):
            assert await process.wait() == 130
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert lines()[-1] == {"stopped": "interrupted"}
    assert complaints.read_text("utf-8").split() == ["interrupted"]
    assert list(temporary.glob("focusguard-*")) == []
    last: dict[int, list[float]] = {}
    for line in lines():
        if line.get("event") == "bridge.target.changed":
            last.setdefault(line["webContentsId"], []).append(0)
    # It took few seconds, and a page that loads tells three times and more.
    assert all(len(told) <= 3 for told in last.values()), last
