"""A guest that goes, or whose renderer dies: each command is answered once, and nobody is told to try again."""

from __future__ import annotations

import pytest

from specs.unit.browsing import attached
from specs.unit.strokes import KEY, MOUSE, PRESS, begin, emulates, key, key_arrives
from specs.unit.transcript import Client, GuestPage, Transcript

DEAD = "browser_error: the guest's renderer has died"


def crash(t: Transcript, target_id: str = "G1") -> None:
    t.app.says("Target.targetCrashed", {"targetId": target_id, "status": "crashed", "errorCode": 5})


def not_again(agent: Client, id_: int, says: str, session: str = "S1") -> None:
    assert agent.hears_error(id_, says, session=session)["data"]["retryable"] is False


class TestARendererThatDied:
    """The guest stays; Chromium answers nothing that was on its way."""

    def begun(self) -> tuple[Transcript, GuestPage, Client]:
        """One key is being carried out, two wait, and one command was forwarded."""
        t, guest, agent = begin()
        for id_ in (1, 2, 3):
            agent.says(id_, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        t.app.gets("Page.createIsolatedWorld", session=guest.session)
        agent.says(4, "DOM.getDocument", session="S1")
        t.app.gets("DOM.getDocument", session="S1")
        return t, guest, agent

    def test_everything_is_answered(self) -> None:
        t, _, agent = self.begun()
        crash(t)
        for id_ in (2, 3, 1, 4):
            not_again(agent, id_, DEAD)
        t.silence()

    def test_input_is_refused_and_nothing_is_sent(self) -> None:
        t, _, agent = begin()
        crash(t)
        agent.says(1, KEY, key("a"), session="S1")
        not_again(agent, 1, DEAD)
        agent.says(2, MOUSE, PRESS, session="S1")
        not_again(agent, 2, DEAD)
        t.silence()

    def test_other_commands_wait_a_moment_for_a_new_renderer(self) -> None:
        t, _, agent = begin()
        crash(t)
        agent.says(1, "DOM.getDocument", session="S1")
        t.app.gets("DOM.getDocument", session="S1")
        t.rings(0.7)
        not_again(agent, 1, DEAD)

    def test_a_page_that_is_loaded_anew_serves_on(self) -> None:
        t, guest, agent = begin()
        crash(t)
        agent.says(1, "DOM.getDocument", session="S1")
        call = t.app.gets("DOM.getDocument", session="S1")
        t.app.says("Inspector.targetReloadedAfterCrash", {}, session=guest.session)
        t.rings(0.7)
        call.answers({"root": {}})
        agent.hears(1, {"root": {}}, session="S1")
        agent.says(2, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(2, session="S1")

    def test_what_was_down_in_it_is_down_no_more(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        crash(t)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.silence()

    def test_a_frame_that_died_leaves_the_page_alone(self) -> None:
        t, guest, agent = begin()
        t.frame(guest, "F1")
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
        agent.hears_event("Target.attachedToTarget", session="S1")
        agent.says(1, "DOM.getDocument", session="SF")
        agent.says(2, "DOM.getDocument", session="S1")
        t.app.gets("DOM.getDocument", session="SF")
        call = t.app.gets("DOM.getDocument", session="S1")
        crash(t, "F1")
        not_again(agent, 1, DEAD, session="SF")
        call.answers({"root": {}})
        agent.hears(2, session="S1")
        t.silence()


class TestAGuestThatIsGone:
    @pytest.mark.parametrize("first", ["the target", "the session"])
    def test_a_command_that_is_being_carried_out(self, first: str) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        t.app.gets("Page.createIsolatedWorld", session=guest.session)
        if first == "the session":
            t.app.says("Target.detachedFromTarget", {"sessionId": guest.session, "targetId": "G1"})
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        not_again(agent, 1, "browser_error: the guest is gone")
        agent.hears_event("Target.detachedFromTarget")
        t.silence()

    def test_the_bridge_knows_it_first(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        emulates(t, guest.session)
        t.bridge.gets("borrow.begin").fails("there is no such page", "no-such-target")
        not_again(agent, 1, "browser_error: the guest is gone; nothing was sent")
        t.silence()


class TestAPageThatTheAppRefuses:
    """The app's word can change: agents lose a page as if it were gone, and the person keeps it."""

    def test_what_is_down_goes_up_and_sessions_end(self) -> None:
        t, guest, agent = begin()
        agent.says(1, KEY, key("a"), session="S1")
        emulates(t, guest.session)
        key_arrives(t, guest)
        agent.hears(1, session="S1")
        agent.says(2, "DOM.getDocument", session="S1")
        t.app.gets("DOM.getDocument", session="S1")
        t.bridge.tells("target.refused", webContentsId=guest.web_contents_id)
        key_arrives(t, guest, ("keyUp", "a"))
        not_again(agent, 2, "browser_error: the target closed")
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"})
        ended = {t.app.gets("Target.detachFromTarget").params["sessionId"] for _ in range(2)}
        assert ended == {"S1", guest.session}
        agent.says(3, "Target.getTargets")
        assert agent.hears(3)["targetInfos"] == []
        t.silence()

    def test_it_can_be_allowed_again(self) -> None:
        t, guest, agent = begin()
        t.bridge.tells("target.refused", webContentsId=guest.web_contents_id)
        agent.hears_event("Target.detachedFromTarget")
        for _ in range(2):
            t.app.gets("Target.detachFromTarget")
        t.bridge.tells("target.changed", webContentsId=guest.web_contents_id)
        described = {"found": True, "webContentsId": guest.web_contents_id, "kind": "webview", "guest": True}
        t.bridge.gets("target.describe", targetId="G1").answers({**described, "hostWebContentsId": 1})
        t.app.gets("Target.attachToTarget", {"targetId": "G1"}).answers({"sessionId": "OWN-AGAIN"})
        agent.says(1, "Target.getTargets")
        assert [each["targetId"] for each in agent.hears(1)["targetInfos"]] == ["G1"]

    def test_a_page_that_is_no_guest_is_nobodys_loss(self) -> None:
        t, _, agent = begin()
        t.bridge.tells("target.refused", webContentsId=4711)
        agent.hears_nothing()
        t.silence()
