"""pychrome: CDP over a connection to one page, found by the endpoint's list; it knows no sessions inside one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pychrome
from cdp_page import Page
from protocol import serve


class Tasks(Page):
    browser: pychrome.Browser
    tab: pychrome.Tab | None = None

    async def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        # pychrome waits for the answer; an event may have to be answered meanwhile.
        answer: dict[str, Any] = await asyncio.to_thread(self._there().call_method, method, **params)
        return answer

    def event(self, name: str) -> Awaitable[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[dict[str, Any]] = loop.create_future()

        def happened(**params: Any) -> None:
            self._there().set_listener(name, None)
            loop.call_soon_threadsafe(future.set_result, params)

        self._there().set_listener(name, happened)
        return future

    def _there(self) -> pychrome.Tab:
        if self.tab is None:
            raise LookupError("no page at that address")
        return self.tab

    async def connect(self, http: str, ws: str, url: str) -> None:
        self.browser = pychrome.Browser(url=http)
        self.tab = next((tab for tab in self.browser.list_tab() if tab._kwargs["url"] == url), None)
        self._there().start()
        await self.call("Page.enable")
        await self.call("DOM.enable")

    def pages(self) -> list[str]:
        return [tab._kwargs["url"] for tab in self.browser.list_tab()]

    async def fill_frame(self, frame: str, selector: str, text: str) -> None:
        described = await self.call("DOM.describeNode", nodeId=await self._node(frame), pierce=True)
        if "contentDocument" not in described["node"]:  # of another process: a target of its own
            raise NotImplementedError("not offered by the client")
        focus = f"document.querySelector('{frame}').contentDocument.querySelector('{selector}').focus()"
        await self._evaluate(focus)
        await self.call("Input.insertText", text=text)

    def new_tab(self, url: str) -> None:
        self.browser.new_tab(url)

    def close(self) -> None:
        self._there().stop()

    async def quit(self) -> None:
        await self.call("Browser.close")


asyncio.run(serve(Tasks()))
