"""Touches: Chromium has one table for a window, so one guest of it is touched at a time."""

from __future__ import annotations

from focusguard.errors import Code
from specs.unit.strokes import FINGER, HELD, LIFT, TOUCH, begin, emulates, lingers
from specs.unit.transcript import Client, Transcript

CANCEL = {"type": "touchCancel", "touchPoints": []}
ONE_STAYS = {"type": "touchEnd", "touchPoints": [{"x": 1.0, "y": 2.0, "id": 1}]}


def two_guests() -> tuple[Transcript, Client, Client]:
    """Two webviews of one host, and a client for each: S1 on G1, S2 on G2."""
    t, guest, first = begin()
    t.guest("G2", host_id=guest.host_id)
    second = t.client()
    second.attaches("G2", "S2")
    return t, first, second


def touched(t: Transcript, client: Client, number: int, params: dict[str, object], session: str) -> None:
    """A touch that goes straight through."""
    client.says(number, TOUCH, params, session=session)
    if number == 1:
        emulates(t, f"OWN-G{session[1:]}")
    t.bridge.gets("borrow.begin").answers({**HELD, "lease": number})
    t.app.gets(TOUCH, params, session=session).answers()
    client.hears(number, {}, session=session)


class TestTwoGuests:
    def test_the_second_waits_for_the_first_ones_finger(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        second.says(1, TOUCH, FINGER, session="S2")
        t.app.takes_quietly()
        assert not t.app.calls
        assert not t.bridge.calls, "nothing is begun before the finger is up"
        touched(t, first, 2, LIFT, "S1")
        emulates(t, "OWN-G2")
        t.bridge.gets("borrow.begin").answers({**HELD, "lease": 3})
        t.app.gets(TOUCH, FINGER, session="S2").answers()
        second.hears(1, {}, session="S2")

    def test_a_finger_that_stays_keeps_the_turn(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        touched(t, first, 2, ONE_STAYS, "S1")
        second.says(1, TOUCH, FINGER, session="S2")
        t.app.takes_quietly()
        assert not t.app.calls
        assert not t.bridge.calls

    def test_refused_when_it_is_never_lifted(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        second.says(1, TOUCH, FINGER, session="S2")
        t.rings(5.0)
        second.hears_error(1, Code.FOCUS_GUARD_UNAVAILABLE, session="S2")
        t.app.takes_quietly()
        assert not t.app.calls

    def test_a_cancelled_touch_ends_the_turn(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        first.says(2, TOUCH, CANCEL, session="S1")
        t.app.gets(TOUCH, CANCEL, session="S1").answers()
        first.hears(2, {}, session="S1")
        touched(t, second, 1, FINGER, "S2")

    def test_a_touch_that_was_refused_leaves_no_finger_down(self) -> None:
        t, first, second = two_guests()
        first.says(1, TOUCH, FINGER, session="S1")
        emulates(t, "OWN-G1")
        t.bridge.gets("borrow.begin").answers({"state": "composing", "lease": None, "waitedMs": 0})
        first.hears_error(1, Code.USER_COMPOSING, session="S1")
        touched(t, second, 1, FINGER, "S2")

    def test_a_client_that_leaves_lifts_its_finger(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        second.says(1, TOUCH, FINGER, session="S2")
        first.leaves()
        t.app.gets("Target.detachFromTarget")
        t.app.gets(TOUCH, CANCEL, session="OWN-G1").answers()
        emulates(t, "OWN-G2")
        t.bridge.gets("borrow.begin")

    def test_a_guest_that_goes_lifts_its_finger(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        second.says(1, TOUCH, FINGER, session="S2")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        emulates(t, "OWN-G2")
        t.bridge.gets("borrow.begin")

    def test_a_guest_whose_renderer_dies_lifts_its_finger(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        second.says(1, TOUCH, FINGER, session="S2")
        t.app.says("Target.targetCrashed", {"targetId": "G1", "status": "killed", "errorCode": 9})
        emulates(t, "OWN-G2")
        t.bridge.gets("borrow.begin")


class TestTwoWindows:
    def test_do_not_wait_for_each_other(self) -> None:
        t, _, first = begin()
        t.guest("G2", host_id=99)
        second = t.client()
        second.attaches("G2", "S2")
        touched(t, first, 1, FINGER, "S1")
        touched(t, second, 1, FINGER, "S2")


class TestRefused:
    def test_what_the_app_refuses_holds_nothing(self) -> None:
        t = Transcript()
        first, second = t.guest("G1"), t.guest("G2")
        agent, other = t.client(), t.client()
        agent.attaches("G1", "S1")
        other.attaches("G2", "S2")
        agent.says(1, TOUCH, {"type": "touchStart", "touchPoints": [{"x": "abc"}]}, session="S1")
        emulates(t, first.session)
        t.bridge.gets("borrow.begin").answers(HELD)
        t.app.gets(TOUCH, session="S1").fails("Invalid parameters")
        agent.hears_error(1, "Invalid parameters", session="S1")
        lingers(t, first)
        other.says(2, TOUCH, FINGER, session="S2")
        emulates(t, second.session)
        t.bridge.gets("borrow.begin").answers({**HELD, "lease": 2})
        t.app.gets(TOUCH, FINGER, session="S2").answers()
        other.hears(2, {}, session="S2")
