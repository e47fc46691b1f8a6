"""Downloads on an agent's account: each client's setting, carried out by the bridge for the guests that it is at."""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any

import pytest

from focusguard.cdp.targets import CONTEXT_ID
from focusguard.errors import INVALID_PARAMS
from specs.unit.strokes import begin
from specs.unit.transcript import RULE, Client, GuestPage, Transcript

BROWSER, PAGE = "Browser.setDownloadBehavior", "Page.setDownloadBehavior"
CANCEL, NOT_FOUND = "Browser.cancelDownload", "No download item found for the given GUID"
SAVE: dict[str, Any] = {"behavior": "allow", "downloadPath": "/tmp/of-agent"}
BEGUN = {"guid": "D1", "url": "http://guest.test/a.zip", "filename": "a.zip"}
PROGRESS = {"guid": "D1", "totalBytes": 5, "receivedBytes": 5, "state": "completed"}


def rules(t: Transcript, guest: GuestPage, behavior: str, folder: str = "") -> None:
    """The bridge is told what becomes of a guest's downloads."""
    params = {"webContentsId": guest.web_contents_id, "behavior": behavior, "folder": folder}
    t.bridge.gets(RULE, **params).answers()


def driven(**more: Any) -> tuple[Transcript, GuestPage, Client]:
    """A client has come to a guest."""
    t, guest, agent = begin(**more)
    rules(t, guest, "default")
    return t, guest, agent


def sets(agent: Client, id_: int, method: str, params: dict[str, Any], session: str | None = None) -> None:
    agent.says(id_, method, params, session=session)
    agent.hears(id_, {}, session=session)


class TestSettings:
    def test_for_all_guests_of_a_connection(self) -> None:
        t, guest, agent = driven()
        sets(agent, 1, BROWSER, SAVE)
        rules(t, guest, "allow", "/tmp/of-agent")
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        rules(t, guest, "")
        t.silence()

    def test_for_one_guest_before_all_others(self) -> None:
        t, guest, agent = driven()
        sets(agent, 1, PAGE, {"behavior": "deny"}, session="S1")
        rules(t, guest, "deny")
        sets(agent, 2, BROWSER, SAVE)
        t.bridge.takes_quietly(until=RULE)
        assert not t.bridge.calls
        sets(agent, 3, PAGE, {**SAVE, "downloadPath": "/tmp/x"}, session="S1")
        rules(t, guest, "allow", "/tmp/x")

    def test_of_a_client_that_is_elsewhere_it_is_none(self) -> None:
        t, guest, _ = driven()
        other = t.client()
        sets(other, 1, BROWSER, SAVE)
        t.bridge.takes_quietly(until=RULE)
        assert not t.bridge.calls
        other.attaches("G1", "S2")
        rules(t, guest, "allow", "/tmp/of-agent")
        other.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S2"}).answers()
        rules(t, guest, "default")

    def test_it_ends_with_its_session(self) -> None:
        t, guest, agent = driven()
        agent.attaches("G1", "S2")
        sets(agent, 1, PAGE, SAVE, session="S2")
        rules(t, guest, "allow", "/tmp/of-agent")
        agent.says(2, "Target.detachFromTarget", {"sessionId": "S2"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S2"}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S2"})
        agent.hears(2)
        rules(t, guest, "default")

    def test_a_new_bridge_is_told(self) -> None:
        t, guest, agent = driven()
        sets(agent, 1, BROWSER, SAVE)
        rules(t, guest, "allow", "/tmp/of-agent")
        t.bridge.leaves()
        t.bridge.joins()
        rules(t, guest, "allow", "/tmp/of-agent")

    @pytest.mark.parametrize(
        ("method", "params", "message"),
        [
            (BROWSER, {"behavior": "burn"}, "Invalid parameters behavior"),
            (BROWSER, {}, "Invalid parameters"),
            (BROWSER, {"behavior": "allow"}, "downloadPath not provided"),
            (BROWSER, {"behavior": "allowAndName", "downloadPath": 5}, "Invalid parameters"),
            (PAGE, {**SAVE, "behavior": "allowAndName"}, "Invalid parameters behavior"),
            (BROWSER, {**SAVE, "downloadPath": "of-agent"}, "Invalid parameters downloadPath"),
            (BROWSER, {**SAVE, "downloadPath": "~/of-agent"}, "Invalid parameters downloadPath"),
            (BROWSER, {**SAVE, "downloadPath": "/tmp/of\0agent"}, "Invalid parameters downloadPath"),
            (BROWSER, {**SAVE, "downloadPath": "/tmp/\ud800"}, "Invalid parameters downloadPath"),
            (BROWSER, {"behavior": "deny", "downloadPath": 5}, "Invalid parameters"),
            (BROWSER, {"behavior": "deny", "eventsEnabled": "yes"}, "Invalid parameters"),
            (BROWSER, {**SAVE, "browserContextId": "nope"}, "Failed to find browser context for id nope"),
            (CANCEL, {}, "Invalid parameters"),
            (CANCEL, {"guid": 5}, "Invalid parameters"),
            (
                CANCEL,
                {"guid": "D1", "browserContextId": "nope"},
                "Failed to find browser context for id nope",
            ),
        ],
    )
    def test_what_is_wrong_is_said(self, method: str, params: dict[str, Any], message: str) -> None:
        t, _, agent = driven()
        agent.says(1, method, params, session="S1")
        assert agent.hears_error(1, message, session="S1")["code"] == INVALID_PARAMS
        t.silence()

    @pytest.mark.parametrize(
        ("system", "folder", "good"),
        [
            (PurePosixPath, "/tmp/of-agent", True),
            (PurePosixPath, "C:\\x", False),
            (PurePosixPath, "\\\\server\\x", False),
            (PureWindowsPath, "C:\\x", True),
            (PureWindowsPath, "\\\\server\\x", True),
            (PureWindowsPath, "x", False),
        ],
    )
    def test_a_folder_is_one_of_this_machine(
        self, monkeypatch: pytest.MonkeyPatch, system: type[PurePath], folder: str, good: bool
    ) -> None:
        monkeypatch.setattr("focusguard.policy.downloads.PurePath", system)
        t, guest, agent = driven()
        agent.says(1, BROWSER, {**SAVE, "downloadPath": folder})
        if good:
            agent.hears(1, {})
            rules(t, guest, "allow", folder)
        else:
            agent.hears_error(1, "Invalid parameters downloadPath: absolute path expected")

    @pytest.mark.parametrize("folder", ["\ud800", "of-agent"])
    def test_a_folder_that_is_not_used_goes_nowhere(self, folder: str) -> None:
        t, guest, agent = driven()
        sets(agent, 1, BROWSER, {"behavior": "deny", "downloadPath": folder})
        rules(t, guest, "deny")

    def test_the_context_of_the_guests_is_there(self) -> None:
        t, guest, agent = driven()
        sets(agent, 1, BROWSER, {**SAVE, "browserContextId": CONTEXT_ID})
        rules(t, guest, "allow", "/tmp/of-agent")

    def test_without_a_bridge_it_is_taken_and_reported(self) -> None:
        t = Transcript(bridge=False)
        agent = t.client()
        sets(agent, 1, BROWSER, SAVE)
        assert t.reported("download.unguarded") == [{"client": 1, "behavior": "allow"}]
        sets(agent, 2, BROWSER, {"behavior": "default"})
        assert len(t.reported("download.unguarded")) == 1


class TestEvents:
    @pytest.mark.parametrize("session", [None, "S1"])
    def test_who_asked_for_them_is_told(self, session: str | None) -> None:
        t, guest, agent = driven()
        sets(agent, 1, BROWSER, {**SAVE, "eventsEnabled": True}, session=session)
        rules(t, guest, "allow", "/tmp/of-agent")
        page = guest.web_contents_id
        t.bridge.tells("download.begun", webContentsId=page, saved=True, **BEGUN)
        facts = {
            "frameId": "G1",
            "guid": "D1",
            "url": "http://guest.test/a.zip",
            "suggestedFilename": "a.zip",
        }
        agent.hears_event("Browser.downloadWillBegin", facts, session=session)
        t.bridge.tells("download.changed", webContentsId=page, **PROGRESS)
        agent.hears_event("Browser.downloadProgress", PROGRESS, session=session)

    def test_nobody_else(self) -> None:
        t, guest, agent = driven()
        t.bridge.tells("download.begun", webContentsId=guest.web_contents_id, saved=False, **BEGUN)
        agent.hears_nothing()

    def test_one_that_was_kept_is_told_of(self) -> None:
        t, guest, agent = driven()
        sets(agent, 1, "FocusGuard.enable", {})
        t.bridge.tells("download.begun", webContentsId=guest.web_contents_id, saved=False, **BEGUN)
        facts = {"targetId": "G1", "url": "http://guest.test/a.zip", "suggestedFilename": "a.zip"}
        agent.hears_event("FocusGuard.downloadKept", facts)

    def test_one_of_a_page_that_is_gone(self) -> None:
        t, _, agent = driven()
        for event, facts in (("download.begun", BEGUN), ("download.changed", PROGRESS)):
            t.bridge.tells(event, webContentsId=999, **facts)
        agent.hears_nothing()


class TestCancelling:
    def saving(self, **more: Any) -> tuple[Transcript, GuestPage, Client]:
        """A download is on its way, and the client is told of it."""
        t, guest, agent = driven()
        sets(agent, 1, BROWSER, {**SAVE, "eventsEnabled": True, **more})
        rules(t, guest, "allow", "/tmp/of-agent")
        t.bridge.tells("download.begun", webContentsId=guest.web_contents_id, saved=True, **BEGUN)
        if more.get("eventsEnabled", True):
            agent.hears_event("Browser.downloadWillBegin", {"guid": "D1"})
        return t, guest, agent

    @pytest.mark.parametrize("session", [None, "S1"])
    def test_one_of_a_clients_own(self, session: str | None) -> None:
        t, guest, agent = self.saving()
        agent.says(2, CANCEL, {"guid": "D1"}, session=session)
        call = t.bridge.gets("downloads.cancel", guid="D1")
        canceled = {**PROGRESS, "receivedBytes": 2, "state": "canceled"}
        t.bridge.tells("download.changed", webContentsId=guest.web_contents_id, **canceled)
        agent.hears_event("Browser.downloadProgress", canceled)
        call.answers({"found": True})
        agent.hears(2, {}, session=session)
        t.silence()

    def refused(self, t: Transcript, agent: Client, guid: str = "D1") -> None:
        agent.says(9, CANCEL, {"guid": guid})
        assert agent.hears_error(9, NOT_FOUND)["code"] == INVALID_PARAMS
        t.silence()

    def test_one_that_never_was(self) -> None:
        t, _, agent = self.saving()
        self.refused(t, agent, "D2")

    def test_one_of_somebody_else(self) -> None:
        t, _, _ = self.saving()
        other = t.client()
        self.refused(t, other)
        sets(other, 1, BROWSER, {"behavior": "deny", "eventsEnabled": True})
        self.refused(t, other)

    def test_one_that_the_client_is_not_told_of(self) -> None:
        t, _, agent = self.saving(eventsEnabled=False)
        self.refused(t, agent)

    def test_one_that_has_ended(self) -> None:
        t, guest, agent = self.saving()
        t.bridge.tells("download.changed", webContentsId=guest.web_contents_id, **PROGRESS)
        agent.hears_event("Browser.downloadProgress")
        self.refused(t, agent)

    def test_one_that_has_just_ended(self) -> None:
        t, _, agent = self.saving()
        agent.says(2, CANCEL, {"guid": "D1"})
        t.bridge.gets("downloads.cancel", guid="D1").answers({"found": False})
        agent.hears_error(2, NOT_FOUND)

    def test_one_of_a_guest_that_is_gone(self) -> None:
        t, _, agent = self.saving()
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_event("Target.detachedFromTarget")
        self.refused(t, agent)

    def test_one_of_an_earlier_bridge(self) -> None:
        t, guest, agent = self.saving()
        t.bridge.leaves()
        t.bridge.joins()
        rules(t, guest, "allow", "/tmp/of-agent")
        self.refused(t, agent)

    def test_the_bridge_goes_meanwhile(self) -> None:
        t, _, agent = self.saving()
        agent.says(2, CANCEL, {"guid": "D1"})
        t.bridge.gets("downloads.cancel", guid="D1")
        t.bridge.leaves()
        agent.hears_error(2, "browser_bridge_lost")

    def test_the_app_cannot(self) -> None:
        t, _, agent = self.saving()
        agent.says(2, CANCEL, {"guid": "D1"})
        t.bridge.gets("downloads.cancel", guid="D1").fails("no", code="failed")
        agent.hears_error(2, "browser_error: the app could not cancel the download")
