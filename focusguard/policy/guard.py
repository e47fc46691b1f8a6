"""The guard: every event comes in here, and every command goes out from here.

A client's command takes this way: `ClientSaid` -> its session -> its rule (`table.py`) -> forwarded as it is, answered
by the virtual browser (`browser.py`), or carried out by the input desk (`input.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from focusguard import errors
from focusguard.cdp import messages
from focusguard.cdp.limits import DEFAULT_LIMITS, Limits
from focusguard.cdp.messages import Envelope, MalformedMessage
from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import FRAME_TYPES, Child, Guest, TargetTree
from focusguard.errors import Code, GuardError, ProtocolError
from focusguard.policy import effects, keys, parameters
from focusguard.policy.attach import GO_ON
from focusguard.policy.borrow import Borrower, Pace
from focusguard.policy.browser import VirtualBrowser
from focusguard.policy.delivery import Job
from focusguard.policy.dialogs import Dialogs
from focusguard.policy.discovery import Discovery
from focusguard.policy.domain import GuardDomain
from focusguard.policy.downloads import Downloads
from focusguard.policy.drags import INTERCEPT, INTERCEPTED
from focusguard.policy.emulation import LIFECYCLE, FocusEmulation
from focusguard.policy.evidence import Worlds
from focusguard.policy.flow import Flow, Upstream
from focusguard.policy.host_target import HostTarget
from focusguard.policy.input import InputDesk
from focusguard.policy.navigation import Navigator
from focusguard.policy.paint import PaintWatch
from focusguard.policy.receipts import Receipts
from focusguard.policy.scripts import ScriptTurns
from focusguard.policy.table import INPUT_BOUND, STOPPING, Rule, Treatment, rule_for
from focusguard.policy.wire import DEAD, Caller, Wire

#: WebSocket close codes (RFC 6455, section 7.4.1).
CLOSE_NORMAL, CLOSE_GOING_AWAY, CLOSE_TRY_AGAIN, CLOSE_ERROR = 1000, 1001, 1013, 1011

NO_SESSION = "Session with given id not found."
#: With a user gesture they can do what only a press can, such as open a file chooser.
GESTURING = ("Runtime.evaluate", "Runtime.callFunctionOn")
_INPUT = (
    Treatment.KEY,
    Treatment.TEXT,
    Treatment.COMPOSE,
    Treatment.POINTER,
    Treatment.GESTURE,
    Treatment.FOCUSING,
)


@dataclass(frozen=True, slots=True)
class Options:
    """What an embedder can choose.

    Attributes:
        pace: when a borrow starts while the person types.
        bridge_expected: the app was started with the bridge, so nothing is a guest before the bridge says so.
    """

    version: str
    pace: Pace = "between-keys"
    bridge_expected: bool = True
    limits: Limits = DEFAULT_LIMITS


class Guard:
    """The pure guard. `handle` takes one event and gives the commands that follow from it."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.tree = TargetTree()
        self.sessions = SessionTable()
        self._wire = Wire(self.sessions)
        self._worlds = Worlds()
        host_target = HostTarget(self._wire, self.tree, self.sessions, self._worlds)
        self._borrower = Borrower(
            self._wire, options.pace, without_bridge=None if options.bridge_expected else host_target
        )
        self._scripts = ScriptTurns(self._borrower)
        self._navigator = Navigator(self._wire, self._borrower)
        self._paint = PaintWatch(self._wire, self._worlds)
        self._receipts = Receipts(self._wire)
        self._dialogs = Dialogs(self._wire, self.tree, self.sessions, self._receipts.announce)
        self._downloads = Downloads(
            self._wire,
            self.tree,
            self.sessions,
            self._receipts.announce,
            bridge_expected=options.bridge_expected,
        )
        self._emulation = FocusEmulation(
            self._wire,
            self.tree,
            self.sessions,
            self._borrower,
            lambda guest: self._input.left_alone(guest),
        )
        self._input = InputDesk(
            self._wire, self._worlds, self._borrower, self._paint, self._receipts, self._emulation
        )
        self._browser = VirtualBrowser(
            self._wire,
            self.tree,
            self.sessions,
            options.limits,
            lambda client, reason: self._end_client(client, CLOSE_NORMAL, reason),
            self._session_begun,
            self._session_ended,
        )
        self._discovery = Discovery(
            self._wire,
            self.tree,
            self.sessions,
            self._browser,
            self._worlds,
            bridge_expected=options.bridge_expected,
            gone=self._guest_gone,
            let_go=self._input.let_go,
            crashed=self._input.guest_crashed,
            frame_here=self._frame_here,
            page_event=self._page_event,
        )
        self.domain = GuardDomain(
            self._wire, self.tree, self.sessions, self._borrower, self._receipts, options.version
        )
        self.product: dict[str, Any] = {}
        self._roots: dict[int, Session | None] = {}
        self._unattached: dict[int, list[bytes]] = {}
        self._stopping: set[str] = set()

    def start(self) -> list[effects.Command]:
        """Begin to watch the app."""

        def started(version: dict[str, Any]) -> None:
            self.product = version
            self._wire.report("guard.started", product=version.get("product"))

        def failed(fault: Exception) -> None:
            self._wire.report("guard.failed", reason=str(fault))

        self._wire.flows.start(self._discovery.start(), started, failed)
        return self._wire.drain()

    def handle(self, event: effects.Event) -> list[effects.Command]:
        """Take one event; give what follows from it."""
        _HANDLERS[type(event)](self, event)
        self._emulation.settle()
        self._dialogs.settle()
        self._downloads.settle()
        return self._wire.drain()

    def salvage(self, event: effects.Event) -> list[effects.Command]:
        """What an event that ended in an error had asked for until then."""
        self._wire.report("fault", on=type(event).__name__)
        return self._wire.drain()

    @property
    def idle(self) -> bool:
        """Whether no flow waits for anything."""
        return self._wire.flows.running == 0

    def holds(self, client: int) -> bool:
        """Whether a client holds something down in a guest, or can keep a page waiting."""
        self._stopping = {each for each in self._stopping if self.sessions.get(each) is not None}
        mine = (self.sessions.owned(client, each) for each in self._stopping)
        return self._input.holds(client) or any(session is not None for session in mine)

    # -- clients -----------------------------------------------------------------------------------------------------
    def _client_joined(self, event: effects.ClientJoined) -> None:
        client = event.client
        self._wire.client_joined(client)
        self._roots[client] = None
        self._wire.report("client.joined", client=client, target=event.target_id)
        if event.target_id is None:
            return
        # The connection is the session: what the client says before the app has attached it is kept for then.
        self._unattached[client] = []

        def attached(session: Session) -> None:
            self._roots[client] = session
            for data in self._unattached.pop(client, []):
                self._client_said(effects.ClientSaid(client, data))

        def failed(fault: Exception) -> None:
            self._end_client(client, CLOSE_ERROR, str(fault)[:120])

        attachments = self._browser.attachments
        self._start(
            attachments.attach(client, event.target_id, parent=None, connection=True), attached, failed
        )

    def _end_client(self, client: int, code: int, reason: str) -> None:
        """End a connection; from now on it is treated as gone, whatever it still sends."""
        if self._wire.client_here(client):
            self._wire.outbox.append(effects.CloseClient(client, code, reason))
            self._client_left(effects.ClientLeft(client))

    def _client_left(self, event: effects.ClientLeft) -> None:
        client = event.client
        if not self._wire.client_here(client):
            return
        self._wire.client_lost(client)
        self._receipts.disable(client)
        self.domain.client_left(client)
        self._downloads.client_left(client)
        self._browser.forget(client)
        self._unattached.pop(client, None)
        self._roots.pop(client, None)
        self._wire.report("client.left", client=client)

        # Its sessions first: what it had paused or intercepted would keep the page from what is let go.
        self._start(self._browser.attachments.detach_all(client), lambda _: None)
        self._input.release_all(client, self.tree.guests)

    def _client_said(self, event: effects.ClientSaid) -> None:
        client = event.client
        if not self._wire.client_here(client):
            return
        if client in self._unattached:
            waiting = self._unattached[client]
            waiting.append(event.data)
            if len(waiting) > self._options.limits.pending:
                why = f"{len(waiting)} commands wait for the guest to attach"
                self._end_client(client, CLOSE_TRY_AGAIN, why)
            return
        try:
            message = messages.decode_command(event.data)
        except MalformedMessage as fault:
            self._wire.refuse_unread(client, None, fault.id, fault.to_cdp())
            return
        self._command(client, message)

    def _command(self, client: int, message: Envelope, wrapped_in: Session | None = None) -> None:
        assert message.id is not None and message.method is not None
        if wrapped_in is not None:
            session: Session | None = wrapped_in
        elif message.sessionId is None:
            session = self._roots[client]
        else:
            session = self.sessions.owned(client, message.sessionId)
            if session is None or session.wrapped or session.connection:
                error = {"code": errors.SESSION_NOT_FOUND, "message": NO_SESSION}
                data = messages.failure(message.id, error, message.sessionId)
                self._wire.outbox.append(effects.SendClient(client, data))
                return
        caller = Caller(client, session, message.id, message.method)
        too_many = self._wire.pending(client) >= self._options.limits.pending
        self._wire.accept(caller)
        if too_many:
            limit = self._options.limits.pending
            waiting = f"{limit} commands of this connection wait for an answer"
            advice = "wait for some of the answers, then send it again"
            self._wire.fail(caller, GuardError(Code.REFUSED, waiting, advice=advice))
            return
        try:
            self._carry_out(caller, session, message)
        except (ProtocolError, GuardError) as fault:
            self._wire.fail(caller, fault)

    def _carry_out(self, caller: Caller, session: Session | None, message: Envelope) -> None:
        method = caller.method
        on_guest = session is not None and not session.virtual
        rule = rule_for(method, on_guest=on_guest)
        treatment = rule.treatment
        if treatment is Treatment.FORWARD and session is not None:
            if method == "Target.setAutoAttach":
                self._check_flat(message)
            self._forward(caller, session, message, rule)
        elif treatment in _INPUT and session is not None:
            self._take_input(caller, session, message, rule)
        elif treatment in (Treatment.NAVIGATION, Treatment.RELOAD) and session is not None:
            self._navigate(caller, session, message, rule)
        elif treatment is Treatment.EMULATION and session is not None:
            self._emulate(caller, session, message, rule)
        elif treatment is Treatment.GUARD:
            self._wire.answer(caller, self.domain.handle(method, caller.client, _read(message)))
        elif treatment in (Treatment.ANSWER, Treatment.WAKE):
            self._answer_quietly(caller, session, _read(message))
        elif treatment in (Treatment.VIRTUAL, Treatment.OFFER):
            self._answer_virtually(caller, session, message)
        else:
            self._refuse(caller, session, rule)

    def _forward(self, caller: Caller, session: Session, message: Envelope, rule: Rule) -> None:
        self._dialogs.client_said(session, caller.method)
        if caller.method in GESTURING and b'"userGesture"' in bytes(message.params or b""):
            self._dialogs.agent_acts(self._guest_of(session))
        if caller.method == GO_ON:
            session.waiting = False
        late, bound = None, rule.bound
        guest = self._guest_of(session)
        if (
            session.main and guest.crashed
        ):  # answered when the page is loaded anew; clients may be about to do that
            late, bound = (lambda: self._fail_if_dead(guest, caller)), INPUT_BOUND
        elif rule.frame:
            late = lambda: self._paint.look_into(guest, caller)  # noqa: E731
        if caller.method == LIFECYCLE and session.main:
            self._emulation.lifecycle(self._guest_of(session), messages.params_of(message).get("state"))
        if caller.method == INTERCEPT:
            self._input.drags.client_said(session, messages.params_of(message))
        if caller.method in STOPPING:
            self._stopping.add(session.id)
        if self._scripts.must_wait(guest, caller.method):
            flow = self._forward_in_turn(guest, caller, session, message, bound, late)
            self._start(flow, lambda _: None, caller)
            return
        self._wire.forward(caller, message, session.id, bound, late)

    def _forward_in_turn(
        self,
        guest: Guest,
        caller: Caller,
        session: Session,
        message: Envelope,
        bound: float | None,
        late: Callable[[], None] | None,
    ) -> Flow[None]:
        yield from self._scripts.wait(guest)
        if not self._wire.session_here(session):
            raise GuardError(Code.ERROR, "the session is gone; nothing was sent")
        if not session.main:  # nobody tells of what it focuses there
            caller.answered = lambda: self._borrower.repair_later(guest)
        self._wire.forward(caller, message, session.id, bound, late)

    def _fail_if_dead(self, guest: Guest, caller: Caller) -> None:
        if guest.crashed:
            self._wire.fail(caller, GuardError(Code.ERROR, DEAD))

    def _refuse(self, caller: Caller, session: Session | None, rule: Rule) -> None:
        if session is not None and session.virtual and session.guest_id and caller.method == GO_ON:
            self._wire.answer(caller, {})
            return
        raise GuardError(Code.REFUSED, f"{caller.method} is refused: {rule.why}", advice=rule.advice)

    def _check_flat(self, message: Envelope) -> None:
        params = _read(message)
        if params.get("autoAttach") and not params.get("flatten"):
            raise ProtocolError(
                errors.INVALID_PARAMS, "Only flatten protocol is supported: set flatten to true"
            )

    def _take_input(self, caller: Caller, session: Session, message: Envelope, rule: Rule) -> None:
        guest = self._guest_of(session)
        params = _read(message)
        if rule.treatment is Treatment.KEY and "nativeVirtualKeyCode" in params:
            params = keys.for_the_page(params)
            message = messages.with_params(message, params)
        if rule.treatment in (Treatment.KEY, Treatment.POINTER, Treatment.GESTURE):
            self._dialogs.agent_acts(guest)
        job = Job(caller, session, caller.method, params, bytes(message.params) or b"{}", rule, message)
        self._input.submit(guest, job)

    def _navigate(self, caller: Caller, session: Session, message: Envelope, rule: Rule) -> None:
        guest = self._guest_of(session)
        if rule.treatment is Treatment.RELOAD and guest.inner and session.main:
            ignore_cache = _read(message).get("ignoreCache", False)
            flow = self._navigator.reload(guest, session.id, ignore_cache=ignore_cache)
        else:
            raw = bytes(message.params) or b"{}"
            flow = self._navigator.navigate(guest, Upstream(caller.method, session_id=session.id, raw=raw))
        self._start(flow, lambda result: self._wire.answer(caller, result), caller)

    def _emulate(self, caller: Caller, session: Session, message: Envelope, rule: Rule) -> None:
        guest = self._guest_of(session)
        child = guest.children.get(session.target_id)
        enabled = messages.params_of(message).get("enabled")
        if not isinstance(enabled, bool) or (child is not None and child.info["type"] not in FRAME_TYPES):
            self._forward(caller, session, message, rule)  # Chromium says what is wrong with it
            return
        flow = self._emulation.ask(guest, session, enabled=enabled)
        self._start(flow, lambda result: self._wire.answer(caller, result), caller)

    def _session_begun(self, session: Session) -> None:
        self._dialogs.session_begun(session)
        self._downloads.session_begun(session)

    def _session_ended(self, session: Session) -> None:
        self._downloads.session_ended(session)
        self._emulation.session_ended(session)
        self._dialogs.session_ended(session)
        self._input.drags.session_ended(session)
        client, guest = session.client, self.tree.guests.get(session.guest_id)
        if client is None or guest is None or not self._wire.client_here(client):
            return
        if not any(each.guest_id == session.guest_id for each in self.sessions.of_client(client)):
            self._input.left(client, guest)

    def _frame_here(self, guest: Guest, child: Child) -> None:
        self._emulation.frame_here(guest, child)
        self._dialogs.frame_here(guest, child)

    def _page_event(self, guest: Guest, method: str, params: dict[str, Any]) -> None:
        if method == INTERCEPTED:
            self._input.drags.intercepted(guest, params)
        elif method == "Page.javascriptDialogOpening":
            self._dialogs.opened(guest, params)
        elif method == "Page.javascriptDialogClosed":
            self._dialogs.closed(guest)
        else:
            self._dialogs.chooser_opened(guest, params)

    def _guest_gone(self, guest: Guest) -> None:
        self._scripts.forget(guest)
        self._downloads.guest_gone(guest)
        self._dialogs.guest_gone(guest)
        self._emulation.guest_gone(guest)
        self._input.guest_gone(guest)

    def _guest_of(self, session: Session) -> Guest:
        guest = self.tree.guests.get(session.guest_id)
        if guest is None:
            raise GuardError(Code.ERROR, "the guest is gone")
        return guest

    def _answer_quietly(self, caller: Caller, session: Session | None, params: dict[str, Any]) -> None:
        if caller.method == "Target.activateTarget" and self.tree.guest_of(params["targetId"]) is None:
            raise ProtocolError(errors.INVALID_PARAMS, "No target with given id found")
        self._wire.answer(caller, {})

    def _answer_virtually(self, caller: Caller, session: Session | None, message: Envelope) -> None:
        method, params = caller.method, _read(message)
        if method == "Browser.getVersion":
            self._wire.answer(caller, self.product)
        elif method.endswith(".setDownloadBehavior"):
            page = None
            if method.startswith("Page.") and session is not None:
                page = self._guest_of(session)
            self._downloads.set(caller.client, session, params, page=page)
            self._wire.answer(caller, {})
        elif method == "Browser.cancelDownload":
            self._start(
                self._downloads.cancel(caller.client, params), lambda r: self._wire.answer(caller, r), caller
            )
        elif method in ("Browser.getWindowForTarget", "Browser.getWindowBounds"):
            bounds = {"left": 0, "top": 0, "width": 0, "height": 0, "windowState": "normal"}
            answer = {"bounds": bounds} if method.endswith("Bounds") else {"windowId": 1, "bounds": bounds}
            self._wire.answer(caller, answer)
        elif method == "Security.setIgnoreCertificateErrors":
            if params["ignore"]:
                what = f"{method} is refused: the app decides about certificates"
                raise GuardError(Code.REFUSED, what, advice="leave it out")
            self._wire.answer(caller, {})
        elif method == "Schema.getDomains":
            self._wire.answer(caller, {"domains": []})
        elif method == "Page.close":
            assert session is not None
            self._start(
                self._browser.close_guest(self._guest_of(session)),
                lambda _: self._wire.answer(caller, {}),
                caller,
            )
        elif method == "Target.sendMessageToTarget":
            self._unwrap(caller, params)
        else:
            scope = self._browser.scope(caller.client, session)
            self._start(
                self._browser.handle(scope, method, params), lambda r: self._wire.answer(caller, r), caller
            )

    def _unwrap(self, caller: Caller, params: dict[str, Any]) -> None:
        if "sessionId" not in params:
            raise ProtocolError(errors.INVALID_PARAMS, "Session id must be specified")
        session = self.sessions.owned(caller.client, params["sessionId"])
        if session is None or not session.wrapped:
            raise ProtocolError(errors.INVALID_PARAMS, "No session with given id")
        try:
            inner = messages.decode_command(messages.utf8(params["message"]))
            if inner.sessionId is not None:
                raise MalformedMessage(errors.SESSION_NOT_FOUND, NO_SESSION, inner.id)
        except MalformedMessage as fault:
            self._wire.refuse_unread(caller.client, session, fault.id, fault.to_cdp())
            self._wire.answer(caller, {})
            return
        self._wire.answer(caller, {})
        self._command(caller.client, inner, wrapped_in=session)

    def _start(
        self,
        flow: Flow[Any],
        done: Callable[[Any], None],
        failed: Caller | Callable[[Exception], None] | None = None,
    ) -> None:
        def fail(fault: Exception) -> None:
            if isinstance(failed, Caller):
                self._wire.fail(failed, fault)
            elif failed is not None:
                failed(fault)
            else:
                self._wire.report("fault", reason=str(fault))

        self._wire.flows.start(flow, done, fail)

    # -- the app -----------------------------------------------------------------------------------------------------
    def _upstream_said(self, event: effects.UpstreamSaid) -> None:
        try:
            message = messages.decode_upstream(event.data)
        except MalformedMessage as fault:
            self._wire.report("app.garbled", reason=str(fault), bytes=len(event.data))
            return
        if message.id is not None:
            self._wire.upstream_answered(message)
        elif message.method is None:
            self._wire.upstream_refused(message)
        elif message.sessionId is None:
            self._discovery.root_event(message)
        else:
            session = self.sessions.get(message.sessionId)
            if session is None:
                return
            if session.client is None:
                self._discovery.own_event(session, message)
            else:
                self._client_event(session, message, event.data)

    def _add_parent(self, session: Session, info: dict[str, Any]) -> bool:
        """Say of a frame which one is around it, where Chromium does not: Playwright leaves it out otherwise."""
        guest = self.tree.guests.get(session.guest_id)
        child = guest.children.get(info["targetId"]) if guest is not None else None
        if child is None or child.parent_frame is None or "parentFrameId" in info:
            return False
        info["parentFrameId"] = child.parent_frame
        return True

    def _client_event(self, session: Session, message: Envelope, data: bytes) -> None:
        if message.method == INTERCEPTED and not self._input.drags.is_clients(session):
            self._input.drags.intercepted(self._guest_of(session), messages.params_of(message))
            return
        if message.method == "Target.attachedToTarget":
            params = messages.params_of(message)
            self.sessions.add(
                Session(
                    params["sessionId"],
                    session.client,
                    params["targetInfo"]["targetId"],
                    session.guest_id,
                    parent_id=session.id,
                    held_by=session.id,
                    main=False,
                    waiting=bool(params.get("waitingForDebugger")),
                )
            )
            if session.client is not None and self._add_parent(session, params["targetInfo"]):
                self._wire.event(session.client, session, message.method, params)
                return
        elif message.method == "Target.detachedFromTarget":
            gone = self.sessions.get(messages.params_of(message)["sessionId"])
            if gone is not None:
                for call in self._browser.attachments.take_out(gone):
                    if call.params["sessionId"] != gone.id:
                        self._wire.post(call)
        self._wire.pass_on(session, message, data)

    def _upstream_lost(self, event: effects.UpstreamLost) -> None:
        self._wire.report("upstream.lost", reason=event.reason)
        self._wire.upstream_lost()
        for client in self._wire.clients:
            self._end_client(client, CLOSE_GOING_AWAY, "the app is gone")

    # -- the bridge --------------------------------------------------------------------------------------------------
    def _bridge_joined(self, event: effects.BridgeJoined) -> None:
        self._wire.bridge_joined(str(event.hello.get("electron", "")))
        self.domain.bridge = {
            k: event.hello[k] for k in ("version", "pid", "electron", "chromium") if k in event.hello
        }
        self._wire.report("bridge.joined", **self.domain.bridge)
        self._discovery.reconsider()
        self._dialogs.bridge_joined()
        self._downloads.bridge_joined()

    def _bridge_left(self, event: effects.BridgeLeft) -> None:
        self._wire.bridge_lost()
        self.domain.bridge = None
        self._wire.report("bridge.lost")

    def _bridge_told(self, event: effects.BridgeTold) -> None:
        if event.event == "person.acted":
            pressed = self.tree.by_web_contents(int(event.params.get("webContentsId", -1)))
            if pressed is None or not self._borrower.announcing(pressed):
                self._dialogs.person_acted(pressed)
            return
        if event.event == "download.begun":
            self._downloads.begun(event.params)
        elif event.event == "download.changed":
            self._downloads.changed(event.params)
        elif event.event == "target.changed":
            self._discovery.reconsider()
        elif event.event == "target.refused":
            self._discovery.refuse(int(event.params.get("webContentsId", -1)))
        elif event.event == "composition":
            host = event.params.get("hostWebContentsId")
            now, active = bool(event.params.get("open")), bool(event.params.get("active"))
            self._wire.note_composing(host, now=now, active=active)
        elif event.event == "target.gone":
            self._wire.note_composing(event.params.get("webContentsId"), now=False, active=False)
        self._wire.report(f"bridge.{event.event}", **event.params)

    def _bridge_answered(self, event: effects.BridgeAnswered) -> None:
        self._wire.bridge_answered(event)

    def _timer_rang(self, event: effects.TimerRang) -> None:
        self._wire.timer_rang(event.timer)


def _read(message: Envelope) -> dict[str, Any]:
    """The parameters of a command that the guard reads itself, each of the kind that it must be.

    Raises:
        ProtocolError: one is not.
    """
    assert message.method is not None
    params = messages.params_of(message)
    parameters.check(message.method, params)
    return params


_HANDLERS: dict[type, Callable[[Guard, Any], None]] = {
    effects.ClientJoined: Guard._client_joined,
    effects.ClientSaid: Guard._client_said,
    effects.ClientLeft: Guard._client_left,
    effects.UpstreamSaid: Guard._upstream_said,
    effects.UpstreamLost: Guard._upstream_lost,
    effects.BridgeJoined: Guard._bridge_joined,
    effects.BridgeAnswered: Guard._bridge_answered,
    effects.BridgeTold: Guard._bridge_told,
    effects.BridgeLeft: Guard._bridge_left,
    effects.TimerRang: Guard._timer_rang,
}
