"""Boxes that a page raises while agents drive it: clients answer them, or the guard does; the person is not asked."""

from __future__ import annotations

from specs.unit.strokes import MOUSE, PRESS, begin, emulates, pressed
from specs.unit.transcript import CHOOSER, HOLD, Client, GuestPage, Transcript

OPENING, ANSWER = "Page.javascriptDialogOpening", "Page.handleJavaScriptDialog"
CONFIRM = {"url": "http://guest.test/G1", "message": "Really?", "type": "confirm", "hasBrowserHandler": True}


def watched() -> tuple[Transcript, GuestPage, Client]:
    """A client has come to a guest."""
    t, guest, agent = begin()
    t.app.gets("Page.enable", session=guest.session).answers()
    t.bridge.gets(HOLD, webContentsId=guest.web_contents_id, on=True).answers({"held": True})
    return t, guest, agent


def hears_dialogs(t: Transcript, agent: Client) -> None:
    agent.says(1, "Page.enable", session="S1")
    t.app.gets("Page.enable", session="S1").answers()
    agent.hears(1, session="S1")


class TestWatching:
    def test_from_the_first_client_to_the_last(self) -> None:
        t, guest, agent = watched()
        other = t.client()
        other.attaches("G1", "S2")
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.bridge.takes_quietly()
        assert not t.app.calls and not t.bridge.calls
        other.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S2"}).answers()
        t.app.gets("Page.disable", session=guest.session).answers()
        t.bridge.gets(HOLD, webContentsId=guest.web_contents_id, on=False).answers({"held": False})
        t.silence()

    def test_a_new_bridge_is_told(self) -> None:
        t, guest, _ = watched()
        t.bridge.leaves()
        t.bridge.joins()
        t.bridge.gets(HOLD, webContentsId=guest.web_contents_id, on=True).answers({"held": True})

    def test_frames_too(self) -> None:
        t, guest, agent = watched()
        frame = t.frame(guest, "F1")
        t.app.gets("Page.enable", session=frame).answers()
        agent.says(1, MOUSE, PRESS, session="S1")
        for session in (guest.session, frame):
            t.app.gets(CHOOSER, {"enabled": True}, session=session).answers()


class TestDialogs:
    def test_nobody_hears_of_it_so_the_guard_dismisses_it(self) -> None:
        t, guest, _ = watched()
        t.app.says(OPENING, CONFIRM, session=guest.session)
        t.app.gets(ANSWER, {"accept": False}, session=guest.session).answers()
        t.app.says("Page.javascriptDialogClosed", {"result": False}, session=guest.session)
        t.silence()
        assert t.reported("dialog.answered")[0]["message"] == "Really?"

    def test_a_page_that_objects_to_being_left_is_left(self) -> None:
        t, guest, _ = watched()
        t.app.says(OPENING, {**CONFIRM, "type": "beforeunload"}, session=guest.session)
        t.app.gets(ANSWER, {"accept": True}, session=guest.session).answers()
        t.silence()

    def test_a_client_that_hears_of_it_answers(self) -> None:
        t, guest, agent = watched()
        hears_dialogs(t, agent)
        t.app.says(OPENING, CONFIRM, session=guest.session)
        t.app.says(OPENING, CONFIRM, session="S1")
        agent.hears_event(OPENING, session="S1")
        agent.says(2, ANSWER, {"accept": True}, session="S1")
        t.app.gets(ANSWER, {"accept": True}, session="S1").answers()
        agent.hears(2, session="S1")
        t.app.says("Page.javascriptDialogClosed", {"result": True}, session=guest.session)
        t.silence()

    def test_one_that_does_not_answer_is_not_waited_for_for_ever(self) -> None:
        t, guest, agent = watched()
        hears_dialogs(t, agent)
        agent.says(2, "FocusGuard.enable")
        agent.hears(2)
        t.app.says(OPENING, CONFIRM, session=guest.session)
        t.rings(30.0)
        t.app.gets(ANSWER, {"accept": False}, session=guest.session).answers()
        told = agent.hears_event("FocusGuard.dialogAnswered", {"targetId": "G1", "accept": False})
        assert (told["type"], told["message"]) == ("confirm", "Really?")
        t.silence()

    def test_the_last_client_leaves_with_one_open(self) -> None:
        t, guest, agent = watched()
        hears_dialogs(t, agent)
        t.app.says(OPENING, CONFIRM, session=guest.session)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.app.gets(ANSWER, {"accept": False}, session=guest.session).answers()
        t.app.gets("Page.disable", session=guest.session).answers()
        t.silence()

    def test_who_hears_of_it_leaves_and_others_do_not(self) -> None:
        t, guest, agent = watched()
        hears_dialogs(t, agent)
        t.client().attaches("G1", "S2")
        t.app.says(OPENING, CONFIRM, session=guest.session)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.app.gets(ANSWER, {"accept": False}, session=guest.session).answers()
        assert t.reported("dialog.answered")[0]["message"] == "Really?"
        t.silence()

    def test_who_hears_of_it_wants_to_hear_no_more(self) -> None:
        t, guest, agent = watched()
        hears_dialogs(t, agent)
        t.app.says(OPENING, CONFIRM, session=guest.session)
        agent.says(2, "Page.disable", session="S1")
        t.app.gets("Page.disable", session="S1").answers()
        agent.hears(2, session="S1")
        t.app.gets(ANSWER, {"accept": False}, session=guest.session).answers()
        t.silence()

    def test_one_of_two_who_hear_of_it_leaves(self) -> None:
        t, guest, agent = watched()
        hears_dialogs(t, agent)
        other = t.client()
        other.attaches("G1", "S2")
        other.says(1, "Page.enable", session="S2")
        t.app.gets("Page.enable", session="S2").answers()
        other.hears(1, session="S2")
        t.app.says(OPENING, CONFIRM, session=guest.session)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.app.takes_quietly()
        assert not t.app.calls
        t.rings(30.0)
        t.app.gets(ANSWER, {"accept": False}, session=guest.session).answers()

    def test_a_guest_goes_with_one_open(self) -> None:
        t, guest, agent = watched()
        hears_dialogs(t, agent)
        t.app.says(OPENING, CONFIRM, session=guest.session)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_event("Target.detachedFromTarget")
        t.silence()


class TestFileChoosers:
    def test_none_opens_from_an_agents_press_to_the_persons(self) -> None:
        t, guest, agent = watched()
        agent.says(1, "FocusGuard.enable")
        agent.hears(1)
        agent.says(2, MOUSE, PRESS, session="S1")
        t.app.gets(CHOOSER, {"enabled": True}, session=guest.session).answers()
        emulates(t, guest.session)
        pressed(t)
        t.app.says(
            "Page.fileChooserOpened", {"backendNodeId": 7, "mode": "selectSingle"}, session=guest.session
        )
        agent.hears_event("FocusGuard.fileChooserKept", {"targetId": "G1", "backendNodeId": 7})
        t.bridge.tells("person.acted", webContentsId=guest.web_contents_id)
        t.app.gets(CHOOSER, {"enabled": False}, session=guest.session).answers()

    def test_a_script_with_a_gesture_counts_one_without_does_not(self) -> None:
        t, guest, agent = watched()
        agent.says(1, "Runtime.evaluate", {"expression": "1"}, session="S1")
        t.app.gets("Runtime.evaluate", session="S1").answers({"result": {}})
        agent.hears(1, session="S1")
        agent.says(2, "Runtime.evaluate", {"expression": "1", "userGesture": True}, session="S1")
        t.app.gets(CHOOSER, {"enabled": True}, session=guest.session).answers()
        t.app.gets("Runtime.evaluate", session="S1").answers({"result": {}})
        agent.hears(2, session="S1")
        t.silence()
