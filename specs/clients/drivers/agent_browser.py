"""agent-browser: a command line, with a process of its own behind it for each session."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

from protocol import serve

PROGRAM = Path(__file__).parents[1] / "node_modules" / "agent-browser" / "bin" / "agent-browser.js"
SESSION = f"s{os.getpid()}"


async def run(*command: str) -> Any:
    """Runs a command; gives the data of its answer, or raises its error."""
    process = await asyncio.create_subprocess_exec(
        *("node", str(PROGRAM), "--session", SESSION, "--json", *command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    answer = json.loads(said)
    if not answer["success"]:
        raise RuntimeError(answer["error"])
    return answer["data"]


class Tasks:
    async def connect(self, http: str, ws: str, url: str) -> None:
        await run("connect", ws)
        tabs = (await run("tab", "list"))["tabs"]
        await run("tab", next(tab["tabId"] for tab in tabs if tab["url"] == url))

    async def pages(self) -> list[str]:
        return [tab["url"] for tab in (await run("tab", "list"))["tabs"]]

    async def title(self) -> str:
        return str((await run("get", "title"))["title"])

    async def navigate(self, url: str) -> None:
        await run("open", url)

    async def screenshot(self) -> str:
        path = Path("picture.png").resolve()
        await run("screenshot", str(path))
        return base64.b64encode(path.read_bytes()).decode()

    async def click(self, selector: str) -> None:
        await run("click", selector)

    async def double_click(self, selector: str) -> None:
        await run("dblclick", selector)

    async def type(self, selector: str, text: str) -> None:
        await run("type", selector, text)

    async def press(self, selector: str, key: str) -> None:
        await run("focus", selector)
        await run("press", key)

    async def replace(self, selector: str, text: str) -> None:
        await run("click", selector)
        await run("press", "Control+a")
        await run("keyboard", "type", text)

    async def fill_frame(self, frame: str, selector: str, text: str) -> None:
        await run("frame", frame)
        try:
            await run("fill", selector, text)
        finally:
            await run("frame", "main")

    async def choose(self, selector: str, value: str) -> None:
        await run("select", selector, value)

    async def upload(self, selector: str, path: str) -> None:
        await run("upload", selector, path)

    async def accept_dialog(self, selector: str) -> str:
        await run("click", selector)
        said = (await run("dialog", "status"))["message"]
        await run("dialog", "accept")
        return str(said)

    async def scroll(self, selector: str, down: float) -> None:
        await run("scroll", "down", str(down), "--selector", selector)

    async def drag(self, source: str, target: str) -> None:
        await run("drag", source, target)

    async def new_tab(self, url: str) -> None:
        await run("tab", "new", url)

    async def close(self) -> None:
        await run("close")


asyncio.run(serve(Tasks()))
