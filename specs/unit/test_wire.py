"""The outgoing side: every caller gets one answer at most, addressed as it spoke."""

from __future__ import annotations

import json
from typing import Any

import pytest

from focusguard.cdp.messages import decode_command, decode_upstream
from focusguard.cdp.sessions import Session, SessionTable
from focusguard.errors import Code, GuardError
from focusguard.policy import effects
from focusguard.policy.flow import Bridge, CallFailed, Gone, Upstream
from focusguard.policy.wire import Caller, Wire

CLIENT = 1


class Line:
    """A wire with one client, and what came out of it."""

    def __init__(self) -> None:
        self.sessions = SessionTable()
        self.wire = Wire(self.sessions)
        self.wire.client_joined(CLIENT)
        self.page = self.sessions.add(Session("S", CLIENT, "G", "G"))

    def caller(self, session: Session | None = None, command_id: int = 7) -> Caller:
        """A command on its way."""
        caller = Caller(CLIENT, session, command_id, "A.b")
        self.wire.accept(caller)
        return caller

    def forward(self, caller: Caller, bound: float | None = None) -> int:
        """Send it on; gives the number under which the app knows it."""
        message = decode_command(b'{"id":7,"method":"A.b","params":{"x":1}}')
        self.wire.forward(caller, message, "S", bound)
        sent = [c for c in self.wire.drain() if isinstance(c, effects.SendUpstream)]
        return int(json.loads(sent[0].data)["id"])

    def app_answers(self, number: int) -> None:
        """The app's answer."""
        self.wire.upstream_answered(decode_upstream(b'{"id":%d,"result":{"y":2},"sessionId":"S"}' % number))

    def heard(self) -> list[dict[str, Any]]:
        """What the client was sent."""
        return [json.loads(c.data) for c in self.wire.drain() if isinstance(c, effects.SendClient)]


class TestAddressing:
    def test_at_the_root_without_a_session(self) -> None:
        line = Line()
        line.wire.answer(line.caller(), {"y": 2})
        assert line.heard() == [{"id": 7, "result": {"y": 2}}]

    def test_on_a_session_with_it(self) -> None:
        line = Line()
        line.wire.answer(line.caller(line.page), {"y": 2})
        assert line.heard() == [{"id": 7, "result": {"y": 2}, "sessionId": "S"}]

    def test_on_a_page_connection_without(self) -> None:
        line = Line()
        line.page.connection = True
        line.wire.event(CLIENT, line.page, "A.c", {})
        assert line.heard() == [{"method": "A.c", "params": {}}]

    def test_wrapped_it_goes_to_its_parent(self) -> None:
        line = Line()
        inner = line.sessions.add(Session("W", CLIENT, "G2", "G2", parent_id="S", wrapped=True))
        line.wire.answer(line.caller(inner), {})
        params = {"sessionId": "W", "message": '{"id":7,"result":{}}', "targetId": "G2"}
        event = {"method": "Target.receivedMessageFromTarget", "params": params, "sessionId": "S"}
        assert line.heard() == [event]

    def test_whoever_left_hears_nothing(self) -> None:
        line = Line()
        caller = line.caller(line.page)
        line.wire.client_lost(CLIENT)
        line.wire.answer(caller, {})
        line.wire.event(CLIENT, None, "A.c", {})
        line.wire.fail(line_caller := Caller(CLIENT, None, 8, "A.b"), GuardError(Code.ERROR))
        assert not line_caller.waits
        assert line.wire.drain() == []


class TestOneAnswer:
    @pytest.mark.parametrize("first", ["answer", "fail", "app", "bound", "session", "upstream"])
    def test_whatever_comes_first_is_the_answer(self, first: str) -> None:
        line = Line()
        told: list[int] = []
        caller = line.caller(line.page)
        caller.answered = lambda: told.append(1)
        number = line.forward(caller, bound=10.0)
        timer = caller.timer
        assert timer is not None
        ways = {
            "answer": lambda: line.wire.answer(caller, {}),
            "fail": lambda: line.wire.fail(caller, GuardError(Code.ERROR)),
            "app": lambda: line.app_answers(number),
            "bound": lambda: line.wire.timer_rang(timer),
            "session": lambda: line.wire.session_lost("S"),
            "upstream": lambda: line.wire.upstream_lost(),
        }
        ways.pop(first)()
        assert len(line.heard()) == 1
        for way in ways.values():
            way()
        assert line.heard() == []
        assert told == [1]
        assert line.wire.pending(CLIENT) == 0

    def test_a_client_that_leaves_settles_its_callers(self) -> None:
        line = Line()
        told: list[int] = []
        caller = line.caller(line.page)
        caller.answered = lambda: told.append(1)
        number = line.forward(caller, bound=10.0)
        line.wire.client_lost(CLIENT)
        assert told == [1]
        assert line.wire.drain() == [effects.CancelTimer(caller.timer or 0)]
        line.app_answers(number)
        assert line.wire.drain() == []


class TestCallsOfTheGuard:
    def test_an_answer_and_an_error(self) -> None:
        line = Line()
        handles = [line.wire.post(Upstream("A.b", {"x": 1}, "S")) for _ in range(2)]
        numbers = [json.loads(c.data)["id"] for c in line.wire.drain() if isinstance(c, effects.SendUpstream)]
        line.app_answers(numbers[0])
        data = b'{"id":%d,"error":{"code":-1,"message":"no"}}' % numbers[1]
        line.wire.upstream_answered(decode_upstream(data))
        assert handles[0].result == {"y": 2}
        assert isinstance(handles[1].fault, CallFailed)

    def test_raw_params_are_sent_as_they_are(self) -> None:
        line = Line()
        line.wire.post(Upstream("A.b", {"x": 1}, "S", raw=b'{ "x":1.0 }'))
        (sent,) = line.wire.drain()
        assert isinstance(sent, effects.SendUpstream)
        assert b'"params":{ "x":1.0 }' in sent.data

    def test_to_a_side_that_is_gone_they_end_at_once(self) -> None:
        line = Line()
        line.wire.upstream_lost()
        gone = [line.wire.post(Upstream("A.b")), line.wire.post(Bridge("ping"))]
        assert all(isinstance(handle.fault, Gone) for handle in gone)
        caller = line.caller()
        line.wire.forward(caller, decode_command(b'{"id":7,"method":"A.b"}'), "S")
        assert line.heard()[0]["error"]["message"].startswith("browser_error: the app is gone")

    def test_a_session_that_goes_ends_its_own_only(self) -> None:
        line = Line()
        on_it, beside = line.wire.post(Upstream("A.b", {}, "S")), line.wire.post(Upstream("A.b", {}, "T"))
        line.wire.session_lost("S")
        assert isinstance(on_it.fault, Gone)
        assert not beside.settled

    def test_whoever_is_told_may_end_others(self) -> None:
        line = Line()
        first, second = (line.wire.post(Upstream("A.b", {}, "S")) for _ in range(2))
        first.waiter = lambda: line.wire.session_lost("S")
        line.wire.session_lost("S")
        assert isinstance(second.fault, Gone)


class TestTimers:
    def test_it_rings_once(self) -> None:
        line = Line()
        rang: list[int] = []
        timer = line.wire.start_timer(2.0, lambda: rang.append(1))
        assert line.wire.drain() == [effects.StartTimer(timer, 2.0)]
        line.wire.timer_rang(timer)
        line.wire.timer_rang(timer)
        assert rang == [1]
        line.wire.cancel_timer(timer)
        assert line.wire.drain() == []

    def test_cancelled_it_does_not(self) -> None:
        line = Line()
        rang: list[int] = []
        timer = line.wire.start_timer(2.0, lambda: rang.append(1))
        line.wire.cancel_timer(timer)
        line.wire.timer_rang(timer)
        assert rang == []
        assert line.wire.drain() == [effects.StartTimer(timer, 2.0), effects.CancelTimer(timer)]

    def test_numbers_are_never_used_twice(self) -> None:
        line = Line()
        numbers = [line.wire.start_timer(1.0, lambda: None) for _ in range(3)]
        line.wire.post(Upstream("A.b"))
        (sent,) = [c for c in line.wire.drain() if isinstance(c, effects.SendUpstream)]
        assert json.loads(sent.data)["id"] not in numbers
