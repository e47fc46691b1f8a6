"""The weaker mode: without a bridge the guard asks the pane in the host page over CDP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from focusguard.policy.host_target import PANE
from specs.unit.strokes import KEY, MOUSE, PRESS, TAB
from specs.unit.transcript import VERSION, Call, Client, Transcript, target

HOST = "OWN-HOST"


def begin() -> tuple[Transcript, Client]:
    """A host with one webview, a window without any, and a client on the webview."""
    t = Transcript(bridge=False)
    for target_id, type_ in (("WINDOW", "page"), ("HOST", "page"), ("G1", "webview")):
        t.app.says("Target.targetCreated", {"targetInfo": target(target_id, type_)})
    t.app.gets("Target.attachToTarget", {"targetId": "G1"}).answers({"sessionId": "OWN-G1"})
    t.app.gets("Target.setAutoAttach", session="OWN-G1").answers()
    agent = t.client()
    agent.attaches("G1", "S1")
    return t, agent


def value(call: Call, answer: Any) -> None:
    """A script gave this."""
    call.answers({"result": {"type": "object", "value": answer}})


def finds_the_host(t: Transcript) -> None:
    """Window after window is asked for its webviews, until one holds the document with the guest's time origin."""
    value(t.page_is_asked("OWN-G1"), 1234.5)
    for target_id, views in (("WINDOW", []), ("HOST", [[1, 99.0], [2, 1234.5]])):
        session = f"OWN-{target_id}"
        t.app.gets("Target.attachToTarget", {"targetId": target_id}).answers({"sessionId": session})
        made = t.app.gets("Page.createIsolatedWorld", {"frameId": target_id}, session=session)
        made.answers({"executionContextId": 3})
        placed = t.app.gets("Runtime.evaluate", {"contextId": 3}, session=session)
        assert PANE in placed.params["expression"]
        value(placed, 0)
        value(pane(t, "learnGuests", session), True)
        value(t.app.gets("Runtime.evaluate", session=session), json.dumps(views))


def pane(t: Transcript, question: str, session: str = HOST) -> Call:
    """The pane is asked this next."""
    call = t.app.gets("Runtime.evaluate", {"contextId": 3, "awaitPromise": True}, session=session)
    assert call.params["expression"].startswith(f"globalThis.__focusguardPane.{question}("), call
    return call


def order(call: Call) -> dict[str, Any]:
    """What the pane is told."""
    expression: str = call.params["expression"]
    said: dict[str, Any] = json.loads(expression[expression.index("(") + 1 : -1])
    return said


def pressing() -> tuple[Transcript, Client, Call]:
    """A press, up to the question that the pane has to answer first."""
    t, agent = begin()
    agent.says(1, MOUSE, PRESS, session="S1")
    t.app.gets("Emulation.setFocusEmulationEnabled", session="OWN-G1").answers()
    finds_the_host(t)
    asked = pane(t, "begin")
    assert not t.app.calls, "nothing is sent before the pane has answered"
    return t, agent, asked


class TestBorrows:
    def test_a_press_step_by_step(self) -> None:
        t, agent, asked = pressing()
        assert (order(asked)["guestId"], order(asked)["take"]) == (2, False)
        value(asked, {"state": "held"})
        t.app.gets(MOUSE, PRESS, session="S1").answers()
        ending = pane(t, "end")
        assert order(ending)["lease"] == order(asked)["lease"]
        value(ending, {"returned": True, "reason": "returned", "heldMs": 5})
        agent.hears(1, {}, session="S1")
        t.rings(0.05)
        value(pane(t, "recheck"), {"again": False})
        t.silence()

    def test_the_second_finds_its_way(self) -> None:
        t, agent, asked = pressing()
        value(asked, {"state": "guest-focused"})
        t.app.gets(MOUSE, session="S1").answers()
        agent.hears(1, session="S1")
        agent.says(2, MOUSE, PRESS, session="S1")
        value(pane(t, "begin"), {"state": "guest-focused"})
        t.app.gets(MOUSE, session="S1").answers()
        agent.hears(2, session="S1")
        t.silence()

    def test_after_the_host_was_loaded_anew_the_pane_is_placed_again(self) -> None:
        t, agent, asked = pressing()
        asked.fails("Cannot find context with specified id")
        t.app.gets("Page.createIsolatedWorld", session=HOST).answers({"executionContextId": 3})
        value(t.app.gets("Runtime.evaluate", session=HOST), 0)
        value(pane(t, "begin"), {"state": "guest-focused"})
        t.app.gets(MOUSE, session="S1").answers()
        agent.hears(1, session="S1")
        t.silence()

    def test_no_client_reaches_the_hosts_session(self) -> None:
        t, agent, asked = pressing()
        value(asked, {"state": "guest-focused"})
        t.app.gets(MOUSE, session="S1").answers()
        agent.hears(1, session="S1")
        for id_, method in enumerate((KEY, "Runtime.evaluate", "Target.getTargets"), start=2):
            agent.says(id_, method, TAB, session=HOST)
            agent.hears_error(id_, "Session with given id not found.", session=HOST)
        t.app.says("Runtime.consoleAPICalled", {"type": "log"}, session=HOST)
        t.silence()


class TestRefusals:
    @pytest.mark.parametrize(
        ("state", "says"),
        [
            ("composing", "browser_user_composing"),
            ("expired", "browser_focus_guard_unavailable"),
            ("no-element", "browser_focus_guard_unavailable"),
            ("not-taken", "browser_focus_guard_unavailable"),
        ],
    )
    def test_whatever_the_pane_says_that_is_not_safe(self, state: str, says: str) -> None:
        t, agent, asked = pressing()
        value(asked, {"state": state})
        agent.hears_error(1, says, session="S1")
        t.silence()

    def test_a_pane_that_is_late_and_grants_it_all_the_same(self) -> None:
        t, agent, asked = pressing()
        t.rings(0.15)
        agent.hears_error(1, "browser_focus_guard_unavailable", session="S1")
        value(asked, {"state": "held"})
        dropping = pane(t, "drop")
        assert json.dumps(order(asked)["lease"]) in dropping.params["expression"]
        value(dropping, True)
        t.silence()

    def test_no_window_holds_the_guest(self) -> None:
        t, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.gets("Emulation.setFocusEmulationEnabled", session="OWN-G1").answers()
        value(t.page_is_asked("OWN-G1"), 1234.5)
        for target_id in ("WINDOW", "HOST"):
            t.app.gets("Target.attachToTarget", {"targetId": target_id}).fails("Not allowed")
        agent.hears_error(1, "browser_focus_guard_unavailable: no window of the app", session="S1")
        t.silence()

    def test_a_window_that_is_attached_too_late(self) -> None:
        t, agent = begin()
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.gets("Emulation.setFocusEmulationEnabled", session="OWN-G1").answers()
        value(t.page_is_asked("OWN-G1"), 1234.5)
        attaching = t.app.gets("Target.attachToTarget", {"targetId": "WINDOW"})
        t.rings(2.0)
        t.app.gets("Target.attachToTarget", {"targetId": "HOST"}).fails("Not allowed")
        agent.hears_error(1, "browser_focus_guard_unavailable: no window of the app", session="S1")
        attaching.answers({"sessionId": "LATE"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "LATE"}).answers()
        t.silence()

    def test_a_host_that_goes_while_it_is_asked(self) -> None:
        t, agent, _ = pressing()
        t.app.says("Target.detachedFromTarget", {"sessionId": HOST, "targetId": "HOST"})
        t.app.says("Target.targetDestroyed", {"targetId": "HOST"})
        agent.hears_error(1, "browser_", session="S1")
        assert t.guard.sessions.get(HOST) is None
        t.silence()


def test_the_app_is_asked_for_its_version_as_ever() -> None:
    t = Transcript(bridge=False)
    agent = t.client()
    agent.says(1, "Browser.getVersion")
    agent.hears(1, VERSION)
