"""Touches: Chromium has one table for a window, so one hand touches it at a time, and the count must come out even."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focusguard.cdp.targets import Guest, TargetInfo
from focusguard.errors import Code
from focusguard.policy.flow import Post, Upstream
from focusguard.policy.table import INPUT_BOUND
from focusguard.policy.touches import Hand
from specs.unit.strokes import FINGER, HELD, LIFT, TOUCH, begin, emulates, lingers, shows
from specs.unit.transcript import Client, Transcript

CANCEL = {"type": "touchCancel", "touchPoints": []}
POINTS = [{"x": 1.0 + number, "y": 2.0, "id": number} for number in range(20)]
SECOND_LIFTED = {"type": "touchEnd", "touchPoints": POINTS[1:2]}
CANNOT_END = "Must send a TouchStart first to start a new touch."


def start(*numbers: int) -> dict[str, Any]:
    """Fingers come down."""
    return {"type": "touchStart", "touchPoints": [POINTS[number] for number in numbers]}


def excess(*numbers: int) -> dict[str, Any]:
    """The lifts of fingers that never came down."""
    return {"type": "touchEnd", "touchPoints": [{**POINTS[0], "id": number} for number in numbers]}


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
    t.app.gets(TOUCH, params, session=f"OWN-G{session[1:]}").answers()
    client.hears(number, {}, session=session)


def evened(
    t: Transcript,
    client: Client,
    number: int,
    params: dict[str, Any],
    lifts: dict[str, Any],
    way: str = "OWN-G1",
) -> None:
    """A lift with lifts in excess before it."""
    client.says(number, TOUCH, params, session="S1")
    t.app.gets(TOUCH, lifts, session=way).answers()
    if params["type"] == "touchEnd":
        t.bridge.gets("borrow.begin").answers({**HELD, "lease": number})
    t.app.gets(TOUCH, params, session=way).answers()
    client.hears(number, {}, session="S1")


class TestCount:
    """Chromium counts each finger after the first twice, and each lift once."""

    @pytest.mark.parametrize("params", [LIFT, CANCEL, SECOND_LIFTED])
    def test_as_many_go_up_as_were_counted(self, params: dict[str, Any]) -> None:
        t, _, agent = begin()
        touched(t, agent, 1, start(0, 1), "S1")
        evened(t, agent, 2, params, excess(31))

    def test_the_numbers_are_nobodys(self) -> None:
        t, _, agent = begin()
        points = [POINTS[0], {**POINTS[1], "id": 31}, {**POINTS[2], "id": 29}]
        touched(t, agent, 1, {"type": "touchStart", "touchPoints": points}, "S1")
        evened(t, agent, 2, LIFT, excess(30, 28))

    def test_one_by_one_it_is_done_once(self) -> None:
        t, _, agent = begin()
        touched(t, agent, 1, start(0), "S1")
        touched(t, agent, 2, start(0, 1), "S1")
        evened(t, agent, 3, SECOND_LIFTED, excess(31))
        touched(t, agent, 4, LIFT, "S1")

    def test_a_finger_that_comes_with_a_move_counts(self) -> None:
        t, _, agent = begin()
        touched(t, agent, 1, start(0), "S1")
        agent.says(2, TOUCH, {"type": "touchMove", "touchPoints": POINTS[:2]}, session="S1")
        t.app.gets(TOUCH, session="OWN-G1").answers()
        agent.hears(2, {}, session="S1")
        evened(t, agent, 3, LIFT, excess(31))

    def test_one_finger_needs_nothing(self) -> None:
        t, _, agent = begin()
        touched(t, agent, 1, start(0), "S1")
        touched(t, agent, 2, LIFT, "S1")

    def test_what_the_app_refuses_does_not_count(self) -> None:
        t, _, agent = begin()
        touched(t, agent, 1, start(0), "S1")
        agent.says(2, TOUCH, start(1), session="S1")
        t.bridge.gets("borrow.begin").answers({**HELD, "lease": 2})
        t.app.gets(TOUCH, session="OWN-G1").fails("Invalid parameters")
        agent.hears_error(2, "Invalid parameters", session="S1")
        touched(t, agent, 3, LIFT, "S1")

    def test_a_view_has_frames_too(self) -> None:
        t = Transcript()
        guest = t.guest("G1", kind="web-contents-view")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, TOUCH, start(0, 1), session="S1")
        shows(t, guest)
        t.app.gets(TOUCH, session=guest.session).answers()
        agent.hears(1, {}, session="S1")
        agent.says(2, TOUCH, LIFT, session="S1")
        t.app.gets(TOUCH, excess(31), session=guest.session).answers()
        t.app.gets(TOUCH, LIFT, session=guest.session).answers()
        agent.hears(2, {}, session="S1")

    def test_nobody_lifts_a_finger_that_is_not_down(self) -> None:
        t, _, agent = begin()
        touched(t, agent, 1, start(0), "S1")
        agent.says(2, TOUCH, SECOND_LIFTED, session="S1")
        agent.hears_error(2, "No finger 1 is down", session="S1")
        assert not t.app.calls

    def test_there_is_room_for_one_more(self) -> None:
        t, _, agent = begin()
        touched(t, agent, 1, start(*range(15)), "S1")
        agent.says(2, TOUCH, start(15), session="S1")
        agent.hears_error(2, Code.REFUSED, session="S1")
        evened(t, agent, 3, LIFT, excess(*range(31, 17, -1)))

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["touchStart", "touchMove", "touchEnd", "touchCancel"]),
                st.sets(st.integers(0, 4)),
            )
        )
    )
    def test_it_always_comes_out_even(self, commands: list[tuple[str, set[int]]]) -> None:
        info: TargetInfo = {"targetId": "G1", "type": "webview", "title": "", "url": "", "attached": False}
        hand, table = Hand(Guest(info), 1, None, "OWN-G1"), Table()
        for kind, numbers in commands:
            points = [POINTS[number] for number in sorted(numbers)]
            if kind in ("touchStart", "touchMove") and not points:
                continue
            if kind == "touchEnd":
                points = [point for point in points if point["id"] in hand.fingers]
            if kind == "touchCancel":
                points = []
            if kind != "touchStart" and not hand.fingers:
                continue
            if kind in ("touchEnd", "touchCancel"):
                for request in hand.even_out():
                    assert isinstance(request, Post) and isinstance(request.call, Upstream)
                    table.takes(request.call.params)
            params = {"type": kind, "touchPoints": points}
            hand.check(params)
            table.takes(params)
            hand.note(params)
            assert set(hand.fingers) == table.fingers
            if not hand.fingers or kind in ("touchEnd", "touchCancel"):
                assert table.count == len(hand.fingers)


class Table:
    """Chromium's: what input_handler.cc makes of a command, and how the event router counts it."""

    def __init__(self) -> None:
        self.fingers: set[int] = set()
        self.count = 0

    def takes(self, params: dict[str, Any]) -> None:
        numbers = [point["id"] for point in params["touchPoints"]]
        if params["type"] == "touchCancel":
            self.count -= len(self.fingers)
            self.fingers = set()
        elif params["type"] == "touchEnd":
            for number in numbers or sorted(self.fingers):
                self.count -= 1
                self.fingers.discard(number)
        else:
            for number in numbers:
                if number not in self.fingers:
                    self.count += 2 if self.count else 1
                    self.fingers.add(number)
        assert self.count >= 0


class TestLeaving:
    """The guard's own session has the fingers, so it can lift them."""

    def test_the_second_finger_too(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, start(0, 1), "S1")
        first.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.app.gets(TOUCH, excess(31), session="OWN-G1").answers()
        t.app.gets(TOUCH, CANCEL, session="OWN-G1").answers()
        touched(t, second, 1, FINGER, "S2")

    def test_the_last_session_on_a_guest(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        first.attaches("G1", "S3")
        for number, session in ((2, "S3"), (3, "S1")):
            t.app.takes_quietly()
            assert not t.app.calls
            first.says(number, "Target.detachFromTarget", {"sessionId": session})
            t.app.gets("Target.detachFromTarget", {"sessionId": session}).answers()
        t.app.gets(TOUCH, CANCEL, session="OWN-G1").answers()
        touched(t, second, 1, FINGER, "S2")

    def test_a_connection_to_a_page(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, TOUCH, FINGER)
        emulates(t, "OWN-G1")
        t.bridge.gets("borrow.begin").answers(HELD)
        t.app.gets(TOUCH, FINGER, session="OWN-G1").answers()
        agent.hears(1, {})
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.app.gets(TOUCH, CANCEL, session="OWN-G1").answers()

    def test_nobody_touches_until_the_page_has_taken_it(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, FINGER, "S1")
        first.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        late = t.app.gets(TOUCH, CANCEL, session="OWN-G1")
        t.rings(INPUT_BOUND)
        second.says(1, TOUCH, FINGER, session="S2")
        t.rings(5.0)
        second.hears_error(1, Code.FOCUS_GUARD_UNAVAILABLE, session="S2")
        late.answers()
        touched(t, second, 1, FINGER, "S2")

    def test_chromium_forgets_the_finger_of_a_page_that_died(self) -> None:
        t, _, agent = begin()
        touched(t, agent, 1, FINGER, "S1")
        t.app.says("Target.targetCrashed", {"targetId": "G1", "status": "killed", "errorCode": 9})
        t.app.gets(TOUCH, CANCEL, session="OWN-G1")


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
        t.app.gets(TOUCH, FINGER, session="OWN-G2").answers()
        second.hears(1, {}, session="S2")

    def test_a_finger_that_stays_keeps_the_turn(self) -> None:
        t, first, second = two_guests()
        touched(t, first, 1, start(0, 1), "S1")
        evened(t, first, 2, SECOND_LIFTED, excess(31))
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
        t.app.gets(TOUCH, CANCEL, session="OWN-G1").answers()
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
        t.app.takes_quietly()
        t.app.gets(TOUCH, CANCEL, session="OWN-G1")
        t.bridge.gets("borrow.begin")


class TestTwoHands:
    """In one page: Chromium would take the fingers of one for those of the other."""

    def other(self) -> tuple[Transcript, Client, Client]:
        t, _, first = begin()
        second = t.client()
        second.attaches("G1", "S2")
        return t, first, second

    def test_the_second_is_told_to_come_later(self) -> None:
        t, first, second = self.other()
        touched(t, first, 1, FINGER, "S1")
        second.says(1, TOUCH, FINGER, session="S2")
        error = second.hears_error(1, Code.FOCUS_GUARD_UNAVAILABLE, session="S2")
        assert error["data"]["retryable"]
        assert not t.app.calls
        touched(t, first, 2, LIFT, "S1")

    @pytest.mark.parametrize("params", [LIFT, CANCEL, {"type": "touchMove", "touchPoints": POINTS[:1]}])
    def test_nobody_lifts_or_moves_the_finger_of_another(self, params: dict[str, Any]) -> None:
        t, first, second = self.other()
        touched(t, first, 1, FINGER, "S1")
        second.says(1, TOUCH, params, session="S2")
        second.hears_error(1, CANNOT_END, session="S2")
        assert not t.app.calls

    def test_a_frame_of_its_own_is_another(self) -> None:
        t, guest, agent = begin()
        touched(t, agent, 1, FINGER, "S1")
        t.frame(guest, "CROSS")
        agent.attaches("CROSS", "SF")
        agent.says(2, TOUCH, FINGER, session="SF")
        agent.hears_error(2, Code.FOCUS_GUARD_UNAVAILABLE, session="SF")


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
        t.app.gets(TOUCH, session="OWN-G1").fails("Invalid parameters")
        agent.hears_error(1, "Invalid parameters", session="S1")
        lingers(t, first)
        other.says(2, TOUCH, FINGER, session="S2")
        emulates(t, second.session)
        t.bridge.gets("borrow.begin").answers({**HELD, "lease": 2})
        t.app.gets(TOUCH, FINGER, session="OWN-G2").answers()
        other.hears(2, {}, session="S2")
