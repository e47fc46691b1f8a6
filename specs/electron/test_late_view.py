"""A view that is put into a window long after its page has loaded is a guest from then on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import Embedding
from specs.embeddings import VIEWS
from specs.guarded import Stage, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio, pytest.mark.only(*VIEWS)]

Eventually = Callable[..., Awaitable[Any]]
LOAD = """
    const Maker = electron['%s'];
    global.lateView = new Maker();
    await global.lateView.webContents.loadURL('data:text/html,late');
    return null;
"""
PUT = {
    "web-contents-view": "stage.host.contentView.addChildView(global.lateView); return null;",
    "browser-view": "stage.host.addBrowserView(global.lateView); return null;",
}
MAKERS = {"web-contents-view": "WebContentsView", "browser-view": "BrowserView"}


async def pages(app: Stage) -> list[str]:
    found = (await app.client.send("Target.getTargets"))["targetInfos"]
    return [info["url"] for info in found if info["type"] == "page"]


async def test_it_is_listed_when_it_lies_in_the_window(
    runtime: Runtime, display: Display, janitor: Janitor, embedding: Embedding, eventually: Eventually
) -> None:
    async with stage("guarded", runtime, display, janitor, window="hidden", embedding=embedding) as app:
        await app.fixture.execute("main-process", LOAD % MAKERS[embedding])
        await app.fixture.settle()
        assert await pages(app) == [app.url()]
        await app.fixture.execute("main-process", PUT[embedding])

        async def listed() -> bool:
            return "data:text/html,late" in await pages(app)

        await eventually(listed, seconds=3)
