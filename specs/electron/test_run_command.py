"""`focusguard run` as a command: Ctrl-C ends the app, and the last line says so."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from focusguard.electron.display import Display
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE
from specs.commands import started

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]


async def test_ctrl_c_is_told_of_last_and_nothing_stays(
    runtime: Runtime, display: Display, tmp_path: Path, temporary: Path, eventually: Eventually
) -> None:
    arguments = ["run", "--json", "--", str(runtime.executable), str(FIXTURE)]
    env = {**display.env, "TMPDIR": str(temporary)}
    async with started(tmp_path, *arguments, env=env) as command:
        await eventually(lambda: command.events("guest.ready"), seconds=60)
        command.process.send_signal(signal.SIGINT)
        assert await command.ends() == 130
    assert command.objects[-1] == {"stopped": "interrupted"}
    assert command.complaints.split() == ["interrupted"]
    assert list(temporary.glob("focusguard-*")) == []
    last: dict[int, list[float]] = {}
    for line in command.events("bridge.target.changed"):
        last.setdefault(line["webContentsId"], []).append(0)
    # It took few seconds, and a page that loads tells three times and more.
    assert all(len(told) <= 3 for told in last.values()), last
