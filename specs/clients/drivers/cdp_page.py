"""What a program does with a page over bare CDP, for clients that send methods and nothing more."""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Awaitable
from typing import Any

ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
SELECT_ALL = {"key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65, "modifiers": 2}
CODES = {" ": "Space", "0": "Digit0", "1": "Digit1"}
CENTRE = """(() => {
  const box = document.querySelector('%s').getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
})()"""


class Page(abc.ABC):
    """A client's connection to one page."""

    @abc.abstractmethod
    async def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Sends a command to the page."""

    @abc.abstractmethod
    def event(self, name: str) -> Awaitable[dict[str, Any]]:
        """The next event of that name."""

    async def title(self) -> str:
        return str(await self._evaluate("document.title"))

    async def navigate(self, url: str) -> None:
        loaded = self.event("Page.loadEventFired")
        await self.call("Page.navigate", url=url)
        await loaded

    async def screenshot(self) -> str:
        return str((await self.call("Page.captureScreenshot"))["data"])

    async def click(self, selector: str) -> None:
        await self._click_at(await self._centre(selector))

    async def double_click(self, selector: str) -> None:
        place = await self._centre(selector)
        await self._click_at(place)
        await self._click_at(place, 2)

    async def type(self, selector: str, text: str) -> None:
        await self.call("DOM.focus", nodeId=await self._node(selector))
        await self._write(text)

    async def press(self, selector: str, key: str) -> None:
        assert key == "Enter"
        await self.call("DOM.focus", nodeId=await self._node(selector))
        await self._press(ENTER)

    async def replace(self, selector: str, text: str) -> None:
        await self._click_at(await self._centre(selector))
        await self._press(SELECT_ALL)
        await self._write(text)

    async def choose(self, selector: str, value: str) -> None:
        await self.call("DOM.focus", nodeId=await self._node(selector))
        await self._write(value[0])

    async def upload(self, selector: str, path: str) -> None:
        await self.call("DOM.setFileInputFiles", nodeId=await self._node(selector), files=[path])

    async def accept_dialog(self, selector: str) -> str:
        opening = self.event("Page.javascriptDialogOpening")
        # The release is answered when the dialog has been.
        click = asyncio.ensure_future(self.click(selector))
        said = (await opening)["message"]
        await self.call("Page.handleJavaScriptDialog", accept=True)
        await click
        return str(said)

    async def scroll(self, selector: str, down: float) -> None:
        await self._mouse("mouseWheel", await self._centre(selector), deltaX=0, deltaY=down)

    async def drag(self, source: str, target: str) -> None:
        start, end = await self._centre(source), await self._centre(target)
        await self.call("Input.setInterceptDrags", enabled=True)
        begun = self.event("Input.dragIntercepted")
        await self._mouse("mousePressed", start, button="left", clickCount=1)
        await self._mouse("mouseMoved", end, button="left")
        data = (await begun)["data"]
        for kind in ("dragEnter", "dragOver", "drop"):
            await self.call("Input.dispatchDragEvent", type=kind, **end, data=data)
        await self._mouse("mouseReleased", end, button="left", clickCount=1)
        await self.call("Input.setInterceptDrags", enabled=False)

    async def _evaluate(self, expression: str) -> Any:
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    async def _node(self, selector: str) -> int:
        root = (await self.call("DOM.getDocument"))["root"]["nodeId"]
        return int((await self.call("DOM.querySelector", nodeId=root, selector=selector))["nodeId"])

    async def _centre(self, selector: str) -> dict[str, float]:
        place: dict[str, float] = await self._evaluate(CENTRE % selector)
        return place

    async def _mouse(self, kind: str, place: dict[str, float], **more: Any) -> None:
        await self.call("Input.dispatchMouseEvent", type=kind, **place, **more)

    async def _click_at(self, place: dict[str, float], count: int = 1) -> None:
        await self._mouse("mousePressed", place, button="left", clickCount=count)
        await self._mouse("mouseReleased", place, button="left", clickCount=count)

    async def _press(self, key: dict[str, Any]) -> None:
        await self.call("Input.dispatchKeyEvent", type="keyDown", **key)
        released = {name: value for name, value in key.items() if name != "text"}
        await self.call("Input.dispatchKeyEvent", type="keyUp", **released)

    async def _write(self, text: str) -> None:
        for letter in text:
            capital = letter.upper()
            code = CODES.get(letter, f"Key{capital}")
            key = {"key": letter, "text": letter, "code": code, "windowsVirtualKeyCode": ord(capital)}
            await self._press(key)
