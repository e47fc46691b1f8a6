"""Views (`WebContentsView`, `BrowserView`) beside the page that a person types into: what they need, and what not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import Embedding
from specs.embeddings import VIEWS
from specs.guarded import FOCUS, Stage, guarded, raw, stage

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

in_views = pytest.mark.only(*VIEWS)
TYPED = "1234567890"
AUTOFOCUS = "data:text/html,<input autofocus>"


@pytest.fixture(scope="module")
async def staged(
    request: pytest.FixtureRequest,
    embedding: Embedding,
    runtime: Runtime,
    display: Display,
    janitor: Janitor,
) -> AsyncIterator[Stage]:
    async with stage(request.param, runtime, display, janitor, embedding=embedding) as running:
        yield running


async def navigate(app: Stage) -> None:
    await app.send("Page.navigate", {"url": f"{app.url()}&again=1"})


async def navigate_to_autofocus(app: Stage) -> None:
    await app.send("Page.navigate", {"url": AUTOFOCUS})


async def reload(app: Stage) -> None:
    await app.send("Page.reload")


async def go_by_script(app: Stage) -> None:
    await app.send("Runtime.evaluate", {"expression": f"location.href = '{app.url()}&again=2'"})


async def follow_a_link(app: Stage) -> None:
    """A press, and the navigation that it causes within a few milliseconds."""
    code = f"void (document.getElementById('link').href = '{app.url()}&again=3')"
    await app.fixture.execute("guest:0", code)
    await app.click("link")


async def come_anew(app: Stage) -> None:
    """The app closes the view and opens another one, which loads its first page."""
    await app.fixture.destroy_guest()
    await app.fixture.add_guest()


Navigation = Callable[[Stage], Awaitable[None]]
NAVIGATIONS: tuple[Navigation, ...] = (
    navigate,
    navigate_to_autofocus,
    reload,
    go_by_script,
    follow_a_link,
    come_anew,
)


async def value(app: Stage) -> str:
    return str((await app.seen()).host.values["textarea"])


@in_views
@guarded
class TestInput:
    async def test_nothing_is_borrowed_and_nobody_notices(self, app: Stage) -> None:
        await app.fixture.focus_guest("text")
        seq = await app.fixture.settle()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: app.hands.type(TYPED, rate=20))
            for _ in range(3):
                await app.click("text")
                assert await app.key("a") is None
                assert await app.key("Tab") is None
        state = await app.seen(seq)
        assert state.host.values["textarea"] == TYPED
        assert not state.host.records(*FOCUS)
        assert state.guest().values["text"] == "aaa"
        metrics = await app.client.send("FocusGuard.getMetrics")
        assert metrics["borrows"] == 0

    @pytest.mark.parametrize("native", [0, 27])
    async def test_no_accelerator_fires(self, app: Stage, native: int) -> None:
        await app.fixture.focus_guest("text")
        assert await app.key("ctrl+r", nativeVirtualKeyCode=native) is None
        state = await app.seen()
        assert not any(state.accelerators.values())
        assert state.guest().records("keydown")


@in_views
@raw
class TestRawInput:
    """The control: a view keeps to itself but for keys with a native code."""

    async def test_a_press_takes_nothing(self, app: Stage) -> None:
        seq = await app.fixture.settle()
        await app.click("text")
        await app.hands.type(TYPED)
        state = await app.seen(seq)
        assert state.host.values["textarea"] == TYPED
        assert not state.host.records(*FOCUS)

    async def test_a_key_with_a_native_code_reaches_the_menu(self, app: Stage) -> None:
        await app.fixture.focus_guest("text")
        await app.key("ctrl+r", nativeVirtualKeyCode=27)
        assert (await app.seen()).accelerators["Ctrl+R"] == 1


@in_views
@guarded
class TestNavigation:
    @pytest.mark.parametrize("go", NAVIGATIONS, ids=lambda go: go.__name__)
    async def test_the_persons_keys_stay_with_them(self, app: Stage, go: Navigation) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: app.hands.type(TYPED, rate=12))
            await anyio.sleep(0.1)
            await go(app)
        await app.hands.type(TYPED)
        state = await app.seen()
        assert state.host.values["textarea"] == TYPED * 2
        assert state.host.has_focus


@pytest.mark.only("web-contents-view")
@raw
class TestRawNavigation:
    """The control: Electron focuses a `WebContentsView` when it navigates. A `BrowserView` it leaves alone."""

    @pytest.mark.parametrize("go", NAVIGATIONS, ids=lambda go: go.__name__)
    async def test_the_next_keys_are_lost(self, app: Stage, go: Navigation) -> None:
        await go(app)
        await anyio.sleep(0.3)
        await app.hands.type(TYPED)
        assert await value(app) == ""


@in_views
@guarded
class TestThePersonInTheView:
    async def test_the_guard_does_not_fight_them(self, app: Stage) -> None:
        await app.hands.click(*(await app.fixture.rects()).on_screen("text"))
        await app.hands.type(TYPED)
        assert await app.key("a") is None
        await app.hands.type(TYPED)
        state = await app.seen()
        assert state.guest().values["text"] == f"{TYPED}a{TYPED}"
        assert state.host.values["textarea"] == ""

    async def test_nor_when_the_view_navigates(self, app: Stage) -> None:
        await app.hands.click(*(await app.fixture.rects()).on_screen("text"))
        await app.fixture.settle()
        await anyio.sleep(0.6)  # longer than a press counts as the reason of a focus
        await reload(app)
        await anyio.sleep(0.3)
        await app.hands.type(TYPED)
        state = await app.seen()
        assert state.host.values["textarea"] == ""
        seen = "".join(state.guest().keys())
        assert seen and TYPED.endswith(seen)  # a page that has just come drops some: it is not there yet
