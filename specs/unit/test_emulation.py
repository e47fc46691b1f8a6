"""Focus emulation: on while a client wants it or drives the guest, said by the guard, off with the last one."""

from __future__ import annotations

import pytest

from focusguard.policy.emulation import LIFECYCLE
from specs.unit.browsing import attached
from specs.unit.strokes import KEY, begin, key, key_arrives, key_is_sent
from specs.unit.transcript import EMULATION, Client, Transcript

ON, OFF = {"enabled": True}, {"enabled": False}


def leaves(t: Transcript, client: Client, session: str) -> None:
    """A client's connection is gone, and the app has ended its session."""
    client.leaves()
    t.app.gets("Target.detachFromTarget", {"sessionId": session}).answers()


class TestDriven:
    """The guard turns it on with an agent's first input, and off when the last client has left."""

    def test_it_ends_with_the_last_client(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        agent.says(2, KEY, key("a", "keyUp"), session="S1")
        key_arrives(t, guest)
        agent.hears(2, session="S1")
        leaves(t, agent, "S1")
        t.app.gets(EMULATION, OFF, session=guest.session).answers()
        t.silence()

    def test_what_is_down_goes_up_first(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        leaves(t, agent, "S1")
        key_arrives(t, guest, ("keyUp", "a"))
        t.app.gets(EMULATION, OFF, session=guest.session).answers()
        t.silence()

    def test_another_client_keeps_it_and_it_is_said_again(self) -> None:
        """On Electron 22 and before, the end of any session turns it off in the page."""
        t, guest, agent = begin()
        other = t.client()
        other.attaches("G1", "S2")
        agent.says(1, KEY, key("a", "keyUp"), session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        leaves(t, agent, "S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        leaves(t, other, "S2")
        t.app.gets(EMULATION, OFF, session=guest.session).answers()
        t.silence()

    def test_a_client_that_only_detaches_has_left_too(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a", "keyUp"), session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        agent.says(2, "Target.detachFromTarget", {"sessionId": "S1"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.app.gets(EMULATION, OFF, session=guest.session).answers()
        agent.hears_event("Target.detachedFromTarget")
        agent.hears(2)
        t.silence()

    def test_a_client_that_comes_in_time_keeps_it(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        t.page_says(guest.session)
        agent.leaves()
        t.app.gets("Runtime.evaluate", session=guest.session).answers({"result": {"value": "missed"}})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        sending = t.bridge.gets("keys.send")
        next_one = t.client()
        next_one.attaches("G1", "S2")
        sending.answers({"sent": 1})
        key_arrives(t, guest, ("keyUp", "a"))
        assert not t.app.calls
        t.silence()

    def test_frames_are_told_with_the_page_and_late_ones_when_they_come(self) -> None:
        t, guest, agent = begin()
        early = t.frame(guest, "F1")
        agent.says(1, KEY, key("a", "keyUp"), session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        t.app.gets(EMULATION, ON, session=early).answers()
        t.page_says(guest.session)
        key_is_sent(t, guest)
        agent.hears(1, session="S1")
        late = t.frame(guest, "F2")
        t.app.gets(EMULATION, ON, session=late).answers()
        leaves(t, agent, "S1")
        for session in (guest.session, early, late):
            t.app.gets(EMULATION, OFF, session=session).answers()
        t.silence()


class TestFrozen:
    """A client's freeze ends with it; to Chromium the page stays hidden after one, so emulation keeps it painted."""

    def test_a_guest_that_is_woken_is_kept_visible(self) -> None:
        t, guest, agent = begin()
        for id_, state in enumerate(("frozen", "active")):
            agent.says(id_, LIFECYCLE, {"state": state}, session="S1")
            if state == "active":
                t.app.gets(EMULATION, ON, session=guest.session).answers()
            t.app.gets(LIFECYCLE, {"state": state}, session="S1").answers()
            agent.hears(id_, session="S1")
        leaves(t, agent, "S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        t.silence()

    def test_one_that_its_last_client_leaves_frozen_is_woken(self) -> None:
        t, guest, agent = begin()
        agent.says(1, LIFECYCLE, {"state": "frozen"}, session="S1")
        t.app.gets(LIFECYCLE, {"state": "frozen"}, session="S1").answers()
        agent.hears(1, session="S1")
        leaves(t, agent, "S1")
        t.app.gets(LIFECYCLE, {"state": "active"}, session=guest.session).answers()
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        t.silence()


class TestAsked:
    """A client's own wish: it lasts until that client takes it back or goes, whatever others do."""

    def test_it_is_the_guards_session_that_says_it(self) -> None:
        t, guest, agent = begin()
        agent.says(1, EMULATION, ON, session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        agent.hears(1, {}, session="S1")
        agent.says(2, EMULATION, OFF, session="S1")
        t.app.gets(EMULATION, OFF, session=guest.session).answers()
        agent.hears(2, {}, session="S1")
        t.silence()

    def test_another_client_cannot_take_it_away(self) -> None:
        t, guest, agent = begin()
        other = t.client()
        other.attaches("G1", "S2")
        agent.says(1, EMULATION, ON, session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        agent.hears(1, {}, session="S1")
        for id_, order in enumerate((OFF, ON, OFF)):
            other.says(id_, EMULATION, order, session="S2")
            other.hears(id_, {}, session="S2")
        assert not t.app.calls
        leaves(t, other, "S2")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        leaves(t, agent, "S1")
        t.app.gets(EMULATION, OFF, session=guest.session).answers()
        t.silence()

    def test_taking_it_back_does_not_end_what_an_agent_needs(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a", "keyUp"), session="S1")
        t.app.gets(EMULATION, ON, session=guest.session).answers()
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        agent.says(2, EMULATION, OFF, session="S1")
        agent.hears(2, {}, session="S1")
        assert not t.app.calls

    def test_a_frames_own_session(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "F1")
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
        agent.hears_event("Target.attachedToTarget", session="S1")
        agent.says(1, EMULATION, ON, session="SF")
        t.app.gets(EMULATION, ON, session=frame).answers()
        agent.hears(1, {}, session="SF")
        t.app.says("Target.detachedFromTarget", {"sessionId": "SF"}, session="S1")
        agent.hears_event("Target.detachedFromTarget", session="S1")
        t.app.gets(EMULATION, OFF, session=frame).answers()
        t.silence()

    def test_a_guest_that_does_not_answer(self) -> None:
        t, guest, agent = begin()
        agent.says(1, EMULATION, ON, session="S1")
        t.app.gets(EMULATION, ON, session=guest.session)
        t.rings(2.0)
        agent.hears_error(1, "browser_timeout", session="S1")

    @pytest.mark.parametrize("params", [{}, {"enabled": "yes"}])
    def test_what_chromium_would_refuse_is_refused_by_chromium(self, params: dict[str, object]) -> None:
        t, _, agent = begin()
        agent.says(1, EMULATION, params, session="S1")
        t.app.gets(EMULATION, params, session="S1").fails("Invalid parameters", -32602)
        agent.hears_error(1, "Invalid parameters", session="S1")
        t.silence()

    def test_a_guest_that_is_gone(self) -> None:
        t, guest, agent = begin()
        agent.says(1, EMULATION, ON, session="S1")
        t.app.gets(EMULATION, ON, session=guest.session)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_error(1, "browser_error", session="S1")
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S1"})
        t.silence()
