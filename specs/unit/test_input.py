"""How agent input gets into a guest: where it goes, what the page was seen to get, and in which order."""

from __future__ import annotations

import pytest

from focusguard.cdp.limits import Limits
from focusguard.policy.drags import INTERCEPT, LATE_SECONDS
from focusguard.policy.evidence import SCRIPT
from specs.unit.strokes import (
    HELD,
    KEY,
    MOUSE,
    MOVE,
    PRESS,
    RELEASE,
    RETURNED,
    TAB,
    VERSION,
    begin,
    emulates,
    key,
    key_arrives,
    key_is_sent,
    pressed,
    repaired,
    roused,
    types,
    with_focus,
    with_focus_and_witness,
)
from specs.unit.transcript import Call, Client, GuestPage, Transcript

COMPOSE = "Input.imeSetComposition"
HANDLED = {"result": {"type": "string", "value": "handled"}}


def picks(t: Transcript, guest: GuestPage, expression: str) -> None:
    """What the last step of a composition has left is selected."""
    asked = t.app.gets("Runtime.evaluate", {"expression": expression}, session=guest.session)
    asked.answers({"result": {"type": "undefined"}})


class TestKeys:
    """Input.dispatchKeyEvent on a guest's root session: to the frame that has the focus inside the guest."""

    def test_the_first_key_of_a_guest_step_by_step(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        world = t.app.gets("Page.createIsolatedWorld", {"frameId": "G1"}, session=guest.session)
        world.answers({"executionContextId": 7})
        script = t.app.gets("Runtime.evaluate", {"contextId": 7, "expression": SCRIPT}, session=guest.session)
        script.answers({"result": {"type": "undefined"}})
        t.page_says(guest.session)
        watch = t.app.gets("Runtime.evaluate", {"contextId": 7, "awaitPromise": True}, session=guest.session)
        t.bridge.gets(
            "keys.send",
            webContentsId=guest.web_contents_id,
        ).answers({"sent": 2})
        agent.hears_nothing()
        watch.answers({"result": {"type": "string", "value": "handled"}})
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_the_second_is_asked_for_in_the_same_world(self) -> None:
        t, guest, agent = begin()
        for id_ in (1, 2):
            types(t, guest, agent, id_)
        agent.says(3, KEY, key("a", "keyUp"), session="S1")
        assert t.app.calls[0].method == "Runtime.evaluate"
        key_arrives(t, guest, ("keyUp", "a"))
        agent.hears(3, {}, session="S1")
        t.silence()

    def test_after_a_navigation_the_world_is_made_anew(self) -> None:
        t, guest, agent = begin()
        types(t, guest, agent, 1)
        agent.says(2, KEY, key("b"), session="S1")
        t.app.gets("Runtime.evaluate", {"contextId": 7}, session=guest.session).fails(
            "Cannot find context with specified id"
        )
        t.app.gets("Page.createIsolatedWorld", session=guest.session).answers({"executionContextId": 8})
        t.app.gets("Runtime.evaluate", {"contextId": 8}, session=guest.session).answers({"result": {}})
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        t.silence()

    def test_a_world_number_that_now_names_another_document_is_made_anew(self) -> None:
        """Context numbers begin again in the new renderer of a cross-site navigation."""
        t, guest, agent = begin()
        types(t, guest, agent, 1)
        agent.says(2, KEY, key("b"), session="S1")
        asked = t.app.gets("Runtime.evaluate", {"contextId": 7}, session=guest.session)
        asked.answers({"result": {"type": "object"}, "exceptionDetails": {"text": "Uncaught"}})
        t.app.gets("Page.createIsolatedWorld", session=guest.session).answers({"executionContextId": 8})
        t.app.gets("Runtime.evaluate", {"contextId": 8}, session=guest.session).answers({"result": {}})
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        t.silence()

    def test_a_key_only_cdp_can_express_borrows_and_takes_the_focus(self) -> None:
        t, guest, agent = begin()
        unmapped = {"type": "keyDown", "key": "ß", "code": "Minus", "text": "ß", "windowsVirtualKeyCode": 219}
        agent.says(1, KEY, unmapped, session="S1")
        t.page_says(guest.session)
        assert not t.app.calls
        watch = with_focus_and_witness(t, guest, unmapped)
        agent.hears_nothing()
        watch.answers({"result": {"type": "string", "value": "handled"}})
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_borrowed_key_that_nobody_saw_is_not_called_delivered(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, TAB, session="S1")
        t.page_says(guest.session)
        watch = with_focus_and_witness(t, guest, TAB)
        watch.answers({"result": {"type": "string", "value": "missed"}})
        agent.hears_error(1, "browser_input_not_delivered", session="S1")
        t.silence()

    def test_tab_borrows_wherever_the_focus_is(self) -> None:
        t, guest, agent = begin()
        t.frame(guest, "CROSS")
        agent.says(1, KEY, TAB, session="S1")
        t.page_says(guest.session)
        watch = with_focus_and_witness(t, guest, TAB)
        watch.answers({"result": {"type": "string", "value": "handled"}})
        agent.hears(1, {}, session="S1")
        t.silence()


class TestReleasesAfterAPersonsKey:
    """A widget at which a person's press was stopped drops releases until the next press."""

    def borrow(self, t: Transcript, agent: Client, id_: int, *, brought_home: int) -> None:
        agent.says(id_, MOUSE, PRESS, session="S1")
        pressed(t).answers()
        t.bridge.gets("borrow.end").answers({**RETURNED, "broughtHome": brought_home})
        agent.hears(id_, session="S1")

    def test_it_is_made_to_listen_before_a_release(self) -> None:
        t, guest, agent = begin()
        types(t, guest, agent, 1)
        self.borrow(t, agent, 2, brought_home=1)
        agent.says(3, KEY, key("a", "keyUp"), session="S1")
        t.page_says(guest.session)
        roused(t, guest)
        key_is_sent(t, guest, ("keyUp", "a"))
        agent.hears(3, session="S1")
        t.silence()

    def test_a_press_does_that_by_itself(self) -> None:
        t, guest, agent = begin()
        types(t, guest, agent, 1)
        self.borrow(t, agent, 2, brought_home=1)
        for id_, type_ in ((3, "keyDown"), (4, "keyUp")):
            agent.says(id_, KEY, key("b", type_), session="S1")
            key_arrives(t, guest)
            agent.hears(id_, session="S1")
        t.silence()

    def test_a_release_that_nobody_saw_is_sent_once_more_and_then_reported(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a", "keyUp"), session="S1")
        t.page_says(guest.session)
        key_is_sent(t, guest, ("keyUp", "a"), "missed")
        roused(t, guest)
        key_is_sent(t, guest, ("keyUp", "a"), "missed")
        agent.hears_error(1, "browser_input_not_delivered", session="S1")
        t.silence()


class TestFrames:
    """`document.activeElement` is followed through frames to where the focus is."""

    def test_a_same_site_frame_is_asked_on_the_guests_own_session(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        t.page_says(guest.session, frame="SAME")
        key_arrives(t, guest)
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_cross_site_frame_gets_it_on_the_guards_session_there(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "CROSS")
        agent.says(1, KEY, key("a"), session="S1")
        t.page_says(guest.session, frame="CROSS")
        t.page_says(frame)
        t.app.gets(KEY, key("a"), session=frame).answers()
        repaired(t)
        agent.hears(1, {}, session="S1")
        agent.says(2, "Input.insertText", {"text": "hi"}, session="S1")
        t.page_says(guest.session, frame="CROSS")
        t.page_says(frame)
        t.app.gets("Input.insertText", {"text": "hi"}, session=frame).answers()
        repaired(t)
        agent.hears(2, {}, session="S1")
        t.silence()

    def test_cross_site_in_same_site_in_cross_site(self) -> None:
        t, guest, agent = begin()
        outer = t.frame(guest, "OUTER")
        inner = t.frame(guest, "INNER", under=outer)
        agent.says(1, KEY, key("a"), session="S1")
        t.page_says(guest.session, frame="OUTER")
        t.page_says(outer, frame="BETWEEN")
        t.page_says(outer, frame="INNER")
        t.page_says(inner)
        t.app.gets(KEY, key("a"), session=inner).answers()
        repaired(t)
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_frames_without_end_are_given_up(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        for number in range(32):
            t.page_says(guest.session, frame=f"F{number}")
        agent.hears_error(1, "browser_input_not_delivered: the guest's focus is more than 32", session="S1")
        t.silence()

    def test_a_frame_that_goes_while_it_is_asked(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "CROSS")
        agent.says(1, KEY, key("a"), session="S1")
        t.page_says(guest.session, frame="CROSS")
        t.app.gets("Page.createIsolatedWorld", session=frame)
        t.app.says("Target.detachedFromTarget", {"sessionId": frame}, session=guest.session)
        agent.hears_error(
            1, "browser_input_not_delivered: the frame that has the guest's focus", session="S1"
        )
        types(t, guest, agent, 2)
        t.silence()

    def test_a_frame_that_goes_while_it_handles_the_key(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "CROSS")
        agent.says(1, KEY, key("a"), session="S1")
        t.page_says(guest.session, frame="CROSS")
        t.page_says(frame)
        t.app.gets(KEY, session=frame)
        t.app.says("Target.detachedFromTarget", {"sessionId": frame}, session=guest.session)
        repaired(t)
        agent.hears_error(1, "browser_error: the target closed before it answered", session="S1")
        t.silence()

    def test_a_frames_own_session_is_left_alone(self) -> None:
        t, guest, agent = begin()
        t.frame(guest, "CROSS")
        agent.attaches("CROSS", "SF")
        agent.says(1, KEY, key("a"), session="SF")
        t.app.gets(KEY, key("a"), session="SF").answers()
        repaired(t)
        agent.hears(1, {}, session="SF")
        t.silence()


class TestText:
    """Input.insertText: only where something takes text."""

    def test_text_is_inserted_by_the_bridge_and_seen_by_the_page(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Input.insertText", {"text": "grüße 👋"}, session="S1")
        t.page_says(guest.session)
        watch = t.app.gets("Runtime.evaluate", session=guest.session)
        t.bridge.gets("text.insert", webContentsId=guest.web_contents_id, text="grüße 👋").answers({})
        watch.answers({"result": {"value": "handled"}})
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_nothing_takes_text(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Input.insertText", {"text": "hi"}, session="S1")
        t.page_says(guest.session, editable=False)
        error = agent.hears_error(1, "browser_input_not_delivered: nothing that takes text", session="S1")
        assert error["data"] == {"code": "browser_input_not_delivered", "retryable": True}
        t.silence()

    def test_half_a_surrogate_pair_goes_through_cdp(self) -> None:
        t, guest, agent = begin()
        agent.says_raw(b'{"id":1,"method":"Input.insertText","params":{"text":"\\ud83d"},"sessionId":"S1"}')
        t.page_says(guest.session)
        with_focus(t, "Input.insertText", {"text": "\ud83d"})
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_composition_borrows(self) -> None:
        t, guest, agent = begin()
        composing = {"text": "に", "selectionStart": 1, "selectionEnd": 1}
        agent.says(1, "Input.imeSetComposition", composing, session="S1")
        t.page_says(guest.session)
        with_focus(t, "Input.imeSetComposition", composing)
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_step_of_a_composition_takes_the_place_of_the_last_one(self) -> None:
        t, guest, agent = begin()
        steps = [{"text": text, "selectionStart": 1, "selectionEnd": 1} for text in ("k", "か")]
        agent.says(1, COMPOSE, steps[0], session="S1")
        t.page_says(guest.session)
        with_focus(t, COMPOSE, steps[0])
        agent.hears(1, {}, session="S1")
        agent.says(2, COMPOSE, steps[1], session="S1")
        t.page_says(guest.session)
        t.bridge.gets("borrow.begin", take=True).answers(HELD)
        picks(t, guest, 'focusguard.pick("k", 1)')
        command = t.app.gets(COMPOSE, steps[1], session="S1")
        t.app.gets("Browser.getVersion").answers(VERSION)
        t.bridge.gets("borrow.end").answers(RETURNED)
        command.answers()
        agent.hears(2, {}, session="S1")
        agent.says(3, "Input.insertText", {"text": "漢"}, session="S1")
        t.page_says(guest.session)
        picks(t, guest, 'focusguard.pick("\\u304b", 1)')
        t.app.gets("Runtime.evaluate", {"awaitPromise": True}, session=guest.session).answers(HANDLED)
        t.bridge.gets("text.insert", text="漢").answers({})
        agent.hears(3, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize("state", ["guest-focused", "key between"])
    def test_what_is_open_or_over_is_not_taken_up(self, state: str) -> None:
        t, guest, agent = begin()
        step = {"text": "k", "selectionStart": 1, "selectionEnd": 1}
        for number in (1, 2):
            agent.says(number, COMPOSE, step, session="S1")
            t.page_says(guest.session)
            if state == "guest-focused":
                t.bridge.gets("borrow.begin").answers({"state": state, "lease": None, "waitedMs": 0})
                command = t.app.gets(COMPOSE, step, session="S1")
                t.app.gets("Browser.getVersion").answers(VERSION)
                command.answers()
            else:
                with_focus(t, COMPOSE, step)
            agent.hears(number, {}, session="S1")
            if state == "key between":
                agent.says(10 + number, KEY, key("a"), session="S1")
                key_arrives(t, guest)
                agent.hears(10 + number, {}, session="S1")
        t.silence()

    def test_composition_in_a_cross_site_frame_stays_there(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "CROSS")
        agent.says(
            1, "Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1}, session="S1"
        )
        t.page_says(guest.session, frame="CROSS")
        t.page_says(frame)
        t.app.gets("Input.imeSetComposition", session=frame).answers()
        repaired(t)
        agent.hears(1, {}, session="S1")
        t.silence()


class TestReceipts:
    """Success means that the guest was seen to get it."""

    def watched(self, t: Transcript, guest: GuestPage, agent: Client) -> tuple[Call, Call]:
        agent.says(1, KEY, key("a"), session="S1")
        t.page_says(guest.session)
        return t.app.gets("Runtime.evaluate", session=guest.session), t.bridge.gets("keys.send")

    @pytest.mark.parametrize("verdict", ["handled", "cancelled"])
    def test_seen(self, verdict: str) -> None:
        t, guest, agent = begin()
        watch, sending = self.watched(t, guest, agent)
        sending.answers({"sent": 2})
        watch.answers({"result": {"value": verdict}})
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_seen_before_the_bridge_has_answered(self) -> None:
        t, guest, agent = begin()
        watch, sending = self.watched(t, guest, agent)
        watch.answers({"result": {"value": "handled"}})
        agent.hears_nothing()
        sending.answers({"sent": 2})
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_missed(self) -> None:
        t, guest, agent = begin()
        watch, sending = self.watched(t, guest, agent)
        sending.answers({"sent": 2})
        watch.answers({"result": {"value": "missed"}})
        agent.hears_error(1, "browser_input_not_delivered: the input was sent", session="S1")
        t.silence()

    def test_a_document_that_the_input_sent_away_has_handled_it(self) -> None:
        t, guest, agent = begin()
        watch, sending = self.watched(t, guest, agent)
        sending.answers({"sent": 2})
        watch.fails("Execution context was destroyed.")
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_busy_page(self) -> None:
        t, guest, agent = begin()
        watch, sending = self.watched(t, guest, agent)
        sending.answers({"sent": 2})
        t.rings(3.0)
        agent.hears_error(1, "browser_timeout: the page has not handled the input yet", session="S1")
        watch.answers({"result": {"value": "handled"}})
        t.silence()

    def test_a_stopped_renderer_gets_nothing(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        t.app.gets("Page.createIsolatedWorld", session=guest.session)
        t.rings(2.0)
        agent.hears_error(1, "browser_input_not_delivered: the guest's renderer did not answer", session="S1")
        t.silence()

    def test_emulation_that_is_not_answered_is_no_reason_to_stop(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        t.app.gets("Emulation.setFocusEmulationEnabled", session=guest.session)
        t.rings(2.0)
        key_arrives(t, guest)
        agent.hears(1, {}, session="S1")
        agent.says(2, KEY, key("b"), session="S1")
        emulates(t, guest.session)
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")

    @pytest.mark.parametrize("how", ["fails", "is late"])
    def test_a_bridge_that_does_not_take_it(self, how: str) -> None:
        t, guest, agent = begin()
        watch, sending = self.watched(t, guest, agent)
        if how == "fails":
            sending.fails("there is no such page", "no-such-target")
        else:
            t.rings(2.0)
        agent.hears_error(1, "browser_error: the app did not take the input", session="S1")
        watch.answers({"result": {"value": "missed"}})
        t.silence()

    def test_a_bridge_that_goes(self) -> None:
        t, guest, agent = begin()
        watch, _ = self.watched(t, guest, agent)
        t.bridge.leaves()
        agent.hears_error(1, "browser_bridge_lost", session="S1")
        watch.answers({"result": {"value": "missed"}})
        t.silence()


class TestOrder:
    """Input of one guest takes effect in the order sent, and is answered in it."""

    def test_pipelined_keys_wait_for_each_other(self) -> None:
        t, guest, agent = begin()
        for id_, letter in enumerate("abc"):
            agent.says(id_, KEY, key(letter), session="S1")
        for id_, letter in enumerate("abc"):
            t.page_says(guest.session)
            watch = t.app.gets("Runtime.evaluate", session=guest.session)
            sending = t.bridge.gets("keys.send")
            assert sending.params["events"][0]["keyCode"] == letter
            assert not t.bridge.calls and not t.app.calls
            sending.answers()
            watch.answers({"result": {"value": "handled"}})
            agent.hears(id_, {}, session="S1")
        t.silence()

    def test_two_guests_do_not_wait_for_each_other(self) -> None:
        t, _, agent = begin()
        second = t.guest("G2")
        agent.attaches("G2", "S2")
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, "OWN-G1")
        t.app.gets("Page.createIsolatedWorld", session="OWN-G1")
        agent.says(2, KEY, key("b"), session="S2")
        key_arrives(t, second)
        agent.hears(2, {}, session="S2")

    def test_two_clients_on_one_guest_share_its_order(self) -> None:
        t, guest, agent = begin()
        other = t.client()
        other.attaches("G1", "S2")
        agent.says(1, KEY, key("a"), session="S1")
        other.says(1, KEY, key("b"), session="S2")
        for client, session in ((agent, "S1"), (other, "S2")):
            key_arrives(t, guest)
            client.hears(1, {}, session=session)
        t.silence()

    def test_a_failure_lets_the_next_one_on(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Input.insertText", {"text": "x"}, session="S1")
        agent.says(2, KEY, key("b"), session="S1")
        t.page_says(guest.session, editable=False)
        agent.hears_error(1, "browser_input_not_delivered", session="S1")
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        t.silence()

    def test_moves_are_pipelined_and_a_key_waits_for_them(self) -> None:
        t, guest, agent = begin()
        for id_ in (1, 2):
            agent.says(id_, MOUSE, MOVE, session="S1")
        agent.says(3, KEY, key("a"), session="S1")
        agent.says(4, MOUSE, MOVE, session="S1")
        moves = [t.app.gets(MOUSE, MOVE, session="S1") for _ in range(2)]
        assert not t.app.calls
        for id_, move in enumerate(moves, start=1):
            move.answers()
            agent.hears(id_, {}, session="S1")
        key_arrives(t, guest)
        agent.hears(3, {}, session="S1")
        t.app.gets(MOUSE, MOVE, session="S1").answers()
        agent.hears(4, {}, session="S1")
        t.silence()

    def test_a_move_that_is_never_answered_holds_the_next_key_up_once(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, MOVE, session="S1")
        t.app.gets(MOUSE, MOVE, session="S1")
        agent.says(2, KEY, key("a"), session="S1")
        t.rings(0.7)
        t.page_is_painted(guest.session, True)
        t.rings(1.0)
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        t.rings(9.3)
        agent.hears_error(1, "browser_timeout: Input.dispatchMouseEvent was not answered", session="S1")
        for id_ in (3, 4):
            types(t, guest, agent, id_, "b")
        t.silence()

    def test_what_waits_for_a_session_that_is_detached_is_carried_out(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        agent.says(2, MOUSE, PRESS, session="S1")
        agent.says(3, MOUSE, MOVE, session="S1")
        emulates(t, guest.session)
        world = t.app.gets("Page.createIsolatedWorld", session=guest.session)
        agent.says(4, "Target.detachFromTarget", {"sessionId": "S1"})
        t.app.gets("Target.detachFromTarget").answers()
        agent.hears_event("Target.detachedFromTarget")
        agent.hears(4)
        world.answers({"executionContextId": 7})
        key_arrives(t, guest)
        agent.hears(1, {}, session="S1")
        pressed(t, guest.session).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(2, {}, session="S1")
        t.app.gets(INTERCEPT, {"enabled": True}, session=guest.session).answers()
        t.app.gets(MOUSE, MOVE, session=guest.session).answers()
        agent.hears(3, {}, session="S1")
        t.app.gets(MOUSE, RELEASE, session=guest.session).answers()
        t.page_says(guest.session)
        roused(t, guest)
        key_is_sent(t, guest, ("keyUp", "a"))
        t.rings(LATE_SECONDS)
        t.app.gets(INTERCEPT, {"enabled": False}, session=guest.session).answers()
        t.silence()

    def test_a_guest_that_goes_answers_all_that_waits(self) -> None:
        t, guest, agent = begin()
        for id_ in range(3):
            agent.says(id_, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        t.app.gets("Page.createIsolatedWorld", session=guest.session)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        for id_ in (1, 2):
            agent.hears_error(id_, "browser_error: the guest is gone", session="S1")
        agent.hears_error(0, "browser_error: the guest is gone", session="S1")
        agent.hears_event("Target.detachedFromTarget")
        t.silence()

    def test_a_guest_that_goes_during_a_borrow_gives_the_focus_back(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        pressed(t)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        t.bridge.gets("borrow.end", lease=1).answers(RETURNED)
        agent.hears_event("Target.detachedFromTarget")
        agent.hears_error(1, "browser_error: the guest is gone", session="S1")
        t.silence()

    def test_waiting_commands_count_as_outstanding(self) -> None:
        _, _, agent = begin(limits=Limits(pending=3))
        for id_ in range(3):
            agent.says(id_, KEY, key("a"), session="S1")
        agent.says(3, KEY, key("a"), session="S1")
        agent.hears_error(3, "browser_refused: 3 commands of this connection wait", session="S1")
