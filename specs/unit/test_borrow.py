"""What needs the focus: noted before, taken where it must be, home right after, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from specs.unit.strokes import (
    FINGER,
    HELD,
    KEY,
    LIFT,
    MOUSE,
    MOVE,
    PRESS,
    RELEASE,
    RETURNED,
    TOUCH,
    begin,
    emulates,
    key,
    lingers,
    pressed,
    repaired,
)
from specs.unit.transcript import Call, Client, GuestPage, Transcript


class TestPresses:
    """What moves the focus: it is noted before, and goes home right after."""

    def test_a_click_step_by_step(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        begun = t.bridge.gets(
            "borrow.begin", webContentsId=guest.web_contents_id, paceMs=0, readyMs=150, take=False
        )
        assert not t.app.calls, "nothing is sent before the pane has answered"
        begun.answers(HELD)
        press = t.app.gets(MOUSE, PRESS, session="S1")
        assert not t.bridge.calls, "the focus goes home after the press"
        press.answers()
        ended = t.bridge.gets("borrow.end", lease=1, recheckMs=50)
        agent.hears_nothing()
        ended.answers(RETURNED)
        agent.hears(1, {}, session="S1")
        agent.says(2, MOUSE, RELEASE, session="S1")
        t.app.gets(MOUSE, RELEASE, session="S1").answers()
        agent.hears(2, {}, session="S1")
        assert t.reported("borrow") == [{"method": MOUSE, "waitedMs": 0.0, **RETURNED}]
        t.silence()

    def test_between_the_persons_keys_by_default(self) -> None:
        t, _, agent = begin(pace="between-keys")
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.gets("Emulation.setFocusEmulationEnabled", session="OWN-G1").answers()
        t.bridge.gets("borrow.begin", paceMs=250)

    def test_a_busy_page_keeps_the_borrow_open_for_so_long(self) -> None:
        """The pane gives the focus back by itself as soon as it moves; the borrow only watches."""
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        press = pressed(t)
        t.rings(2.0)
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears_nothing()
        press.answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_press_that_is_never_answered(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        press = pressed(t)
        t.rings(2.0)
        t.bridge.gets("borrow.end").answers(RETURNED)
        # The renderer says nothing at all: three looks of three seconds.
        for _ in range(3):
            t.rings(0.7)
            t.page_is_asked(guest.session)
            t.rings(3.0)
        agent.hears_error(1, "browser_timeout", session="S1")
        press.answers()
        t.silence()

    def test_a_press_that_the_app_refuses(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        pressed(t).fails("Invalid parameters", -32602)
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears_error(1, "Invalid parameters", session="S1")
        t.silence()

    @pytest.mark.parametrize(
        "params",
        [PRESS, {**PRESS, "button": "right"}, {**PRESS, "button": "middle", "clickCount": 2}],
    )
    def test_every_button_borrows(self, params: dict[str, Any]) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, params, session="S1")
        emulates(t, guest.session)
        pressed(t, params=params).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_touch_borrows_and_is_watched_a_little_longer(self) -> None:
        t, guest, agent = begin()
        agent.says(1, TOUCH, FINGER, session="S1")
        emulates(t, guest.session)
        t.bridge.gets("borrow.begin", take=False).answers(HELD)
        t.app.gets(TOUCH, FINGER, session=guest.session).answers()
        agent.hears(1, {}, session="S1")
        lingers(t, guest)
        t.silence()

    def test_the_next_touch_does_not_wait_until_the_first_is_no_longer_watched(self) -> None:
        t, guest, agent = begin()
        for lease, params in ((1, FINGER), (2, LIFT)):
            agent.says(lease, TOUCH, params, session="S1")
            if lease == 1:
                emulates(t, guest.session)
            t.bridge.gets("borrow.begin").answers({**HELD, "lease": lease})
            t.app.gets(TOUCH, params, session=guest.session).answers()
            agent.hears(lease, {}, session="S1")
        lingers(t, guest, lease=1)
        lingers(t, guest, lease=2)
        t.silence()

    @pytest.mark.parametrize(
        ("method", "params"),
        [
            (MOUSE, MOVE),
            (MOUSE, RELEASE),
            (MOUSE, {"type": "mouseWheel", "x": 1, "y": 1, "deltaX": 0, "deltaY": 10}),
            ("Input.dispatchDragEvent", {"type": "dragEnter", "x": 1, "y": 1, "data": {"items": []}}),
        ],
    )
    def test_does_not_borrow(self, method: str, params: dict[str, Any]) -> None:
        t, _, agent = begin()
        agent.says(1, method, params, session="S1")
        t.app.gets(method, params, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_press_on_a_frames_own_session_goes_there(self) -> None:
        t, guest, agent = begin()
        t.frame(guest, "CROSS")
        agent.attaches("CROSS", "SF")
        agent.says(1, MOUSE, PRESS, session="SF")
        emulates(t, guest.session)
        emulates(t, "OWN-CROSS")
        pressed(t, "SF").answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        repaired(t)
        agent.hears(1, {}, session="SF")
        t.silence()


class TestRefusals:
    """Nothing is sent when the person's focus is not safe."""

    def refused(self, t: Transcript, guest: GuestPage, agent: Client) -> Call:
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        return t.bridge.gets("borrow.begin")

    def test_the_person_is_composing(self) -> None:
        t, guest, agent = begin()
        self.refused(t, guest, agent).answers({"state": "composing", "lease": None})
        error = agent.hears_error(1, "browser_user_composing", session="S1")
        assert error["data"]["retryable"] is True
        t.silence()

    def test_the_pane_does_not_answer_the_bridge(self) -> None:
        t, guest, agent = begin()
        self.refused(t, guest, agent).fails("the host page answered too late", "pane-unavailable")
        says = "browser_focus_guard_unavailable: the host page answered too late; nothing was sent"
        agent.hears_error(1, says, session="S1")
        t.silence()

    def test_the_bridge_does_not_answer_and_a_late_lease_is_ended(self) -> None:
        t, guest, agent = begin()
        begun = self.refused(t, guest, agent)
        t.rings(2.15)
        agent.hears_error(1, "browser_focus_guard_unavailable", session="S1")
        begun.answers(HELD)
        t.bridge.gets("borrow.end", lease=1).answers(RETURNED)
        t.silence()

    def test_a_late_refusal_is_nothing(self) -> None:
        t, guest, agent = begin()
        begun = self.refused(t, guest, agent)
        t.rings(2.15)
        agent.hears_error(1, "browser_focus_guard_unavailable", session="S1")
        begun.fails("too late", "pane-unavailable")
        t.silence()

    def test_the_bridge_is_gone(self) -> None:
        t, guest, agent = begin()
        self.refused(t, guest, agent)
        t.bridge.leaves()
        agent.hears_error(1, "browser_bridge_lost", session="S1")
        agent.says(2, MOUSE, PRESS, session="S1")
        agent.hears_error(2, "browser_bridge_lost", session="S1")
        t.silence()

    def test_an_answer_that_makes_no_sense_holds_nothing_up(self) -> None:
        t, guest, agent = begin()
        self.refused(t, guest, agent).answers({"waitedMs": "soon"})
        agent.hears_error(1, "browser_", session="S1")
        agent.says(2, MOUSE, PRESS, session="S1")
        pressed(t).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(2, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize("state", ["guest-focused", "nothing-to-hold"])
    def test_nothing_is_returned_where_nothing_was_taken(self, state: str) -> None:
        t, guest, agent = begin()
        self.refused(t, guest, agent).answers({"state": state, "lease": None})
        t.app.gets(MOUSE, PRESS, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize("how", ["fails", "is late", "is gone"])
    def test_a_focus_that_does_not_come_home_is_reported_and_holds_nothing_up(self, how: str) -> None:
        t, guest, agent = begin()
        self.refused(t, guest, agent).answers(HELD)
        t.app.gets(MOUSE, session="S1").answers()
        ended = t.bridge.gets("borrow.end")
        if how == "fails":
            ended.fails("the pane is gone")
        elif how == "is late":
            t.rings(2.0)
        else:
            t.bridge.leaves()
        agent.hears(1, {}, session="S1")
        assert t.reported("borrow.unreturned")
        t.silence()

    def test_input_at_the_root_is_refused(self) -> None:
        t, _, agent = begin()
        for id_, method in enumerate((KEY, MOUSE, "Input.insertText", "Input.imeSetComposition")):
            agent.says(id_, method, key("a"))
            agent.hears_error(id_, "browser_refused")
        t.silence()


class TestOneBorrowForEachHost:
    """Two presses on one host window wait for each other, on two they do not."""

    def two_guests(self, hosts: tuple[int, int]) -> tuple[Transcript, Client, list[GuestPage]]:
        t = Transcript()
        guests = [t.guest("G1", host_id=hosts[0]), t.guest("G2", host_id=hosts[1])]
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.attaches("G2", "S2")
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, "OWN-G1")
        agent.says(2, MOUSE, PRESS, session="S2")
        emulates(t, "OWN-G2")
        return t, agent, guests

    def test_the_second_waits_for_the_first(self) -> None:
        t, agent, _ = self.two_guests((1, 1))
        press = pressed(t)
        assert not t.bridge.calls
        press.answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(1, session="S1")
        pressed(t, "S2").answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(2, session="S2")
        t.silence()

    def test_on_two_hosts_they_do_not(self) -> None:
        t, agent, guests = self.two_guests((1, 2))
        begun = [t.bridge.gets("borrow.begin", webContentsId=guest.web_contents_id) for guest in guests]
        for lease, call in enumerate(begun):
            call.answers({**HELD, "lease": lease})
        for session in ("S1", "S2"):
            t.app.gets(MOUSE, session=session).answers()
            t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(1, session="S1")
        agent.hears(2, session="S2")
        t.silence()

    def test_waiting_has_an_end(self) -> None:
        t, agent, _ = self.two_guests((1, 1))
        press = pressed(t)
        t.rings(15.0)
        agent.hears_error(2, "browser_focus_guard_unavailable: another agent action", session="S2")
        press.answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(1, session="S1")
        agent.says(3, MOUSE, PRESS, session="S2")
        pressed(t, "S2").answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(3, session="S2")
        t.silence()

    def test_a_refusal_lets_the_next_one_on(self) -> None:
        t, agent, _ = self.two_guests((1, 1))
        t.bridge.gets("borrow.begin").answers({"state": "composing"})
        agent.hears_error(1, "browser_user_composing", session="S1")
        pressed(t, "S2").answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(2, session="S2")
        t.silence()


class TestUpstreamLoss:
    """The app is gone: every command is answered, every connection ends."""

    def test_all_is_answered_and_the_focus_goes_home(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, MOVE, session="S1")
        t.app.gets(MOUSE, MOVE, session="S1").answers()
        agent.hears(1, session="S1")
        agent.says(2, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        pressed(t)
        agent.says(3, KEY, key("a"), session="S1")
        agent.says(4, "Runtime.evaluate", session="S1")
        t.app.gets("Runtime.evaluate", session="S1")
        t.app.goes()
        agent.hears_error(4, "browser_error: the app is gone", session="S1")
        assert agent.is_closed(1001) == "the app is gone"
        t.bridge.gets("borrow.end", lease=1).answers(RETURNED)
        t.silence()

    def test_a_client_that_comes_later_is_answered_too(self) -> None:
        t, _, _ = begin()
        t.app.goes()
        late = t.client()
        late.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        late.hears_error(1, "browser_error: the app is gone")
        t.silence()
