"""How agent input gets into a guest: where it goes, in which order, what is borrowed, and what is let go."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from focusguard.cdp.limits import Limits
from focusguard.policy.evidence import SCRIPT
from focusguard.policy.keys import ROUSING_EVENT
from specs.unit.transcript import VERSION, Call, Client, GuestPage, Transcript, target

KEY = "Input.dispatchKeyEvent"
MOUSE = "Input.dispatchMouseEvent"
PRESS = {"type": "mousePressed", "x": 10, "y": 20, "button": "left", "clickCount": 1}
TOUCH = "Input.dispatchTouchEvent"
FINGER: dict[str, Any] = {"type": "touchStart", "touchPoints": [{"x": 1.0, "y": 2.0, "id": 0}]}
LIFT: dict[str, Any] = {"type": "touchEnd", "touchPoints": []}
RELEASE = {"type": "mouseReleased", "x": 10, "y": 20, "button": "left", "clickCount": 1}
MOVE = {"type": "mouseMoved", "x": 11, "y": 21}
TAB = {"type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
HELD: dict[str, Any] = {"state": "held", "lease": 1, "waitedMs": 0}
RETURNED: dict[str, Any] = {"returned": True, "reason": "returned", "heldMs": 7.5, "broughtHome": 1}


def key(letter: str, type_: str = "keyDown") -> dict[str, Any]:
    """A letter as Playwright sends it."""
    params = {
        "type": type_,
        "key": letter,
        "code": f"Key{letter.upper()}",
        "windowsVirtualKeyCode": ord(letter.upper()),
    }
    return params if type_ == "keyUp" else {**params, "text": letter}


def begin(**more: Any) -> tuple[Transcript, GuestPage, Client]:
    """A webview guest and a client with the session S1 on it."""
    t = Transcript(**more)
    guest = t.guest("G1")
    agent = t.client()
    agent.attaches("G1", "S1")
    return t, guest, agent


def key_arrives(t: Transcript, guest: GuestPage, stroke: tuple[str, str] | None = None) -> None:
    """The page is asked, the bridge sends, and the page has handled it; `stroke`: the first event's type and key."""
    t.page_says(guest.session)
    key_is_sent(t, guest, stroke)


def roused(t: Transcript, guest: GuestPage) -> None:
    """A guest at which a person's press was stopped is made to listen again."""
    sending = t.bridge.gets("keys.send", webContentsId=guest.web_contents_id)
    assert sending.params["events"] == [ROUSING_EVENT]
    sending.answers({"sent": 1})


def key_is_sent(
    t: Transcript, guest: GuestPage, stroke: tuple[str, str] | None = None, verdict: str = "handled"
) -> None:
    """The bridge sends, and the page says what became of it."""
    watch = t.app.gets("Runtime.evaluate", session=guest.session)
    sending = t.bridge.gets("keys.send", webContentsId=guest.web_contents_id)
    first = sending.params["events"][0]
    assert stroke is None or (first["type"], first["keyCode"]) == stroke
    sending.answers({"sent": len(sending.params["events"])})
    watch.answers({"result": {"type": "string", "value": verdict}})


def arrives_by_cdp(t: Transcript, guest: GuestPage, method: str, params: dict[str, Any]) -> None:
    """The page is asked, the command goes out on the client's session, and the page has handled it."""
    t.page_says(guest.session)
    watch = t.app.gets("Runtime.evaluate", {"awaitPromise": True}, session=guest.session)
    t.app.gets(method, params, session="S1").answers()
    watch.answers({"result": {"type": "string", "value": "handled"}})


def emulates(t: Transcript, session: str) -> None:
    """The guard turns focus emulation on, on its own session."""
    t.app.gets("Emulation.setFocusEmulationEnabled", {"enabled": True}, session=session).answers()


def with_focus(t: Transcript, method: str, params: dict[str, Any], session: str = "S1") -> None:
    """The pane puts the focus into the guest, the command goes out, and the focus goes home behind a fence."""
    t.bridge.gets("borrow.begin", take=True).answers(HELD)
    command = t.app.gets(method, params, session=session)
    fence = t.app.gets("Browser.getVersion")
    assert not t.bridge.calls, "the focus goes home when the app has taken the command"
    fence.answers(VERSION)
    t.bridge.gets("borrow.end", lease=1, recheckMs=50).answers(RETURNED)
    command.answers()


def with_focus_and_witness(t: Transcript, guest: GuestPage, params: dict[str, Any]) -> Call:
    """As `with_focus` for a key, with the page asked beforehand whether it sees it; gives that question."""
    t.bridge.gets("borrow.begin", take=True).answers(HELD)
    watch = t.app.gets("Runtime.evaluate", {"awaitPromise": True}, session=guest.session)
    command = t.app.gets(KEY, params, session="S1")
    t.app.gets("Browser.getVersion").answers(VERSION)
    t.bridge.gets("borrow.end", lease=1, recheckMs=50).answers(RETURNED)
    command.answers()
    return watch


def lingers(t: Transcript, guest: GuestPage, lease: int = 1) -> None:
    """The focus is watched a little longer, then goes home, and the person's input method is looked after."""
    t.rings(0.4)
    t.bridge.gets("borrow.end", lease=lease).answers(RETURNED)
    t.bridge.gets("host.repair", webContentsId=guest.web_contents_id).answers({"nudged": True})


def pressed(t: Transcript, session: str = "S1", params: dict[str, Any] | None = None) -> Call:
    """The pane holds the person's focus, and the press goes out."""
    t.bridge.gets("borrow.begin").answers(HELD)
    return t.app.gets(MOUSE, params or PRESS, session=session)


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
            agent.says(id_, KEY, key("a"), session="S1")
            key_arrives(t, guest)
            agent.hears(id_, {}, session="S1")
        agent.says(3, KEY, key("a", "keyUp"), session="S1")
        assert t.app.calls[0].method == "Runtime.evaluate"
        key_arrives(t, guest, ("keyUp", "a"))
        agent.hears(3, {}, session="S1")
        t.silence()

    def test_after_a_navigation_the_world_is_made_anew(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, session="S1")
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
        agent.says(1, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, session="S1")
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
        agent.says(1, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        self.borrow(t, agent, 2, brought_home=1)
        agent.says(3, KEY, key("a", "keyUp"), session="S1")
        t.page_says(guest.session)
        roused(t, guest)
        key_is_sent(t, guest, ("keyUp", "a"))
        agent.hears(3, session="S1")
        t.silence()

    def test_a_press_does_that_by_itself(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(1, session="S1")
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
        agent.hears(1, {}, session="S1")
        agent.says(2, "Input.insertText", {"text": "hi"}, session="S1")
        t.page_says(guest.session, frame="CROSS")
        t.page_says(frame)
        t.app.gets("Input.insertText", {"text": "hi"}, session=frame).answers()
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
        agent.says(2, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        t.silence()

    def test_a_frame_that_goes_while_it_handles_the_key(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "CROSS")
        agent.says(1, KEY, key("a"), session="S1")
        t.page_says(guest.session, frame="CROSS")
        t.page_says(frame)
        t.app.gets(KEY, session=frame)
        t.app.says("Target.detachedFromTarget", {"sessionId": frame}, session=guest.session)
        agent.hears_error(1, "browser_error: the target closed before it answered", session="S1")
        t.silence()

    def test_a_frames_own_session_is_left_alone(self) -> None:
        t, guest, agent = begin()
        t.frame(guest, "CROSS")
        agent.attaches("CROSS", "SF")
        agent.says(1, KEY, key("a"), session="SF")
        t.app.gets(KEY, key("a"), session="SF").answers()
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

    def test_composition_in_a_cross_site_frame_stays_there(self) -> None:
        t, guest, agent = begin()
        frame = t.frame(guest, "CROSS")
        agent.says(1, "Input.imeSetComposition", {"text": "に"}, session="S1")
        t.page_says(guest.session, frame="CROSS")
        t.page_says(frame)
        t.app.gets("Input.imeSetComposition", session=frame).answers()
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
        t.rings(10.0)
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

    @pytest.mark.parametrize("params", [FINGER, LIFT])
    def test_a_touch_borrows_and_is_watched_a_little_longer(self, params: dict[str, Any]) -> None:
        t, guest, agent = begin()
        agent.says(1, TOUCH, params, session="S1")
        emulates(t, guest.session)
        t.bridge.gets("borrow.begin", take=False).answers(HELD)
        t.app.gets(TOUCH, params, session="S1").answers()
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
            t.app.gets(TOUCH, params, session="S1").answers()
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
            (TOUCH, {"type": "touchMove", "touchPoints": [{"x": 1, "y": 1}]}),
            (TOUCH, {"type": "touchCancel", "touchPoints": []}),
            ("Input.dispatchDragEvent", {"type": "dragEnter", "x": 1, "y": 1, "data": {"items": []}}),
        ],
    )
    def test_does_not_borrow(self, method: str, params: dict[str, Any]) -> None:
        t, _, agent = begin()
        agent.says(1, method, params, session="S1")
        t.app.gets(method, params, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize("kind", ["window", "offscreen"])
    def test_a_page_without_a_host_is_plain_cdp(self, kind: str) -> None:
        t = Transcript()
        guest = t.guest("G1", kind=kind, host_id=None)
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.gets(MOUSE, PRESS, session="S1").answers()
        agent.hears(1, {}, session="S1")
        for id_, (method, params) in enumerate(
            ((KEY, key("a")), ("Input.insertText", {"text": "x"}), (KEY, TAB)), 2
        ):
            agent.says(id_, method, params, session="S1")
            arrives_by_cdp(t, guest, method, params)
            agent.hears(id_, {}, session="S1")
        t.silence()

    def test_an_offscreen_page_gets_no_key_where_electron_would_crash(self) -> None:
        t = Transcript()
        guest = t.guest("G1", kind="offscreen", host_id=None)
        t.frame(guest, "CROSS")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.attaches("CROSS", "SF")
        agent.says(1, KEY, key("a"), session="SF")
        t.page_says(guest.session)
        agent.hears_error(1, "browser_refused", session="SF")
        t.silence()

    @pytest.mark.parametrize("kind", ["browser-view", "web-contents-view"])
    def test_a_view_takes_keys_by_cdp_and_borrows_for_presses(self, kind: str) -> None:
        t = Transcript()
        guest = t.guest("G1", kind=kind)
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, KEY, key("a"), session="S1")
        arrives_by_cdp(t, guest, KEY, key("a"))
        agent.hears(1, {}, session="S1")
        agent.says(2, MOUSE, PRESS, session="S1")
        pressed(t).answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(2, {}, session="S1")
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
        agent.hears(1, {}, session="SF")
        t.silence()


class TestGestures:
    """Synthetic gestures are made of touches and wheels: Chromium would queue them on the host's view."""

    TAP = "Input.synthesizeTapGesture"

    def touched(self, t: Transcript, params: dict[str, Any], lease: int) -> None:
        t.bridge.gets("borrow.begin", take=False).answers({**HELD, "lease": lease})
        t.app.gets(TOUCH, params, session="S1").answers()

    def test_a_tap(self) -> None:
        t, guest, agent = begin()
        agent.says(1, self.TAP, {"x": 1, "y": 2}, session="S1")
        emulates(t, guest.session)
        self.touched(t, FINGER, 1)
        t.rings(0.05)
        self.touched(t, LIFT, 2)
        agent.hears(1, {}, session="S1")
        lingers(t, guest, lease=1)
        lingers(t, guest, lease=2)
        t.silence()

    def test_a_scroll(self) -> None:
        t, _, agent = begin()
        agent.says(1, "Input.synthesizeScrollGesture", {"x": 1, "y": 2, "yDistance": -20}, session="S1")
        for turn in range(2):
            if turn:
                t.rings(0.016)
            wheel = {"type": "mouseWheel", "x": 1.0, "y": 2.0, "deltaX": 0.0, "deltaY": 10.0}
            t.app.gets(MOUSE, wheel, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_pinch(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Input.synthesizePinchGesture", {"x": 100, "y": 2, "scaleFactor": 1.1}, session="S1")
        emulates(t, guest.session)
        self.touched(t, {"type": "touchStart"}, 1)
        t.rings(0.016)
        t.app.gets(TOUCH, {"type": "touchMove"}, session="S1").answers()
        t.rings(0.016)
        self.touched(t, LIFT, 2)
        agent.hears(1, {}, session="S1")

    def test_no_finger_stays_down_when_the_gesture_cannot_go_on(self) -> None:
        t, guest, agent = begin()
        agent.says(1, self.TAP, {"x": 1, "y": 2}, session="S1")
        emulates(t, guest.session)
        self.touched(t, FINGER, 1)
        t.rings(0.05)
        t.bridge.gets("borrow.begin").answers({"state": "composing"})
        t.app.gets(TOUCH, {"type": "touchCancel", "touchPoints": []}, session="S1").answers()
        agent.hears_error(1, "browser_user_composing", session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        lingers(t, guest)
        t.silence()

    def test_it_ends_with_its_client(self) -> None:
        t, guest, agent = begin()
        agent.says(1, self.TAP, {"x": 1, "y": 2}, session="S1")
        emulates(t, guest.session)
        self.touched(t, FINGER, 1)
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.rings(0.05)
        t.app.gets(TOUCH, {"type": "touchCancel", "touchPoints": []}, session=guest.session).answers()
        lingers(t, guest)
        t.silence()

    @pytest.mark.parametrize(
        ("method", "params"),
        [
            ("Input.synthesizeTapGesture", {}),
            ("Input.synthesizeTapGesture", {"x": "left", "y": 1}),
            ("Input.synthesizeTapGesture", {"x": 1, "y": 1, "duration": 1e9}),
            ("Input.synthesizeTapGesture", {"x": [], "y": 1}),
            ("Input.synthesizePinchGesture", {"x": 1, "y": 1, "scaleFactor": 0}),
            (
                "Input.synthesizeScrollGesture",
                {"x": 1, "y": 1, "yDistance": 1, "repeatCount": 1000, "repeatDelayMs": 1e6},
            ),
        ],
    )
    def test_a_gesture_that_is_none(self, method: str, params: dict[str, Any]) -> None:
        t, _, agent = begin()
        agent.says(1, method, params, session="S1")
        agent.hears_error(1, "", session="S1")
        t.silence()

    def test_numbers_without_end(self) -> None:
        t, _, agent = begin()
        for id_, name in enumerate(("Tap", "Scroll", "Pinch")):
            params = '{"x":1,"y":1,"duration":1e999,"yDistance":1e999,"scaleFactor":1e999}'
            method = f"Input.synthesize{name}Gesture"
            agent.says_raw(f'{{"id":{id_},"method":"{method}","params":{params},"sessionId":"S1"}}'.encode())
            agent.hears_error(id_, "Invalid parameters", session="S1")
        t.silence()


class TestFocusCommands:
    """DOM.focus: nobody is told when it takes the input method from the person's field, so it is watched."""

    def test_the_person_is_looked_after(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "DOM.focus", {"nodeId": 3}, session="S1")
        t.bridge.gets("borrow.begin", take=False).answers(HELD)
        t.app.gets("DOM.focus", {"nodeId": 3}, session="S1").answers()
        agent.hears(1, {}, session="S1")
        lingers(t, guest)
        t.silence()

    def test_it_keeps_its_place_among_keys(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "DOM.focus", {"nodeId": 3}, session="S1")
        agent.says(2, KEY, key("a"), session="S1")
        t.bridge.gets("borrow.begin").answers(HELD)
        focusing = t.app.gets("DOM.focus", session="S1")
        assert not t.app.calls
        focusing.answers()
        agent.hears(1, {}, session="S1")
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        lingers(t, guest)
        t.silence()

    def test_while_the_person_composes_it_is_refused(self) -> None:
        t, _, agent = begin()
        agent.says(1, "DOM.focus", {"nodeId": 3}, session="S1")
        t.bridge.gets("borrow.begin").answers({"state": "composing"})
        agent.hears_error(1, "browser_user_composing", session="S1")
        t.silence()


class TestNavigations:
    """A page may focus itself after them: they are watched, and input does not wait for them."""

    def test_a_navigation(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        t.bridge.gets("borrow.begin", take=False).answers(HELD)
        going = t.app.gets("Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        agent.says(2, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        going.answers({"frameId": "G1"})
        agent.hears(1, {"frameId": "G1"}, session="S1")
        t.rings(1.0)
        t.bridge.gets("borrow.end", lease=1).answers(RETURNED)
        t.bridge.gets("host.repair").answers({"nudged": True})
        t.silence()

    def test_a_reload_goes_through_the_bridge(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Page.reload", {"ignoreCache": True}, session="S1")
        t.bridge.gets("borrow.begin").answers(HELD)
        asked = t.bridge.gets("guest.reload", webContentsId=guest.web_contents_id, ignoreCache=True)
        asked.answers({})
        agent.hears(1, {}, session="S1")
        assert not t.app.calls
        t.rings(1.0)
        t.bridge.gets("borrow.end").answers(RETURNED)
        t.bridge.gets("host.repair").answers({"nudged": False})
        t.silence()

    def test_a_late_pane_does_not_keep_a_page_from_loading(self) -> None:
        t, _, agent = begin()
        agent.says(1, "Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        t.bridge.gets("borrow.begin").fails("too late", "pane-unavailable")
        t.app.gets("Page.navigate", session="S1").answers({"frameId": "G1"})
        agent.hears(1, session="S1")
        t.silence()

    def test_a_composition_does(self) -> None:
        t, _, agent = begin()
        agent.says(1, "Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        t.bridge.gets("borrow.begin").answers({"state": "composing"})
        agent.hears_error(1, "browser_user_composing", session="S1")
        t.silence()

    def test_a_guest_that_goes_while_it_navigates(self) -> None:
        t, _guest, agent = begin()
        agent.says(1, "Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        t.bridge.gets("borrow.begin").answers(HELD)
        t.app.gets("Page.navigate", session="S1")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_error(1, "browser_error: the target closed", session="S1")
        agent.hears_event("Target.detachedFromTarget")
        t.rings(1.0)
        t.bridge.gets("borrow.end", lease=1).answers(RETURNED)
        t.bridge.gets("host.repair").fails("there is no such page", "no-such-target")
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
            agent.says(id_, KEY, key("b"), session="S1")
            key_arrives(t, guest)
            agent.hears(id_, {}, session="S1")
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
        t.app.gets(MOUSE, MOVE, session=guest.session).answers()
        agent.hears(3, {}, session="S1")
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
        agent.hears_error(0, "browser_input_not_delivered", session="S1")
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
        agent.hears_error(1, "browser_error: the target closed before it answered", session="S1")
        t.silence()

    def test_waiting_commands_count_as_outstanding(self) -> None:
        _, _, agent = begin(limits=Limits(pending=3))
        for id_ in range(3):
            agent.says(id_, KEY, key("a"), session="S1")
        agent.says(3, KEY, key("a"), session="S1")
        agent.hears_error(3, "browser_refused: 3 commands of this connection wait", session="S1")


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


class TestClientLoss:
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
        agent.hears(1, session="SF")
        agent.says(2, MOUSE, PRESS, session="SF")
        emulates(t, guest.session)
        emulates(t, frame)
        pressed(t, "SF").answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
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
        t.app.gets(TOUCH, session="S1").answers()
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
        other.hears_error(1, "browser_input_not_delivered", session="S2")
        other.hears_event("Target.detachedFromTarget")
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


def test_a_target_that_takes_the_name_of_a_guest_is_not_asked_twice() -> None:
    t, _, _ = begin()
    t.app.says("Target.targetCreated", {"targetInfo": target("G1")})
    t.silence()
