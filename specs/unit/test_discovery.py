"""How the guard learns of guests: the app's targets, the bridge's word on each, and a session of its own on it."""

from __future__ import annotations

from typing import Any

import pytest

from specs.unit.browsing import attached as attachment
from specs.unit.transcript import Client, Transcript, page, target

GUEST = {"found": True, "guest": True, "kind": "webview", "webContentsId": 5, "hostWebContentsId": 1}
NO_GUEST = {"found": True, "guest": False, "kind": "window", "webContentsId": 1}


def listed(agent: Client) -> list[str]:
    """The targets that a client sees now."""
    agent.says(99, "Target.getTargets")
    return [info["targetId"] for info in agent.hears(99)["targetInfos"]]


def appears(t: Transcript, target_id: str = "G1", type_: str = "webview") -> None:
    t.app.says("Target.targetCreated", {"targetInfo": target(target_id, type_)})


def attached(t: Transcript, target_id: str = "G1") -> None:
    t.app.gets("Target.attachToTarget", {"targetId": target_id, "flatten": True}).answers(
        {"sessionId": "OWN"}
    )
    t.app.gets("Target.setAutoAttach", {"autoAttach": True, "flatten": True}, session="OWN").answers()


class TestStart:
    def test_it_asks_for_the_version_and_watches_targets(self) -> None:
        t = Transcript(start=False)
        t.app.gets("Browser.getVersion").answers({"product": "Chrome/130"})
        t.app.gets("Target.setDiscoverTargets", {"discover": True}).answers()
        assert t.reported("guard.started") == [{"product": "Chrome/130"}]
        t.silence()

    @pytest.mark.parametrize("how", ["fails", "is late", "goes"])
    def test_an_app_that_does_not_answer(self, how: str) -> None:
        t = Transcript(start=False)
        asked = t.app.gets("Browser.getVersion")
        if how == "fails":
            asked.fails("no")
        elif how == "is late":
            t.rings(5.0)
        else:
            t.app.goes()
        assert len(t.reported("guard.failed")) == 1
        t.silence()


class TestWithTheBridge:
    """Nothing is a guest before the bridge has said so."""

    def test_step_by_step(self) -> None:
        t = Transcript()
        agent = t.client()
        appears(t)
        asked = t.bridge.gets("target.describe", targetId="G1")
        assert listed(agent) == []
        asked.answers(GUEST)
        attaching = t.app.gets("Target.attachToTarget", {"targetId": "G1"})
        assert listed(agent) == []
        attaching.answers({"sessionId": "OWN"})
        t.app.gets("Target.setAutoAttach", session="OWN").answers()
        assert listed(agent) == ["G1"]
        assert t.reported("guest.ready")[0]["embedding"] == "webview"
        t.silence()

    @pytest.mark.parametrize("type_", ["page", "webview", "other"])
    def test_any_page_may_be_one(self, type_: str) -> None:
        t = Transcript()
        appears(t, type_=type_)
        t.bridge.gets("target.describe").answers({**GUEST, "kind": "web-contents-view"})
        attached(t)
        assert listed(t.client()) == ["G1"]

    @pytest.mark.parametrize(
        "type_", ["iframe", "worker", "service_worker", "shared_worker", "browser", "tab"]
    )
    def test_nothing_else_is_asked_about(self, type_: str) -> None:
        t = Transcript()
        appears(t, type_=type_)
        t.silence()

    def test_a_hidden_one_is_never_attached(self) -> None:
        t = Transcript()
        appears(t, "HOST", "page")
        t.bridge.gets("target.describe", targetId="HOST").answers(NO_GUEST)
        t.silence()

    def test_a_stopped_renderer_is_listed_all_the_same(self) -> None:
        t = Transcript()
        appears(t)
        t.bridge.gets("target.describe").answers(GUEST)
        t.app.gets("Target.attachToTarget").answers({"sessionId": "OWN"})
        t.app.gets("Target.setAutoAttach", session="OWN")
        assert listed(t.client()) == ["G1"]
        t.silence()

    def test_the_bridge_may_learn_of_it_a_little_later(self) -> None:
        t = Transcript()
        appears(t)
        t.bridge.gets("target.describe").answers({"found": False})
        for pause in (0.1, 0.4):
            t.rings(pause)
            t.bridge.gets("target.describe").answers({"found": False})
        t.rings(1.5)
        t.bridge.gets("target.describe").answers(GUEST)
        attached(t)
        assert listed(t.client()) == ["G1"]
        t.silence()

    def test_or_never(self) -> None:
        t = Transcript()
        appears(t)
        t.bridge.gets("target.describe").answers({"found": False})
        for pause in (0.1, 0.4, 1.5):
            t.rings(pause)
            t.bridge.gets("target.describe").answers({"found": False})
        t.silence()
        t.app.says("Target.targetInfoChanged", {"targetInfo": target("G1")})
        t.bridge.gets("target.describe").answers(GUEST)
        attached(t)
        t.silence()

    def test_a_change_that_the_bridge_tells_of_is_looked_into(self) -> None:
        t = Transcript()
        appears(t)
        t.bridge.gets("target.describe").answers(NO_GUEST)
        t.bridge.tells("target.changed", webContentsId=5)
        t.bridge.gets("target.describe").answers(GUEST)
        attached(t)
        t.silence()

    def test_also_while_it_is_asked_about(self) -> None:
        t = Transcript()
        appears(t)
        asked = t.bridge.gets("target.describe")
        t.bridge.tells("target.changed", webContentsId=5)
        asked.answers(NO_GUEST)
        t.bridge.gets("target.describe").answers(GUEST)
        attached(t)
        assert listed(t.client()) == ["G1"]
        t.silence()

    @pytest.mark.parametrize("how", ["fails", "is late"])
    def test_a_bridge_that_does_not_answer(self, how: str) -> None:
        t = Transcript()
        appears(t)
        asked = t.bridge.gets("target.describe")
        if how == "fails":
            asked.fails("it threw")
        else:
            t.rings(5.0)
        assert t.reported("guest.unknown")[0]["targetId"] == "G1"
        t.silence()

    def test_a_bridge_that_goes_and_comes_back(self) -> None:
        t = Transcript()
        appears(t)
        t.bridge.gets("target.describe")
        t.bridge.leaves()
        appears(t, "G2")
        t.silence()
        t.bridge.joins()
        for target_id in ("G1", "G2"):
            t.bridge.gets("target.describe", targetId=target_id).answers(NO_GUEST)
        t.silence()

    def test_guests_stay_when_the_bridge_goes(self) -> None:
        t = Transcript()
        t.guest("G1")
        t.bridge.leaves()
        t.bridge.joins()
        assert listed(t.client()) == ["G1"]
        t.silence()

    def test_an_answer_that_makes_no_sense(self) -> None:
        t = Transcript()
        appears(t)
        t.bridge.gets("target.describe").answers({**GUEST, "kind": "hologram"})
        assert t.reported("guest.unreachable")[0]["targetId"] == "G1"
        t.silence()


class TestAdoption:
    """Everything may happen while the guard attaches."""

    def begun(self) -> tuple[Transcript, Any]:
        t = Transcript()
        appears(t)
        t.bridge.gets("target.describe").answers(GUEST)
        return t, t.app.gets("Target.attachToTarget")

    def test_it_cannot_be_attached(self) -> None:
        t, attaching = self.begun()
        attaching.fails("Not allowed")
        assert t.reported("guest.unreachable")[0]["reason"] == "Not allowed"
        assert listed(t.client()) == []
        t.silence()

    def test_it_is_attached_too_late(self) -> None:
        t, attaching = self.begun()
        t.rings(5.0)
        attaching.answers({"sessionId": "LATE"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "LATE"}).answers()
        assert listed(t.client()) == []
        assert len(t.guard.sessions) == 0
        t.silence()

    def test_it_dies(self) -> None:
        t, attaching = self.begun()
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        attaching.answers({"sessionId": "OWN"})
        assert listed(t.client()) == []
        assert len(t.guard.sessions) == 0
        t.silence()

    def test_it_changes(self) -> None:
        t, attaching = self.begun()
        t.app.says("Target.targetInfoChanged", {"targetInfo": target("G1", title="new")})
        attaching.answers({"sessionId": "OWN"})
        t.app.gets("Target.setAutoAttach", session="OWN").answers()
        agent = t.client()
        agent.says(1, "Target.getTargets")
        agent.hears(1, {"targetInfos": [page("G1", attached=False, title="new")]})
        t.silence()

    def test_it_dies_while_the_bridge_is_asked(self) -> None:
        t = Transcript()
        appears(t)
        asked = t.bridge.gets("target.describe")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        asked.answers(GUEST)
        t.silence()

    def test_it_dies_between_two_questions(self) -> None:
        t = Transcript()
        appears(t)
        t.bridge.gets("target.describe").answers({"found": False})
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        t.rings(0.1)
        t.bridge.gets("target.describe").answers(GUEST)
        t.silence()


class TestWithoutABridge:
    """The weaker mode: webviews are guests, other pages are not."""

    def test_webviews_only(self) -> None:
        t = Transcript(bridge=False)
        appears(t, "HOST", "page")
        appears(t, "OTHER", "other")
        appears(t)
        attached(t)
        assert listed(t.client()) == ["G1"]
        t.silence()

    def test_where_one_is_expected_it_is_waited_for(self) -> None:
        t = Transcript()
        t.bridge.leaves()
        appears(t)
        t.silence()
        t.bridge.joins()
        t.bridge.gets("target.describe").answers(GUEST)
        attached(t)
        t.silence()


class TestOwnSessions:
    """The guard's own sessions on guests, frames and workers."""

    def test_frames_below_frames_are_followed_workers_are_not(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        frame = t.frame(guest, "F1")
        t.frame(guest, "F2", under=frame)
        worker = {"sessionId": "OWN-W", "targetInfo": target("W", "worker"), "waitingForDebugger": False}
        t.app.says("Target.attachedToTarget", worker, session=guest.session)
        assert listed(t.client()) == ["G1", "F1", "F2", "W"]
        t.silence()

    def test_a_frame_that_moves_to_another_process_keeps_its_place(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        t.frame(guest, "F1")
        again = {"sessionId": "OWN-F1-2", "targetInfo": target("F1", "iframe"), "waitingForDebugger": False}
        t.app.says("Target.attachedToTarget", again, session=guest.session)
        t.app.gets("Target.setAutoAttach", session="OWN-F1-2").answers()
        t.app.gets("Page.getFrameTree", session="OWN-F1-2").answers({"frameTree": {"frame": {"id": "F1"}}})
        t.app.says("Target.detachedFromTarget", {"sessionId": "OWN-F1"}, session=guest.session)
        assert listed(t.client()) == ["G1", "F1"]
        t.silence()

    def test_what_hangs_below_a_frame_goes_with_it(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        frame = t.frame(guest, "F1")
        t.frame(guest, "F2", under=frame)
        t.app.says("Target.detachedFromTarget", {"sessionId": frame}, session=guest.session)
        assert listed(t.client()) == ["G1"]
        assert [session.id for session in t.guard.sessions] == ["OWN-G1"]
        t.silence()

    def test_a_guest_whose_session_was_ended_says_so(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        t.app.says("Target.detachedFromTarget", {"sessionId": "OWN-G1", "targetId": "G1"})
        agent.says(1, "Input.insertText", {"text": "x"}, session="S1")
        agent.hears_error(1, "browser_error: the guest is gone", session="S1")
        t.silence()

    def test_events_of_a_guest_that_is_gone_are_nothing(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        late = {"sessionId": "OWN-F1", "targetInfo": target("F1", "iframe"), "waitingForDebugger": False}
        t.app.says("Target.attachedToTarget", late, session=guest.session)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        t.app.says("Target.targetInfoChanged", {"targetInfo": target("F1", "iframe")})
        t.silence()


class TestDyingGuests:
    """What happens to sessions and commands when a guest goes."""

    def test_every_outstanding_command_is_answered_once(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        for id_ in range(20):
            agent.says(id_, "Runtime.evaluate", session="S1")
        calls = [t.app.gets("Runtime.evaluate", session="S1") for _ in range(20)]
        t.app.says("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"})
        for id_ in range(20):
            agent.hears_error(id_, "browser_error: the target closed", session="S1")
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S1"})
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        for call in calls:
            call.answers()
        t.silence()

    def test_a_frame_that_goes_answers_its_own_commands(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        t.app.says("Target.attachedToTarget", attachment("SF", "F1"), session="S1")
        agent.hears_event("Target.attachedToTarget", session="S1")
        agent.says(1, "Runtime.evaluate", session="SF")
        agent.says(2, "Runtime.evaluate", session="S1")
        t.app.gets("Runtime.evaluate", session="SF")
        t.app.gets("Runtime.evaluate", session="S1")
        t.app.says("Target.detachedFromTarget", {"sessionId": "SF", "targetId": "F1"}, session="S1")
        agent.hears_error(1, "browser_error: the target closed", session="SF")
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "SF"}, session="S1")
        agent.hears_nothing()

    def test_a_crash_is_told_of(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True})
        agent.hears_event("Target.targetCreated")
        agent.hears(1)
        t.app.says("Target.targetCrashed", {"targetId": "G1", "status": "killed", "errorCode": 9})
        agent.hears_event("Target.targetCrashed", {"targetId": "G1", "status": "killed", "errorCode": 9})
        t.app.says("Target.targetCrashed", {"targetId": "HOST", "status": "killed", "errorCode": 9})
        t.silence()

    def test_its_frames_are_told_of_and_forgotten(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        t.frame(guest, "F2", under=t.frame(guest, "F1"))
        agent = t.client()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True})
        for _ in range(3):
            agent.hears_event("Target.targetCreated")
        agent.hears(1)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        for target_id in ("F1", "F2", "G1"):
            agent.hears_event("Target.targetDestroyed", {"targetId": target_id})
        agent.says(2, "Target.getTargets")
        agent.hears(2, {"targetInfos": []})
        assert len(t.guard.sessions) == 0
        t.silence()
