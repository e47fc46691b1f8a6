"""The virtual browser: the Target and Browser domains as one connection sees them.

Each connection, each `Target.attachToBrowserTarget` session and each virtual tab keeps its own discovery and
auto-attach state. Only guests and what is below them exist here; any other id is unknown, as an invented one is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from focusguard.cdp.limits import Limits
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
from focusguard.errors import INVALID_PARAMS, Code, GuardError, ProtocolError
from focusguard.policy.flow import Bridge, CallFailed, Flow, TimedOut, Upstream, call
from focusguard.policy.wire import Wire

#: Seconds for the app to attach a session or to open a guest.
ATTACH_SECONDS = 10.0
OPEN_SECONDS = 30.0

Filter = tuple[dict[str, Any], ...]


@dataclass(slots=True)
class Scope:
    """One virtual browser (or tab): what its owner asked to be told.

    Attributes:
        session: the session it lives on; None: the root of a browser connection.
        tab_of: id of the guest whose virtual tab this is.
        discover: filter of Target.setDiscoverTargets while it is on.
        auto: filter of Target.setAutoAttach while it is on.
        attached: guest id -> session ids that this scope has auto-attached.
    """

    client: int
    session: Session | None
    tab_of: str | None = None
    discover: Filter | None = None
    auto: Filter | None = None
    attached: dict[str, list[str]] = field(default_factory=dict)


class VirtualBrowser:
    """Answers Target.* for every connection and announces guests as they come and go."""

    def __init__(self, wire: Wire, tree: TargetTree, sessions: SessionTable, limits: Limits) -> None:
        self._wire = wire
        self._tree = tree
        self._sessions = sessions
        self._limits = limits
        self._scopes: dict[tuple[int, str | None], Scope] = {}
        self._made = 0

    # -- scopes ------------------------------------------------------------------------------------------------------
    def scope(self, client: int, session: Session | None) -> Scope:
        """The virtual browser that a command on this session speaks to."""
        key = (client, session.id if session is not None else None)
        if key not in self._scopes:
            self._scopes[key] = Scope(client, session)
        return self._scopes[key]

    def forget(self, client: int, session_id: str | None = None) -> None:
        """Drop one scope, or all of a client's."""
        for key in [k for k in self._scopes if k[0] == client and session_id in (None, k[1])]:
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
            sessions = [session_id for ids in scope.attached.values() for session_id in ids]
            scope.attached.clear()
            for session_id in sessions:
                yield from self._detach_session(scope.client, session_id, tell=True)
            return {}
        if not params.get("flatten"):
            raise ProtocolError(INVALID_PARAMS, "Only flatten protocol is supported: set flatten to true")
        scope.auto = _filter(params)
        for guest in self._tree.ready():
            yield from self._auto_attach(scope, guest)
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
        return {"targetInfo": self._info_of(scope.client, str(target_id))}
        yield

    def _attach_to_target(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        target_id = str(params.get("targetId", ""))
        session = yield from self.attach(
            scope.client, target_id, parent=scope.session, wrapped=not params.get("flatten", False)
        )
        return {"sessionId": session.id}

    def _attach_to_browser(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        session = self._virtual_session(scope.client, "browser", "", scope.session)
        self._announce(session, _browser_info())
        return {"sessionId": session.id}
        yield

    def _detach(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        session_id = params.get("sessionId")
        if session_id is None:
            on_target = self._sessions.of_target(str(params.get("targetId", "")), scope.client)
            session_id = on_target[-1].id if on_target else None
        session = self._sessions.owned(scope.client, str(session_id)) if session_id else None
        if session is None or session.connection:
            raise ProtocolError(INVALID_PARAMS, "No session with given id")
        yield from self._detach_session(scope.client, session.id, tell=True)
        return {}

    def _get_contexts(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        return {"browserContextIds": []}
        yield

    def _create_target(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        url = params.get("url")
        if not isinstance(url, str):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters url: string value expected")
        opened = yield from self._ask_app("guest.open", {"url": url}, "open a guest (bridge.onOpenGuest)")
        return {"targetId": opened.get("targetId", "")}

    def _close_target(self, scope: Scope, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        guest = self._guest(str(params.get("targetId", "")))
        yield from self.close_guest(guest)
        return {"success": True}

    def close_guest(self, guest: Guest) -> Flow[None]:
        """Ask the app to close a guest."""
        if guest.web_contents_id is None:
            raise GuardError(Code.REFUSED, "without a bridge the app cannot be asked to close a guest")
        params = {"webContentsId": guest.web_contents_id}
        yield from self._ask_app("guest.close", params, "close a guest (bridge.onCloseGuest)")

    def _ask_app(self, method: str, params: dict[str, Any], what: str) -> Flow[dict[str, Any]]:
        if not self._wire.bridge_here:
            raise GuardError(Code.REFUSED, f"without a bridge the app cannot be asked to {what}")
        try:
            return (yield from call(Bridge(method, params), OPEN_SECONDS))
        except CallFailed as fault:
            if fault.error.get("code") == "unsupported":
                raise GuardError(Code.REFUSED, f"the app does not offer to {what}") from None
            raise GuardError(Code.ERROR, f"the app could not {what}: {fault}") from None
        except TimedOut:
            raise GuardError(Code.TIMEOUT, f"the app did not {what} within {OPEN_SECONDS:g} s") from None

    # -- attaching ---------------------------------------------------------------------------------------------------
    def attach(
        self,
        client: int,
        target_id: str,
        *,
        parent: Session | None,
        wrapped: bool = False,
        connection: bool = False,
    ) -> Flow[Session]:
        """Give a client a session of its own on a guest, on something below it, or on its virtual tab."""
        if len(self._sessions.of_client(client)) >= self._limits.sessions:
            raise GuardError(
                Code.REFUSED, f"this connection has {self._limits.sessions} sessions already; detach some"
            )
        if target_id.startswith(TAB_PREFIX):
            guest = self._guest(target_id[len(TAB_PREFIX) :])
            session = self._virtual_session(client, target_id, guest.target_id, parent)
            self._scopes[(client, session.id)] = Scope(client, session, tab_of=guest.target_id)
            self._announce(session, shown_tab(guest, attached=True))
            return session
        guest = self._guest(target_id)
        try:
            made = yield from call(
                Upstream("Target.attachToTarget", {"targetId": target_id, "flatten": True}), ATTACH_SECONDS
            )
        except TimedOut:
            raise GuardError(Code.TIMEOUT, f"the guest did not attach within {ATTACH_SECONDS:g} s") from None
        if client not in self._wire.clients:
            yield from call(
                Upstream("Target.detachFromTarget", {"sessionId": made["sessionId"]}), ATTACH_SECONDS
            )
            raise GuardError(Code.ERROR, "the connection closed meanwhile")
        main = target_id == guest.target_id
        session = Session(
            made["sessionId"],
            client,
            target_id,
            guest.target_id,
            parent_id=parent.id if parent is not None else None,
            main=main,
            connection=connection,
            wrapped=wrapped,
        )
        self._sessions.add(session)
        if not connection:
            info = (
                shown_page(guest, attached=True)
                if main
                else shown(guest.children[target_id].info, attached=True)
            )
            self._announce(session, info)
        return session

    def _virtual_session(self, client: int, target_id: str, guest_id: str, parent: Session | None) -> Session:
        self._made += 1
        # 32 hexadecimal digits like the app's own; the guard's prefix keeps the two apart.
        session_id = f"F0C05{self._made:027X}"
        return self._sessions.add(
            Session(
                session_id,
                client,
                target_id,
                guest_id,
                parent_id=parent.id if parent is not None else None,
                main=False,
                virtual=True,
            )
        )

    def _announce(self, session: Session, info: TargetInfo) -> None:
        assert session.client is not None
        parent = self._sessions.get(session.parent_id) if session.parent_id else None
        self._wire.event(
            session.client,
            parent,
            "Target.attachedToTarget",
            {"sessionId": session.id, "targetInfo": info, "waitingForDebugger": False},
        )

    def _detach_session(self, client: int, session_id: str, *, tell: bool) -> Flow[None]:
        session = self._sessions.owned(client, session_id)
        if session is None:
            return
        parent = self._sessions.get(session.parent_id) if session.parent_id else None
        removed = self._sessions.remove(session_id)
        for gone in removed:
            self.forget(client, gone.id)
            self._wire.session_lost(gone.id)
        for gone in removed:
            if not gone.virtual:
                yield from self._detach_upstream(gone, parent if gone is session else None)
        if tell:
            params = {"sessionId": session.id, "targetId": session.target_id}
            self._wire.event(client, parent, "Target.detachedFromTarget", params)

    def _detach_upstream(self, session: Session, parent: Session | None) -> Flow[None]:
        # A session that the app announced on another session is detached there, one that the guard attached at the root.
        on = parent.id if parent is not None and not parent.virtual and not session.main else None
        try:
            yield from call(
                Upstream("Target.detachFromTarget", {"sessionId": session.id}, on), ATTACH_SECONDS
            )
        except (CallFailed, TimedOut):
            return  # it went with its parent

    def detach_all(self, client: int) -> Flow[None]:
        """End all of a client's sessions with the app."""
        for session in self._sessions.of_client(client):
            if (
                session.parent_id is None
                or (parent := self._sessions.get(session.parent_id)) is None
                or parent.virtual
            ):
                yield from self._detach_session(client, session.id, tell=False)

    # -- guests come and go ------------------------------------------------------------------------------------------
    def guest_ready(self, guest: Guest) -> Flow[None]:
        """Announce a new guest to everybody who asked for it."""
        for scope in list(self._scopes.values()):
            if scope.discover is not None and scope.tab_of is None:
                for info in (shown_tab(guest, attached=False), shown_page(guest, attached=False)):
                    if passes(scope.discover, info["type"]):
                        self._event(scope, "Target.targetCreated", {"targetInfo": info})
            yield from self._auto_attach(scope, guest)

    def child_here(self, guest: Guest, info: TargetInfo) -> None:
        """Announce a frame or worker to those who discover targets."""
        self._discovered("Target.targetCreated", {"targetInfo": shown(info, attached=False)}, info["type"])

    def target_changed(self, guest: Guest, info: TargetInfo) -> None:
        """Tell of a new title or address."""
        main = info["targetId"] == guest.target_id
        for scope in self._scopes.values():
            if scope.discover is None or scope.tab_of is not None:
                continue
            attached = bool(self._sessions.of_target(info["targetId"], scope.client))
            if not main:
                infos = [shown(info, attached=attached)]
            else:
                infos = [shown_tab(guest, attached=attached), shown_page(guest, attached=attached)]
            for each in infos:
                if passes(scope.discover, each["type"]):
                    self._event(scope, "Target.targetInfoChanged", {"targetInfo": each})

    def target_gone(self, target_id: str, target_type: str, *, guest: bool) -> None:
        """Tell that a target is gone."""
        self._discovered("Target.targetDestroyed", {"targetId": target_id}, "page" if guest else target_type)
        if guest:
            self._discovered("Target.targetDestroyed", {"targetId": tab_id(target_id)}, "tab")

    def session_gone(self, session: Session) -> None:
        """The app ended a client's session: tell the client, answer what was outstanding."""
        if session.client is None:
            return
        parent = self._sessions.get(session.parent_id) if session.parent_id else None
        for gone in self._sessions.remove(session.id):
            self.forget(session.client, gone.id)
            self._wire.session_lost(gone.id)
        for scope in self._scopes.values():
            ids = scope.attached.get(session.guest_id)
            if ids and session.id in ids:
                ids.remove(session.id)
        params = {"sessionId": session.id, "targetId": session.target_id}
        if not session.connection:
            self._wire.event(session.client, parent, "Target.detachedFromTarget", params)

    def _auto_attach(self, scope: Scope, guest: Guest) -> Flow[None]:
        if scope.auto is None or guest.target_id in scope.attached:
            return
        if scope.tab_of is not None:
            wanted = [guest.target_id] if scope.tab_of == guest.target_id else []
        elif scope.session is not None and not scope.session.virtual:
            wanted = []
        else:
            wanted = [
                target_id
                for target_type, target_id in (("tab", tab_id(guest.target_id)), ("page", guest.target_id))
                if passes(scope.auto, target_type)
            ]
        if not wanted:
            return
        scope.attached[guest.target_id] = []
        for target_id in wanted:
            session = yield from self.attach(scope.client, target_id, parent=scope.session)
            scope.attached[guest.target_id].append(session.id)

    # -- views -------------------------------------------------------------------------------------------------------
    def _guest(self, target_id: str) -> Guest:
        guest = self._tree.guest_of(target_id)
        if guest is None:
            raise ProtocolError(INVALID_PARAMS, "No target with given id found")
        return guest

    def _info_of(self, client: int, target_id: str) -> TargetInfo:
        if target_id.startswith(TAB_PREFIX):
            return shown_tab(self._guest(target_id[len(TAB_PREFIX) :]), attached=True)
        guest = self._guest(target_id)
        attached = bool(self._sessions.of_target(target_id, client))
        if target_id == guest.target_id:
            return shown_page(guest, attached=attached)
        return shown(guest.children[target_id].info, attached=attached)

    def _visible(self, scope: Scope, filter_: Filter) -> list[TargetInfo]:
        infos: list[TargetInfo] = []
        for guest in self._tree.ready():
            attached = bool(self._sessions.of_target(guest.target_id, scope.client))
            infos += [shown_tab(guest, attached=attached), shown_page(guest, attached=attached)]
            for child_id, child in guest.children.items():
                infos.append(
                    shown(child.info, attached=bool(self._sessions.of_target(child_id, scope.client)))
                )
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
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise ProtocolError(INVALID_PARAMS, "Invalid parameters filter: array of objects expected")
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
