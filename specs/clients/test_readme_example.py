"""The README's example, as it stands there: Playwright types into a guest, the host stays untouched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE, FixtureGone, open_fixture_control

ROOT = Path(__file__).parents[2]
LONGEST = 15


def example() -> str:
    """The first Python block of the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_is_short() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= LONGEST


@pytest.mark.headful
async def test_types_into_the_guest_and_leaves_the_host_alone(
    runtime: Runtime, display: Display, janitor: Janitor, tmp_path: Path
) -> None:
    script = tmp_path / "example.py"
    script.write_text(example(), "utf-8")
    async with open_fixture_control(janitor=janitor) as control, anyio.create_task_group() as tasks:
        answers: list[subprocess.CompletedProcess[bytes]] = []

        async def run() -> None:
            command = [sys.executable, str(script), str(runtime.executable), str(FIXTURE)]
            env = {**os.environ, **display.env, **control.env, "PYTHONPATH": str(ROOT)}
            with anyio.fail_after(90):
                answers.append(await anyio.run_process(command, env=env, check=False))

        tasks.start_soon(run)
        fixture = await control.connected()
        await fixture.open("webview", window="headful", guests=0)
        await fixture.focus_host("textarea", text="the person's", caret=3)
        state = await fixture.state()

        async def add_guest() -> None:
            with suppress(FixtureGone):  # the script may be done before the guest's last frame has loaded
                await fixture.add_guest()

        tasks.start_soon(add_guest)
        while not answers:  # the script ends the app: the last state that can be read is the one that counts
            with suppress(FixtureGone), anyio.move_on_after(1):
                state = await fixture.state()
            await anyio.sleep(0.01)

    assert answers[0].returncode == 0, answers[0].stderr.decode()
    assert answers[0].stdout.decode().endswith("Typed by the agent\n")
    assert answers[0].stdout.startswith(b"1 http://127.0.0.1:")
    assert state.document("guest", guest=0).values["text"] == "Typed by the agent"
    host = state.document("host")
    assert host.values["textarea"] == "the person's"
    assert host.active == ["textarea"]
    assert not host.records("keydown", "input", "beforeinput")
