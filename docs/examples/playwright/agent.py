"""Fills in the form while somebody types into the terminal beside it: `python agent.py ELECTRON`."""

import asyncio
import sys
from pathlib import Path

from playwright.async_api import async_playwright

import focusguard

APP = Path(__file__).parent.parent / "app"


async def main(electron: str) -> None:
    """Start the app, fill in its form, and say what the page answers."""
    async with focusguard.launch(electron, APP) as guard, async_playwright() as playwright:
        await guard.wait_for_guests(1)
        browser = await playwright.chromium.connect_over_cdp(guard.endpoint)
        page = browser.contexts[0].pages[0]
        await page.get_by_label("Name").click()
        await page.keyboard.type("Ada Lovelace", delay=100)
        await page.keyboard.press("Tab")
        await page.keyboard.type("the engine weaves patterns", delay=100)
        await page.get_by_label("Urgent").check()
        await page.get_by_role("button", name="Send").click()
        print(await page.locator("output").inner_text())


asyncio.run(main(sys.argv[1]))
