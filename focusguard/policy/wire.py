"""The guard's outgoing side: who is waiting for which answer, and how a client is addressed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from focusguard.cdp import messages
from focusguard.cdp.messages import Envelope
from focusguard.cdp.sessions import Session, SessionTable
from focusguard.errors import Code, GuardError, ProtocolError
from focusguard.policy import effects
from focusguard.policy.flow import Bridge, CallFailed, FlowFault, Flows, Gone, Handle, TimedOut, Upstream
from focusguard.policy.reports import Reports

#: Seconds after which a command that waits for a frame is looked into: a guest that is painted answers in a few frames.
LATE_SECONDS = 0.7
#: What a client is told of a guest that it has lost.
GONE, DEAD = "the guest is gone", "the guest's renderer has died"
FAILED = "the guard itself failed on this command, and reported why"


@dataclass(slots=True)
class Caller:
    """A client's command on its way: where its answer goes.

    Attributes:
        session: the client's session; None: the root of a browser connection.
        timer: number of the timer that bounds it.
        late_timer: number of the timer after which it is looked into, again and again.
        waits: whether it still waits for its answer; it gets one at most.
        answered: called once when it does not wait any more, whatever the outcome.
        fault: the error that it was answered with.
    """

    client: int
    session: Session | None
    command_id: int
    method: str
    timer: int | None = None
    late_timer: int | None = None
    waits: bool = True
    answered: Callable[[], None] | None = None
    fault: Exception | None = None


class Wire:
    """Ids, timers and the outbox; the only place that makes commands for the shell."""

    def __init__(self, sessions: SessionTable) -> None:
        self.outbox: list[effects.Command] = []
        self.reports = Reports()
        self.flows = Flows(self.post, self._start_alarm, self.cancel_timer)
        self.bridge_here = False
        self.electron = 0
        #: Counts the bridges that have joined.
        self.bridge_number = 0
        #: Hosts (WebContents ids) in which the person has a composition open, as the bridge tells.
        self.composing: set[int | None] = set()
        #: Those in which they compose word after word, whether or not one is open just now.
        self.composers: set[int | None] = set()
        self.upstream_here = True
        self._sessions = sessions
        self._next_id = 1
        self._calls: dict[int, Handle | Caller] = {}
        self._requests: dict[int, Handle] = {}
        self._timers: dict[int, Callable[[], None]] = {}
        self._pending: dict[int, int] = {}

    # -- clients -----------------------------------------------------------------------------------------------------
    def client_here(self, client: int) -> bool:
        """Whether the client is connected; whoever is not gets nothing any more."""
        return client in self._pending

    @property
    def clients(self) -> list[int]:
        """Numbers of the clients that are connected, oldest first."""
        return list(self._pending)

    def session_here(self, session: Session) -> bool:
        """Whether the session still exists."""
        return self._sessions.get(session.id) is session

    def client_joined(self, client: int) -> None:
        """A client is connected."""
        self._pending[client] = 0

    def pending(self, client: int) -> int:
        """How many of the client's commands wait for an answer."""
        return self._pending.get(client, 0)

    def accept(self, caller: Caller) -> None:
        """Count a command from now until it is answered."""
        self._pending[caller.client] += 1

    # -- out ---------------------------------------------------------------------------------------------------------
    def drain(self) -> list[effects.Command]:
        """The commands since the last call."""
        commands, self.outbox = self.outbox, []
        return commands

    def report(self, kind: str, /, **facts: Any) -> None:
        """Tell the log and whoever watches."""
        self.reports.add(kind, facts)
        self.outbox.append(effects.Report(kind, facts))

    def post(self, call: Upstream | Bridge) -> Handle:
        """Send a call of the guard's own."""
        handle = Handle(call.session_id if isinstance(call, Upstream) else None)
        number = self._number()
        if isinstance(call, Bridge):
            if not self.bridge_here:
                handle.settle(fault=Gone("the bridge is not connected"))
                return handle
            self._requests[number] = handle
            self.outbox.append(effects.AskBridge(number, call.method, call.params))
            return handle
        if not self.upstream_here:
            handle.settle(fault=Gone("the app is gone"))
            return handle
        self._calls[number] = handle
        if call.raw is not None:
            data = messages.with_raw_params(number, call.method, call.raw, call.session_id)
        else:
            data = messages.command(number, call.method, call.params, call.session_id)
        self.outbox.append(effects.SendUpstream(data))
        return handle

    def forward(
        self,
        caller: Caller,
        message: Envelope,
        session_id: str,
        bound: float | None = None,
        late: Callable[[], None] | None = None,
    ) -> None:
        """Send a client's command on, payload unchanged; its answer goes back to the client.

        Args:
            caller: whose command it is.
            message: the command.
            session_id: the app's session that it goes to.
            bound: seconds after which it is answered with `browser_timeout`.
            late: called each `LATE_SECONDS` while it is not answered, to find out why: a guest that has just been
                hidden gives a few frames still.
        """
        number = self._number()
        if not self.upstream_here:
            self.fail(caller, GuardError(Code.ERROR, "the app is gone"))
            return
        self._calls[number] = caller
        if bound is not None and late is not None:
            caller.late_timer = self.start_timer(LATE_SECONDS, lambda: self._late(number, bound, late))
        elif bound is not None:
            caller.timer = self.start_timer(bound, lambda: self._overdue(number, bound))
        self.outbox.append(
            effects.SendUpstream(messages.readdress(message, command_id=number, session_id=session_id))
        )

    # -- to clients --------------------------------------------------------------------------------------------------
    def answer(self, caller: Caller, result: dict[str, Any]) -> None:
        """Answer a client's command with a result."""
        self._reply(caller, lambda sid: messages.answer(caller.command_id, result, sid))

    def fail(self, caller: Caller, error: Exception) -> None:
        """Answer a client's command with an error."""
        if not caller.waits:
            return
        if not isinstance(error, (GuardError, ProtocolError, FlowFault)):
            self.report("fault", method=caller.method, reason=repr(error))
        caller.fault = error
        told, body = _told(error), cdp_error(error)
        if isinstance(told, GuardError) and self.client_here(caller.client):
            facts = {"client": caller.client, "method": caller.method, "code": str(told.code)}
            self.report("refusal", **facts, message=str(told))
        self._reply(caller, lambda sid: messages.failure(caller.command_id, body, sid))

    def refuse_unread(
        self, client: int, session: Session | None, command_id: int | None, error: dict[str, Any]
    ) -> None:
        """Answer what is no command, with the id where there is one."""
        self._deliver(client, session, lambda _: messages.failure(command_id, error))

    def _reply(self, caller: Caller, encode: Callable[[str | None], bytes]) -> None:
        if not caller.waits:
            return
        self._deliver(caller.client, caller.session, encode)
        self._settle(caller)

    def _settle(self, caller: Caller) -> None:
        caller.waits = False
        for timer in (caller.timer, caller.late_timer):
            if timer is not None:
                self.cancel_timer(timer)
        if caller.client in self._pending:
            self._pending[caller.client] -= 1
        if caller.answered is not None:
            caller.answered()

    def event(self, client: int, session: Session | None, method: str, params: dict[str, Any]) -> None:
        """Send a client an event of the guard's own."""
        self._deliver(client, session, lambda sid: messages.event(method, params, sid))

    def pass_on(self, session: Session, message: Envelope, data: bytes) -> None:
        """Send a client an event of one of its sessions as it came."""
        assert session.client is not None
        if session.connection or session.wrapped:
            self._deliver(
                session.client,
                session,
                lambda sid: messages.readdress(message, command_id=message.id, session_id=sid),
            )
        else:
            self._deliver(session.client, session, lambda sid: data)

    def _deliver(self, client: int, session: Session | None, encode: Callable[[str | None], bytes]) -> None:
        if not self.client_here(client):
            return
        if session is None or session.connection:
            self.outbox.append(effects.SendClient(client, encode(None)))
        elif session.wrapped:
            parent = self._sessions.get(session.parent_id) if session.parent_id else None
            text = encode(None).decode(errors="replace")
            params = {"sessionId": session.id, "message": text, "targetId": session.target_id}
            self.event(client, parent, "Target.receivedMessageFromTarget", params)
        else:
            self.outbox.append(effects.SendClient(client, encode(session.id)))

    # -- in ----------------------------------------------------------------------------------------------------------
    def upstream_answered(self, message: Envelope) -> None:
        """Bring an answer of the app to whoever asked."""
        assert message.id is not None
        waiting = self._calls.pop(message.id, None)
        if isinstance(waiting, Handle):
            error = messages.error_of(message)
            if error is not None:
                waiting.settle(fault=CallFailed(error))
            else:
                waiting.settle(messages.result_of(message))
        elif waiting is not None:
            if (error := messages.error_of(message)) is not None:
                waiting.fault = CallFailed(error)
            self._reply(
                waiting,
                lambda sid: messages.readdress(message, command_id=waiting.command_id, session_id=sid),
            )

    def upstream_refused(self, message: Envelope) -> None:
        """The app could not read a command, and does not say whose: with one outstanding it is that one's."""
        error = messages.error_of(message) or {}
        self.report("app.unread", reason=str(error.get("message")), outstanding=len(self._calls))
        if len(self._calls) == 1:
            (message.id,) = self._calls
            self.upstream_answered(message)

    def bridge_joined(self, electron: str) -> None:
        """A bridge is there, in an app of this Electron."""
        major = electron.partition(".")[0]
        self.electron = int(major) if major.isdecimal() else 0
        self.bridge_here = True
        self.bridge_number += 1

    def bridge_answered(self, event: effects.BridgeAnswered) -> None:
        """Bring an answer of the bridge to the flow that asked."""
        handle = self._requests.pop(event.request, None)
        if handle is None:
            return
        if event.error is not None:
            handle.settle(fault=CallFailed(event.error))
        else:
            handle.settle(event.result or {})

    def note_composing(self, host: int | None, *, now: bool, active: bool) -> None:
        """What the bridge tells of a person's input method."""
        for hosts, here in ((self.composing, now), (self.composers, now or active)):
            (hosts.add if here else hosts.discard)(host)

    def bridge_lost(self) -> None:
        """Nobody gets an answer from the bridge any more."""
        self.bridge_here = False
        self.composing.clear()
        self.composers.clear()
        requests, self._requests = self._requests, {}
        for handle in requests.values():
            handle.settle(fault=Gone("the bridge is gone"))

    def upstream_lost(self) -> None:
        """Nobody gets an answer from the app any more."""
        self.upstream_here = False
        self._end_calls(lambda waiting: True, "the app is gone")

    def session_lost(self, session_id: str, why: str = "the target closed before it answered") -> None:
        """Answer what is outstanding on a session that is gone; the app will not."""

        def on_it(waiting: Handle | Caller) -> bool:
            if isinstance(waiting, Handle):
                return waiting.session_id == session_id
            return waiting.session is not None and waiting.session.id == session_id

        self._end_calls(on_it, why)

    def _end_calls(self, which: Callable[[Handle | Caller], bool], why: str) -> None:
        # All are taken out before the first is told: whoever is told may go on to end others.
        ended = [number for number, waiting in self._calls.items() if which(waiting)]
        for waiting in [self._calls.pop(number) for number in ended]:
            if isinstance(waiting, Handle):
                waiting.settle(fault=Gone(why))
            else:
                self.fail(waiting, GuardError(Code.ERROR, why))

    def client_lost(self, client: int) -> None:
        """Forget a client and its outstanding commands."""
        del self._pending[client]
        callers = {n: waiting for n, waiting in self._calls.items() if isinstance(waiting, Caller)}
        left = {number: caller for number, caller in callers.items() if caller.client == client}
        for number in left:
            del self._calls[number]
        for caller in left.values():
            self._settle(caller)

    def _late(self, number: int, bound: float, late: Callable[[], None]) -> None:
        waiting = self._calls.get(number)
        if isinstance(waiting, Caller):
            if waiting.timer is None:
                waiting.timer = self.start_timer(bound - LATE_SECONDS, lambda: self._overdue(number, bound))
            waiting.late_timer = self.start_timer(LATE_SECONDS, lambda: self._late(number, bound, late))
            late()

    def _overdue(self, number: int, bound: float) -> None:
        waiting = self._calls.pop(number, None)
        if isinstance(waiting, Caller):
            waiting.timer = None
            self.fail(
                waiting, GuardError(Code.TIMEOUT, f"{waiting.method} was not answered within {bound:g} s")
            )

    # -- timers ------------------------------------------------------------------------------------------------------
    def start_timer(self, seconds: float, rang: Callable[[], None]) -> int:
        """Call `rang` after so many seconds."""
        number = self._number()
        self._timers[number] = rang
        self.outbox.append(effects.StartTimer(number, seconds))
        return number

    def cancel_timer(self, timer: int) -> None:
        """Forget a timer."""
        if self._timers.pop(timer, None) is not None:
            self.outbox.append(effects.CancelTimer(timer))

    def timer_rang(self, timer: int) -> None:
        """A timer of the shell has run out."""
        rang = self._timers.pop(timer, None)
        if rang is not None:
            rang()

    def _start_alarm(self, seconds: float) -> tuple[int, Handle]:
        alarm = Handle()
        return self.start_timer(seconds, lambda: alarm.settle(True)), alarm

    def _number(self) -> int:
        number = self._next_id
        self._next_id += 1
        return number


def cdp_error(error: Exception) -> dict[str, Any]:
    """The `error` member that tells a client of a fault."""
    told = _told(error)
    return told.error if isinstance(told, CallFailed) else told.to_cdp()


def error_code(error: Exception) -> str:
    """The guard's code for a fault, or the number that Chromium has for it."""
    told = _told(error)
    return str(told.code) if isinstance(told, GuardError) else str(cdp_error(told).get("code"))


def _told(error: Exception) -> GuardError | ProtocolError | CallFailed:
    if isinstance(error, (GuardError, ProtocolError, CallFailed)):
        return error
    if isinstance(error, FlowFault):
        return GuardError(Code.TIMEOUT if isinstance(error, TimedOut) else Code.ERROR, str(error))
    return GuardError(Code.ERROR, FAILED)
