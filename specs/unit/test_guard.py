"""The guard as a whole: every event comes in at one place, every command of a client gets its one answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from focusguard.cdp.limits import Limits
from focusguard.errors import MEANINGS, Code, GuardError, ProtocolError
from focusguard.policy import effects
from focusguard.policy.flow import CallFailed, Gone, TimedOut
from focusguard.policy.wire import cdp_error
from specs.unit.browsing import PLAYWRIGHT_AUTO
from specs.unit.transcript import HELLO, Transcript, target


class TestCommands:
    """A client's command is forwarded as it is, answered here, or refused."""

    def test_forwarded_byte_for_byte(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        params = b'{ "expression" : "1.0" , "big":123456789012345678901 }'
        said = b'{"id":7,"method":"Runtime.evaluate","params":' + params + b',"sessionId":"S1"}'
        (sent,) = t.guard.handle(effects.ClientSaid(agent.number, said))
        assert isinstance(sent, effects.SendUpstream)
        number = json.loads(sent.data)["id"]
        assert sent.data == (
            b'{"id":%d,"method":"Runtime.evaluate","params":%b,"sessionId":"S1"}' % (number, params)
        )
        result = b'{"id":%d,"result":{ "value" : 1.50 },"sessionId":"S1"}' % number
        (answer,) = t.guard.handle(effects.UpstreamSaid(result))
        assert answer == effects.SendClient(
            agent.number, b'{"id":7,"result":{ "value" : 1.50 },"sessionId":"S1"}'
        )

    def test_events_are_passed_on_untouched(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        event = b'{"method":"Network.x","params":{ "a" : 1e3 },"sessionId":"S1"}'
        assert t.guard.handle(effects.UpstreamSaid(event)) == [effects.SendClient(agent.number, event)]

    def test_an_error_of_the_app_is_passed_on(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, "DOM.getDocument", session="S1")
        t.app.gets("DOM.getDocument", session="S1").fails("Could not find node", -32000)
        assert agent.hears_error(1, "Could not find node", session="S1")["code"] == -32000

    def test_what_clients_wait_for_as_they_attach_has_a_bound(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        for id_, method in enumerate(("Page.enable", "Runtime.enable", "Target.setAutoAttach")):
            agent.says(id_, method, dict(PLAYWRIGHT_AUTO), session="S1")
            t.app.gets(method, session="S1")
            t.rings(5.0)
            agent.hears_error(id_, f"browser_timeout: {method} was not answered within 5 s", session="S1")
        t.silence()

    def test_a_late_answer_is_not_a_second_one(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(
            1, "Input.dispatchDragEvent", {"type": "dragEnter", "x": 1, "y": 1, "data": {}}, session="S1"
        )
        dragging = t.app.gets("Input.dispatchDragEvent", session="S1")
        t.rings(10.0)
        agent.hears_error(
            1, "browser_timeout: Input.dispatchDragEvent was not answered within 10 s", session="S1"
        )
        dragging.answers()
        t.silence()

    @pytest.mark.parametrize("params", [b"3", b'"x"', b"true"])
    @pytest.mark.parametrize(
        "method", ["Target.getTargets", "Input.insertText", "Page.reload", "Target.setAutoAttach"]
    )
    def test_params_that_are_no_object(self, method: str, params: bytes) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says_raw(b'{"id":1,"method":"%b","params":%b,"sessionId":"S1"}' % (method.encode(), params))
        agent.hears_error(1, "Message may have object 'params' property")
        agent.says_raw(b'{"id":2,"method":"%b","params":[],"sessionId":"S1"}' % method.encode())
        error = agent.hears_error(2, "Invalid parameters", session="S1")
        assert error["data"] == "Failed to deserialize params - CBOR: map start expected"
        t.silence()

    def test_an_empty_session_is_none(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.getTargets", session="")
        agent.hears(1)

    def test_too_many_at_once_are_refused_and_room_is_made_again(self) -> None:
        t = Transcript(limits=Limits(pending=2))
        t.guest("G1")
        agent, other = t.client(), t.client()
        agent.attaches("G1", "S1")
        for id_ in (1, 2, 3):
            agent.says(id_, "Runtime.evaluate", session="S1")
        error = agent.hears_error(3, "browser_refused: 2 commands of this connection wait", session="S1")
        assert error["message"].endswith("To do: wait for some of the answers, then send it again.")
        assert error["data"]["retryable"] is False
        other.says(1, "Target.getTargets")
        other.hears(1)
        for id_ in (1, 2):
            t.app.gets("Runtime.evaluate", session="S1").answers()
            agent.hears(id_, session="S1")
        agent.says(4, "Runtime.evaluate", session="S1")
        t.app.gets("Runtime.evaluate", session="S1").answers()
        agent.hears(4, session="S1")
        t.silence()

    @pytest.mark.parametrize("data", [b"", b"{", b'{"method":"A.b"}'])
    def test_whatever_cannot_be_read_is_answered_without_an_id(self, data: bytes) -> None:
        t = Transcript()
        agent = t.client()
        agent.says_raw(data)
        agent.hears_error(None, "Message must")


class TestTheApp:
    """What the app says is trusted in what it means, not in its form."""

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"id":"x"}', b"[" * 100_000])
    def test_a_garbled_message_is_reported_and_passed_over(self, data: bytes) -> None:
        t = Transcript()
        t.guest("G1")
        t.feed(effects.UpstreamSaid(data))
        assert t.reported("app.garbled")[0]["bytes"] == len(data)
        t.silence()

    def test_half_a_surrogate_pair_reaches_the_client(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, "Runtime.evaluate", session="S1")
        t.app.gets("Runtime.evaluate", session="S1").answers({"result": {"value": "\ud83d"}})
        agent.hears(1, {"result": {"value": "\ud83d"}}, session="S1")

    def test_an_answer_that_nobody_waits_for(self) -> None:
        t = Transcript()
        t.feed(effects.UpstreamSaid(b'{"id":4711,"result":{}}'))
        t.silence()

    def test_a_command_that_it_could_not_read_is_reported(self) -> None:
        t = Transcript()
        t.feed(effects.UpstreamSaid(b'{"error":{"code":-32700,"message":"JSON: x"}}'))
        assert t.reported("app.unread") == [{"reason": "JSON: x", "outstanding": 0}]
        t.silence()

    def test_the_only_command_is_the_one_that_it_could_not_read(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        refusal = effects.UpstreamSaid(b'{"error":{"code":-32700,"message":"JSON: x"}}')
        agent.says(1, "Runtime.evaluate", session="S1")
        t.app.gets("Runtime.evaluate", session="S1")
        t.feed(refusal)
        assert agent.hears_error(1, "JSON: x", session="S1")["code"] == -32700
        waiting = {}
        for id_ in (2, 3):
            agent.says(id_, "Runtime.evaluate", session="S1")
            waiting[id_] = t.app.gets("Runtime.evaluate", session="S1")
        t.feed(refusal)
        assert [report["outstanding"] for report in t.reported("app.unread")] == [1, 2]
        for id_, call in waiting.items():
            call.answers({"value": id_})
            agent.hears(id_, {"value": id_}, session="S1")
        t.silence()


class TestTheBridge:
    def test_what_it_tells_is_reported_whatever_it_is_called(self) -> None:
        t = Transcript()
        t.bridge.tells("key.lost", key="a", kind="x", self="y")
        assert t.reported("bridge.key.lost") == [{"key": "a", "kind": "x", "self": "y"}]

    def test_an_answer_that_nobody_waits_for(self) -> None:
        t = Transcript()
        t.feed(effects.BridgeAnswered(4711, {}, None))
        t.feed(effects.TimerRang(4711))
        t.silence()

    def test_a_lease_is_ended_with_the_bridge_that_granted_it(self) -> None:
        """The next bridge begins to count anew: its lease 1 is another one."""
        t = Transcript()
        guest = t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        press = {"type": "mousePressed", "x": 1, "y": 1, "button": "left"}
        agent.says(1, "Input.dispatchMouseEvent", press, session="S1")
        t.app.gets("Emulation.setFocusEmulationEnabled", session=guest.session).answers()
        t.bridge.gets("borrow.begin").answers({"state": "held", "lease": 1})
        pressing = t.app.gets("Input.dispatchMouseEvent", session="S1")
        t.bridge.leaves()
        t.bridge.joins()
        pressing.answers()
        agent.hears(1, {}, session="S1")
        assert "has given the focus back" in t.reported("borrow.unreturned")[0]["reason"]
        t.silence()


class TestDomain:
    """`FocusGuard`: the guard's own domain, on any session."""

    def test_status(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        for id_, session in ((1, None), (2, "S1")):
            agent.says(id_, "FocusGuard.getStatus", session=session)
            status = agent.hears(id_, session=session)
            assert (status["mode"], status["limits"]) == ("bridge", [])
            assert status["bridge"] == {key: HELLO[key] for key in ("version", "pid", "electron", "chromium")}
            assert [guest["targetId"] for guest in status["guests"]] == ["G1"]

    def test_status_without_a_bridge_says_what_is_weaker(self) -> None:
        t = Transcript(bridge=False)
        agent = t.client()
        agent.says(1, "FocusGuard.getStatus")
        status = agent.hears(1)
        assert (status["mode"], len(status["limits"]), status["bridge"]) == ("no-bridge", 2, None)

    def test_metrics_count_borrows_and_refusals(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        press = {"type": "mousePressed", "x": 1, "y": 1, "button": "left"}
        for id_, state in enumerate(("held", "composing", "held")):
            agent.says(id_, "Input.dispatchMouseEvent", press, session="S1")
            if id_ == 0:
                t.app.gets("Emulation.setFocusEmulationEnabled", session=guest.session).answers()
            t.bridge.gets("borrow.begin").answers({"state": state, "lease": id_ if state == "held" else None})
            if state == "held":
                t.app.gets("Input.dispatchMouseEvent", session="S1").answers()
                ended = {"returned": True, "reason": "returned", "heldMs": 5 + id_, "broughtHome": id_}
                t.bridge.gets("borrow.end").answers(ended)
                agent.hears(id_, session="S1")
            else:
                agent.hears_error(id_, "browser_user_composing", session="S1")
        agent.says(9, "FocusGuard.getMetrics")
        metrics = agent.hears(9)
        assert (metrics["borrows"], metrics["refusals"], metrics["broughtHome"]) == (2, 1, 2)
        assert metrics["borrowMs"]["max"] == 7
        assert 5 <= metrics["borrowMs"]["p50"] <= metrics["borrowMs"]["p99"] <= 7

    def test_metrics_of_nothing(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "FocusGuard.getMetrics")
        assert agent.hears(1)["borrowMs"] == {"p50": 0.0, "p99": 0.0, "max": 0.0}

    def test_a_method_that_it_has_not(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "FocusGuard.madeUp")
        assert agent.hears_error(1, "'FocusGuard.madeUp' wasn't found")["code"] == -32601


class TestErrors:
    """A client library that only shows the message still tells a person what to do."""

    @pytest.mark.parametrize("code", Code)
    def test_the_message_has_the_code_what_happened_and_what_to_do(self, code: Code) -> None:
        error = GuardError(code).to_cdp()
        assert error["message"] == f"{code}: {MEANINGS[code].says}. To do: {MEANINGS[code].advice}."
        assert json.loads(error["data"]) == {"code": str(code), "retryable": MEANINGS[code].retryable}
        assert error["code"] == -32000

    def test_advice_of_its_own_takes_the_place_of_the_codes(self) -> None:
        error = GuardError(Code.REFUSED, "no", advice="do that").to_cdp()
        assert error["message"] == "browser_refused: no. To do: do that."

    def test_details_and_data(self) -> None:
        error = GuardError(Code.ERROR, "it broke", data={"x": 1}).to_cdp()
        assert error["message"].startswith("browser_error: it broke. To do:")
        assert json.loads(error["data"])["x"] == 1

    @pytest.mark.parametrize(
        ("fault", "expected"),
        [
            (ProtocolError(-32602, "no"), {"code": -32602, "message": "no"}),
            (CallFailed({"code": -1, "message": "no"}), {"code": -1, "message": "no"}),
        ],
    )
    def test_chromiums_own_words_stay(self, fault: Exception, expected: dict[str, Any]) -> None:
        assert cdp_error(fault) == expected

    @pytest.mark.parametrize(
        ("fault", "code"),
        [(TimedOut("x"), Code.TIMEOUT), (Gone("x"), Code.ERROR), (KeyError("x"), Code.ERROR)],
    )
    def test_whatever_else_happens_has_a_code(self, fault: Exception, code: Code) -> None:
        assert json.loads(cdp_error(fault)["data"])["code"] == code

    def test_python_is_not_heard(self) -> None:
        assert "subscript" not in cdp_error(TypeError("'int' object is not subscriptable"))["message"]


class TestRefusalsAreReported:
    def test_with_the_client_the_method_and_the_code(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Browser.close")
        agent.hears_error(1, "browser_refused")
        (report,) = t.reported("refusal")
        assert (report["client"], report["method"], report["code"]) == (1, "Browser.close", "browser_refused")

    def test_of_a_client_that_left_nothing_is(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client()
        agent.says(1, "Target.closeTarget", {"targetId": "G1"})
        asked = t.bridge.gets("guest.close")
        agent.leaves()
        asked.fails("no callback", "unsupported")
        assert t.reported("refusal") == []
        t.silence()


def test_a_target_that_is_created_twice_is_asked_about_once() -> None:
    t = Transcript()
    for _ in range(2):
        t.app.says("Target.targetCreated", {"targetInfo": target("G1")})
    t.bridge.gets("target.describe").answers({"found": True, "guest": False, "kind": "other"})
    t.silence()
