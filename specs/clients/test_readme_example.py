"""The README's example, as it stands there: Playwright types into a guest, the host stays untouched."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE, open_fixture_control
from probes.observed import State

Eventually = Callable[..., Awaitable[Any]]

ROOT = Path(__file__).parents[2]
LONGEST = 15


def example() -> str:
    """The first Python block of the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_is_short() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= LONGEST


@contextmanager
def full_pipe() -> Iterator[tuple[int, int, int]]:
    """A pipe that takes nothing more before it is read: reading end, writing end (to be closed), bytes in it."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        filled = 0
        with suppress(BlockingIOError):
            while True:
                filled += os.write(writing, bytes(4096))
        os.set_blocking(writing, True)
        yield reading, writing, filled
    finally:
        os.close(reading)


def read_all(descriptor: int) -> bytes:
    return b"".join(iter(lambda: os.read(descriptor, 1 << 16), b""))


@pytest.mark.headful
async def test_types_into_the_guest_and_leaves_the_host_alone(
    runtime: Runtime, display: Display, janitor: Janitor, tmp_path: Path, eventually: Eventually
) -> None:
    script, complaints = tmp_path / "example.py", tmp_path / "stderr"
    script.write_text(example(), "utf-8")
    command = [sys.executable, str(script), str(runtime.executable), str(FIXTURE)]
    # The script ends the app right after it has printed: it is held there until the pages have been looked at.
    with full_pipe() as (reading, writing, filled), complaints.open("wb") as stderr:
        async with open_fixture_control(janitor=janitor) as control:
            env = {
                **os.environ,
                **display.env,
                **control.env,
                "PYTHONPATH": str(ROOT),
                "PYTHONUNBUFFERED": "1",
            }
            process = await anyio.open_process(command, env=env, stdin=None, stdout=writing, stderr=stderr)
            os.close(writing)
            try:
                fixture = await control.connected()
                await fixture.open("webview", window="headful", guests=0)
                await fixture.focus_host("textarea", text="the person's", caret=3)
                await fixture.add_guest()

                async def typed() -> State | None:
                    assert process.returncode is None, complaints.read_text("utf-8")
                    state = await fixture.state()
                    return state if state.guest().values["text"] == "Typed by the agent" else None

                state: State = await eventually(typed, seconds=60)
                said = (await anyio.to_thread.run_sync(read_all, reading))[filled:].decode()
                with anyio.fail_after(30):
                    await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    assert process.returncode == 0, complaints.read_text("utf-8")
    assert said.endswith("Typed by the agent\n")
    assert said.startswith("1 http://127.0.0.1:")
    host = state.document("host")
    assert host.values["textarea"] == "the person's"
    assert host.active == ["textarea"]
    assert not host.records("keydown", "input", "beforeinput")
