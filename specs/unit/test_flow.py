"""Flows: decisions that wait, driven step by step without an event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from focusguard.policy.flow import (
    Acquire,
    Await,
    Bridge,
    CallFailed,
    Flow,
    Flows,
    Gone,
    Handle,
    Lock,
    Post,
    Sleep,
    TimedOut,
    Upstream,
    call,
    call_or_undo,
)


class Stage:
    """The outside of `Flows`, with every handle and alarm in the spec's hands."""

    def __init__(self) -> None:
        self.sent: list[Upstream | Bridge] = []
        self.handles: list[Handle] = []
        self.alarms: dict[int, tuple[float, Handle]] = {}
        self.ended: list[Any] = []
        self._serial = 0
        self.flows = Flows(self._send, self._start_timer, self._cancel_timer)

    def _send(self, request: Upstream | Bridge) -> Handle:
        self.sent.append(request)
        self.handles.append(Handle())
        return self.handles[-1]

    def _start_timer(self, seconds: float) -> tuple[int, Handle]:
        self._serial += 1
        self.alarms[self._serial] = (seconds, Handle())
        return self._serial, self.alarms[self._serial][1]

    def _cancel_timer(self, timer: int) -> None:
        del self.alarms[timer]

    def run(self, flow: Flow[Any]) -> None:
        """Start a flow; what becomes of it is in `ended`."""
        self.flows.start(flow, self.ended.append, self.ended.append)

    def rings(self, seconds: float) -> None:
        """The oldest alarm of so many seconds rings."""
        timer = next(number for number, (bound, _) in self.alarms.items() if bound == seconds)
        self.alarms.pop(timer)[1].settle(True)

    def outcome(self) -> Any:
        """The one flow has ended, nothing waits: what it gave, or raised."""
        assert len(self.ended) == 1
        assert self.flows.running == 0
        assert not self.alarms
        return self.ended[0]


ASK = Upstream("A.b", {"x": 1}, "S")


class TestCall:
    """A call and its one outcome."""

    def test_a_result(self) -> None:
        stage = Stage()
        stage.run(call(ASK, 2.0))
        assert stage.sent == [ASK]
        assert stage.flows.running == 1
        stage.handles[0].settle({"y": 2})
        assert stage.outcome() == {"y": 2}

    @pytest.mark.parametrize("fault", [CallFailed({"code": 1, "message": "no"}), Gone("gone")])
    def test_a_fault(self, fault: Any) -> None:
        stage = Stage()
        stage.run(call(ASK, 2.0))
        stage.handles[0].settle(fault=fault)
        assert stage.outcome() is fault

    def test_a_fault_tells_the_other_sides_words(self) -> None:
        assert str(CallFailed({"code": 1, "message": "no"})) == "no"
        assert str(CallFailed({"code": 1})) == "{'code': 1}"

    def test_no_answer(self) -> None:
        stage = Stage()
        stage.run(call(ASK, 2.0))
        stage.rings(2.0)
        assert isinstance(stage.outcome(), TimedOut)

    def test_a_late_answer_is_nothing(self) -> None:
        stage = Stage()
        stage.run(call(ASK, 2.0))
        stage.rings(2.0)
        stage.handles[0].settle({})
        assert isinstance(stage.outcome(), TimedOut)

    def test_an_answer_that_is_there_already_starts_no_alarm(self) -> None:
        stage = Stage()
        settled = Handle()
        settled.settle({"y": 2})

        def flow() -> Flow[Any]:
            return (yield Await(settled, 2.0))

        stage.run(flow())
        assert stage.outcome() == {"y": 2}

    def test_only_the_first_outcome_counts(self) -> None:
        handle = Handle()
        handle.settle(1)
        handle.settle(2)
        handle.settle(fault=Gone())
        assert (handle.result, handle.fault) == (1, None)

    def test_a_handle_can_be_awaited_again_after_its_time(self) -> None:
        stage = Stage()

        def flow() -> Flow[Any]:
            handle = yield Post(ASK)
            try:
                yield Await(handle, 1.0)
            except TimedOut:
                return (yield Await(handle, 5.0))

        stage.run(flow())
        stage.rings(1.0)
        assert not stage.ended
        stage.handles[0].settle("late")
        assert stage.outcome() == "late"

    def test_several_at_once(self) -> None:
        stage = Stage()

        def flow() -> Flow[Any]:
            first, second, third = (yield Post(ASK)), (yield Post(ASK)), (yield Post(ASK))
            return [(yield Await(third, 1.0)), (yield Await(first, 1.0)), (yield Await(second, 1.0))]

        stage.run(flow())
        assert len(stage.sent) == 3
        for number in (2, 0, 1):
            stage.handles[number].settle(number)
        assert stage.outcome() == [2, 0, 1]


class TestCallOrUndo:
    """A call whose late result must not be left to nobody."""

    def run(self) -> tuple[Stage, list[Any]]:
        stage, undone = Stage(), []
        stage.run(call_or_undo(ASK, 2.0, undone.append))
        return stage, undone

    def test_in_time(self) -> None:
        stage, undone = self.run()
        stage.handles[0].settle({"y": 2})
        assert (stage.outcome(), undone) == ({"y": 2}, [])

    def test_late(self) -> None:
        stage, undone = self.run()
        stage.rings(2.0)
        assert isinstance(stage.outcome(), TimedOut)
        stage.handles[0].settle({"y": 2})
        assert undone == [{"y": 2}]

    def test_late_and_failed(self) -> None:
        stage, undone = self.run()
        stage.rings(2.0)
        stage.handles[0].settle(fault=Gone())
        assert undone == []


class TestSleep:
    def test_it_ends_with_its_alarm(self) -> None:
        stage = Stage()

        def flow() -> Flow[str]:
            yield Sleep(0.05)
            return "awake"

        stage.run(flow())
        assert not stage.ended
        stage.rings(0.05)
        assert stage.outcome() == "awake"


class TestLock:
    """One at a time, in the order asked."""

    @staticmethod
    def holding(stage: Stage, lock: Lock, name: str, seconds: float = 9.0) -> None:
        def flow() -> Flow[str]:
            yield Acquire(lock, seconds)
            yield Await((yield Post(Upstream(name))), 1.0)
            lock.release()
            return name

        stage.run(flow())

    def test_in_order(self) -> None:
        stage, lock = Stage(), Lock()
        for name in "abc":
            self.holding(stage, lock, name)
        for number, name in enumerate("abc"):
            assert [sent.method for sent in stage.sent] == list("abc"[: number + 1])
            stage.handles[number].settle({})
            assert stage.ended[-1] == name
        assert not lock.held
        assert not stage.alarms

    def test_whoever_waits_too_long_loses_its_place(self) -> None:
        stage, lock = Stage(), Lock()
        self.holding(stage, lock, "a")
        self.holding(stage, lock, "b", seconds=3.0)
        self.holding(stage, lock, "c")
        stage.rings(3.0)
        assert isinstance(stage.ended.pop(), TimedOut)
        stage.handles[0].settle({})
        assert [sent.method for sent in stage.sent] == ["a", "c"]
        stage.handles[1].settle({})
        assert stage.ended == ["a", "c"]
        assert not lock.held

    def test_it_is_free_when_nobody_is_left(self) -> None:
        stage, lock = Stage(), Lock()
        self.holding(stage, lock, "a")
        self.holding(stage, lock, "b", seconds=3.0)
        stage.rings(3.0)
        stage.handles[0].settle({})
        assert not lock.held
        self.holding(stage, lock, "c")
        assert stage.sent[-1].method == "c"


class TestSteps:
    """Steps run one after the other, never one inside another."""

    def test_a_settled_handle_does_not_resume_inside_another_step(self) -> None:
        stage, order = Stage(), []
        shared = Handle()

        def waiting() -> Flow[None]:
            yield Await(shared, 1.0)
            order.append("resumed")

        def settling() -> Flow[None]:
            yield Await((yield Post(ASK)), 1.0)
            shared.settle(1)
            order.append("after settling")

        stage.run(waiting())
        stage.run(settling())
        stage.handles[0].settle(1)
        assert order == ["after settling", "resumed"]

    def test_a_flow_that_starts_others_ends_first(self) -> None:
        stage, order = Stage(), []

        def inner() -> Flow[None]:
            order.append("inner")
            return
            yield

        def outer() -> Flow[None]:
            yield Await((yield Post(ASK)), 1.0)
            stage.flows.start(inner())
            order.append("outer")

        stage.run(outer())
        stage.handles[0].settle(1)
        assert order == ["outer", "inner"]

    def test_ten_thousand_in_a_row_do_not_nest(self) -> None:
        stage = Stage()
        left = 10_000

        def flow() -> Flow[None]:
            return
            yield

        def again(_: None) -> None:
            nonlocal left
            left -= 1
            if left:
                stage.flows.start(flow(), again)

        stage.flows.start(flow(), again)
        assert left == 0
        assert stage.flows.running == 0

    def test_what_a_flow_raises_goes_to_whoever_started_it(self) -> None:
        stage = Stage()

        def flow() -> Flow[None]:
            raise KeyError("x")
            yield

        stage.run(flow())
        assert isinstance(stage.outcome(), KeyError)

    @pytest.mark.parametrize("answered", [True, False])
    def test_without_anybody_to_tell_it_is_raised(self, answered: bool) -> None:
        stage = Stage()
        stage.flows.start(call(ASK, 1.0))
        settle: Callable[[], None] = (
            (lambda: stage.handles[0].settle(fault=Gone("x"))) if answered else (lambda: stage.rings(1.0))
        )
        with pytest.raises((Gone, TimedOut)):
            settle()
        assert stage.flows.running == 0
        stage.run(call(ASK, 1.0))
        stage.handles[1].settle("and on it goes")
        assert stage.ended == ["and on it goes"]
