"""@playwright/mcp: Playwright as tools; an element is named by a selector."""

from __future__ import annotations

import asyncio
import re

from mcp import Server, picture_of, text_of
from protocol import serve

TAB = re.compile(r"^- (\d+):.*\((\S+)\)", re.MULTILINE)


class Tasks:
    def __init__(self) -> None:
        self.server = Server()

    async def connect(self, http: str, ws: str, url: str) -> None:
        self.server = Server()
        await self.server.start("@playwright/mcp/cli.js", "--cdp-endpoint", http)
        pages = await self.pages()
        if url not in pages:
            raise LookupError("no page at that address")
        await self.server.tool("browser_tabs", action="select", index=pages.index(url))

    async def pages(self) -> list[str]:
        said = text_of(await self.server.tool("browser_tabs", action="list"))
        return [url for _, url in TAB.findall(said)]

    async def title(self) -> str:
        said = text_of(await self.server.tool("browser_snapshot"))
        return re.findall(r"Page Title: (.*)", said)[0]

    async def navigate(self, url: str) -> None:
        await self.server.tool("browser_navigate", url=url)

    async def screenshot(self) -> str:
        return picture_of(await self.server.tool("browser_take_screenshot", scale="device"))

    async def click(self, selector: str) -> None:
        await self.server.tool("browser_click", target=selector)

    async def double_click(self, selector: str) -> None:
        await self.server.tool("browser_click", target=selector, doubleClick=True)

    async def type(self, selector: str, text: str) -> None:
        await self.server.tool("browser_type", target=selector, text=text, slowly=True)

    async def press(self, selector: str, key: str) -> None:
        await self.server.tool("browser_click", target=selector)
        await self.server.tool("browser_press_key", key=key)

    async def replace(self, selector: str, text: str) -> None:
        await self.server.tool("browser_click", target=selector)
        await self.server.tool("browser_press_key", key="Control+a")
        for letter in text:
            await self.server.tool("browser_press_key", key=letter)

    async def fill_frame(self, frame: str, selector: str, text: str) -> None:
        target = f"frameLocator('{frame}').locator('{selector}')"
        await self.server.tool("browser_type", target=target, text=text)

    async def choose(self, selector: str, value: str) -> None:
        await self.server.tool("browser_select_option", target=selector, values=[value])

    async def upload(self, selector: str, path: str) -> None:
        await self.server.tool("browser_click", target=selector)
        await self.server.tool("browser_file_upload", paths=[path])

    async def accept_dialog(self, selector: str) -> str:
        said = text_of(await self.server.tool("browser_click", target=selector))
        await self.server.tool("browser_handle_dialog", accept=True)
        return re.findall(r'dialog with message "(.*)"', said)[0]

    async def drag(self, source: str, target: str) -> None:
        await self.server.tool("browser_drag", startTarget=source, endTarget=target)

    async def new_tab(self, url: str) -> None:
        await self.server.tool("browser_tabs", action="new", url=url)

    async def close(self) -> None:
        await self.server.tool("browser_close")
        await self.server.stop()


asyncio.run(serve(Tasks()))
