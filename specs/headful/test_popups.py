"""Windows that a page opens on an agent's account come up without the focus; the person's own come to the front."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.install import ensure_runtime
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import Embedding
from specs.embeddings import newest_view
from specs.guarded import Stage, guarded, raw, stage

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]

in_any = pytest.mark.only("webview", newest_view(ensure_runtime().version), "window")
TYPED = "1234567890"
#: A webview has popups only where the app says so.
ALLOW = """for (const one of electron.webContents.getAllWebContents()) {
  one.on('will-attach-webview', (_event, preferences) => { preferences.disablePopups = false; });
}"""
CLOSE = """for (const one of electron.BrowserWindow.getAllWindows()) {
  if (one.webContents.getURL().includes('/popup')) one.destroy();
}"""
#: The page it opens has nothing of the fixture's in it.
OPEN = "globalThis.popup = window.open('/popup'); 0"


@pytest.fixture(scope="module")
async def staged(
    request: pytest.FixtureRequest,
    embedding: Embedding,
    runtime: Runtime,
    display: Display,
    janitor: Janitor,
) -> AsyncIterator[Stage]:
    async with stage(request.param, runtime, display, janitor, embedding=embedding) as running:
        if embedding == "webview":
            await running.fixture.execute("main-process", ALLOW)
            await running.fixture.destroy_guest()
            await running.fixture.add_guest()
            if running.guard is not None:
                await running.guard.wait_for_guests(1)
        yield running


class Popups:
    """The person's window in front, and the windows that have come since."""

    def __init__(self, app: Stage, display: Display) -> None:
        self._app, self._display = app, display
        self._before = {window.id for window in display.windows()}
        self._front = display.active_window()

    def opened(self) -> int:
        return len([window for window in self._display.windows() if window.id not in self._before])

    def in_front(self) -> bool:
        """Whether something else than the person's window is."""
        return self._display.active_window() != self._front

    async def close(self) -> None:
        await self._app.fixture.execute("main-process", CLOSE)
        if self._front is not None:
            self._display.activate(self._front)
        await self._app.fixture.settle()


@pytest.fixture
async def popups(app: Stage, display: Display) -> AsyncIterator[Popups]:
    seen = Popups(app, display)
    yield seen
    await seen.close()


async def by_script(app: Stage) -> None:
    await app.send("Runtime.evaluate", {"expression": OPEN, "userGesture": True})


async def by_a_link(app: Stage) -> None:
    code = "Object.assign(document.getElementById('link'), { href: '/popup', target: '_blank' }); 0"
    await app.fixture.execute("guest:0", code)
    await app.click("link")


async def as_the_whole_screen(app: Stage) -> None:
    code = "window.open('/popup', '', 'fullscreen=yes'); 0"
    await app.send("Runtime.evaluate", {"expression": code, "userGesture": True})


async def and_ask_for_the_focus(app: Stage) -> None:
    code = "const one = window.open('/popup'); setTimeout(() => one.focus(), 300); one.focus(); 0"
    await app.send("Runtime.evaluate", {"expression": code, "userGesture": True})


Opening = Callable[[Stage], Awaitable[None]]
OPENINGS: tuple[Opening, ...] = (by_script, by_a_link, as_the_whole_screen, and_ask_for_the_focus)


async def typed(app: Stage) -> str:
    return str((await app.seen()).host.values["textarea"])


async def type_while(app: Stage, act: Opening) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: app.hands.type(TYPED, rate=12))
        await anyio.sleep(0.2)
        await act(app)
    await app.hands.type(TYPED, rate=30)


@in_any
@guarded
class TestGuarded:
    @pytest.mark.parametrize("act", OPENINGS, ids=lambda act: act.__name__)
    async def test_an_agents_window_leaves_the_person_their_keys(
        self, app: Stage, popups: Popups, eventually: Eventually, act: Opening
    ) -> None:
        await type_while(app, act)
        await eventually(popups.opened)
        assert await typed(app) == TYPED * 2
        assert not popups.in_front()

    async def test_the_persons_press_opens_one_in_front(
        self, app: Stage, popups: Popups, eventually: Eventually
    ) -> None:
        code = f"document.getElementById('button').onclick = () => {{ {OPEN} }}; 0"
        await app.send("Runtime.evaluate", {"expression": code})
        await app.hands.click(*(await app.fixture.rects()).on_screen("button"))
        await eventually(popups.opened)
        await eventually(lambda: focused_popup(app))
        await anyio.sleep(
            1.6
        )  # longer than a press of theirs counts: what opens next is not on their account

    async def test_the_app_still_decides(self, app: Stage, popups: Popups, eventually: Eventually) -> None:
        """Its handler is asked, also one that it sets while agents are there."""
        await app.send("Runtime.evaluate", {"expression": "0"})
        await set_handler(app, "() => ({ action: 'deny' })")
        await by_script(app)
        await app.fixture.settle()
        assert popups.opened() == 0
        await set_handler(app, "null")
        await by_script(app)
        await eventually(popups.opened)
        assert not popups.in_front()


@in_any
@raw
class TestRaw:
    """The control: the window comes to the front, and what the person types goes into it."""

    @pytest.mark.parametrize("act", OPENINGS[:2], ids=lambda act: act.__name__)
    async def test_the_persons_keys_are_lost(
        self, app: Stage, popups: Popups, eventually: Eventually, act: Opening
    ) -> None:
        await type_while(app, act)
        await eventually(popups.in_front)
        assert await typed(app) != TYPED * 2


async def focused_popup(app: Stage) -> bool:
    focused = "const one = electron.BrowserWindow.getFocusedWindow();"
    code = f"{focused} return !!one && one.webContents.getURL().includes('/popup')"
    return bool(await app.fixture.execute("main-process", code))


async def set_handler(app: Stage, handler: str) -> None:
    code = f"""for (const one of electron.webContents.getAllWebContents()) {{
      if (one.getURL().includes('/guest/')) one.setWindowOpenHandler({handler});
    }}"""
    await app.fixture.execute("main-process", code)
