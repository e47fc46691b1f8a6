"""Drags with an agent's mouse: they arrive whatever the pace, and neither the page nor the app is the worse for it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from probes.fixture import FixtureError
from specs.guarded import FOCUS, SessionName, Stage, guarded, raw, records

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

MOUSE = "Input.dispatchMouseEvent"
TEXT = "sphinx"
#: Something to drag and a place to drop it, in a page that has neither.
INSERT = """(() => {
  const [thing, place] = [5, 60].map((left) => {
    const style = `position:fixed; top:5px; left:${left}px; width:30px; height:20px`;
    return document.body.appendChild(Object.assign(document.createElement('div'), { style }));
  });
  thing.draggable = true;
  thing.addEventListener('dragstart', (event) => event.dataTransfer.setData('text/plain', 'dragged'));
  place.addEventListener('dragover', (event) => event.preventDefault());
  place.addEventListener('drop', (event) => { window.dropped = event.dataTransfer.getData('text/plain'); });
  return [[20, 15], [75, 15]];
})()"""
#: How many times each.
TIMES = 3
DROPPED = ["dragstart", "drop", "dragend"]


def path(start: tuple[float, float], end: tuple[float, float], steps: int = 6) -> list[dict[str, Any]]:
    """Press, moves and release."""
    places = [
        tuple(a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
        for step in range(steps + 1)
    ]
    kinds = ["mousePressed", *["mouseMoved"] * steps, "mouseReleased"]
    return [
        {
            "type": kind,
            "x": x,
            "y": y,
            "button": "left",
            "clickCount": 1,
            "buttons": int(kind != "mouseReleased"),
        }
        for kind, (x, y) in zip(kinds, [*places, places[-1]], strict=True)
    ]


async def drag(app: Stage, *, hurried: bool, until: str = "") -> list[str | None]:
    """From the thing that can be dragged to where it can be dropped; what the app said to each step."""
    await app.guest()
    return await follow(
        app, path(await app.at("draggable"), await app.at("drop-zone")), hurried=hurried, until=until
    )


async def follow(
    app: Stage, events: list[dict[str, Any]], *, hurried: bool, until: str = "", session: SessionName = "root"
) -> list[str | None]:
    """The agent's mouse does so; what the app said to each step."""
    said: list[str | None] = []

    async def send(event: dict[str, Any]) -> None:
        said.append(await app.try_send(MOUSE, event, session=session))

    async with anyio.create_task_group() as tasks:
        for event in events:
            if hurried:  # nobody waits for an answer
                tasks.start_soon(send, event)
                await anyio.lowlevel.checkpoint()
            else:
                await send(event)
                await anyio.sleep(0.01)
            if event["type"] == until:
                break
    return said


async def dragged(app: Stage, *, hurried: bool) -> tuple[list[str], list[str | None]]:
    """What the page was told of a drag while the person types, and what the agent was told."""
    await app.fresh()
    await app.fixture.focus_host("textarea", text="")
    since = await app.fixture.settle()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app.hands.type, TEXT, 12)
        said = await drag(app, hurried=hurried)
    await anyio.sleep(0.6)
    state = await app.seen(since)
    if app.guarded:
        assert state.host.values["textarea"] == TEXT
        assert records(state.host, *FOCUS) == []
        page = state.guest().page
        assert page is not None
        assert (page.dropped, page.counters.get("drop", 0)) == (["dragged"], 1)
    return [one.type for one in state.guest().records(*DROPPED)], said


async def dropped_in_a_frame(app: Stage, *, hurried: bool) -> str | None:
    """What a cross-site frame was told that was dropped, of a drag on its own session."""
    await app.guest()
    await app.fixture.frames_take_input()
    start, end = await app.fixture.execute("guest:0/cross-site", INSERT)
    await follow(app, path(start, end), hurried=hurried, session="frame")
    await anyio.sleep(0.3)
    told: str | None = await app.fixture.execute("guest:0/cross-site", "window.dropped || null")
    return told


@pytest.mark.parametrize("hurried", [False, True], ids=["one-by-one", "hurried"])
@guarded
class TestGuarded:
    async def test_it_is_dropped_and_the_next_one_too(self, app: Stage, hurried: bool) -> None:
        for _ in range(TIMES):
            assert await dragged(app, hurried=hurried) == (DROPPED, [None] * 8)

    async def test_the_mouse_is_free_afterwards(self, app: Stage, hurried: bool) -> None:
        await drag(app, hurried=hurried)
        since = await app.fixture.settle()
        await app.click("button")
        assert records((await app.seen(since)).guest(), "click") != []

    async def test_a_client_that_leaves_in_the_midst_lets_go(self, app: Stage, hurried: bool) -> None:
        await drag(app, hurried=hurried, until="mouseMoved")
        sessions = await app.guest()
        await sessions.close()
        await app.fresh()
        assert await dragged(app, hurried=hurried) == (DROPPED, [None] * 8)


@pytest.mark.parametrize("hurried", [False, True], ids=["one-by-one", "hurried"])
@guarded
class TestInACrossSiteFrame:
    async def test_it_is_dropped(self, app: Stage, hurried: bool) -> None:
        assert await dropped_in_a_frame(app, hurried=hurried) == "dragged"


@guarded
class TestThePerson:
    async def test_drags_in_the_page_that_an_agent_dragged_in(self, app: Stage) -> None:
        await dragged(app, hurried=False)
        rects = await app.fixture.rects()
        since = await app.fixture.settle()
        start, end = rects.on_screen("draggable"), rects.on_screen("drop-zone")
        steps = [
            (start[0] + (end[0] - start[0]) * n // 8, start[1] + (end[1] - start[1]) * n // 8)
            for n in range(9)
        ]
        await app.hands.drag(steps)
        await anyio.sleep(0.5)
        assert [one.type for one in (await app.seen(since)).guest().records(*DROPPED)] == DROPPED


@raw
class TestRaw:
    """The control, where the outcome does not hang on the pace. The last here: it may end the app."""

    async def test_in_a_cross_site_frame_it_is_never_dropped(self, app: Stage) -> None:
        with suppress(FixtureError):  # of an app that has ended
            assert await dropped_in_a_frame(app, hurried=False) is None
