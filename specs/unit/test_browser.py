"""The virtual browser: what a connection sees of targets, and the start-ups of client libraries."""

from __future__ import annotations

from typing import Any

import pytest

from specs.unit.browsing import (
    HIDDEN,
    PLAYWRIGHT_AUTO,
    PUPPETEER_AUTO,
    TAB_1,
    app_with_hidden_targets,
    visit,
)
from specs.unit.strokes import begin
from specs.unit.transcript import VERSION, Client, GuestPage, Transcript, page, target

NO_OPENING = (
    "browser_refused: the app does not offer to open a guest (bridge.onOpenGuest)."
    " To do: let the app set onOpenGuest (docs/bridge-protocol.md), or work in a guest that is open."
)
NO_CLOSING = (
    "browser_refused: the app does not offer to close a guest (bridge.onCloseGuest)."
    " To do: let the app set onCloseGuest (docs/bridge-protocol.md), or leave the guest open."
)


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
        t, _, agent = visit()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True, "filter": [{}]})
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False, type_="tab")})
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False)})
        agent.hears(1, {})
        t.silence()

    def test_asking_twice_tells_once(self) -> None:
        t, _, agent = visit()
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
        t, guest, agent = visit()
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
        _, _, agent = visit()
        agent.says(1, "Target.getTargets", {} if filter_ is None else {"filter": filter_})
        assert [info["type"] for info in agent.hears(1)["targetInfos"]] == seen

    @pytest.mark.parametrize("filter_", [3, "page", [3], {"type": "page"}])
    def test_a_filter_that_is_none(self, filter_: Any) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.getTargets", {"filter": filter_})
        assert "params.filter" in agent.hears_error(1, "Invalid parameters")["data"]


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

    def start(self) -> tuple[Transcript, Client]:
        t, _, agent = visit()
        agent.says(1, "Target.setDiscoverTargets", {"discover": True, "filter": [{}]})
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False, type_="tab")})
        agent.hears_event("Target.targetCreated", {"targetInfo": page("G1", attached=False)})
        agent.hears(1, {})
        agent.says(2, "Target.setAutoAttach", PUPPETEER_AUTO)
        agent.hears_event(
            "Target.attachedToTarget", {"sessionId": TAB_1, "targetInfo": page("G1", type_="tab")}
        )
        agent.hears(2, {})
        return t, agent

    def test_the_page_is_attached_on_its_tab(self) -> None:
        t, agent = self.start()
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
        t, agent = self.start()
        agent.says(3, "Runtime.evaluate", {"expression": "1"}, session=TAB_1)
        agent.hears_error(3, "browser_refused", session=TAB_1)
        agent.says(4, "Input.insertText", {"text": "x"}, session=TAB_1)
        agent.hears_error(4, "browser_refused", session=TAB_1)
        t.silence()

    def test_a_dying_guest_takes_page_then_tab_then_targets(self) -> None:
        t, agent = self.start()
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
        t, agent = self.start()
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
        t, _, agent = visit()
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
        t, _, agent = visit()
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
        t, _, agent = visit()
        agent.says(1, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        t.app.gets("Target.attachToTarget").answers({"sessionId": "S1"})
        agent.hears_event("Target.attachedToTarget")
        agent.hears(1, {})
        agent.says(2, "Target.setAutoAttach", PLAYWRIGHT_AUTO)
        agent.hears(2, {})
        t.silence()

    def test_only_flat(self) -> None:
        t, _, agent = begin()
        nested = {"autoAttach": True, "waitForDebuggerOnStart": False}
        agent.says(1, "Target.setAutoAttach", nested)
        agent.hears_error(1, "Only flatten protocol")
        agent.says(2, "Target.setAutoAttach", nested, session="S1")
        agent.hears_error(2, "Only flatten protocol", session="S1")
        t.silence()


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
        t, _, agent = visit()
        for id_, (method, asked, params, says) in enumerate(
            (
                ("Target.createTarget", "guest.open", {"url": "about:blank"}, NO_OPENING),
                ("Target.closeTarget", "guest.close", {"targetId": "G1"}, NO_CLOSING),
            )
        ):
            agent.says(id_, method, params)
            t.bridge.gets(asked).fails("no callback", "unsupported")
            assert agent.hears_error(id_, "browser_refused")["message"] == says
        t.silence()

    def test_without_a_bridge_the_app_cannot_be_asked(self) -> None:
        t = Transcript(bridge=False)
        t.app.says("Target.targetCreated", {"targetInfo": target("G1", "webview")})
        t.app.gets("Target.attachToTarget", {"targetId": "G1"}).answers({"sessionId": "OWN-G1"})
        t.app.gets("Target.setAutoAttach", session="OWN-G1").answers()
        agent = t.client()
        for id_, method, params, what, setter, instead in (
            (
                1,
                "Target.createTarget",
                {"url": "about:blank"},
                "open",
                "onOpenGuest",
                "work in a guest that is open",
            ),
            (2, "Target.closeTarget", {"targetId": "G1"}, "close", "onCloseGuest", "leave the guest open"),
        ):
            agent.says(id_, method, params)
            said = agent.hears_error(
                id_, f"browser_refused: without a bridge the app cannot be asked to {what} a"
            )
            advice = f"let the app load the bridge and set {setter}, or {instead}"
            assert said["message"].endswith(f"guest. To do: {advice}.")
        t.silence()

    def test_a_bridge_that_fails_is_late_or_goes(self) -> None:
        t, _, agent = visit()
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
        t, guest, agent = visit()
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
        t, guest, agent = begin()
        agent.says(1, "Page.close", session="S1")
        t.bridge.gets("guest.close", webContentsId=guest.web_contents_id).answers({})
        agent.hears(1, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize("params", [{}, {"url": 3}, {"url": None}])
    def test_an_address_that_is_none(self, params: dict[str, Any]) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.createTarget", params)
        assert "params.url" in agent.hears_error(1, "Invalid parameters")["data"]
        t.silence()


def test_the_helper_sees_what_nobody_expected() -> None:
    """A control: a transcript with a line too few fails."""
    t = Transcript()
    guest: GuestPage = t.guest("G1")
    agent = t.client()
    agent.says(1, "Target.attachToTarget", {"targetId": guest.target_id, "flatten": True})
    with pytest.raises(AssertionError, match="the app got"):
        t.silence()
