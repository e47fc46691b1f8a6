"""cdp-use: CDP over one connection to the browser, with a session for each target."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from cdp_page import Page
from cdp_use.client import CDPClient
from protocol import serve

FOCUS = "document.querySelector('%s').focus()"


class Tasks(Page):
    client: CDPClient
    session: str

    async def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        return await self.client.send_raw(method, params, self.session)

    def event(self, name: str) -> Awaitable[dict[str, Any]]:
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

        def happened(params: dict[str, Any], session: str | None) -> None:
            if not future.done():
                future.set_result(params)

        domain, event = name.split(".")
        getattr(getattr(self.client.register, domain), event)(happened)
        return future

    async def connect(self, http: str, ws: str, url: str) -> None:
        self.client = CDPClient(ws)
        await self.client.start()
        found = [each["targetId"] for each in await self._targets("page") if each["url"] == url]
        if not found:
            raise LookupError("no page at that address")
        self.session = await self._attach(found[0])
        await self.call("Page.enable")
        await self.call("DOM.enable")

    async def pages(self) -> list[str]:
        return [each["url"] for each in await self._targets("page")]

    async def fill_frame(self, frame: str, selector: str, text: str) -> None:
        described = await self.call("DOM.describeNode", nodeId=await self._node(frame))
        if any(each["targetId"] == described["node"]["frameId"] for each in await self._targets("iframe")):
            # A frame of another process is a target of its own.
            session = await self._attach(described["node"]["frameId"])
            focus = FOCUS % selector
            await self.client.send.Runtime.evaluate({"expression": focus}, session_id=session)
            await self.client.send.Input.insertText({"text": text}, session_id=session)
            return
        await self._evaluate(
            f"document.querySelector('{frame}').contentDocument.querySelector('{selector}').focus()"
        )
        await self.call("Input.insertText", text=text)

    async def new_tab(self, url: str) -> None:
        await self.client.send.Target.createTarget({"url": url})

    async def close(self) -> None:
        await self.client.stop()

    async def quit(self) -> None:
        await self.client.send.Browser.close()

    async def _targets(self, kind: str) -> list[dict[str, Any]]:
        found = await self.client.send.Target.getTargets()
        return [dict(each) for each in found["targetInfos"] if each["type"] == kind]

    async def _attach(self, target: str) -> str:
        answer = await self.client.send.Target.attachToTarget({"targetId": target, "flatten": True})
        return str(answer["sessionId"])


asyncio.run(serve(Tasks()))
