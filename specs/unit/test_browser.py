"""The virtual browser: what a connection sees of targets and sessions, and what it cannot reach."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.cdp.limits import Limits
from specs.unit.transcript import VERSION, Client, GuestPage, Transcript, page, target

HIDDEN = ("HOST", "WINDOW", "DEVTOOLS", "invented", "")
PLAYWRIGHT_AUTO = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
PUPPETEER_AUTO = {**PLAYWRIGHT_AUTO, "filter": [{"type": "page", "exclude": True}, {}]}
TAB_1 = "F0C05" + "0" * 26 + "1"


def app_with_hidden_targets(t: Transcript) -> None:
    """A host, another window and DevTools: the bridge says that none of them is a guest."""
    for target_id, type_ in (("HOST", "page"), ("WINDOW", "page"), ("DEVTOOLS", "other")):
        t.app.says("Target.targetCreated", {"targetInfo": target(target_id, type_)})
        found = {"found": True, "guest": False, "kind": "window", "webContentsId": 1}
        t.bridge.gets("target.describe", targetId=target_id).answers(found)


class TestDiscovery:
    """Target.setDiscoverTargets, getTargets, getTargetInfo: guests as pages, and nothing else."""

    def test_a_guest_is_a_page_and_everything_else_is_hidden(self) -> None:
        t = Transcript()
        app_with_hidden_targets(t)
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.getTargets")
        agent.hears(1, {"targetInfos": [page("G1", attached=False)]})
        t.silence()

    @pytest.mark.parametrize("target_id", HIDDEN)
    def test_a_hidden_target_is_as_unknown_as_an_invented_one(self, target_id: str) -> None:
        t = Transcript()
        app_with_hidden_targets(t)
        agent = t.client()
        for id_, method in enumerate(
            ("getTargetInfo", "attachToTarget", "closeTarget", "activateTarget", "detachFromTarget")
        ):
            agent.says(id_, f"Target.{method}", {"targetId": target_id, "flatten": True})
            error = agent.hears_error(id_, "No ")
            assert error["code"] == -32602
        t.silence()

    def test_a_late_guest_is_told_of(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True})
        agent.hears(1, {})
        t.guest("G1")
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False)})
        t.silence()

    def test_guests_that_are_there_are_told_of_before_the_answer(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True, "filter": [{}]})
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False, type_="tab")})
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False)})
        agent.hears(1, {})
        t.silence()

    def test_asking_twice_tells_once(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True})
        agent.hears_event("Target.targetCreated")
        agent.hears(1, {})
        agent.says(2, "Target.setDiscoverTargets", {"discover": True})
        agent.hears(2, {})
        t.silence()

    def test_off_is_off(self) -> None:
        t = Transcript()
        agent = t.client()
        for id_, discover in ((1, True), (2, False)):
            agent.says(id_, "Target.setDiscoverTargets", {"discover": discover})
            agent.hears(id_, {})
        t.guest("G1")
        agent.hears_nothing()

    def test_a_new_address_is_told_of_and_the_answer_says_whether_this_client_is_attached(self) -> None:
        t = Transcript()
        t.guest("G1")
        watcher, agent = t.client(), t.client()
        watcher.says(1, "Target.setDiscoverTargets", {"discover": True})
        watcher.hears_event("Target.targetCreated")
        watcher.hears(1, {})
        agent.attaches("G1", "S1")
        t.app.says("Target.targetInfoChanged", {"targetInfo": target("G1", url="http://guest.test/2")})
        changed = page("G1", attached=False, url="http://guest.test/2")
        watcher.hears_event("Target.targetInfoChanged", {"targetInfo": changed})
        agent.says(2, "Target.getTargetInfo", {"targetId": "G1"})
        agent.hears(2, {"targetInfo": {**changed, "attached": True}})
        t.silence()

    def test_frames_and_workers_below_a_guest_are_shown(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True})
        agent.hears_event("Target.targetCreated")
        agent.hears(1, {})
        t.frame(guest, "F1")
        agent.hears_event("Target.targetCreated", {"targetInfo": page("F1", attached=False, type_="iframe")})
        agent.says(2, "Target.getTargets")
        assert [info["targetId"] for info in agent.hears(2)["targetInfos"]] == ["G1", "F1"]
        t.app.says("Target.detachedFromTarget", {"sessionId": "OWN-F1"}, session=guest.session)
        agent.hears_event("Target.targetDestroyed", {"targetId": "F1"})
        t.silence()

    def test_of_a_frame_below_a_hidden_target_nothing_is_known(self) -> None:
        t = Transcript()
        app_with_hidden_targets(t)
        t.app.says("Target.targetCreated", {"targetInfo": target("HF", "iframe")})
        agent = t.client()
        agent.says(1, "Target.getTargets", {"filter": [{}]})
        agent.hears(1, {"targetInfos": []})
        agent.says(2, "Target.attachToTarget", {"targetId": "HF", "flatten": True})
        agent.hears_error(2, "No target with given id found")

    def test_a_connection_without_a_target_is_the_browser(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.getTargetInfo")
        assert agent.hears(1)["targetInfo"]["type"] == "browser"
        agent.says(2, "Browser.getVersion")
        agent.hears(2, VERSION)

    def test_there_is_one_context(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.getBrowserContexts")
        agent.hears(1, {"browserContextIds": []})

    @pytest.mark.parametrize(
        ("filter_", "seen"),
        [
            (None, ["page"]),
            ([], []),
            ([{}], ["tab", "page"]),
            ([{"type": "page", "exclude": True}, {}], ["tab"]),
            ([{"type": "page"}], ["page"]),
            ([{"type": "tab"}, {"type": "page"}], ["tab", "page"]),
        ],
    )
    def test_the_first_entry_of_a_filter_that_matches_decides(
        self, filter_: list[Any] | None, seen: list[str]
    ) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.getTargets", {} if filter_ is None else {"filter": filter_})
        assert [info["type"] for info in agent.hears(1)["targetInfos"]] == seen

    @pytest.mark.parametrize("filter_", [3, "page", [3], {"type": "page"}])
    def test_a_filter_that_is_none(self, filter_: Any) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.getTargets", {"filter": filter_})
        agent.hears_error(1, "Invalid parameters filter")


class TestPlaywrightStartUp:
    """Browser.getVersion, then auto-attach at the root; each page's own auto-attach goes to the app."""

    def test_guests_that_are_there(self) -> None:
        t = Transcript()
        app_with_hidden_targets(t)
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Browser.getVersion")
        agent.hears(1, VERSION)
        agent.says(2, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        t.app.gets("Target.attachToTarget", {"targetId": "G1", "flatten": True}).answers({"sessionId": "S1"})
        agent.hears_event(
            "Target.attachedToTarget",
            {"sessionId": "S1", "targetInfo": page("G1"), "waitingForDebugger": False},
        )
        agent.hears(2, {})
        agent.says(3, "Target.setAutoAttach", PLAYWRIGHT_AUTO, session="S1")
        t.app.gets("Target.setAutoAttach", PLAYWRIGHT_AUTO, session="S1").answers()
        agent.hears(3, {}, session="S1")
        agent.says(4, "Runtime.runIfWaitingForDebugger", session="S1")
        t.app.gets("Runtime.runIfWaitingForDebugger", session="S1").answers()
        agent.hears(4, {}, session="S1")
        t.silence()

    def test_a_late_guest_is_attached(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        agent.hears(1, {})
        t.guest("G1", announced=True)
        t.app.gets("Target.attachToTarget", {"targetId": "G1"}).answers({"sessionId": "S1"})
        agent.hears_event("Target.attachedToTarget", {"sessionId": "S1", "targetInfo": page("G1")})
        t.silence()

    def test_a_guest_that_does_not_attach_does_not_hold_the_others_up(self) -> None:
        t = Transcript()
        t.guest("SICK")
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        t.app.gets("Target.attachToTarget", {"targetId": "SICK"})
        t.app.gets("Target.attachToTarget", {"targetId": "G1"}).answers({"sessionId": "S1"})
        agent.hears_event("Target.attachedToTarget", {"sessionId": "S1"})
        t.rings(10.0)
        agent.hears(1, {})
        assert t.reported("guest.unattached")[0]["targetId"] == "SICK"
        t.silence()

    def test_one_client_that_cannot_attach_does_not_keep_a_late_guest_from_the_next(self) -> None:
        t = Transcript()
        first, second = t.client(), t.client()
        for agent in (first, second):
            agent.says(1, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
            agent.hears(1, {})
        t.guest("G1", announced=True)
        failing, attaching = (t.app.gets("Target.attachToTarget", {"targetId": "G1"}) for _ in range(2))
        failing.fails("Not allowed")
        attaching.answers({"sessionId": "S2"})
        second.hears_event("Target.attachedToTarget", {"sessionId": "S2"})
        t.silence()

    def test_a_client_that_leaves_while_a_late_guest_attaches(self) -> None:
        t = Transcript()
        first, second = t.client(), t.client()
        for agent in (first, second):
            agent.says(1, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
            agent.hears(1, {})
        t.guest("G1", announced=True)
        early, late = (t.app.gets("Target.attachToTarget", {"targetId": "G1"}) for _ in range(2))
        first.leaves()
        early.answers({"sessionId": "S1"})
        late.answers({"sessionId": "S2"})
        second.hears_event("Target.attachedToTarget", {"sessionId": "S2"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        t.silence()


class TestPuppeteerStartUp:
    """Discovery with `[{}]`, auto-attach of tabs only, and of the page on each tab's session."""

    def start(self, t: Transcript) -> Client:
        agent = t.client()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True, "filter": [{}]})
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False, type_="tab")})
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False)})
        agent.hears(1, {})
        agent.says(2, "Target.setAutoAttach", PUPPETEER_AUTO)
        agent.hears_event(
            "Target.attachedToTarget", {"sessionId": TAB_1, "targetInfo": page("G1", type_="tab")}
        )
        agent.hears(2, {})
        return agent

    def test_the_page_is_attached_on_its_tab(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.start(t)
        agent.says(3, "Target.setAutoAttach", {**PLAYWRIGHT_AUTO, "filter": [{}]}, session=TAB_1)
        t.app.gets("Target.attachToTarget", {"targetId": "G1"}).answers({"sessionId": "S1"})
        agent.hears_event(
            "Target.attachedToTarget", {"sessionId": "S1", "targetInfo": page("G1")}, session=TAB_1
        )
        agent.hears(3, {}, session=TAB_1)
        agent.says(4, "Runtime.runIfWaitingForDebugger", session=TAB_1)
        agent.hears(4, {}, session=TAB_1)
        agent.says(5, "Runtime.evaluate", {"expression": "1"}, session="S1")
        t.app.gets("Runtime.evaluate", session="S1").answers({"result": {"value": 1}})
        agent.hears(5, {"result": {"value": 1}}, session="S1")
        t.silence()

    def test_a_tab_is_not_a_page(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.start(t)
        agent.says(3, "Runtime.evaluate", {"expression": "1"}, session=TAB_1)
        agent.hears_error(3, "browser_refused", session=TAB_1)
        agent.says(4, "Input.insertText", {"text": "x"}, session=TAB_1)
        agent.hears_error(4, "browser_refused", session=TAB_1)
        t.silence()

    def test_a_dying_guest_takes_page_then_tab_then_targets(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.start(t)
        agent.says(3, "Target.setAutoAttach", PLAYWRIGHT_AUTO, session=TAB_1)
        t.app.gets("Target.attachToTarget", {"targetId": "G1"}).answers({"sessionId": "S1"})
        agent.hears_event("Target.attachedToTarget", session=TAB_1)
        agent.hears(3, session=TAB_1)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"}, session=TAB_1)
        agent.hears_event("Target.detachedFromTarget", {"sessionId": TAB_1, "targetId": "tab-G1"})
        agent.hears_event("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_event("Target.targetDestroyed", {"targetId": "tab-G1"})
        t.silence()
        assert len(t.guard.sessions) == 0

    def test_a_tab_that_goes_while_its_page_attaches(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.start(t)
        agent.says(3, "Target.setAutoAttach", PLAYWRIGHT_AUTO, session=TAB_1)
        attaching = t.app.gets("Target.attachToTarget", {"targetId": "G1"})
        agent.says(4, "Target.detachFromTarget", {"sessionId": TAB_1})
        agent.hears_event("Target.detachedFromTarget", {"sessionId": TAB_1})
        agent.hears(4, {})
        attaching.answers({"sessionId": "S1"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        agent.hears(3, session=TAB_1)
        t.silence()


class TestAutoAttach:
    """Target.setAutoAttach at the root."""

    def test_off_detaches_what_it_attached_and_only_that(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "MINE")
        agent.says(1, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        t.app.gets("Target.attachToTarget").answers({"sessionId": "AUTO"})
        agent.hears_event("Target.attachedToTarget", {"sessionId": "AUTO"})
        agent.hears(1, {})
        agent.says(2, "Target.setAutoAttach", {**PLAYWRIGHT_AUTO, "autoAttach": False})
        t.app.gets("Target.detachFromTarget", {"sessionId": "AUTO"}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "AUTO", "targetId": "G1"})
        agent.hears(2, {})
        t.guest("G2")
        t.silence()

    def test_off_while_it_attaches(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        attaching = t.app.gets("Target.attachToTarget")
        agent.says(2, "Target.setAutoAttach", {**PLAYWRIGHT_AUTO, "autoAttach": False})
        agent.hears(2, {})
        attaching.answers({"sessionId": "AUTO"})
        agent.hears_event("Target.attachedToTarget", {"sessionId": "AUTO"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "AUTO"}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "AUTO"})
        agent.hears(1, {})
        t.silence()

    def test_twice_attaches_once(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        t.app.gets("Target.attachToTarget").answers({"sessionId": "S1"})
        agent.hears_event("Target.attachedToTarget")
        agent.hears(1, {})
        agent.says(2, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        agent.hears(2, {})
        t.silence()

    def test_only_flat(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        nested = {"autoAttach": True, "waitForDebuggerOnStart": False}
        agent.says(1, "Target.setAutoAttach", nested)
        agent.hears_error(1, "Only flatten protocol")
        agent.says(2, "Target.setAutoAttach", nested, session="S1")
        agent.hears_error(2, "Only flatten protocol", session="S1")
        t.silence()


class TestAttaching:
    """Target.attachToTarget and detachFromTarget: sessions of one's own."""

    def test_two_clients_on_one_guest_have_sessions_of_their_own(self) -> None:
        t = Transcript()
        t.guest("G1")
        first, second = t.client(), t.client()
        first.attaches("G1", "S1")
        second.attaches("G1", "S2")
        for id_ in range(1, 4):
            first.says(id_, "Runtime.evaluate", {"expression": "first"}, session="S1")
            second.says(id_, "Runtime.evaluate", {"expression": "second"}, session="S2")
        calls = [(t.app.gets("Runtime.evaluate", session=f"S{1 + n % 2}")) for n in range(6)]
        for call in reversed(calls):
            call.answers({"result": {"value": call.params["expression"]}})
        for id_ in (3, 2, 1):
            first.hears(id_, {"result": {"value": "first"}}, session="S1")
            second.hears(id_, {"result": {"value": "second"}}, session="S2")
        t.app.says("Runtime.consoleAPICalled", {"type": "log"}, session="S1")
        first.hears_event("Runtime.consoleAPICalled", session="S1")
        t.silence()

    def test_one_client_twice_on_one_guest(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.attaches("G1", "S2")
        agent.says(7, "DOM.enable", session="S2")
        agent.says(7, "DOM.enable", session="S1")
        later = t.app.gets("DOM.enable", session="S2")
        t.app.gets("DOM.enable", session="S1").answers()
        agent.hears(7, {}, session="S1")
        later.answers()
        agent.hears(7, {}, session="S2")

    @pytest.mark.parametrize("session", ["S2", "DETACHED", "invented", "OWN-G1", ""])
    def test_a_foreign_detached_invented_or_hidden_session_is_an_error(self, session: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent, other = t.client(), t.client()
        other.attaches("G1", "S2")
        agent.attaches("G1", "DETACHED")
        agent.says(1, "Target.detachFromTarget", {"sessionId": "DETACHED"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "DETACHED"}).answers()
        agent.hears_event("Target.detachedFromTarget")
        agent.hears(1)
        for id_, method in enumerate(("Input.insertText", "Runtime.evaluate", "Target.getTargets")):
            agent.says(id_, method, {"text": "x"}, session=session)
            error = agent.hears_error(id_, "Session with given id not found.", session=session)
            assert error["code"] == -32001
        agent.says(9, "Target.detachFromTarget", {"sessionId": session})
        agent.hears_error(9, "No session with given id")
        agent.says(
            10, "Target.sendMessageToTarget", {"sessionId": session, "message": '{"id":1,"method":"A.b"}'}
        )
        agent.hears_error(10, "No session with given id")
        t.silence()

    def test_the_guards_own_sessions_are_never_heard_of(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        t.app.says("Page.frameNavigated", {"frame": {}}, session=guest.session)
        t.app.says("Page.frameNavigated", {"frame": {}}, session="nobody's")
        t.silence()

    def test_a_frame_can_be_attached(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        t.frame(guest, "F1")
        agent = t.client()
        agent.attaches("F1", "S1")
        agent.says(1, "Input.insertText", {"text": "x"}, session="S1")
        t.app.gets("Input.insertText", {"text": "x"}, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_detaching_tells_once_and_answers_what_was_outstanding(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, "Runtime.evaluate", session="S1")
        t.app.gets("Runtime.evaluate", session="S1")
        agent.says(2, "Target.detachFromTarget", {"sessionId": "S1"})
        agent.hears_error(1, "browser_error: the target closed before it answered", session="S1")
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"})
        agent.hears(2, {})
        t.app.says("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"})
        t.silence()

    def test_by_target_id_the_newest_goes(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.attaches("G1", "S2")
        agent.says(1, "Target.detachFromTarget", {"targetId": "G1"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S2"}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S2"})
        agent.hears(1, {})

    def test_a_frames_session_is_detached_where_the_app_announced_it(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
        agent.hears_event("Target.attachedToTarget", {"sessionId": "SF"}, session="S1")
        agent.says(1, "Target.detachFromTarget", {"sessionId": "SF"}, session="S1")
        detaching = t.app.gets("Target.detachFromTarget", {"sessionId": "SF"}, session="S1")
        t.app.says("Target.detachedFromTarget", {"sessionId": "SF", "targetId": "F1"}, session="S1")
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "SF"}, session="S1")
        detaching.answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_what_was_attached_on_a_session_goes_with_it(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        t.guest("G2")
        t.frame(guest, "F1")
        agent = t.client()
        agent.attaches("G1", "S1")
        for id_, (target_id, session) in enumerate((("F1", "SF"), ("G2", "S2"))):
            agent.says(id_, "Target.attachToTarget", {"targetId": target_id, "flatten": True}, session="S1")
            t.app.gets("Target.attachToTarget", {"targetId": target_id}).answers({"sessionId": session})
            agent.hears_event("Target.attachedToTarget", {"sessionId": session}, session="S1")
            agent.hears(id_, {"sessionId": session}, session="S1")
        agent.says(9, "Target.detachFromTarget", {"sessionId": "S1"})
        for session in ("S1", "S2", "SF"):
            t.app.gets("Target.detachFromTarget", {"sessionId": session}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S1"})
        agent.hears(9, {})
        agent.says(10, "Runtime.evaluate", session="S2")
        agent.hears_error(10, "Session with given id not found.", session="S2")
        t.silence()

    def test_an_attachment_that_comes_too_late_is_ended(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        attaching = t.app.gets("Target.attachToTarget")
        t.rings(10.0)
        agent.hears_error(1, "browser_timeout")
        attaching.answers({"sessionId": "LATE"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "LATE"}).answers()
        agent.says(2, "Runtime.evaluate", session="LATE")
        agent.hears_error(2, "Session with given id not found.", session="LATE")
        t.silence()

    def test_a_guest_that_dies_while_it_attaches(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        attaching = t.app.gets("Target.attachToTarget")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        attaching.answers({"sessionId": "S1"})
        agent.hears_error(1, "browser_error: the guest is gone")
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).fails("No session with given id")
        t.silence()
        assert len(t.guard.sessions) == 0

    def test_the_apps_own_refusal_is_passed_on(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        t.app.gets("Target.attachToTarget").fails("Not allowed")
        agent.hears_error(1, "Not allowed")

    def test_too_many_sessions_are_refused(self) -> None:
        t = Transcript(limits=Limits(sessions=2))
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        for id_, method in enumerate(("Target.attachToTarget", "Target.attachToBrowserTarget"), start=2):
            agent.says(id_, method, {"targetId": "G1", "flatten": True})
            agent.hears_error(id_, "browser_refused: this connection has 2 sessions already")
        agent.says(4, "Target.attachToTarget", {"targetId": "tab-G1", "flatten": True})
        agent.hears_error(4, "browser_refused")


class TestBrowserSessions:
    """Target.attachToBrowserTarget: another virtual browser on the same connection."""

    def test_it_keeps_a_discovery_of_its_own(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.attachToBrowserTarget")
        agent.hears_event("Target.attachedToTarget", {"sessionId": TAB_1})
        agent.hears(1, {"sessionId": TAB_1})
        agent.says(2, "Target.setDiscoverTargets", {"discover": True}, session=TAB_1)
        agent.hears(2, {}, session=TAB_1)
        t.guest("G1")
        agent.hears_event("Target.targetCreated", session=TAB_1)
        agent.says(3, "Browser.close", session=TAB_1)
        agent.hears_error(3, "browser_refused", session=TAB_1)
        agent.says(4, "Target.detachFromTarget", {"sessionId": TAB_1})
        agent.hears_event("Target.detachedFromTarget", {"sessionId": TAB_1})
        agent.hears(4)
        t.guest("G2")
        t.silence()


class TestWrappedSessions:
    """The nested protocol: Target.sendMessageToTarget and receivedMessageFromTarget."""

    def wrapped(self, t: Transcript) -> Client:
        agent = t.client()
        agent.says(1, "Target.attachToTarget", {"targetId": "G1"})
        t.app.gets("Target.attachToTarget", {"targetId": "G1", "flatten": True}).answers({"sessionId": "S1"})
        agent.hears_event("Target.attachedToTarget", {"sessionId": "S1"})
        agent.hears(1, {"sessionId": "S1"})
        return agent

    def test_commands_answers_and_events_are_wrapped(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.wrapped(t)
        inner = '{"id":5,"method":"Runtime.evaluate","params":{"expression":"1"}}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears(2, {})
        t.app.gets("Runtime.evaluate", {"expression": "1"}, session="S1").answers({"result": {"value": 1}})
        agent.hears_event(
            "Target.receivedMessageFromTarget",
            {"sessionId": "S1", "targetId": "G1", "message": '{"id":5,"result":{"result":{"value":1}}}'},
        )
        t.app.says("Runtime.consoleAPICalled", {"type": "log"}, session="S1")
        heard = agent.hears_event("Target.receivedMessageFromTarget")
        assert heard["message"] == '{"method":"Runtime.consoleAPICalled","params":{"type":"log"}}'
        t.silence()

    @pytest.mark.parametrize(
        "method", ["Browser.close", "Target.createBrowserContext", "Browser.setWindowBounds"]
    )
    def test_what_is_inside_goes_through_the_same_table(self, method: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.wrapped(t)
        inner = f'{{"id":5,"method":"{method}"}}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears(2, {})
        assert "browser_refused" in agent.hears_event("Target.receivedMessageFromTarget")["message"]
        t.silence()

    @pytest.mark.parametrize("inner", ["", "[]", "{", '{"id":5}', '"\\ud83d"', 3, None])
    def test_a_message_that_is_none(self, inner: Any) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.wrapped(t)
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears_error(2, "Message must")
        t.silence()

    def test_it_cannot_be_spoken_to_as_if_it_were_flat(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.wrapped(t)
        agent.says(2, "Runtime.evaluate", session="S1")
        agent.hears_error(2, "Session with given id not found.", session="S1")
        t.silence()

    def test_a_flat_session_cannot_be_spoken_to_like_that(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        inner = '{"id":5,"method":"Runtime.evaluate"}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears_error(2, "No session with given id")

    def test_wrapped_in_wrapped(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = self.wrapped(t)
        innermost = '{\\"id\\":6,\\"method\\":\\"Browser.close\\"}'
        inner = '{"id":5,"method":"Target.sendMessageToTarget","params":{"sessionId":"S1","message":"%s"}}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner % innermost})
        agent.hears(2, {})
        assert agent.hears_event("Target.receivedMessageFromTarget")["message"] == '{"id":5,"result":{}}'
        assert "browser_refused" in agent.hears_event("Target.receivedMessageFromTarget")["message"]
        t.silence()


class TestPageConnections:
    """`/devtools/page/{id}`: the connection is the session, its messages carry no session id."""

    def test_commands_and_events(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, "Runtime.evaluate", {"expression": "1"})
        t.app.gets("Runtime.evaluate", {"expression": "1"}, session="S1").answers({"result": {"value": 1}})
        agent.hears(1, {"result": {"value": 1}})
        t.app.says("Page.loadEventFired", {"timestamp": 1.5}, session="S1")
        agent.hears_event("Page.loadEventFired", {"timestamp": 1.5})
        agent.says(2, "Target.getTargetInfo")
        agent.hears(2, {"targetInfo": page("G1")})
        t.silence()

    def test_what_is_said_before_the_app_has_attached_waits_in_order(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client("G1")
        agent.says(1, "Page.enable")
        agent.says(2, "DOM.enable")
        t.app.gets("Target.attachToTarget").answers({"sessionId": "S1"})
        t.app.gets("Page.enable", session="S1").answers()
        t.app.gets("DOM.enable", session="S1").answers()
        agent.hears(1)
        agent.hears(2)

    def test_frames_below_it_have_sessions(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
        agent.hears_event("Target.attachedToTarget", {"sessionId": "SF"})
        agent.says(1, "DOM.enable", session="SF")
        t.app.gets("DOM.enable", session="SF").answers()
        agent.hears(1, {}, session="SF")

    def test_its_own_session_has_no_name(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, "Page.enable", session="S1")
        agent.hears_error(1, "Session with given id not found.", session="S1")
        t.silence()

    def test_it_cannot_be_detached(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, "Target.detachFromTarget", {"sessionId": "S1"})
        agent.hears_error(1, "No session with given id")

    @pytest.mark.parametrize(
        "command", ["Browser.close", "Target.createBrowserContext", "Browser.setWindowBounds"]
    )
    def test_it_reaches_no_further_than_its_guest(self, command: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, command)
        agent.hears_error(1, "browser_refused")
        t.silence()

    @pytest.mark.parametrize("how", ["detached", "destroyed"])
    def test_it_ends_with_its_guest(self, how: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, "Runtime.evaluate")
        t.app.gets("Runtime.evaluate", session="S1")
        if how == "detached":
            t.app.says("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"})
        else:
            t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_error(1, "browser_error: the target closed before it answered")
        agent.hears_event("Inspector.detached", {"reason": "target_closed"})
        assert agent.is_closed(1000) == "the guest is gone"
        agent.says(2, "Target.getTargets")
        agent.leaves()
        t.silence()

    def test_a_guest_that_cannot_be_attached_ends_the_connection(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client("G1")
        agent.says(1, "Page.enable")
        t.app.gets("Target.attachToTarget").fails("No target with given id found")
        assert agent.is_closed(1011) == "No target with given id found"
        agent.says(2, "Target.getTargets")
        agent.leaves()
        t.silence()

    def test_a_hidden_target_ends_the_connection(self) -> None:
        t = Transcript()
        app_with_hidden_targets(t)
        agent = t.client("HOST")
        assert agent.is_closed(1011) == "No target with given id found"
        t.silence()

    def test_a_client_that_leaves_before_it_is_attached(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client("G1")
        agent.leaves()
        t.app.gets("Target.attachToTarget").answers({"sessionId": "S1"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        assert agent.closed is None
        t.silence()

    def test_what_waits_for_the_attachment_is_bounded(self) -> None:
        t = Transcript(limits=Limits(pending=3))
        t.guest("G1")
        agent = t.client("G1")
        for id_ in range(4):
            agent.says(id_, "Page.enable")
        agent.is_closed(1013)


class TestOffers:
    """Target.createTarget and closeTarget: only the app can open and close guests."""

    def test_the_app_opens_a_guest(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.createTarget", {"url": "http://guest.test/new"})
        opening = t.bridge.gets("guest.open", url="http://guest.test/new")
        guest = t.guest("NEW")
        opening.answers({"found": True, "guest": True, "webContentsId": guest.web_contents_id})
        agent.hears(1, {"targetId": "NEW"})
        t.silence()

    def test_the_answer_waits_until_the_guest_is_there(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.createTarget", {"url": "about:blank"})
        t.bridge.gets("guest.open").answers({"found": True, "guest": True, "webContentsId": 101})
        agent.hears_nothing()
        t.guest("NEW")
        agent.hears(1, {"targetId": "NEW"})
        t.silence()

    def test_what_the_app_opened_never_becomes_a_guest(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.createTarget", {"url": "about:blank"})
        t.bridge.gets("guest.open").answers({"found": True, "guest": False, "webContentsId": 1})
        t.rings(30.0)
        agent.hears_error(1, "browser_timeout")
        t.silence()

    def test_what_the_app_opened_is_no_page(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.createTarget", {"url": "about:blank"})
        t.bridge.gets("guest.open").answers({"found": False})
        agent.hears_error(1, "browser_error: the app opened something that is not a guest")

    def test_an_app_that_does_not_offer_it(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        for id_, (method, asked, params) in enumerate(
            (
                ("Target.createTarget", "guest.open", {"url": "about:blank"}),
                ("Target.closeTarget", "guest.close", {"targetId": "G1"}),
            )
        ):
            agent.says(id_, method, params)
            t.bridge.gets(asked).fails("no callback", "unsupported")
            agent.hears_error(id_, "browser_refused: the app does not offer to")
        t.silence()

    def test_a_bridge_that_fails_is_late_or_goes(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        close = ("Target.closeTarget", {"targetId": "G1"})
        agent.says(1, *close)
        t.bridge.gets("guest.close").fails("it threw", "app")
        agent.hears_error(1, "browser_error: the app could not")
        agent.says(2, *close)
        t.bridge.gets("guest.close")
        t.rings(30.0)
        agent.hears_error(2, "browser_timeout")
        agent.says(3, *close)
        t.bridge.gets("guest.close")
        t.bridge.leaves()
        agent.hears_error(3, "browser_bridge_lost")
        agent.says(4, *close)
        agent.hears_error(4, "browser_refused: without a bridge")
        agent.says(5, "Target.createTarget", {"url": "about:blank"})
        agent.hears_error(5, "browser_refused: without a bridge")
        t.silence()

    @pytest.mark.parametrize("target_id", ["G1", "tab-G1"])
    def test_a_guest_and_its_tab_are_closed_by_the_app(self, target_id: str) -> None:
        t = Transcript()
        guest = t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.closeTarget", {"targetId": target_id})
        t.bridge.gets("guest.close", webContentsId=guest.web_contents_id).answers({})
        agent.hears(1, {"success": True})

    def test_a_frame_is_not_its_guest(self) -> None:
        t = Transcript()
        t.frame(t.guest("G1"), "F1")
        agent = t.client()
        agent.says(1, "Target.closeTarget", {"targetId": "F1"})
        agent.hears(1, {"success": False})
        t.silence()

    def test_page_close_asks_the_app_too(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, "Page.close", session="S1")
        t.bridge.gets("guest.close", webContentsId=guest.web_contents_id).answers({})
        agent.hears(1, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize("params", [{}, {"url": 3}, {"url": None}])
    def test_an_address_that_is_none(self, params: dict[str, Any]) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.createTarget", params)
        agent.hears_error(1, "Invalid parameters url")
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
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
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


class TestClientLoss:
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

    def test_leaving_twice_is_leaving(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.leaves()
        agent.leaves()
        agent.says(1, "Target.getTargets")
        t.silence()


def attached(session: str, target_id: str, type_: str = "iframe") -> dict[str, Any]:
    """Parameters of Target.attachedToTarget as the app gives them."""
    return {"sessionId": session, "targetInfo": target(target_id, type_), "waitingForDebugger": False}


def test_the_helper_sees_what_nobody_expected() -> None:
    """A control: a transcript with a line too few fails."""
    t = Transcript()
    guest: GuestPage = t.guest("G1")
    agent = t.client()
    agent.says(1, "Target.attachToTarget", {"targetId": guest.target_id, "flatten": True})
    with pytest.raises(AssertionError, match="the app got"):
        t.silence()
