"""Playwright for Python, as its documentation has it."""

from __future__ import annotations

import asyncio
import base64

from playwright.async_api import Browser, Dialog, Page, Playwright, async_playwright
from protocol import serve


class Tasks:
    browser: Browser
    page: Page

    def __init__(self, playwright: Playwright) -> None:
        self.playwright = playwright

    async def connect(self, http: str, ws: str, url: str) -> None:
        self.browser = await self.playwright.chromium.connect_over_cdp(http)
        found = [page for page in self.browser.contexts[0].pages if page.url == url]
        if not found:
            raise LookupError("no page at that address")
        self.page = found[0]

    def pages(self) -> list[str]:
        return [page.url for context in self.browser.contexts for page in context.pages]

    async def title(self) -> str:
        return await self.page.title()

    async def navigate(self, url: str) -> None:
        await self.page.goto(url)

    async def screenshot(self) -> str:
        return base64.b64encode(await self.page.screenshot()).decode()

    async def click(self, selector: str) -> None:
        await self.page.click(selector)

    async def double_click(self, selector: str) -> None:
        await self.page.dblclick(selector)

    async def type(self, selector: str, text: str) -> None:
        await self.page.locator(selector).press_sequentially(text)

    async def press(self, selector: str, key: str) -> None:
        await self.page.press(selector, key)

    async def replace(self, selector: str, text: str) -> None:
        await self.page.click(selector)
        await self.page.keyboard.press("Control+a")
        await self.page.keyboard.type(text)

    async def fill_frame(self, frame: str, selector: str, text: str) -> None:
        await self.page.frame_locator(frame).locator(selector).fill(text)

    async def choose(self, selector: str, value: str) -> None:
        await self.page.select_option(selector, value)

    async def upload(self, selector: str, path: str) -> None:
        await self.page.set_input_files(selector, path)

    async def accept_dialog(self, selector: str) -> str:
        said: list[str] = []

        async def accept(dialog: Dialog) -> None:
            said.append(dialog.message)
            await dialog.accept()

        self.page.once("dialog", accept)
        await self.page.click(selector)
        return said[0]

    async def scroll(self, selector: str, down: float) -> None:
        await self.page.hover(selector)
        await self.page.mouse.wheel(0, down)

    async def drag(self, source: str, target: str) -> None:
        await self.page.drag_and_drop(source, target)

    async def new_tab(self, url: str) -> None:
        page = await self.browser.contexts[0].new_page()
        await page.goto(url)

    async def close(self) -> None:
        await self.browser.close()


async def main() -> None:
    async with async_playwright() as playwright:
        await serve(Tasks(playwright))


asyncio.run(main())
