"""The worked examples of docs/examples: an agent fills in a form while a person types into a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]

ROOT = Path(__file__).parents[2]
#: A folder of each kind of driver, what runs it, and where its npm packages are.
EXAMPLES = {
    "playwright": [sys.executable, "playwright/agent.py"],
    "puppeteer": ["node", "puppeteer/agent.mjs"],
}
TYPED = "the person writes on"
FILLED = "Ada Lovelace: the engine weaves patterns (urgent)\n"
ACTING = "Terminal and page (an agent is acting)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The examples with their npm packages, which are those that the specs have."""
    copied = tmp_path / "examples"
    shutil.copytree(ROOT / "docs" / "examples", copied, ignore=shutil.ignore_patterns("node_modules"))
    (copied / "app" / "node_modules").symlink_to(ROOT / "node_modules")
    (copied / "puppeteer" / "node_modules").symlink_to(ROOT / "specs" / "clients" / "node_modules")
    return copied


@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_form_is_filled_in_and_the_person_loses_no_key(
    folder: Path, name: str, runtime: Runtime, display: Display, eventually: Eventually
) -> None:
    log = folder / "terminal.log"
    before = {window.id for window in display.windows()}
    program, script = EXAMPLES[name]
    env = {
        **os.environ,
        **display.env,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TERMINAL_LOG": str(log),
    }
    command = [program, str(folder / script), str(runtime.executable)]
    titles: set[str] = set()

    def acting() -> bool:
        titles.update(window.title for window in display.windows() if window.id not in before)
        return ACTING in titles

    said = (folder / "said").open("w+b")
    with said, (folder / "complaints").open("w+b") as complaints:
        process = await anyio.open_process(command, env=env, stdin=None, stdout=said, stderr=complaints)
        try:
            await eventually(acting, seconds=60)
            await Person(display).type(TYPED, rate=10)
            at_work = process.returncode is None
            with anyio.fail_after(60):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        complaints.seek(0)
        assert process.returncode == 0, complaints.read().decode()
        said.seek(0)
        assert said.read().decode() == FILLED
    assert at_work, "the person was to type while the agent is at work"
    assert log.read_text("utf-8") == TYPED
    await eventually(lambda: {window.id for window in display.windows()} <= before)


async def test_the_control_without_the_guard_the_app_is_an_app(
    folder: Path, runtime: Runtime, display: Display, eventually: Eventually
) -> None:
    """`focusguard-bridge` does nothing without a guard; the person types as ever."""
    log = folder / "terminal.log"
    before = {window.id for window in display.windows()}
    env = {**os.environ, **display.env, "TERMINAL_LOG": str(log)}
    command = [
        str(runtime.executable),
        "--no-sandbox",
        f"--user-data-dir={folder / 'profile'}",
        str(folder / "app"),
    ]
    with (folder / "complaints").open("w+b") as complaints:
        process = await anyio.open_process(command, env=env, stdin=None, stdout=complaints, stderr=complaints)
        try:
            await eventually(
                lambda: (
                    "Terminal and page" in {one.title for one in display.windows() if one.id not in before}
                ),
                seconds=60,
            )
            await display.wait_for_window(active=True)

            async def arrives() -> bool:
                await Person(display).type("x")
                return log.exists() and log.read_text("utf-8").endswith("x")

            await eventually(arrives)
        finally:
            process.terminate()
            with anyio.fail_after(10):
                await process.wait()
