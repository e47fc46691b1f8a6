"""Flows: decisions that take several round trips, written as generators and driven without an event loop.

A flow yields what it waits for and is resumed with the outcome:

    handle = yield Post(Upstream("Runtime.evaluate", {...}, session))   # sent at once, not waited for
    result = yield Await(handle, seconds=2.0)                           # its result, or an exception
    yield Sleep(0.05)
    yield Acquire(lock)                                                 # release with lock.release()

`Await` raises `CallFailed` where the other side answered with an error, `TimedOut` where it did not answer in time
(the handle stays good and can be awaited again), and `Gone` where the other side was lost. Every wait has a bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
Flow = Generator["Request", Any, T]


class FlowFault(Exception):
    """A wait that did not end in a result."""


class CallFailed(FlowFault):
    """The other side answered with an error.

    Attributes:
        error: the `error` member of the answer.
    """

    def __init__(self, error: dict[str, Any]) -> None:
        self.error = error
        super().__init__(str(error.get("message", error)))


class TimedOut(FlowFault):
    """No answer within the bound."""


class Gone(FlowFault):
    """The other side was lost while the answer was outstanding."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A CDP command to the app, on one of its sessions (None: the browser's own).

    Attributes:
        raw: encoded parameters of a client's command, sent unchanged in place of `params`.
    """

    method: str
    params: dict[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Bridge:
    """A request to the bridge."""

    method: str
    params: dict[str, Any] = field(default_factory=dict)


class Handle:
    """An outstanding call and, later, its outcome."""

    __slots__ = ("fault", "result", "session_id", "settled", "waiter")

    def __init__(self, session_id: str | None = None) -> None:
        self.session_id = session_id
        self.settled = False
        self.result: Any = None
        self.fault: FlowFault | None = None
        self.waiter: Callable[[], None] | None = None

    def settle(self, result: Any = None, fault: FlowFault | None = None) -> None:
        """Set the outcome once; whoever waits is resumed."""
        if self.settled:
            return
        self.settled, self.result, self.fault = True, result, fault
        waiter, self.waiter = self.waiter, None
        if waiter is not None:
            waiter()


class Lock:
    """A queue for something that one flow at a time may hold."""

    __slots__ = ("held", "queue")

    def __init__(self) -> None:
        self.held = False
        self.queue: deque[Handle] = deque()

    def release(self) -> None:
        """Hand it to the next flow in line."""
        while self.queue:
            handle = self.queue.popleft()
            if not handle.settled:
                handle.settle(True)
                return
        self.held = False


@dataclass(frozen=True, slots=True)
class Post:
    """Send a call and go on; the flow gets a `Handle`."""

    call: Upstream | Bridge


@dataclass(frozen=True, slots=True)
class Await:
    """Wait for a handle's outcome, at most so many seconds."""

    handle: Handle
    seconds: float


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Acquire:
    """Wait for a lock, at most so many seconds."""

    lock: Lock
    seconds: float


Request = Post | Await | Sleep | Acquire


def call(request: Upstream | Bridge, seconds: float) -> Flow[dict[str, Any]]:
    """Send a call and wait for its result."""
    handle = yield Post(request)
    result: dict[str, Any] = yield Await(handle, seconds)
    return result


def call_or_undo(
    request: Upstream | Bridge, seconds: float, undo: Callable[[dict[str, Any]], object]
) -> Flow[dict[str, Any]]:
    """As `call`; a result that comes after the bound is given to `undo`, so that nothing is left that nobody owns."""
    handle = yield Post(request)
    try:
        result: dict[str, Any] = yield Await(handle, seconds)
    except TimedOut:
        handle.waiter = lambda: undo(handle.result) if handle.fault is None else None
        raise
    return result


class Flows:
    """Runs flows: one step for each outcome that arrives.

    Args:
        send: sends a call and returns its handle.
        start_timer: starts a timer that settles the handle it returns.
        cancel_timer: forgets that timer.
    """

    def __init__(
        self,
        send: Callable[[Upstream | Bridge], Handle],
        start_timer: Callable[[float], tuple[int, Handle]],
        cancel_timer: Callable[[int], None],
    ) -> None:
        self._send = send
        self._start_timer = start_timer
        self._cancel_timer = cancel_timer
        self._runnable: deque[Callable[[], None]] = deque()
        self._stepping = False
        self.running = 0

    def start(
        self,
        flow: Flow[T],
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Run a flow until its first wait; `done` or `failed` is called when it ends."""
        self.running += 1

        def finish(result: T | None, fault: Exception | None) -> None:
            self.running -= 1
            if fault is not None:
                if failed is None:
                    raise fault
                failed(fault)
            elif done is not None:
                done(result)  # type: ignore[arg-type]

        self._schedule(lambda: self._step(flow, None, None, finish))

    def _schedule(self, step: Callable[[], None]) -> None:
        # Steps run one after the other, never nested: a settled handle must not resume a flow inside another's step.
        self._runnable.append(step)
        if self._stepping:
            return
        self._stepping = True
        try:
            while self._runnable:
                self._runnable.popleft()()
        finally:
            self._stepping = False

    def _step(
        self,
        flow: Flow[Any],
        value: Any,
        fault: Exception | None,
        finish: Callable[[Any, Exception | None], None],
    ) -> None:
        while True:
            try:
                request = flow.send(value) if fault is None else flow.throw(fault)
            except StopIteration as stop:
                finish(stop.value, None)
                return
            except Exception as error:
                finish(None, error)
                return
            fault = None
            if isinstance(request, Post):
                value = self._send(request.call)
                continue
            handle, seconds = self._handle_of(request)
            if handle.settled:
                value, fault = handle.result, handle.fault
                continue
            self._wait(flow, request, handle, seconds, finish)
            return

    def _handle_of(self, request: Await | Sleep | Acquire) -> tuple[Handle, float]:
        if isinstance(request, Await):
            return request.handle, request.seconds
        if isinstance(request, Sleep):
            return Handle(), request.seconds
        handle = Handle()
        if request.lock.held:
            request.lock.queue.append(handle)
        else:
            request.lock.held = True
            handle.settle(True)
        return handle, request.seconds

    def _wait(
        self,
        flow: Flow[Any],
        request: Request,
        handle: Handle,
        seconds: float,
        finish: Callable[[Any, Exception | None], None],
    ) -> None:
        timer, alarm = self._start_timer(seconds)

        def answered() -> None:
            alarm.waiter = None
            self._cancel_timer(timer)
            self._schedule(lambda: self._step(flow, handle.result, handle.fault, finish))

        def rang() -> None:
            handle.waiter = None
            if isinstance(request, Sleep):
                self._schedule(lambda: self._step(flow, None, None, finish))
                return
            if isinstance(request, Acquire):
                handle.settle(None)  # taken out of the queue: release() passes over settled handles
            self._schedule(
                lambda: self._step(flow, None, TimedOut(f"no answer within {seconds:g} s"), finish)
            )

        handle.waiter = answered
        alarm.waiter = rang
