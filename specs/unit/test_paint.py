"""Guests that are not painted: what waits for a frame is answered by name."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from specs.unit.strokes import (
    FINGER,
    HELD,
    KEY,
    LIFT,
    MOUSE,
    MOVE,
    TOUCH,
    begin,
    emulates,
    key,
    key_arrives,
    lingers,
)
from specs.unit.transcript import Call, Client, GuestPage, Transcript


class TestUnpaintedGuests:
    """What waits for a frame in a guest that gives none is answered by name, and holds nothing up."""

    WHEEL: ClassVar[dict[str, Any]] = {"type": "mouseWheel", "x": 1, "y": 1, "deltaX": 0, "deltaY": 10}

    @pytest.mark.parametrize(
        ("method", "params"), [(MOUSE, WHEEL), (MOUSE, MOVE), ("Page.captureScreenshot", {"format": "png"})]
    )
    def test_it_is_named(self, method: str, params: dict[str, Any]) -> None:
        t, guest, agent = begin()
        agent.says(1, method, params, session="S1")
        late = t.app.gets(method, params, session="S1")
        t.rings(0.7)
        t.page_is_painted(guest.session, False)
        error = agent.hears_error(1, "browser_target_hidden: the guest is not painted", session="S1")
        assert error["data"]["retryable"] is True
        late.answers()
        t.silence()

    def test_a_key_behind_it_goes_on(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        t.app.gets(MOUSE, session="S1")
        agent.says(2, KEY, key("a"), session="S1")
        t.rings(0.7)
        t.page_is_painted(guest.session, False)
        agent.hears_error(1, "browser_target_hidden", session="S1")
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize("how", ["painted", "cannot be asked"])
    def test_a_page_that_is_only_slow_is_waited_for(self, how: str) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        wheel = t.app.gets(MOUSE, session="S1")
        t.rings(0.7)
        if how == "painted":
            t.page_is_painted(guest.session, True)
        else:
            t.page_is_asked(guest.session).fails("no such context")
            t.page_is_asked(guest.session).fails("no such context")
        wheel.answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_scroll_gesture_stops(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Input.synthesizeScrollGesture", {"x": 1, "y": 2, "yDistance": -200}, session="S1")
        t.app.gets(MOUSE, {"type": "mouseWheel"}, session="S1")
        t.rings(0.7)
        t.page_is_painted(guest.session, False)
        agent.hears_error(1, "browser_target_hidden", session="S1")
        t.silence()

    def test_a_guest_that_goes_while_it_is_asked(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        t.app.gets(MOUSE, session="S1")
        t.rings(0.7)
        t.page_is_asked(guest.session)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_error(1, "browser_error: the target closed", session="S1")
        agent.hears_event("Target.detachedFromTarget")
        t.silence()


class TestLookingAgain:
    """A guest that has just been hidden gives a few frames still: the first look need not be the last."""

    WHEEL = TestUnpaintedGuests.WHEEL

    def test_hidden_at_the_second_look(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        wheel = t.app.gets(MOUSE, session="S1")
        t.rings(0.7)
        t.page_is_painted(guest.session, True)
        agent.hears_nothing()
        t.rings(0.7)
        t.page_is_painted(guest.session, False)
        agent.hears_error(1, "browser_target_hidden", session="S1")
        wheel.answers()
        t.silence()

    def test_one_look_at_a_time(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        wheel = t.app.gets(MOUSE, session="S1")
        t.rings(0.7)
        look = t.page_is_asked(guest.session)
        t.rings(0.7)
        assert not t.app.calls, "the page has not answered yet"
        look.answers({"result": {"value": True}})
        t.rings(0.7)
        t.page_is_painted(guest.session, True)
        wheel.answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_two_commands_are_looked_into_each(self) -> None:
        t, guest, agent = begin()
        for id_, method in ((1, MOUSE), (2, "Page.captureScreenshot")):
            agent.says(id_, method, self.WHEEL if method == MOUSE else {}, session="S1")
            t.app.gets(method, session="S1")
        for id_ in (1, 2):
            t.rings(0.7)
            t.page_is_painted(guest.session, False)
            agent.hears_error(id_, "browser_target_hidden", session="S1")
        t.silence()

    def test_a_page_that_is_painted_and_never_answers_has_its_bound(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        t.app.gets(MOUSE, session="S1")
        for _ in range(13):
            t.rings(0.7)
            t.page_is_painted(guest.session, True)
        t.rings(9.3)
        agent.hears_error(
            1, "browser_timeout: Input.dispatchMouseEvent was not answered within 10", session="S1"
        )
        t.silence()

    def test_an_answer_during_the_look_is_the_answer(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        wheel = t.app.gets(MOUSE, session="S1")
        t.rings(0.7)
        look = t.page_is_asked(guest.session)
        wheel.answers()
        agent.hears(1, {}, session="S1")
        look.answers({"result": {"value": False}})
        t.silence()


class TestTheGuardsOwnCommands:
    """The steps of a gesture are the guard's own commands; they are looked into in the same way."""

    SCROLL: ClassVar[dict[str, Any]] = {"x": 1, "y": 2, "yDistance": -100}

    def begun(self) -> tuple[Transcript, GuestPage, Client, Call]:
        t, guest, agent = begin()
        agent.says(1, "Input.synthesizeScrollGesture", self.SCROLL, session="S1")
        return t, guest, agent, t.app.gets(MOUSE, {"type": "mouseWheel"}, session="S1")

    def test_hidden_at_the_second_look(self) -> None:
        t, guest, agent, wheel = self.begun()
        for painted in (True, False):
            t.rings(0.7)
            t.page_is_painted(guest.session, painted)
        agent.hears_error(1, "browser_target_hidden", session="S1")
        wheel.answers()
        t.silence()

    def test_an_answer_after_the_first_look(self) -> None:
        t, guest, agent, wheel = self.begun()
        t.rings(0.7)
        t.page_is_painted(guest.session, True)
        wheel.answers()
        while not agent.inbox:
            t.rings(next(iter(t.timers.values())))
            if t.app.calls:
                t.app.gets(MOUSE, {"type": "mouseWheel"}, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_never(self) -> None:
        t, guest, agent, _ = self.begun()
        for seconds in [0.7] * 14 + [0.2]:
            t.rings(seconds)
            t.page_is_painted(guest.session, True)
        agent.hears_error(1, "browser_timeout: the guest did not answer within 10 s", session="S1")
        t.silence()

    def test_an_answer_during_a_look_is_the_answer(self) -> None:
        t, guest, agent, wheel = self.begun()
        t.rings(0.7)
        look = t.page_is_asked(guest.session)
        wheel.answers()
        look.answers({"result": {"value": False}})
        agent.hears_nothing()


class TestFingers:
    """Chromium answers no touch of a guest that gives no frames."""

    def test_both_ends_are_named_and_the_finger_is_the_clients_until_the_page_has_it(self) -> None:
        t, guest, agent = begin()
        agent.says(1, TOUCH, FINGER, session="S1")
        emulates(t, guest.session)
        t.bridge.gets("borrow.begin").answers(HELD)
        down = t.app.gets(TOUCH, FINGER, session=guest.session)
        self.is_named(t, guest, agent, 1)
        for id_ in (2, 3):
            agent.says(id_, TOUCH, LIFT, session="S1")
            t.bridge.gets("borrow.begin").answers(HELD)
            up = t.app.gets(TOUCH, LIFT, session=guest.session)
            if id_ == 2:
                self.is_named(t, guest, agent, 2)
        down.answers()
        up.answers()
        agent.hears(3, {}, session="S1")

    def is_named(self, t: Transcript, guest: GuestPage, agent: Client, id_: int) -> None:
        t.rings(2.0)
        t.rings(0.7)
        t.page_is_painted(guest.session, False)
        agent.hears_error(id_, "browser_target_hidden", session="S1")
        lingers(t, guest)
