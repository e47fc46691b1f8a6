"""chrome-devtools-mcp: Puppeteer as tools; an element is named by its number in a snapshot of the page."""

from __future__ import annotations

import asyncio
import re

from mcp import Server, picture_of, text_of
from protocol import serve

PROGRAM = "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
PAGE = re.compile(r"^(\d+): .*?(http[^\s)]+)", re.MULTILINE)
#: How a snapshot calls what the tasks call by a selector.
NAMES = {
    "#text": 'textbox "Name"',
    "#textarea": 'textbox "Notes"',
    "#button": 'button "Press"',
    "#select": 'combobox "Colour"',
    "#file": 'button "File"',
}
FRAME_FIELD = 'textbox "Frame text"'
#: Neither has a name; a whole snapshot has them beside something that has.
DRAGGABLE = re.compile(r'uid=(\S+) group\s+uid=\S+ "drag"')
DROP_ZONE = re.compile(r'uid=(\S+) generic\s+uid=\S+ link "to the end"')


class Tasks:
    def __init__(self) -> None:
        self.server = Server()
        self._page: int | None = None

    @property
    def page(self) -> int:
        if self._page is None:
            raise LookupError("no page at that address")
        return self._page

    async def connect(self, http: str, ws: str, url: str) -> None:
        self.server = Server()
        await self.server.start(PROGRAM, "--no-usage-statistics", "--wsEndpoint", ws)
        self._page = next((int(number) for number, address in await self._pages() if address == url), None)
        # Of a page that was there before it, its snapshots give one number to several elements.
        await self.server.tool("navigate_page", pageId=self.page, type="reload")

    async def numbers(self, http: str, ws: str, url: str) -> list[list[str]]:
        """Those in a snapshot, before and after the page is loaded anew."""
        self.server = Server()
        await self.server.start(PROGRAM, "--no-usage-statistics", "--wsEndpoint", ws)
        self._page = next(int(number) for number, address in await self._pages() if address == url)
        before = await self._uids("")
        await self.server.tool("navigate_page", pageId=self.page, type="reload")
        return [before, await self._uids("")]

    async def pages(self) -> list[str]:
        return [address for _, address in await self._pages()]

    async def title(self) -> str:
        said = text_of(await self.server.tool("take_snapshot", pageId=self.page))
        return re.findall(r'RootWebArea "([^"]*)"', said)[0]

    async def navigate(self, url: str) -> None:
        await self.server.tool("navigate_page", pageId=self.page, url=url)

    async def screenshot(self) -> str:
        return picture_of(await self.server.tool("take_screenshot", pageId=self.page))

    async def click(self, selector: str) -> None:
        await self.server.tool("click", pageId=self.page, uid=await self._uid(selector))

    async def double_click(self, selector: str) -> None:
        await self.server.tool("click", pageId=self.page, uid=await self._uid(selector), dblClick=True)

    async def type(self, selector: str, text: str) -> None:
        await self.click(selector)
        await self.server.tool("type_text", pageId=self.page, text=text)

    async def press(self, selector: str, key: str) -> None:
        await self.click(selector)
        await self.server.tool("press_key", pageId=self.page, key=key)

    async def replace(self, selector: str, text: str) -> None:
        await self.click(selector)
        await self.server.tool("press_key", pageId=self.page, key="Control+A")
        await self.server.tool("type_text", pageId=self.page, text=text)

    async def fill_frame(self, frame: str, selector: str, text: str) -> None:
        # The snapshot has the frames in it, in the order of the page.
        uid = (await self._uids(FRAME_FIELD))[0 if frame == "#same-site" else 1]
        await self.server.tool("fill", pageId=self.page, uid=uid, value=text)

    async def choose(self, selector: str, value: str) -> None:
        await self.server.tool("fill", pageId=self.page, uid=await self._uid(selector), value=value)

    async def upload(self, selector: str, path: str) -> None:
        uid = await self._uid(selector)
        await self.server.tool("upload_file", pageId=self.page, uid=uid, filePaths=[path])

    async def accept_dialog(self, selector: str) -> str:
        said = text_of(await self.server.tool("click", pageId=self.page, uid=await self._uid(selector)))
        await self.server.tool("handle_dialog", pageId=self.page, action="accept")
        return re.findall(r"confirm: (.*?)\.? *$", said, re.MULTILINE)[0]

    async def drag(self, source: str, target: str) -> None:
        said = text_of(await self.server.tool("take_snapshot", pageId=self.page, verbose=True))
        start, end = DRAGGABLE.findall(said)[0], DROP_ZONE.findall(said)[0]
        await self.server.tool("drag", pageId=self.page, from_uid=start, to_uid=end)

    async def new_tab(self, url: str) -> None:
        await self.server.tool("new_page", url=url)

    async def close(self) -> None:
        await self.server.stop()

    async def _pages(self) -> list[tuple[str, str]]:
        return PAGE.findall(text_of(await self.server.tool("list_pages")))

    async def _uid(self, selector: str) -> str:
        return (await self._uids(NAMES[selector]))[0]

    async def _uids(self, name: str) -> list[str]:
        said = text_of(await self.server.tool("take_snapshot", pageId=self.page))
        return re.findall(rf"uid=(\S+) {re.escape(name)}", said)


asyncio.run(serve(Tasks()))
