"""While the person composes word after word, agents act between two words."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.policy.drags import INTERCEPT, LATE_SECONDS
from specs.unit.strokes import (
    HELD,
    KEY,
    MOUSE,
    PRESS,
    RETURNED,
    begin,
    emulates,
    key,
    key_arrives,
    pressed,
    repaired,
)
from specs.unit.transcript import Call, Client, GuestPage, Transcript

HOST = 1
SCRIPT: dict[str, Any] = {"expression": "document.querySelector('input').focus()"}
EVALUATE = "Runtime.evaluate"


def composes(t: Transcript, *, now: bool = False, active: bool = True) -> None:
    """What the bridge tells of the person."""
    t.bridge.tells("composition", hostWebContentsId=HOST, open=now, active=active)


def asks_for_room(t: Transcript, guest: GuestPage, until_ms: int = 20) -> Call:
    """The question for a moment between two words."""
    return t.bridge.gets("host.room", webContentsId=guest.web_contents_id, longestMs=1500, untilMs=until_ms)


@pytest.fixture
def stage() -> tuple[Transcript, GuestPage, Client]:
    t, guest, agent = begin()
    assert guest.host_id == HOST
    composes(t)
    return t, guest, agent


Parts = tuple[Transcript, GuestPage, Client]


class TestInput:
    def test_a_key_waits_for_room(self, stage: Parts) -> None:
        t, guest, agent = stage
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        asks_for_room(t, guest).answers({"waitedMs": 700})
        t.page_says(guest.session)
        t.app.gets(EVALUATE, session=guest.session).answers({"result": {"value": "handled"}})
        t.bridge.gets("keys.send").answers({"sent": 2})
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_where_there_is_none_it_is_refused(self, stage: Parts) -> None:
        t, guest, agent = stage
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        asks_for_room(t, guest).fails("the person is composing text", "composing")
        error = agent.hears_error(1, "browser_user_composing", session="S1")
        assert error["data"]["retryable"] is True
        t.silence()

    def test_one_that_opens_at_the_last_moment_is_no_other_error(self, stage: Parts) -> None:
        t, guest, agent = stage
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        asks_for_room(t, guest).answers({"waitedMs": 0})
        t.page_says(guest.session)
        t.app.gets(EVALUATE, session=guest.session)
        t.bridge.gets("keys.send").fails("the person is composing text", "composing")
        agent.hears_error(1, "browser_user_composing", session="S1")

    def test_a_release_does_not_wait(self, stage: Parts) -> None:
        t, guest, agent = stage
        agent.says(1, KEY, key("a", "keyUp"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_borrow_waits_as_long(self) -> None:
        t, guest, agent = begin(pace="between-keys")
        composes(t)
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        t.bridge.gets("borrow.begin", paceMs=1500).answers(HELD)
        t.app.gets(MOUSE, PRESS, session="S1").answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(1, {}, session="S1")

    def test_a_drag_waits_and_is_not_refused(self, stage: Parts) -> None:
        t, guest, agent = stage
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        pressed(t).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(1, {}, session="S1")
        for number, kind in ((2, "mouseMoved"), (3, "mouseReleased")):
            event = {**PRESS, "type": kind}
            agent.says(number, MOUSE, event, session="S1")
            asks_for_room(t, guest, 50).fails("the person is composing text", "composing")
            if kind == "mouseMoved":
                t.app.gets(INTERCEPT, session="S1").answers()
            t.app.gets(MOUSE, event, session="S1").answers()
            agent.hears(number, {}, session="S1")
        t.rings(LATE_SECONDS)
        t.app.gets(INTERCEPT, session="S1").answers()
        agent.says(4, MOUSE, {**PRESS, "type": "mouseMoved"}, session="S1")
        t.app.gets(MOUSE, session="S1").answers()
        agent.hears(4, {}, session="S1")
        t.silence()

    def test_who_has_stopped_is_not_waited_for(self, stage: Parts) -> None:
        t, guest, agent = stage
        composes(t, active=False)
        agent.says(1, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, {}, session="S1")
        t.silence()


class TestScripts:
    def test_they_wait_for_room_too_and_may_begin_later_in_it(self, stage: Parts) -> None:
        t, guest, agent = stage
        agent.says(1, EVALUATE, SCRIPT, session="S1")
        asks_for_room(t, guest, 50).answers({"waitedMs": 900})
        t.app.gets(EVALUATE, SCRIPT, session="S1").answers({"result": {}})
        agent.hears(1, {"result": {}}, session="S1")
        t.silence()

    def test_while_one_is_open_they_wait_and_keep_their_order(self, stage: Parts) -> None:
        t, guest, agent = stage
        composes(t, now=True)
        agent.says(1, EVALUATE, SCRIPT, session="S1")
        room = asks_for_room(t, guest, 50)
        agent.says(2, "Runtime.callFunctionOn", {"functionDeclaration": "f"}, session="S1")
        agent.says(3, "DOM.getDocument", session="S1")
        t.app.gets("DOM.getDocument", session="S1").answers()
        agent.hears(3, session="S1")
        composes(t)
        agent.says(4, EVALUATE, {"expression": "1"}, session="S1")
        assert not t.app.calls
        room.answers({"waitedMs": 700})
        t.app.gets(EVALUATE, SCRIPT, session="S1").answers()
        agent.hears(1, session="S1")
        asks_for_room(t, guest, 50).answers({"waitedMs": 0})
        t.app.gets("Runtime.callFunctionOn", session="S1").answers()
        agent.hears(2, session="S1")
        asks_for_room(t, guest, 50).answers({"waitedMs": 0})
        t.app.gets(EVALUATE, {"expression": "1"}, session="S1").answers()
        agent.hears(4, session="S1")
        t.silence()

    def test_what_one_may_have_focused_in_a_cross_site_frame_is_repaired(self, stage: Parts) -> None:
        t, guest, agent = stage
        t.frame(guest, "CROSS")
        session = agent.attaches("CROSS", "S2")
        agent.says(2, EVALUATE, SCRIPT, session=session)
        asks_for_room(t, guest, 50).answers({"waitedMs": 0})
        t.app.gets(EVALUATE, SCRIPT, session=session).answers({"result": {}})
        agent.hears(2, {"result": {}}, session=session)
        repaired(t)
        t.silence()

    def test_none_is_refused(self, stage: Parts) -> None:
        t, guest, agent = stage
        composes(t, now=True)
        agent.says(1, EVALUATE, SCRIPT, session="S1")
        asks_for_room(t, guest, 50).fails("the person is composing text", "composing")
        t.app.gets(EVALUATE, SCRIPT, session="S1").answers()
        agent.hears(1, session="S1")
        t.silence()

    def test_a_client_that_leaves_meanwhile(self, stage: Parts) -> None:
        t, guest, agent = stage
        composes(t, now=True)
        agent.says(1, EVALUATE, SCRIPT, session="S1")
        room = asks_for_room(t, guest, 50)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        room.answers({"waitedMs": 10})
        t.silence()

    def test_a_bridge_that_goes_meanwhile(self, stage: Parts) -> None:
        t, guest, agent = stage
        composes(t, now=True)
        agent.says(1, EVALUATE, SCRIPT, session="S1")
        asks_for_room(t, guest, 50)
        t.bridge.leaves()
        t.app.gets(EVALUATE, SCRIPT, session="S1").answers()
        agent.hears(1, session="S1")
