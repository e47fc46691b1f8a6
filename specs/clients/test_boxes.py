"""Case 24 with Playwright: it answers dialogs and file choosers, and cancels downloads, as everywhere."""

from __future__ import annotations

import pytest
from playwright.async_api import Dialog, async_playwright

from focusguard.electron.display import Display
from focusguard.electron.install import ensure_runtime
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from specs.file_server import file_server
from specs.guarded import stage

pytestmark = [pytest.mark.electron, pytest.mark.headful, pytest.mark.anyio]


class TestPlaywright:
    #: Before Electron 29 the boxes open (docs/architecture.md).
    __test__ = int(ensure_runtime().version.partition(".")[0]) >= 29

    async def test_dialogs_and_file_choosers(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        async with stage("guarded", runtime, display, janitor) as on, async_playwright() as playwright:
            assert on.guard is not None
            since = await on.fresh()
            before = {window.id for window in display.windows()}
            browser = await playwright.chromium.connect_over_cdp(on.guard.endpoint)
            page = browser.contexts[0].pages[0]
            asked: list[tuple[str, str]] = []

            async def accept(dialog: Dialog) -> None:
                asked.append((dialog.type, dialog.message))
                await on.hands.type("mine")
                await dialog.accept()

            page.on("dialog", accept)
            assert await page.evaluate("confirm('Really?')") is True
            page.remove_listener("dialog", accept)
            assert await page.evaluate("confirm('And now?')") is False
            async with page.expect_file_chooser() as chooser:
                await page.click("#file")
            await (await chooser.value).set_files(
                {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"-"}
            )
            assert await page.evaluate("document.querySelector('#file').files[0].name") == "notes.txt"
            await browser.close()
            assert asked == [("confirm", "Really?")]
            assert {window.id for window in display.windows()} == before
            state = await on.seen(since)
            assert state.host.values["textarea"] == "mine"
            assert state.host.active == ["textarea"]


class TestDownloads:
    async def test_it_cancels_one(self, runtime: Runtime, display: Display, janitor: Janitor) -> None:
        async with (
            stage("guarded", runtime, display, janitor) as on,
            file_server() as files,
            async_playwright() as playwright,
        ):
            assert on.guard is not None
            before = {window.id for window in display.windows()}
            browser = await playwright.chromium.connect_over_cdp(on.guard.endpoint)
            page = browser.contexts[0].pages[0]
            async with page.expect_download() as begun:
                await page.evaluate("url => { location.assign(url) }", files.url)
            download = await begun.value
            assert download.suggested_filename == "note.txt"
            await download.cancel()
            assert await download.failure() == "canceled"
            assert {window.id for window in display.windows()} == before
            await browser.close()

    async def test_without_a_bridge_it_connects_and_the_guard_says_what_it_does_not_do(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        async with (
            stage("guarded", runtime, display, janitor, window="hidden", bridge="none") as on,
            async_playwright() as playwright,
        ):
            assert on.guard is not None
            said: list[str] = []
            on.guard.watch(lambda report: said.append(report.kind))
            browser = await playwright.chromium.connect_over_cdp(on.guard.endpoint)
            assert await browser.contexts[0].pages[0].evaluate("1 + 1") == 2
            assert "download.unguarded" in said
            await browser.close()
