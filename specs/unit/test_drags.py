"""Drags that an agent's mouse begins are carried on by the guard, and end with the button."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.policy.drags import INTERCEPT, INTERCEPTED, LATE_SECONDS, LIFTED
from specs.unit.strokes import MOUSE, PRESS, RELEASE, RETURNED, begin, emulates, pressed
from specs.unit.transcript import Client, GuestPage, Transcript

DRAG = "Input.dispatchDragEvent"
DATA = {"items": [{"mimeType": "text/plain", "data": "x"}], "dragOperationsMask": 1}
Parts = tuple[Transcript, GuestPage, Client]


def move(x: int) -> dict[str, Any]:
    return {"type": "mouseMoved", "x": x, "y": 20, "button": "left", "buttons": 1, "modifiers": 2}


@pytest.fixture
def held() -> Parts:
    """A button is down, and the mouse has moved once."""
    t, guest, agent = begin()
    agent.says(1, MOUSE, PRESS, session="S1")
    emulates(t, guest.session)
    pressed(t).answers()
    t.bridge.gets("borrow.end").answers(RETURNED)
    agent.hears(1, {}, session="S1")
    agent.says(2, MOUSE, move(11), session="S1")
    t.app.gets(INTERCEPT, {"enabled": True}, session="S1").answers()
    t.app.gets(MOUSE, move(11), session="S1").answers()
    agent.hears(2, {}, session="S1")
    return t, guest, agent


def begins(t: Transcript, session: str = "S1") -> None:
    t.app.says(INTERCEPTED, {"data": DATA}, session=session)


def drag_event(t: Transcript, kind: str, x: int, session: str = "S1") -> None:
    t.app.gets(DRAG, {"type": kind, "x": x, "y": 20, "data": DATA}, session=session).answers()


class TestTheWholeOfIt:
    def test_the_mouse_takes_it_along_and_drops_it(self, held: Parts) -> None:
        t, _, agent = held
        begins(t)
        agent.hears_nothing()
        agent.says(3, MOUSE, move(12), session="S1")
        t.app.gets(DRAG, {"type": "dragEnter", "x": 12, "modifiers": 2}, session="S1").answers()
        drag_event(t, "dragOver", 12)
        agent.hears(3, {}, session="S1")
        agent.says(4, MOUSE, move(13), session="S1")
        drag_event(t, "dragOver", 13)
        agent.hears(4, {}, session="S1")
        agent.says(5, MOUSE, {**RELEASE, "x": 14}, session="S1")
        drag_event(t, "dragOver", 14)
        drag_event(t, "drop", 14)
        agent.hears(5, {}, session="S1")
        t.app.gets(MOUSE, {**LIFTED, "x": 14, "y": 20}, session="S1").answers()
        t.app.gets(INTERCEPT, {"enabled": False}, session="S1").answers()
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.silence()

    def test_it_may_begin_with_the_release_on_its_way(self, held: Parts) -> None:
        t, _, agent = held
        agent.says(3, MOUSE, RELEASE, session="S1")
        sent = t.app.gets(MOUSE, RELEASE, session="S1")
        begins(t)
        sent.answers()
        for kind in ("dragEnter", "dragOver", "drop"):
            drag_event(t, kind, 10)
        agent.hears(3, {}, session="S1")
        t.app.gets(MOUSE, LIFTED, session="S1").answers()
        t.app.gets(INTERCEPT, {"enabled": False}, session="S1").answers()
        t.silence()

    def test_and_after_it(self, held: Parts) -> None:
        t, _, agent = held
        agent.says(3, MOUSE, RELEASE, session="S1")
        t.app.gets(MOUSE, RELEASE, session="S1").answers()
        agent.hears(3, {}, session="S1")
        begins(t)
        for kind in ("dragEnter", "dragOver", "drop"):
            drag_event(t, kind, 10)
        t.rings(LATE_SECONDS)
        t.app.gets(INTERCEPT, {"enabled": False}, session="S1").answers()
        t.silence()

    def test_a_release_waits_for_the_moves_before_it(self, held: Parts) -> None:
        t, _, agent = held
        agent.says(3, MOUSE, move(12), session="S1")
        agent.says(4, MOUSE, RELEASE, session="S1")
        moved = t.app.gets(MOUSE, move(12), session="S1")
        assert not t.app.calls
        begins(t)
        moved.answers()
        agent.hears(3, {}, session="S1")
        for kind in ("dragEnter", "dragOver", "drop"):
            drag_event(t, kind, 10)
        agent.hears(4, {}, session="S1")


class TestWithoutOne:
    def test_a_move_costs_one_order_and_the_release_takes_it_back(self, held: Parts) -> None:
        t, _, agent = held
        agent.says(3, MOUSE, move(12), session="S1")
        t.app.gets(MOUSE, move(12), session="S1").answers()
        agent.hears(3, {}, session="S1")
        agent.says(4, MOUSE, RELEASE, session="S1")
        t.app.gets(MOUSE, RELEASE, session="S1").answers()
        agent.hears(4, {}, session="S1")
        t.rings(LATE_SECONDS)
        t.app.gets(INTERCEPT, {"enabled": False}, session="S1").answers()
        t.silence()

    def test_the_next_press_is_not_robbed_of_its_own(self, held: Parts) -> None:
        t, _, agent = held
        agent.says(3, MOUSE, RELEASE, session="S1")
        t.app.gets(MOUSE, RELEASE, session="S1").answers()
        agent.hears(3, {}, session="S1")
        agent.says(4, MOUSE, PRESS, session="S1")
        pressed(t).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(4, {}, session="S1")
        agent.says(5, MOUSE, move(12), session="S1")
        t.app.gets(INTERCEPT, {"enabled": True}, session="S1").answers()
        t.app.gets(MOUSE, move(12), session="S1").answers()
        agent.hears(5, {}, session="S1")
        t.rings(LATE_SECONDS)
        t.silence()


class TestWhoseItIs:
    def test_a_client_that_intercepts_drags_gets_them_itself(self) -> None:
        t, guest, agent = begin()
        agent.says(1, INTERCEPT, {"enabled": True}, session="S1")
        t.app.gets(INTERCEPT, {"enabled": True}, session="S1").answers()
        agent.hears(1, {}, session="S1")
        agent.says(2, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        pressed(t).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(2, {}, session="S1")
        agent.says(3, MOUSE, move(11), session="S1")
        t.app.gets(MOUSE, move(11), session="S1").answers()
        agent.hears(3, {}, session="S1")
        begins(t)
        agent.hears_event(INTERCEPTED, {"data": DATA}, session="S1")
        agent.says(4, MOUSE, RELEASE, session="S1")
        t.app.gets(MOUSE, RELEASE, session="S1").answers()
        agent.hears(4, {}, session="S1")
        t.silence()

    def test_one_that_leaves_leaves_no_drag(self, held: Parts) -> None:
        t, guest, agent = held
        begins(t)
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        drag_event(t, "dragCancel", 11, guest.session)
        t.app.gets(MOUSE, {**RELEASE}, session=guest.session).answers()

    def test_one_that_leaves_in_the_midst_of_it_neither(self, held: Parts) -> None:
        t, _, agent = held
        begins(t)
        agent.says(3, MOUSE, move(12), session="S1")
        drag_event(t, "dragEnter", 12)
        drag_event(t, "dragOver", 12)
        agent.hears(3, {}, session="S1")
        agent.leaves()
        orders = []
        while t.app.calls:
            orders.append((t.app.calls[0].method, t.app.calls[0].params.get("type")))
            t.app.calls.popleft().answers()
        assert (DRAG, "dragCancel") in orders
        assert orders.index((DRAG, "dragCancel")) < orders.index((MOUSE, "mouseReleased"))
