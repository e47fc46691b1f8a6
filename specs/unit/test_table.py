"""The policy table: one rule for each method, the same on every route."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.policy.table import (
    AT_BROWSER,
    MEANING,
    ON_GUEST,
    TARGET_DOMAIN,
    Treatment,
    borrows,
    rule_for,
)
from specs.unit.transcript import Transcript

ALL = {**ON_GUEST, **AT_BROWSER, **TARGET_DOMAIN}
#: What may reach the app on a client's own session although it could carry input or move focus.
SENT_ON = {
    Treatment.FORWARD,
    Treatment.KEY,
    Treatment.TEXT,
    Treatment.COMPOSE,
    Treatment.POINTER,
    Treatment.GESTURE,
    Treatment.FOCUSING,
    Treatment.NAVIGATION,
    Treatment.RELOAD,
}


class TestRules:
    @pytest.mark.parametrize("method", sorted(ALL))
    def test_each_has_a_reason_and_a_domain(self, method: str) -> None:
        domain, _, command = method.partition(".")
        assert domain and command
        assert ALL[method].why

    def test_nobody_is_sent_to_a_session_where_it_is_refused_too(self) -> None:
        for method in (*ALL, "Browser.madeUp", "Target.madeUp"):
            rules = [rule_for(method, on_guest=on_guest) for on_guest in (False, True)]
            if all(rule.treatment is Treatment.REFUSE for rule in rules):
                assert all(rule.advice for rule in rules), method

    @pytest.mark.parametrize("treatment", Treatment)
    def test_each_treatment_is_explained(self, treatment: Treatment) -> None:
        assert MEANING[treatment].endswith(".")

    @pytest.mark.parametrize(
        ("method", "on_guest", "at_browser"),
        [
            ("Runtime.evaluate", Treatment.FORWARD, Treatment.REFUSE),
            ("Made.up", Treatment.FORWARD, Treatment.REFUSE),
            ("", Treatment.FORWARD, Treatment.REFUSE),
            ("Browser.madeUp", Treatment.REFUSE, Treatment.REFUSE),
            ("Target.madeUp", Treatment.REFUSE, Treatment.REFUSE),
            ("FocusGuard.madeUp", Treatment.GUARD, Treatment.GUARD),
            ("Input.insertText", Treatment.TEXT, Treatment.REFUSE),
            ("Input.madeUp", Treatment.FORWARD, Treatment.REFUSE),
            ("Target.activateTarget", Treatment.WAKE, Treatment.WAKE),
            ("Target.setAutoAttach", Treatment.FORWARD, Treatment.VIRTUAL),
            ("Page.bringToFront", Treatment.WAKE, Treatment.REFUSE),
        ],
    )
    def test_on_a_guest_and_at_the_browser(
        self, method: str, on_guest: Treatment, at_browser: Treatment
    ) -> None:
        assert rule_for(method, on_guest=True).treatment is on_guest
        assert rule_for(method, on_guest=False).treatment is at_browser

    def test_at_the_browser_nothing_is_sent_on(self) -> None:
        treatments = {
            rule_for(method, on_guest=False).treatment for method in (*ALL, "Made.up", "Input.madeUp")
        }
        assert not treatments & SENT_ON

    @pytest.mark.parametrize(
        ("method", "params", "moves"),
        [
            ("Input.dispatchMouseEvent", {"type": "mousePressed"}, True),
            ("Input.dispatchMouseEvent", {"type": "mouseReleased"}, False),
            ("Input.dispatchMouseEvent", {"type": "mouseMoved"}, False),
            ("Input.dispatchMouseEvent", {"type": "mouseWheel"}, False),
            ("Input.dispatchMouseEvent", {}, False),
            ("Input.dispatchMouseEvent", {"type": ["mousePressed"]}, False),
            ("Input.dispatchTouchEvent", {"type": "touchStart"}, True),
            ("Input.dispatchTouchEvent", {"type": "touchEnd"}, True),
            ("Input.dispatchTouchEvent", {"type": "touchMove"}, False),
            ("Input.dispatchTouchEvent", {"type": "touchCancel"}, False),
            ("Input.dispatchDragEvent", {"type": "drop"}, False),
        ],
    )
    def test_what_moves_the_focus(self, method: str, params: dict[str, Any], moves: bool) -> None:
        assert borrows(method, params) is moves


class TestCarriedOut:
    """What the rules say is what happens: methods that could raise, focus, close or reach past a guest."""

    @pytest.mark.parametrize(
        "method", sorted(method for method, rule in ALL.items() if rule.treatment is Treatment.REFUSE)
    )
    @pytest.mark.parametrize("where", ["browser", "guest", "page connection"])
    def test_refused_everywhere(self, method: str, where: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1") if where == "page connection" else t.client()
        session = agent.attaches("G1", "S1") if where == "guest" else None
        agent.says(1, method, {"targetId": "G1"}, session=session)
        error = agent.hears_error(1, f"browser_refused: {method} is refused", session=session)
        assert error["data"] == {"code": "browser_refused", "retryable": False}
        t.silence()

    @pytest.mark.parametrize("method", ["Page.bringToFront", "Target.activateTarget"])
    def test_nothing_is_raised(self, method: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, method, {"targetId": "G1"}, session="S1")
        t.app.takes_quietly()
        assert not t.app.calls
        t.bridge.takes_quietly()
        while t.bridge.calls:
            t.bridge.gets("guest.wake").fails("no callback", "unsupported")
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_certificates_are_the_apps(self) -> None:
        t = Transcript()
        agent = t.client()
        method = "Security.setIgnoreCertificateErrors"
        agent.says(1, method, {"ignore": False})
        agent.hears(1, {})
        agent.says(2, method, {"ignore": True})
        error = agent.hears_error(
            2, f"browser_refused: {method} is refused: the app decides about certificates"
        )
        assert error["message"].endswith("To do: leave it out.")
        t.silence()

    def test_the_window_is_nobodys_business(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        for id_, session in ((1, None), (2, "S1")):
            agent.says(id_, "Browser.getWindowForTarget", {"targetId": "G1"}, session=session)
            assert agent.hears(id_, session=session)["windowId"] == 1
        t.silence()
