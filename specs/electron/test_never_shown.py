"""Views and windows that were never shown: what an agent does arrives there, and what cannot is refused by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import Embedding
from specs.embeddings import VIEWS
from specs.guarded import Stage, guarded, raw, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
NEVER_SHOWN = pytest.mark.only(*VIEWS, "window")
TOUCH = "Input.dispatchTouchEvent"
#: Electron 9 does not show a hidden page for focus emulation.
SHOWN_SINCE = 22


async def press(app: Stage, x: float, y: float) -> str | None:
    event = {"x": x, "y": y, "button": "left", "clickCount": 1}
    down = await app.try_send("Input.dispatchMouseEvent", {"type": "mousePressed", **event})
    return down or await app.try_send("Input.dispatchMouseEvent", {"type": "mouseReleased", **event})


async def move(app: Stage, x: float, y: float) -> str | None:
    return await app.try_send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x + 3, "y": y + 3})


async def wheel(app: Stage, x: float, y: float) -> str | None:
    event = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": 10}
    return await app.try_send("Input.dispatchMouseEvent", event)


async def touch(app: Stage, x: float, y: float) -> str | None:
    down = await app.try_send(TOUCH, {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    return down or await app.try_send(TOUCH, {"type": "touchEnd", "touchPoints": []})


async def tap(app: Stage, x: float, y: float) -> str | None:
    return await app.try_send("Input.synthesizeTapGesture", {"x": x, "y": y})


async def scroll(app: Stage, x: float, y: float) -> str | None:
    gesture = {"x": x, "y": y, "yDistance": -10, "speed": 4000}
    return await app.try_send("Input.synthesizeScrollGesture", gesture)


async def pinch(app: Stage, x: float, y: float) -> str | None:
    gesture = {"x": x, "y": y, "scaleFactor": 1.2, "relativeSpeed": 4000}
    return await app.try_send("Input.synthesizePinchGesture", gesture)


async def key(app: Stage, x: float, y: float) -> str | None:
    return await app.key("a")


Action = Callable[[Stage, float, float], Awaitable[str | None]]
#: What is done, and the event that shows that it has arrived.
ACTIONS: dict[Action, str] = {
    press: "click",
    move: "mousemove",
    wheel: "wheel",
    touch: "touchstart",
    tap: "touchstart",
    scroll: "wheel",
    pinch: "touchstart",
    key: "keydown",
}


@pytest.fixture(scope="module")
async def staged(
    request: pytest.FixtureRequest,
    embedding: Embedding,
    runtime: Runtime,
    display: Display,
    janitor: Janitor,
) -> AsyncIterator[Stage]:
    async with stage(
        request.param, runtime, display, janitor, window="hidden", embedding=embedding
    ) as running:
        yield running


@pytest.fixture
async def app(staged: Stage, embedding: Embedding) -> Stage:
    """New windows and views each time: a page that has been shown once is not what this is about."""
    await staged.fixture.open(embedding, window="hidden")
    await staged.fresh()
    return staged


def arrived(app: Stage, event: str, eventually: Eventually) -> Awaitable[Any]:
    """Waits for an event in the guest's log: such a page gets one frame in a second."""

    async def look() -> bool:
        return bool((await app.fixture.state()).guest().records(event))

    return eventually(look, what=f"the guest sees {event}", seconds=4)


@NEVER_SHOWN
@guarded
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
async def test_the_reply_says_what_the_page_saw(
    app: Stage, action: Action, eventually: Eventually, runtime: Runtime
) -> None:
    refused = await action(app, *await app.at("text"))
    if refused is None:
        await arrived(app, ACTIONS[action], eventually)
        return
    assert refused.startswith("browser_target_hidden")
    assert int(runtime.version.partition(".")[0]) < SHOWN_SINCE
    if "nothing was sent" in refused:
        assert not (await app.seen()).guest().records(ACTIONS[action])


@pytest.mark.only(*VIEWS)
@raw
async def test_raw_a_press_is_answered_and_lost(app: Stage, runtime: Runtime) -> None:
    """The fault; not on Electron 9, which gives a hidden page its presses, as all give them to a hidden window's."""
    x, y = await app.at("text")
    assert await press(app, x, y) is None
    seen = (await app.seen()).guest().records("mousedown")
    assert bool(seen) is (int(runtime.version.partition(".")[0]) < SHOWN_SINCE)
