"""Another window is in front: nothing that an agent does to its guest brings the app there, and it sees its guest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from focusguard.electron.display import Display
from probes.landing.cdp_client import CdpError
from probes.landing.watch import FrontWatch, watch_front
from specs.elsewhere import Elsewhere, elsewhere
from specs.guarded import Stage, guarded, raw
from specs.pictures import PAINT, UNPAINT, share_of_colour

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

#: What might bring a window to the front: the method, its parameters, and whether it goes to the whole browser.
RAISING: dict[str, tuple[str, dict[str, Any], bool]] = {
    "bringToFront": ("Page.bringToFront", {}, False),
    "activateTarget": ("Target.activateTarget", {"targetId": "TARGET"}, True),
    "createTarget": ("Target.createTarget", {"url": "about:blank"}, True),
    "createTarget window": ("Target.createTarget", {"url": "about:blank", "newWindow": True}, True),
    "setWindowBounds": (
        "Browser.setWindowBounds",
        {"windowId": 1, "bounds": {"windowState": "normal"}},
        True,
    ),
    "setWindowBounds maximized": (
        "Browser.setWindowBounds",
        {"windowId": 1, "bounds": {"windowState": "maximized"}},
        True,
    ),
    "lifecycle active": ("Page.setWebLifecycleState", {"state": "active"}, False),
    "lifecycle frozen": ("Page.setWebLifecycleState", {"state": "frozen"}, False),
    "focus emulation": ("Emulation.setFocusEmulationEnabled", {"enabled": True}, False),
    "window.focus": ("Runtime.evaluate", {"expression": "window.focus()", "userGesture": True}, False),
    "open a window": (
        "Runtime.evaluate",
        {"expression": "window.open('about:blank')", "userGesture": True},
        False,
    ),
}


@pytest.fixture
async def other(app: Stage, display: Display) -> AsyncIterator[Elsewhere]:
    """Another program in front, with the focus."""
    async with elsewhere(display) as window:
        await window.activate()
        yield window


@pytest.fixture
async def front(other: Elsewhere, display: Display) -> AsyncIterator[FrontWatch]:
    async with watch_front(display) as watch:
        yield watch


@pytest.fixture(autouse=True)
async def thawed(app: Stage) -> AsyncIterator[None]:
    """A page that was frozen stays so when its client has left."""
    yield
    await app.send("Page.setWebLifecycleState", {"state": "active"})


async def attempt(app: Stage, what: str) -> str | None:
    """Sends it; gives the error that it was answered with."""
    method, params, browser = RAISING[what]
    sessions = await app.guest()
    params = {name: sessions.target_id if value == "TARGET" else value for name, value in params.items()}
    if not browser:
        return await app.try_send(method, params)
    try:
        await app.client.send(method, params)
    except CdpError as error:
        return str(error)
    return None


async def shown(app: Stage) -> float:
    """How much of a screenshot of the guest has the guest's colour."""
    await app.fixture.execute("guest:0", PAINT)
    try:
        picture = (await app.send("Page.captureScreenshot", {"format": "png"}))["data"]
    finally:
        await app.fixture.execute("guest:0", UNPAINT)
    share = await app.fixture.execute("host", share_of_colour(picture))
    return float(share)


@guarded
class TestAnotherProgramIsInFront:
    @pytest.mark.parametrize("what", list(RAISING))
    async def test_it_stays_there(self, app: Stage, other: Elsewhere, front: FrontWatch, what: str) -> None:
        before = (await app.seen()).windows
        mark = front.mark()
        error = await attempt(app, what)
        await app.fixture.settle()
        await app.hands.type("mine", rate=40)
        assert (other.typed, other.times_left, front.changes(mark)) == ("mine", 0, []), error
        after = await app.seen()
        assert [(w.name, w.bounds, w.minimized) for w in after.windows] == [
            (w.name, w.bounds, w.minimized) for w in before
        ]
        assert [document.name for document in after.having("keydown", "input")] == []

    async def test_input_and_a_screenshot_do_not_bring_the_app_there(
        self, app: Stage, other: Elsewhere, front: FrontWatch
    ) -> None:
        mark = front.mark()
        await app.click("text")
        assert await app.insert("typed") is None
        for key in ("a", "Tab", "Enter"):
            assert await app.key(key) is None
        assert await shown(app) > 0.4
        await app.hands.type("mine", rate=40)
        assert (other.typed, other.times_left, front.changes(mark)) == ("mine", 0, [])
        assert (await app.seen()).guest().values["text"] == "typeda"

    @pytest.mark.parametrize("what", ["bringToFront", "activateTarget", "lifecycle active"])
    async def test_a_screenshot_afterwards_shows_this_guest(
        self, app: Stage, other: Elsewhere, what: str
    ) -> None:
        assert await attempt(app, what) is None
        assert await shown(app) > 0.4

    @pytest.mark.parametrize("what", ["createTarget", "setWindowBounds"])
    async def test_what_is_not_done_is_refused(self, app: Stage, what: str) -> None:
        error = await attempt(app, what)
        assert error is not None and error.startswith("browser_"), error


@guarded
class TestAnotherWindowOfTheAppIsInFront:
    @pytest.mark.parametrize("what", ["bringToFront", "activateTarget", "lifecycle active", "window.focus"])
    async def test_the_persons_keys_stay_in_it(self, app: Stage, what: str) -> None:
        await app.fixture.sentinel(open=True, focus=True)
        since = await app.fixture.settle()
        await attempt(app, what)
        await app.click("text")
        await app.key("Tab")
        await app.hands.type("mine", rate=40)
        state = await app.seen(since)
        sentinel = state.document("sentinel")
        assert sentinel.values["sentinel"] == "mine"
        assert sentinel.records("blur") == []
        assert [(event.type, event.window) for event in state.window_log if event.window is not None] == []


@raw
class TestAnotherProgramIsInFrontRaw:
    async def test_a_screenshot_shows_this_guest(self, app: Stage, other: Elsewhere) -> None:
        assert await shown(app) > 0.4

    async def test_bring_to_front_takes_the_persons_keys(
        self, app: Stage, other: Elsewhere, front: FrontWatch
    ) -> None:
        mark = front.mark()
        assert await attempt(app, "bringToFront") is None
        await app.fixture.settle()
        await app.hands.type("mine", rate=40)
        assert (other.typed, other.times_left) == ("", 1)
        assert front.changes(mark)[-1:] == ["fixture host"]

    @pytest.mark.parametrize("what", [what for what in RAISING if what != "bringToFront"])
    async def test_no_fault_is_shown(
        self, app: Stage, other: Elsewhere, front: FrontWatch, what: str
    ) -> None:
        """Electron 33 does not implement `createTarget` and `setWindowBounds`, and the others leave the front alone."""
        mark = front.mark()
        error = await attempt(app, what)
        await app.fixture.settle()
        await app.hands.type("mine", rate=40)
        assert (other.typed, other.times_left, front.changes(mark)) == ("mine", 0, []), error
        assert (error is not None) == what.startswith(("createTarget", "setWindowBounds")), error
