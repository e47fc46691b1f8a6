"""Two agents at two guests of one window, each with something down: what each sends lands in its own guest.

Chromium routes the touches of a window by one table for all the pages in it, so without the guard the second finger
lands in the page that the first one is on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import State
from specs.guarded import Route, Stage, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

TOUCH = "Input.dispatchTouchEvent"


@pytest.fixture(scope="module", params=["guarded", "raw"])
async def staged(
    request: pytest.FixtureRequest, runtime: Runtime, display: Display, janitor: Janitor
) -> AsyncIterator[Stage]:
    route: Route = request.param
    async with stage(route, runtime, display, janitor, window="hidden", guests=2) as running:
        yield running


def landed(state: State, event: str) -> dict[int | None, int]:
    """How many of these events each guest's own page saw."""
    return {
        document.guest: len(document.records(event))
        for document in state.documents
        if document.role == "guest" and document.frame == "main"
    }


async def touch(on: Stage, guest: int, kind: str) -> None:
    x, y = await on.at("button", guest=guest)
    points = [{"x": x, "y": y}] if kind == "touchStart" else []
    await on.send(TOUCH, {"type": kind, "touchPoints": points}, guest=guest)


async def test_fingers(staged: Stage) -> None:
    since = await staged.fresh()
    await touch(staged, 0, "touchStart")
    if staged.guarded:
        order: list[str] = []

        async def second() -> None:
            await touch(staged, 1, "touchStart")
            order.append("second down")
            await touch(staged, 1, "touchEnd")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(second)
            await staged.seen(since)
            await touch(staged, 0, "touchEnd")
            order.append("first up")
        assert order == ["first up", "second down"]
        assert landed(await staged.seen(since), "touchstart") == {0: 1, 1: 1}
    else:
        await touch(staged, 1, "touchStart")
        await touch(staged, 1, "touchEnd")
        await touch(staged, 0, "touchEnd")
        started = landed(await staged.seen(since), "touchstart")
        assert started == {0: 2, 1: 0}, "the control: the second finger lands where the first one is"


async def test_buttons(staged: Stage) -> None:
    """Nothing to wait for: Chromium keeps the buttons of two pages apart."""
    since = await staged.fresh()
    places = [await staged.at("button", guest=guest) for guest in (0, 1)]
    await staged.mouse("mousePressed", *places[0], guest=0)
    await staged.mouse("mousePressed", *places[1], guest=1)
    await staged.mouse("mouseReleased", *places[1], guest=1)
    await staged.mouse("mouseReleased", *places[0], guest=0)
    state = await staged.seen(since)
    assert landed(state, "mousedown") == {0: 1, 1: 1}
    assert landed(state, "click") == {0: 1, 1: 1}
