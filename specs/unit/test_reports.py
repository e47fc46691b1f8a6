"""What clients that watch the guard are told: everything that goes on, nothing that is typed, and never too much."""

from __future__ import annotations

import json
from typing import Any

import pytest

from focusguard.policy import effects
from focusguard.policy.reports import FACTS, KEPT, LONGEST, Reports, address
from specs.unit.strokes import HELD, KEY, MOUSE, MOVE, PRESS, RETURNED, begin, types
from specs.unit.transcript import Client, Message, Transcript

SECRET = "hunter2"


def reports(watcher: Client, after: int | None = None, *, id_: int = 700) -> list[Message]:
    """All that a watcher is told."""
    watcher.says(id_, "FocusGuard.getReports", {"after": after} if after is not None else {})
    found: list[Message] = watcher.hears(id_)["reports"]
    return found


def facts(found: list[Message], kind: str) -> list[Message]:
    return [each["facts"] for each in found if each["kind"] == kind]


class TestActions:
    """Where each input of an agent has landed, for somebody who is no part of it."""

    def test_a_key(self) -> None:
        t, guest, agent = begin()
        watcher = t.client()
        types(t, guest, agent, 1)
        assert facts(reports(watcher), "action") == [
            {
                "client": agent.number,
                "targetId": "G1",
                "method": KEY,
                "type": "keyDown",
                "verdict": "handled",
                "way": "send-input-event",
            }
        ]
        agent.hears_nothing()
        t.silence()

    def test_a_press_has_what_it_cost_the_person(self) -> None:
        t, _, agent = begin()
        watcher = t.client()
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.takes_quietly()
        t.bridge.gets("borrow.begin").answers(HELD)
        t.app.gets(MOUSE, session="S1").answers()
        t.bridge.gets("borrow.end").answers(RETURNED)
        agent.hears(1, {}, session="S1")
        (action,) = facts(reports(watcher), "action")
        assert (action["type"], action["verdict"], action["way"]) == ("mousePressed", "handled", "borrow")
        assert (action["heldMs"], action["waitedMs"], action["broughtHome"]) == (7.5, 0, 1)

    def test_one_that_is_refused_has_the_code(self) -> None:
        t, _, agent = begin()
        watcher = t.client()
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.takes_quietly()
        t.bridge.gets("borrow.begin").answers({"state": "composing", "lease": None, "waitedMs": 0})
        agent.hears_error(1, "browser_user_composing", session="S1")
        found = reports(watcher)
        assert facts(found, "action")[0]["code"] == "browser_user_composing"
        assert facts(found, "refusal") == [
            {"client": agent.number, "method": MOUSE, "code": "browser_user_composing"}
        ]

    def test_one_that_is_sent_on_and_refused_by_the_app_has_its_number(self) -> None:
        t, _, agent = begin()
        watcher = t.client()
        agent.says(1, "FocusGuard.enable")
        agent.hears(1)
        agent.says(2, MOUSE, MOVE, session="S1")
        t.app.gets(MOUSE, session="S1").fails("no such widget", -32001)
        agent.hears_error(2, "no such widget", session="S1")
        told = agent.hears_event("FocusGuard.delivery", {"commandId": 2}, session="S1")
        assert told["error"]["message"] == "no such widget"
        assert facts(reports(watcher), "action")[0]["code"] == "-32001"

    def test_a_kind_that_is_none_is_not_repeated(self) -> None:
        t, _, agent = begin()
        watcher = t.client()
        agent.says(1, MOUSE, {**MOVE, "type": SECRET}, session="S1")
        t.app.gets(MOUSE, session="S1").fails("Unexpected event type", -32602)
        agent.hears_error(1, "Unexpected", session="S1")
        assert "type" not in facts(reports(watcher), "action")[0]

    def test_what_cannot_be_a_kind_at_all(self) -> None:
        t, _, agent = begin()
        watcher = t.client()
        agent.says(1, "DOM.focus", {"nodeId": 1, "type": [SECRET]}, session="S1")
        t.app.takes_quietly()
        t.bridge.gets("borrow.begin").answers(HELD)
        t.app.gets("DOM.focus", session="S1").answers()
        agent.hears(1, {}, session="S1")
        (action,) = facts(reports(watcher), "action")
        assert (action["method"], "type" in action) == ("DOM.focus", False)

    def test_of_a_client_that_left_there_is_none(self) -> None:
        t, _, agent = begin()
        watcher = t.client()
        agent.says(1, MOUSE, MOVE, session="S1")
        agent.leaves()
        assert facts(reports(watcher), "action") == []


class TestWhatIsTyped:
    """It is in no report, on whatever way it went."""

    @pytest.fixture
    def told(self) -> str:
        """All that a watcher hears of an agent and a person who write the same."""
        t, guest, agent = begin()
        watcher = t.client()
        for id_, letter in enumerate(SECRET[:6], start=1):
            types(t, guest, agent, id_, letter)
        agent.says(20, "Input.insertText", {"text": SECRET}, session="S1")
        t.page_says(guest.session)
        t.bridge.gets("text.insert").fails(f"cannot be written: {SECRET}", "failed")
        agent.hears_error(20, "browser_error", session="S1")
        t.bridge.tells("key.lost", hostWebContentsId=1, key=SECRET, code=SECRET, type="keyDown")
        agent.says(21, f"Made.{'x' * 300}")
        agent.hears_error(21, "browser_refused")
        for kind in FACTS:
            t.guard._wire.report(kind, message=SECRET, text=SECRET, key=SECRET)
        t.guard._wire.report("made.up", anything=SECRET)
        url = f"https://me:{SECRET}@search.test/find?q={SECRET}#{SECRET}"
        t.guard._wire.report("guest.ready", targetId="G2", url=url, embedding="webview")
        return json.dumps(reports(watcher), ensure_ascii=False)

    def test_it_is_in_no_report(self, told: str) -> None:
        assert SECRET not in told
        assert "bridge.key.lost" in told
        assert "made.up" in told
        assert "https://search.test/find?…" in told

    def test_the_whole_report_has_it(self) -> None:
        """A control: the log of the app's owner has what is left out here."""
        t, _, _ = begin()
        t.bridge.tells("key.lost", hostWebContentsId=1, key=SECRET, code=SECRET, type="keyDown")
        assert t.reported("bridge.key.lost")[0]["key"] == SECRET

    def test_a_long_name_is_cut(self, told: str) -> None:
        assert f"Made.{'x' * (LONGEST - 5)}…" in told


class TestAddress:
    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("http://guest.test/", "http://guest.test/"),
            ("http://guest.test/a/b?", "http://guest.test/a/b"),
            ("http://guest.test/a?q=secret", "http://guest.test/a?…"),
            ("http://guest.test?q=a/b", "http://guest.test?…"),
            ("http://guest.test/a#secret", "http://guest.test/a#…"),
            ("http://me:secret@guest.test:80/@a", "http://guest.test:80/@a"),
            ("file:///tmp/page.html", "file:///tmp/page.html"),
            ("data:text/html,secret", "data:…"),
            ("javascript:secret", "javascript:…"),
            ("blob:http://guest.test/1", "blob:…"),
            ("about:blank", "about:blank"),
            ("about:blank#secret", "about:blank#…"),
            ("", ""),
        ],
    )
    def test_it_says_where_a_page_is(self, url: str, shown: str) -> None:
        assert address(url) == shown


class TestKept:
    """The latest, whoever asks and whoever does not."""

    def test_they_are_counted_and_asked_for_by_number(self) -> None:
        kept = Reports()
        for client in range(3):
            kept.add("client.joined", {"client": client, "target": None})
        answer = kept.after(1)
        assert [(each["number"], each["facts"]) for each in answer["reports"]] == [
            (2, {"client": 1}),
            (3, {"client": 2}),
        ]
        assert (answer["missed"], answer["last"]) == (0, 3)
        assert kept.after(3) == {"reports": [], "missed": 0, "last": 3}
        assert kept.after(10**9) == {"reports": [], "missed": 0, "last": 3}
        assert len(kept.after(-5)["reports"]) == 3

    def test_the_oldest_go_and_are_counted(self) -> None:
        kept = Reports()
        for client in range(KEPT + 7):
            kept.add("client.left", {"client": client})
        answer = kept.after(2)
        assert (len(answer["reports"]), answer["missed"], answer["last"]) == (KEPT, 5, KEPT + 7)
        assert answer["reports"][0]["number"] == 8

    def test_a_watcher_that_never_asks_again_gets_nothing_sent(self) -> None:
        t, guest, agent = begin()
        watcher = t.client()
        reports(watcher)
        for id_ in range(1, 30):
            types(t, guest, agent, id_)
        watcher.hears_nothing()

    def test_a_fault_of_the_guards_own_is_one(self) -> None:
        t = Transcript()
        watcher = t.client()
        t.take(t.guard.salvage(effects.ClientLeft(9)))
        assert facts(reports(watcher), "fault") == [{"on": "ClientLeft"}]

    @pytest.mark.parametrize("after", ["1", True, {}, []])
    def test_a_number_of_the_wrong_kind(self, after: Any) -> None:
        t = Transcript()
        watcher = t.client()
        watcher.says(1, "FocusGuard.getReports", {"after": after})
        assert watcher.hears_error(1, "Invalid parameters")["code"] == -32602


class TestWatching:
    """A watcher is at no guest: for the app it is not there."""

    def test_nothing_is_sent_for_it(self) -> None:
        t = Transcript()
        t.guest("G1")
        watcher = t.client()
        for id_, method in enumerate(("getReports", "getStatus", "getMetrics")):
            watcher.says(id_, f"FocusGuard.{method}")
            watcher.hears(id_)
        assert not t.app.calls
        assert not t.bridge.calls
        watcher.leaves()
        t.silence()

    def test_status_says_who_watches_and_who_is_at_a_guest(self) -> None:
        t, _, agent = begin()
        watcher = t.client()
        reports(watcher)
        watcher.says(1, "FocusGuard.getStatus")
        assert watcher.hears(1)["clients"] == [
            {"client": agent.number, "guests": ["G1"], "watches": False},
            {"client": watcher.number, "guests": [], "watches": True},
        ]

    def test_one_that_left_is_forgotten(self) -> None:
        t, _, agent = begin()
        watcher = t.client()
        reports(watcher)
        watcher.leaves()
        agent.says(1, "FocusGuard.getStatus")
        assert [each["client"] for each in agent.hears(1)["clients"]] == [agent.number]
        assert not t.guard.domain._watching

    def test_a_guest_that_has_crashed(self) -> None:
        t = Transcript()
        t.guest("G1")
        watcher = t.client()
        t.app.says("Target.targetCrashed", {"targetId": "G1", "status": "killed", "errorCode": 9})
        watcher.says(1, "FocusGuard.getStatus")
        assert watcher.hears(1)["guests"][0]["crashed"] is True
