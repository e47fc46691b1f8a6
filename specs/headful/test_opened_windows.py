"""Downloads in a window that an agent's page has opened are on the account of that page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from focusguard.electron.display import Display
from focusguard.electron.install import ensure_runtime
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from specs.embeddings import newest_view
from specs.file_server import FileServer, file_server
from specs.guarded import Route, Stage, stage

pytestmark = [pytest.mark.electron, pytest.mark.headful, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]

SET = "Browser.setDownloadBehavior"
#: The second one's page is not to know who has opened it.
WAYS = ["", "noopener"]
#: A window that is one link to a file.
WITH_LINK = """globalThis.opened = window.open('about:blank');
opened.document.body.innerHTML = `<a href="URL" style="position: fixed; inset: 0">file</a>`;
opened.document.querySelector('a').focus(); 0"""

#: The app makes the windows that the page opens, and Electron tells nobody of them.
APP_MAKES = """electron.webContents.fromId(NUMBER).setWindowOpenHandler(() => ({ action: 'allow',
  createWindow: (options) => new electron.BrowserWindow(options).webContents }))"""


@pytest.fixture
async def on(
    request: pytest.FixtureRequest, runtime: Runtime, display: Display, janitor: Janitor
) -> AsyncIterator[Stage]:
    """A page in a view, which may open windows."""
    route: Route = request.param
    async with stage(route, runtime, display, janitor, embedding=newest_view(runtime.version)) as running:
        await running.fresh()
        yield running


guarded = pytest.mark.parametrize("on", ["guarded"], indirect=True)
raw = pytest.mark.parametrize("on", ["raw"], indirect=True)


async def opens(on: Stage, url: str, features: str) -> None:
    await on.send("Runtime.evaluate", {"expression": f"window.open('{url}', '', '{features}'); 0"})


def titles(display: Display, before: set[int]) -> list[str]:
    """The windows that have come; a box that asks where to save is called by what it asks about."""
    return [window.title for window in display.windows() if window.id not in before]


@pytest.fixture
async def files() -> AsyncIterator[FileServer]:
    async with file_server() as serving:
        serving.go_on.set()
        yield serving


@guarded
class TestGuarded:
    #: Electron before 12 does not tell who has opened a window.
    __test__ = int(ensure_runtime().version.partition(".")[0]) >= 12

    @pytest.mark.parametrize("features", WAYS)
    async def test_it_is_saved_where_the_client_said(
        self,
        on: Stage,
        display: Display,
        files: FileServer,
        eventually: Eventually,
        tmp_path: Path,
        features: str,
    ) -> None:
        before = {window.id for window in display.windows()}
        told: list[Any] = []

        def hear(event: dict[str, Any]) -> None:
            if "download" in event["method"]:
                told.append((event["method"], event["params"]))

        on.client.on_event = hear
        target = (await on.guest()).target_id
        saving = {"behavior": "allow", "downloadPath": str(tmp_path), "eventsEnabled": True}
        await on.client.send(SET, saving)
        await opens(on, files.url, features)
        await eventually(lambda: [path.read_text("utf-8") for path in tmp_path.iterdir()] == ["hello"])
        await eventually(lambda: told)
        assert (told[0][0], told[0][1]["frameId"]) == ("Browser.downloadWillBegin", target)
        assert files.url not in titles(display, before)

    async def test_in_a_window_that_the_app_makes(
        self,
        on: Stage,
        display: Display,
        files: FileServer,
        eventually: Eventually,
        tmp_path: Path,
    ) -> None:
        before = {window.id for window in display.windows()}
        assert on.fixture.opened is not None
        number = on.fixture.opened.guests[0].web_contents_id
        await on.fixture.execute("main-process", APP_MAKES.replace("NUMBER", str(number)))
        await on.client.send(SET, {"behavior": "allow", "downloadPath": str(tmp_path)})
        await opens(on, files.url, "")
        await eventually(lambda: [path.read_text("utf-8") for path in tmp_path.iterdir()] == ["hello"])
        assert files.url not in titles(display, before)

    async def test_it_is_cancelled_where_nobody_said_where_to(
        self,
        on: Stage,
        display: Display,
        files: FileServer,
        eventually: Eventually,
    ) -> None:
        before = {window.id for window in display.windows()}
        assert on.guard is not None
        kept: list[Any] = []
        on.guard.watch(lambda report: kept.append(report.facts) if report.kind == "download.kept" else None)
        await opens(on, files.url, "")
        await eventually(lambda: kept)
        assert kept[0]["targetId"] == (await on.guest()).target_id
        await on.fixture.settle()
        assert files.url not in titles(display, before)

    @pytest.mark.parametrize("how", ["press", "key"])
    async def test_the_persons_own_is_asked_about(
        self,
        on: Stage,
        display: Display,
        files: FileServer,
        eventually: Eventually,
        how: str,
    ) -> None:
        before = {window.id for window in display.windows()}
        await on.send("Runtime.evaluate", {"expression": WITH_LINK.replace("URL", files.url)})
        await eventually(lambda: titles(display, before))
        await on.fixture.settle()
        (window,) = [window for window in display.windows() if window.id not in before]
        if how == "press":
            await on.hands.click(window.x + 50, window.y + 50)
        else:  # it has come without the focus: by its title bar
            await on.hands.click(window.x + 50, window.y - 8)
            await eventually(lambda: display.active_window() not in before)
            await on.hands.key("Return")
        await eventually(lambda: files.url in titles(display, before))


@raw
class TestRaw:
    @pytest.mark.parametrize("features", WAYS)
    async def test_the_person_is_asked(
        self,
        on: Stage,
        display: Display,
        files: FileServer,
        eventually: Eventually,
        features: str,
    ) -> None:
        before = {window.id for window in display.windows()}
        await opens(on, files.url, features)
        await eventually(lambda: files.url in titles(display, before))
