"""Case 4: presses of every kind, into a guest that is shown or not, while a person types and then pastes."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from specs.guarded import FOCUS, Stage, guarded, raw, records

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

TEXT = "sphinxofblack"
RATE = 12.0
#: What may hide a guest from the person, without the app knowing.
SHOWN = ("", "visibility:hidden", "opacity:0", "display:none")
Press = Callable[[Stage], Coroutine[Any, Any, None]]
MOUSE, TOUCH = "Input.dispatchMouseEvent", "Input.dispatchTouchEvent"


def _mouse(kind: str, place: tuple[float, float], **more: Any) -> dict[str, Any]:
    return {"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1, **more}


async def without_release(app: Stage) -> None:
    await app.try_send(MOUSE, _mouse("mousePressed", await app.at("button")))


async def right_button(app: Stage) -> None:
    place = await app.at("button")
    for kind in ("mousePressed", "mouseReleased"):
        await app.try_send(MOUSE, _mouse(kind, place, button="right"))


async def double(app: Stage) -> None:
    place = await app.at("button")
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            await app.try_send(MOUSE, _mouse(kind, place, clickCount=count))


async def on_something_draggable(app: Stage) -> None:
    x, y = await app.at("draggable")
    await app.try_send(MOUSE, _mouse("mousePressed", (x, y)))
    for step in (5, 10, 20):
        await app.try_send(MOUSE, _mouse("mouseMoved", (x + step, y), buttons=1))
    await app.try_send(MOUSE, _mouse("mouseReleased", (x + 20, y)))


async def touch(app: Stage) -> None:
    x, y = await app.at("button")
    await app.try_send(TOUCH, {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    await app.try_send(TOUCH, {"type": "touchEnd", "touchPoints": []})


PRESSES: tuple[Press, ...] = (without_release, right_button, double, on_something_draggable, touch)


def named(press: Any) -> str:
    return str(getattr(press, "__name__", press) or "shown")


async def clipped(app: Stage) -> int:
    """The person has a word on the clipboard, and the caret in an empty field."""
    await app.guest()
    await app.fixture.focus_host("textarea", text="")
    await app.hands.type("clip")
    await app.hands.key("ctrl+a")
    await app.hands.key("ctrl+x")
    return await app.fixture.settle()


async def show(app: Stage, style: str) -> None:
    name, _, value = style.partition(":")
    styles = {"visibility": "", "opacity": "", "display": "", **({name: value} if name else {})}
    code = f"void Object.assign(document.getElementById('guest-0').style, {json.dumps(styles)})"
    await app.fixture.execute("host", code)


@guarded
class TestGuarded:
    @pytest.mark.parametrize("shown", SHOWN, ids=named)
    @pytest.mark.parametrize("press", PRESSES, ids=named)
    async def test_the_person_types_on_and_pastes(self, app: Stage, press: Press, shown: str) -> None:
        since = await clipped(app)
        await show(app, shown)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(press, app)
                await app.hands.type(TEXT, rate=RATE)
            await app.hands.key("ctrl+v")
            state = await app.seen(since)
        finally:
            await show(app, "")
        assert state.host.values["textarea"] == TEXT + "clip"
        assert records(state.host, *FOCUS) == []
        assert state.guest().keys() == [], "no key of the person's comes to the guest"


@raw
class TestRaw:
    @pytest.mark.parametrize("press", PRESSES, ids=named)
    async def test_keys_and_the_paste_do_not_arrive(self, app: Stage, press: Press) -> None:
        await clipped(app)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(press, app)
            await app.hands.type(TEXT, rate=RATE)
        await app.hands.key("ctrl+v")
        assert (await app.seen()).host.values["textarea"] != TEXT + "clip"
