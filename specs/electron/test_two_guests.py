"""Two agents at two guests of one window, each with something down: what each sends lands in its own guest.

Chromium routes the touches of a window by one table for all the pages in it, so without the guard the second finger
lands in the page that the first one is on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.landing.cdp_client import CdpClient, find_guest, open_client
from probes.observed import State
from specs.guarded import Route, Stage, endpoint, stage

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


@pytest.fixture(scope="module")
async def launched(
    request: pytest.FixtureRequest, runtime: Runtime, display: Display, janitor: Janitor
) -> AsyncIterator[Stage]:
    route: Route = request.param
    async with stage(route, runtime, display, janitor, window="headful", guests=2) as running:
        yield running


@pytest.fixture
async def afresh(launched: Stage) -> Stage:
    """A window whose table nobody has touched yet: raw, it stays as one spec leaves it."""
    if not launched.guarded:
        await launched.fixture.open("webview", window="headful", guests=2)
    return launched


async def places(on: Stage, count: int) -> list[dict[str, Any]]:
    x, y = await on.at("button", guest=0)
    return [{"x": x + 9 * number, "y": y, "id": number} for number in range(count)]


async def taps_land(on: Stage) -> list[dict[int | None, int]]:
    """Where a tap in each of the two guests lands, and then one in the second again."""
    found = []
    for guest in (1, 0, 1):
        since = await on.fresh()
        await touch(on, guest, "touchStart")
        await touch(on, guest, "touchEnd")
        found.append(landed(await on.seen(since), "touchstart"))
    return found


AT_HOME = [{0: 0, 1: 1}, {0: 1, 1: 0}, {0: 0, 1: 1}]
ASTRAY = [{0: 1, 1: 0}] * 3

#: Ways to put two fingers down and lift both: commands, and the fingers in them.
PAIRS: dict[str, list[tuple[str, slice]]] = {
    "at once": [("touchStart", slice(2)), ("touchEnd", slice(0))],
    "one by one": [
        ("touchStart", slice(1)),
        ("touchStart", slice(2)),
        ("touchEnd", slice(1, 2)),
        ("touchEnd", slice(0)),
    ],
    "by name": [("touchStart", slice(2)), ("touchMove", slice(2)), ("touchEnd", slice(2))],
    "with a move": [("touchStart", slice(1)), ("touchMove", slice(2)), ("touchEnd", slice(0))],
    "three cancelled": [("touchStart", slice(3)), ("touchCancel", slice(0))],
}


@pytest.mark.parametrize(
    ("launched", "way"),
    [*(("guarded", way) for way in PAIRS), ("raw", "one by one"), ("raw", "three cancelled")],
    indirect=["launched"],
    scope="module",
)
async def test_after_several_fingers(afresh: Stage, way: str) -> None:
    """Chromium counts the second finger twice, and for ever after its table points at the page that it was in."""
    fingers = await places(afresh, 3)
    since = await afresh.fresh()
    for kind, which in PAIRS[way]:
        await afresh.send(TOUCH, {"type": kind, "touchPoints": fingers[which]})
    seen = await afresh.seen(since)
    assert await taps_land(afresh) == (AT_HOME if afresh.guarded else ASTRAY)
    down = 3 if way == "three cancelled" else 2
    assert landed(seen, "touchstart") == {0: down, 1: 0}
    ended = landed(seen, "touchcancel" if down == 3 else "touchend")
    assert ended == {0: 1 if down == 3 else 2, 1: 0}, "the page is not told of fingers that never came down"


@pytest.mark.parametrize("launched", ["guarded"], indirect=True, scope="module")
async def test_after_a_pinch(afresh: Stage) -> None:
    """Raw, a gesture goes to the host."""
    x, y = await afresh.at("button", guest=0)
    await afresh.send("Input.synthesizePinchGesture", {"x": x, "y": y, "scaleFactor": 1.3})
    assert await taps_land(afresh) == AT_HOME


async def leave(client: CdpClient, how: str, session: str) -> None:
    if how == "detached":
        await client.send("Target.detachFromTarget", {"sessionId": session})
    elif how == "reset":
        client.connection.transport.abort()
    else:
        await client.connection.close()


@pytest.mark.parametrize(
    ("launched", "how", "count"),
    [
        ("guarded", "detached", 1),
        ("guarded", "closed", 2),
        ("guarded", "reset", 1),
        ("guarded", "a page's connection", 2),
        ("raw", "closed", 2),
    ],
    indirect=["launched"],
    scope="module",
)
async def test_after_a_client_with_fingers_down(afresh: Stage, how: str, count: int) -> None:
    """Chromium forgets a session's fingers with it and lifts none of them."""
    fingers = await places(afresh, count)
    since = await afresh.fresh()
    at = endpoint(afresh)
    async with open_client(at) as client:
        target = await find_guest(client, afresh.url(0))
        start = {"type": "touchStart", "touchPoints": fingers}
        if how == "a page's connection":
            base = at[: at.index("/devtools/")]
            async with open_client(f"{base}/devtools/page/{target}") as page:
                await page.send(TOUCH, start)
        else:
            made = await client.send("Target.attachToTarget", {"targetId": target, "flatten": True})
            await client.send(TOUCH, start, session=made["sessionId"])
            await leave(client, how, made["sessionId"])
        with anyio.move_on_after(3):
            while not landed(await afresh.seen(since), "touchcancel")[0]:
                await anyio.sleep(0.05)
    called_off = landed(await afresh.seen(since), "touchcancel")
    lands = await taps_land(afresh)
    if afresh.guarded:
        assert called_off == {0: 1, 1: 0}
        assert lands == AT_HOME
    else:
        assert called_off == {0: 0, 1: 0}
        assert lands == ASTRAY


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
