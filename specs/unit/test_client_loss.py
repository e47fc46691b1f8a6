"""A client that left leaves nothing behind and disturbs nobody."""

from __future__ import annotations

import pytest

from specs.unit.browsing import attached
from specs.unit.strokes import (
    FINGER,
    HELD,
    KEY,
    MOUSE,
    PRESS,
    RELEASE,
    RETURNED,
    TOUCH,
    arrives_by_cdp,
    begin,
    emulates,
    key,
    key_arrives,
    key_is_sent,
    lingers,
    pressed,
    repaired,
    roused,
    shows,
)
from specs.unit.transcript import Transcript


class TestSessions:
    """A client that left leaves nothing behind and disturbs nobody."""

    def test_its_sessions_are_ended_others_are_not(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent, other = t.client(), t.client()
        agent.attaches("G1", "S1")
        agent.attaches("G1", "S2")
        other.attaches("G1", "S3")
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
        agent.hears_event("Target.attachedToTarget", session="S1")
        agent.says(1, "Runtime.evaluate", session="S1")
        late = t.app.gets("Runtime.evaluate", session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S2"}).answers()
        late.answers()
        t.app.says("Page.loadEventFired", {}, session="S1")
        t.guest("G2")
        other.says(1, "DOM.enable", session="S3")
        t.app.gets("DOM.enable", session="S3").answers()
        other.hears(1, session="S3")
        t.silence()
        assert [s.id for s in t.guard.sessions.of_client(agent.number)] == []

    def test_what_waits_for_it_is_let_go_first(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        for session, target_id in (("SF", "F1"), ("SW", "W1")):
            waits = {**attached(session, target_id), "waitingForDebugger": True}
            t.app.says("Target.attachedToTarget", waits, session="S1")
            agent.hears_event("Target.attachedToTarget", session="S1")
        agent.says(1, "Runtime.runIfWaitingForDebugger", session="SF")
        t.app.gets("Runtime.runIfWaitingForDebugger", session="SF").answers()
        agent.hears(1, session="SF")
        agent.leaves()
        t.app.gets("Runtime.runIfWaitingForDebugger", session="SW").answers()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.silence()

    def test_leaving_twice_is_leaving(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.leaves()
        agent.leaves()
        agent.says(1, "Target.getTargets")
        t.silence()


class TestInput:
    """What a client held down is let go, in the guest where it held it."""

    def test_its_sessions_end_and_keys_and_buttons_go_up(self) -> None:
        t, guest, agent = begin()
        shift = {"type": "rawKeyDown", "key": "Shift", "code": "ShiftLeft", "windowsVirtualKeyCode": 16}
        agent.says(1, KEY, {**shift, "location": 1, "modifiers": 8}, session="S1")
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        agent.says(2, MOUSE, PRESS, session="S1")
        pressed(t).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(2, session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.app.gets(MOUSE, RELEASE, session=guest.session).answers()
        t.page_says(guest.session)
        roused(t, guest)
        key_is_sent(t, guest, ("keyUp", "Shift"))
        t.silence()

    def test_what_is_up_already_is_left_alone(self) -> None:
        t, guest, agent = begin()
        for id_, type_ in ((1, "keyDown"), (2, "keyUp")):
            agent.says(id_, KEY, key("a", type_), session="S1")
            key_arrives(t, guest)
            agent.hears(id_, session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.silence()

    def test_what_was_refused_was_never_down(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        t.bridge.gets("borrow.begin").answers({"state": "composing"})
        agent.hears_error(1, "browser_user_composing", session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.silence()

    def test_another_clients_key_stays_down(self) -> None:
        t, guest, agent = begin()
        other = t.client()
        other.attaches("G1", "S2")
        for client, session, letter in ((agent, "S1", "a"), (other, "S2", "b")):
            client.says(1, KEY, key(letter), session=session)
            key_arrives(t, guest)
            client.hears(1, session=session)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        key_arrives(t, guest, ("keyUp", "a"))
        t.silence()

    def test_a_key_that_another_client_holds_too_stays_down(self) -> None:
        t, guest, agent = begin()
        other = t.client()
        other.attaches("G1", "S2")
        for client, session in ((agent, "S1"), (other, "S2")):
            client.says(1, KEY, key("a"), session=session)
            key_arrives(t, guest)
            client.hears(1, session=session)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.silence()
        other.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S2"}).answers()
        key_arrives(t, guest, ("keyUp", "a"))
        t.silence()

    def test_in_mid_burst_the_rest_is_dropped_and_what_went_out_goes_up(self) -> None:
        t, guest, agent = begin()
        for id_, letter in enumerate("abcdef"):
            agent.says(id_, KEY, key(letter), session="S1")
        t.page_says(guest.session)
        watch = t.app.gets("Runtime.evaluate", session=guest.session)
        sending = t.bridge.gets("keys.send")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        sending.answers({"sent": 2})
        watch.answers({"result": {"value": "handled"}})
        key_arrives(t, guest, ("keyUp", "a"))
        t.silence()

    def test_while_the_page_is_asked_nothing_is_sent(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        asked = t.app.gets("Page.createIsolatedWorld", session=guest.session)
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        asked.answers({"executionContextId": 7})
        t.app.gets("Runtime.evaluate", session=guest.session).answers({"result": {}})
        t.page_says(guest.session)
        t.silence()

    def test_while_the_pane_is_asked_nothing_is_sent_and_the_focus_goes_home(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        begun = t.bridge.gets("borrow.begin")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        begun.answers(HELD)
        t.bridge.gets("borrow.end", lease=1).answers(RETURNED)
        t.silence()

    def test_during_a_borrow_the_focus_goes_home(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        press = pressed(t)
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        press.answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        t.app.gets(MOUSE, RELEASE, session=guest.session).answers()
        t.silence()

    def test_a_frames_own_session_is_let_go_in_that_frame(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "CROSS")
        agent.attaches("CROSS", "SF")
        agent.says(1, KEY, key("a"), session="SF")
        t.app.gets(KEY, session="SF").answers()
        repaired(t)
        agent.hears(1, session="SF")
        agent.says(2, MOUSE, PRESS, session="SF")
        emulates(t, guest.session)
        emulates(t, frame)
        pressed(t, "SF").answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        repaired(t)
        agent.hears(2, session="SF")
        agent.leaves()
        for session in ("S1", "SF"):
            t.app.gets("Target.detachFromTarget", {"sessionId": session}).answers()
        t.app.gets(MOUSE, RELEASE, session=frame).answers()
        t.app.gets(KEY, key("a", "keyUp"), session=frame).answers()
        t.silence()

    def test_of_a_frame_that_is_gone_nothing_is_held(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "CROSS")
        agent.attaches("CROSS", "SF")
        agent.says(1, KEY, key("a"), session="SF")
        t.app.gets(KEY, session="SF").answers()
        repaired(t)
        agent.hears(1, session="SF")
        t.app.says("Target.detachedFromTarget", {"sessionId": frame}, session=guest.session)
        agent.leaves()
        for session in ("S1", "SF"):
            t.app.gets("Target.detachFromTarget", {"sessionId": session}).answers()
        t.silence()

    @pytest.mark.parametrize("method", [MOUSE, "Input.emulateTouchFromMouseEvent"])
    def test_every_button(self, method: str) -> None:
        t, guest, agent = begin()
        agent.says(1, method, {**PRESS, "button": "right"}, session="S1")
        emulates(t, guest.session)
        pressed(t, params={**PRESS, "button": "right"}).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(1, session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.app.gets(MOUSE, {**RELEASE, "button": "right"}, session=guest.session).answers()
        t.silence()

    def test_a_touch(self) -> None:
        t, guest, agent = begin()
        agent.says(1, TOUCH, FINGER, session="S1")
        emulates(t, guest.session)
        t.bridge.gets("borrow.begin").answers(HELD)
        t.app.gets(TOUCH, session=guest.session).answers()
        agent.hears(1, session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        cancel = t.app.gets(TOUCH, {"type": "touchCancel", "touchPoints": []}, session=guest.session)
        cancel.answers()
        lingers(t, guest)
        t.silence()

    def test_a_drag(self) -> None:
        t, guest, agent = begin()
        over = {"type": "dragOver", "x": 1, "y": 2, "data": {"items": [], "dragOperationsMask": 1}}
        agent.says(1, "Input.dispatchDragEvent", over, session="S1")
        t.app.gets("Input.dispatchDragEvent", session="S1").answers()
        agent.hears(1, session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        cancel = {**over, "type": "dragCancel"}
        t.app.gets("Input.dispatchDragEvent", cancel, session=guest.session).answers()
        t.silence()

    def test_a_plain_window_is_let_go_by_cdp(self) -> None:
        t = Transcript()
        guest = t.guest("G1", kind="window", host_id=None)
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, KEY, key("a"), session="S1")
        shows(t, guest)
        arrives_by_cdp(t, guest, KEY, key("a"))
        agent.hears(1, session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.app.gets(KEY, key("a", "keyUp"), session=guest.session).answers()
        t.silence()

    def test_a_release_that_fails_does_not_keep_the_sessions(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.app.gets("Runtime.evaluate", session=guest.session)
        t.rings(2.0)
        assert t.reported("release.failed")[0]["method"] == KEY
        t.silence()

    def test_a_guest_that_is_gone_holds_nothing(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_event("Target.detachedFromTarget")
        agent.leaves()
        t.silence()

    def test_a_guest_that_goes_before_its_turn_comes(self) -> None:
        t, guest, agent = begin()
        other = t.client()
        other.attaches("G1", "S2")
        agent.says(1, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        other.says(1, KEY, key("b"), session="S2")
        t.app.gets("Runtime.evaluate", session=guest.session)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).fails("No session with given id")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        other.hears_error(1, "browser_error: the guest is gone", session="S2")
        other.hears_event("Target.detachedFromTarget")
        t.silence()
