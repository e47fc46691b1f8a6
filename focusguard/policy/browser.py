"""The virtual browser: the Target and Browser domains as one connection sees them.

Each connection, each `Target.attachToBrowserTarget` session and each virtual tab keeps its own discovery and
auto-attach state. Only guests and what is below them exist here; any other id is unknown, as an invented one is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from focusguard.cdp.limits import Limits
from focusguard.cdp.messages import NO_MAP
from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import (
    DEFAULT_FILTER,
    TAB_PREFIX,
    Guest,
    TargetInfo,
    TargetTree,
    passes,
    shown,
    shown_page,
    shown_tab,
    tab_id,
)
from focusguard.errors import INVALID_PARAMS, Code, GuardError, ProtocolError, invalid_params
from focusguard.policy.attach import ATTACH_SECONDS, Attachments
from focusguard.policy.flow import Await, Bridge, CallFailed, Flow, Gone, Handle, TimedOut, call
from focusguard.policy.wire import Wire

#: Seconds for the app to open or close a guest.
OPEN_SECONDS = 30.0

Filter = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class _Offer:
    """What only the app can do, and a client is told where it does not.

    Attributes:
        what: as in "the app does not offer to …".
        setter: the bridge's callback.
        instead: what a client may do meanwhile.
    """

    what: str
    setter: str
    instead: str

    def not_made(self) -> GuardError:
        """The app has not set the callback."""
        advice = f"let the app set {self.setter} (docs/bridge-protocol.md), or {self.instead}"
        return GuardError(
            Code.REFUSED, f"the app does not offer to {self.what} (bridge.{self.setter})", advice=advice
        )

    def without_bridge(self) -> GuardError:
        """There is nobody to ask."""
        detail = f"without a bridge the app cannot be asked to {self.what}"
        return GuardError(
            Code.REFUSED,
            detail,
            advice=f"let the app load the bridge and set {self.setter}, or {self.instead}",
        )


_OPEN = _Offer("open a guest", "onOpenGuest", "work in a guest that is open")
_CLOSE = _Offer("close a guest", "onCloseGuest", "leave the guest open")
_LOOK = "list the guests before sending it again"


@dataclass(slots=True)
class Scope:
    """One virtual browser (or tab): what its owner asked to be told.

    Attributes:
        session: the session it lives on; None: the root of a browser connection.
        tab_of: id of the guest whose virtual tab this is.
        discover: filter of Target.setDiscoverTargets while it is on.
        auto: filter of Target.setAutoAttach while it is on.
        attached: guest id -> target id -> session id, for what this scope has auto-attached.
    """

    client: int
    session: Session | None
    tab_of: str | None = None
    discover: Filter | None = None
    auto: Filter | None = None
    attached: dict[str, dict[str, str]] = field(default_factory=dict)


class VirtualBrowser:
    """Answers Target.* for every connection and announces guests as they come and go.

    Args:
        wire: the way out.
        tree: the app's targets.
        sessions: everybody's sessions.
        limits: bounds on what a client may hold.
        end_client: ends a connection that has lost its page, with a reason.
        session_begun: told of each new session on a target of the app.
        session_ended: told of each session that is taken out.
    """

    def __init__(
        self,
        wire: Wire,
        tree: TargetTree,
        sessions: SessionTable,
        limits: Limits,
        end_client: Callable[[int, str], None],
        session_begun: Callable[[Session], None],
        session_ended: Callable[[Session], None],
    ) -> None:
        self._wire = wire
        self._tree = tree
        self._sessions = sessions
        self._end_client = end_client
        self._told_of_end = session_ended
        self._scopes: dict[tuple[int, str | None], Scope] = {}
        self._opened: dict[int, Handle] = {}
        self.attachments = Attachments(wire, tree, sessions, limits, session_begun, self._session_ended)

    # -- scopes ------------------------------------------------------------------------------------------------------
    def scope(self, client: int, session: Session | None) -> Scope:
        """The virtual browser that a command on this session speaks to."""
        key = (client, session.id if session is not None else None)
        if key not in self._scopes:
            tab_of = (
                session.guest_id if session is not None and session.virtual and session.guest_id else None
            )
            self._scopes[key] = Scope(client, session, tab_of)
        return self._scopes[key]

    def _session_ended(self, session: Session) -> None:
        if session.client is not None:
            self._scopes.pop((session.client, session.id), None)
        self._told_of_end(session)

    def forget(self, client: int) -> None:
        """Drop all of a client's scopes: it is told nothing any more."""
        for key in [k for k in self._scopes if k[0] == client]:
            del self._scopes[key]

    # -- commands ----------------------------------------------------------------------------------------------------
    def handle(self, scope: Scope, method: str, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        """Answer a Target command of the policy table's `virtual` and `offer` rows."""
        handler: Callable[[Scope, dict[str, Any]], Flow[dict[str, Any]]] = {
            "Target.setDiscoverTargets": self._set_discover,
            "Target.setAutoAttach": self._set_auto_attach,
            "Target.getTargets": self._get_targets,
            "Target.getTargetInfo": self._get_target_info,
            "Target.attachToTarget": self._attach_to_target,
            "Target.attachToBrowserTarget": self._attach_to_browser,
            "Target.detachFromTarget": self._detach,
            "Target.getBrowserContexts": self._get_contexts,
            "Target.createTarget": self._create_target,
            "Target.closeTarget": self._close_target,
        }[method]
        result = yield from handler(scope, params)
        return result

    def _set_discover(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        before = scope.discover
        scope.discover = _filter(params) if params.get("discover") else None
        if scope.discover is not None:
            for info in self._visible(scope, scope.discover):
                if before is None or not passes(before, info["type"]):
                    self._event(scope, "Target.targetCreated", {"targetInfo": info})
        return {}
        yield  # a flow that never waits

    def _set_auto_attach(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        if not params.get("autoAttach"):
            scope.auto = None
            sessions = [session_id for ids in scope.attached.values() for session_id in ids.values()]
            scope.attached.clear()
            for session_id in sessions:
                yield from self.attachments.detach(scope.client, session_id, tell=True)
            return {}
        if not params.get("flatten"):
            raise ProtocolError(INVALID_PARAMS, "Only flatten protocol is supported: set flatten to true")
        scope.auto = _filter(params)
        for attached in [self._begin_auto_attach(scope, guest) for guest in self._tree.ready()]:
            yield Await(attached, 2 * ATTACH_SECONDS)
        return {}

    def _get_targets(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        return {"targetInfos": self._visible(scope, _filter(params))}
        yield

    def _get_target_info(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        target_id = params.get("targetId")
        if target_id is None:
            if scope.session is None or (scope.session.virtual and scope.tab_of is None):
                return {"targetInfo": _browser_info()}
            target_id = scope.session.target_id
        return {"targetInfo": self.attachments.info_of(scope.client, target_id)}
        yield

    def _attach_to_target(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        target_id = params["targetId"]
        session = yield from self.attachments.attach(
            scope.client, target_id, parent=scope.session, wrapped=not params.get("flatten", False)
        )
        return {"sessionId": session.id}

    def _attach_to_browser(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        session = self.attachments.attach_to_browser(scope.client, scope.session, _browser_info())
        return {"sessionId": session.id}
        yield

    def _detach(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        session_id = params.get("sessionId")
        if session_id is None and "targetId" not in params:
            raise ProtocolError(INVALID_PARAMS, "Session id must be specified")
        if session_id is None:
            on_target = self._sessions.of_target(params.get("targetId", ""), scope.client)
            session_id = on_target[-1].id if on_target else None
        session = self._sessions.owned(scope.client, session_id) if session_id else None
        if session is None or session.connection:
            raise ProtocolError(INVALID_PARAMS, "No session with given id")
        yield from self.attachments.detach(scope.client, session.id, tell=True)
        return {}

    def _get_contexts(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        return {"browserContextIds": []}
        yield

    def _create_target(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        opened = yield from self._ask_app("guest.open", {"url": params["url"]}, _OPEN)
        web_contents_id = opened.get("webContentsId")
        if not opened.get("found") or web_contents_id is None:
            raise GuardError(Code.ERROR, "the app opened something that is not a guest (bridge.onOpenGuest)")
        guest = self._tree.by_web_contents(web_contents_id)
        if guest is None or not guest.ready:
            here = self._opened.setdefault(web_contents_id, Handle())
            try:
                guest = yield Await(here, OPEN_SECONDS)
            except TimedOut:
                late = f"what the app opened is not a guest after {OPEN_SECONDS:g} s"
                raise GuardError(Code.TIMEOUT, late, advice=_LOOK) from None
            finally:
                self._opened.pop(web_contents_id, None)
        return {"targetId": guest.target_id}

    def _close_target(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        target_id = params["targetId"].removeprefix(TAB_PREFIX)
        guest = self.attachments.guest(target_id)
        if target_id != guest.target_id:
            return {"success": False}  # a frame or worker ends with its page
        yield from self.close_guest(guest)
        return {"success": True}

    def close_guest(self, guest: Guest) -> Flow[None]:
        """Ask the app to close a guest."""
        if guest.web_contents_id is None:
            raise _CLOSE.without_bridge()
        yield from self._ask_app("guest.close", {"webContentsId": guest.web_contents_id}, _CLOSE)

    def _ask_app(self, method: str, params: dict[str, Any], offer: _Offer) -> Flow[dict[str, Any]]:
        if not self._wire.bridge_here:
            raise offer.without_bridge()
        what = offer.what
        try:
            return (yield from call(Bridge(method, params), OPEN_SECONDS))
        except CallFailed as fault:
            if fault.error.get("code") == "unsupported":
                raise offer.not_made() from None
            raise GuardError(Code.ERROR, f"the app could not {what}: {fault}") from None
        except TimedOut:
            late = f"the app did not {what} within {OPEN_SECONDS:g} s"
            raise GuardError(Code.TIMEOUT, late, advice=_LOOK) from None
        except Gone:
            gone = f"the bridge went away while the app was asked to {what}"
            raise GuardError(Code.BRIDGE_LOST, gone) from None

    # -- guests come and go ------------------------------------------------------------------------------------------
    def guest_ready(self, guest: Guest) -> None:
        """Announce a new guest to everybody who asked for it."""
        for scope in list(self._scopes.values()):
            if scope.discover is not None and scope.tab_of is None:
                for info in (shown_tab(guest, attached=False), shown_page(guest, attached=False)):
                    if passes(scope.discover, info["type"]):
                        self._event(scope, "Target.targetCreated", {"targetInfo": info})
            if scope.auto is not None:
                self._begin_auto_attach(scope, guest)
        opened = self._opened.get(guest.web_contents_id) if guest.web_contents_id is not None else None
        if opened is not None:
            opened.settle(guest)

    def child_here(self, guest: Guest, info: TargetInfo) -> None:
        """Announce a frame or worker to those who discover targets."""
        self._discovered("Target.targetCreated", {"targetInfo": shown(info, attached=False)}, info["type"])

    def target_changed(self, guest: Guest, info: TargetInfo) -> None:
        """Tell of a new title or address."""
        main = info["targetId"] == guest.target_id
        for scope in self._scopes.values():
            if scope.discover is None or scope.tab_of is not None:
                continue
            ids = (tab_id(guest.target_id), guest.target_id) if main else (info["targetId"],)
            for each in (self.attachments.info_of(scope.client, target_id) for target_id in ids):
                if passes(scope.discover, each["type"]):
                    self._event(scope, "Target.targetInfoChanged", {"targetInfo": each})

    def target_crashed(self, target_id: str, target_type: str, params: dict[str, Any]) -> None:
        """Tell that a target's renderer died."""
        self._discovered("Target.targetCrashed", {**params, "targetId": target_id}, target_type)

    def target_gone(self, target_id: str, target_type: str, *, guest: bool) -> None:
        """Tell that a target is gone."""
        self._discovered("Target.targetDestroyed", {"targetId": target_id}, "page" if guest else target_type)
        if guest:
            self._discovered("Target.targetDestroyed", {"targetId": tab_id(target_id)}, "tab")

    def guest_gone(self, guest_id: str) -> None:
        """End everybody's sessions on a guest and below it, deepest first."""
        for session in reversed(self._sessions.of_guest(guest_id)):
            if session.client is not None and self._sessions.get(session.id) is session:
                self.session_gone(session)
        for scope in self._scopes.values():
            scope.attached.pop(guest_id, None)

    def session_gone(self, session: Session) -> None:
        """The app ended a client's session: tell the client, answer what was outstanding."""
        assert session.client is not None
        parent = self._sessions.get(session.parent_id) if session.parent_id else None
        for detach in self.attachments.take_out(session):
            if detach.params["sessionId"] != session.id:
                self._wire.post(detach)
        if session.connection:
            self._wire.event(session.client, session, "Inspector.detached", {"reason": "target_closed"})
            self._end_client(session.client, "the guest is gone")
        else:
            params = {"sessionId": session.id, "targetId": session.target_id}
            self._wire.event(session.client, parent, "Target.detachedFromTarget", params)

    def _begin_auto_attach(self, scope: Scope, guest: Guest) -> Handle:
        """Attach a scope to a guest beside what else goes on; settled when that has ended, well or not."""
        ended = Handle()

        def failed(fault: Exception) -> None:
            self._wire.report(
                "guest.unattached", targetId=guest.target_id, client=scope.client, reason=str(fault)
            )
            ended.settle()

        self._wire.flows.start(self._auto_attach(scope, guest), lambda _: ended.settle(), failed)
        return ended

    def _auto_attach(self, scope: Scope, guest: Guest) -> Flow[None]:
        if scope.tab_of is not None:
            wanted = [guest.target_id] if scope.tab_of == guest.target_id else []
        else:
            wanted = [
                target_id
                for target_type, target_id in (("tab", tab_id(guest.target_id)), ("page", guest.target_id))
                if scope.auto is not None and passes(scope.auto, target_type)
            ]
        ids = scope.attached.setdefault(guest.target_id, {})
        for target_id in [each for each in wanted if each not in ids]:
            ids[target_id] = ""
            try:
                session = yield from self.attachments.attach(scope.client, target_id, parent=scope.session)
            except BaseException:
                del ids[target_id]
                raise
            if scope.attached.get(guest.target_id) is not ids:  # auto-attach was turned off meanwhile
                yield from self.attachments.detach(scope.client, session.id, tell=True)
                return
            ids[target_id] = session.id

    # -- views -------------------------------------------------------------------------------------------------------
    def _visible(self, scope: Scope, filter_: Filter) -> list[TargetInfo]:
        infos: list[TargetInfo] = []
        for guest in self._tree.ready():
            ids = (tab_id(guest.target_id), guest.target_id, *guest.children)
            infos += [self.attachments.info_of(scope.client, target_id) for target_id in ids]
        return [info for info in infos if passes(filter_, info["type"])]

    def _discovered(self, method: str, params: dict[str, Any], target_type: str) -> None:
        for scope in self._scopes.values():
            if scope.discover is not None and scope.tab_of is None and passes(scope.discover, target_type):
                self._event(scope, method, params)

    def _event(self, scope: Scope, method: str, params: dict[str, Any]) -> None:
        self._wire.event(scope.client, scope.session, method, params)


def _filter(params: dict[str, Any]) -> Filter:
    given = params.get("filter")
    if given is None:
        return DEFAULT_FILTER
    if not all(isinstance(entry, dict) for entry in given):
        raise invalid_params(NO_MAP, "filter")
    return tuple(given)


def _browser_info() -> TargetInfo:
    return {
        "targetId": "browser",
        "type": "browser",
        "title": "",
        "url": "",
        "attached": True,
        "canAccessOpener": False,
    }
