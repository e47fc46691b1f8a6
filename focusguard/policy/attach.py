"""Sessions of clients: attached, announced, and ended without a trace.

While the app attaches, whoever asked may leave, the guest may die, and the answer may come too late: then
the new session is ended again, so that none is left that nobody owns.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from focusguard.cdp.limits import Limits
from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import TAB_PREFIX, Guest, TargetInfo, TargetTree, shown, shown_page, shown_tab
from focusguard.errors import INVALID_PARAMS, Code, GuardError, ProtocolError
from focusguard.policy.flow import Await, Flow, FlowFault, TimedOut, Upstream, call_or_undo
from focusguard.policy.wire import Wire

#: Seconds for the app to attach or detach a session.
ATTACH_SECONDS = 10.0
GO_ON = "Runtime.runIfWaitingForDebugger"
#: Seconds for a target to go on, before its session ends.
GO_ON_SECONDS = 1.0


class Attachments:
    """Makes and ends the sessions of clients.

    Args:
        wire: the way out.
        tree: the app's targets.
        sessions: everybody's sessions.
        limits: bounds on what a client may hold.
        begun: told of each new session.
        ended: told of each session that was taken out.
    """

    def __init__(
        self,
        wire: Wire,
        tree: TargetTree,
        sessions: SessionTable,
        limits: Limits,
        begun: Callable[[Session], None],
        ended: Callable[[Session], None],
    ) -> None:
        self._wire = wire
        self._tree = tree
        self._sessions = sessions
        self._limits = limits
        self._begun = begun
        self._ended = ended
        self._attaching: dict[int, int] = {}
        self._made = 0

    # -- views -------------------------------------------------------------------------------------------------------
    def guest(self, target_id: str) -> Guest:
        """The guest that a target is or belongs to.

        Raises:
            ProtocolError: there is no such target, or clients must not see it.
        """
        guest = self._tree.guest_of(target_id)
        if guest is None:
            raise ProtocolError(INVALID_PARAMS, "No target with given id found")
        return guest

    def info_of(self, client: int, target_id: str) -> TargetInfo:
        """A guest, its tab, or a frame or worker below it, as a client sees it.

        Raises:
            ProtocolError: there is no such target, or clients must not see it.
        """
        attached = bool(self._sessions.of_target(target_id, client))
        if target_id.startswith(TAB_PREFIX):
            return shown_tab(self.guest(target_id[len(TAB_PREFIX) :]), attached=attached)
        guest = self.guest(target_id)
        if target_id == guest.target_id:
            return shown_page(guest, attached=attached)
        return shown(guest.children[target_id].info, attached=attached)

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
        self._check_room(client)
        if target_id.startswith(TAB_PREFIX):
            guest = self.guest(target_id[len(TAB_PREFIX) :])
            session = self._virtual_session(client, target_id, guest.target_id, parent, wrapped=wrapped)
            self._announce(session, self.info_of(client, target_id))
            return session
        guest = self.guest(target_id)
        made = yield from self._attach_upstream(client, target_id)
        # While the app attached, everything that asked for it may have gone.
        if not self._wire.client_here(client):
            late = "the connection closed meanwhile"
        elif self._tree.guest_of(target_id) is not guest:
            late = "the guest is gone"
        elif parent is not None and self._sessions.get(parent.id) is not parent:
            late = "the session that asked for it is gone"
        else:
            late = ""
        if late:
            self._wire.post(_detach(made["sessionId"], None))
            raise GuardError(Code.ERROR, late)
        session = Session(
            made["sessionId"],
            client,
            target_id,
            guest.target_id,
            parent_id=parent.id if parent is not None else None,
            main=target_id == guest.target_id,
            connection=connection,
            wrapped=wrapped,
        )
        self._sessions.add(session)
        if not connection:
            self._announce(session, self.info_of(client, target_id))
        self._begun(session)
        return session

    def attach_to_browser(self, client: int, parent: Session | None, info: TargetInfo) -> Session:
        """Give a client another virtual browser."""
        self._check_room(client)
        session = self._virtual_session(client, "browser", "", parent)
        self._announce(session, info)
        return session

    def _attach_upstream(self, client: int, target_id: str) -> Flow[dict[str, Any]]:
        self._attaching[client] = self._attaching.get(client, 0) + 1
        try:
            made = yield from call_or_undo(
                Upstream("Target.attachToTarget", {"targetId": target_id, "flatten": True}),
                ATTACH_SECONDS,
                lambda late: self._wire.post(_detach(late["sessionId"], None)),
            )
        except TimedOut:
            raise GuardError(Code.TIMEOUT, f"the guest did not attach within {ATTACH_SECONDS:g} s") from None
        finally:
            self._attaching[client] -= 1
            if not self._attaching[client]:
                del self._attaching[client]
        return made

    def _check_room(self, client: int) -> None:
        held = len(self._sessions.of_client(client)) + self._attaching.get(client, 0)
        if held >= self._limits.sessions:
            raise GuardError(
                Code.REFUSED,
                f"this connection has {self._limits.sessions} sessions already",
                advice="detach some of them",
            )

    def _virtual_session(
        self, client: int, target_id: str, guest_id: str, parent: Session | None, *, wrapped: bool = False
    ) -> Session:
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
                wrapped=wrapped,
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

    # -- detaching ---------------------------------------------------------------------------------------------------
    def detach(self, client: int, session_id: str, *, tell: bool) -> Flow[None]:
        """End one of a client's sessions; with `tell` the client hears of it."""
        session = self._sessions.owned(client, session_id)
        if session is None:
            return
        parent = self._sessions.get(session.parent_id) if session.parent_id else None
        yield from self._let_go([session, *self._sessions.below(session.id)])
        if self._sessions.get(session.id) is not session:
            return
        detached = [self._wire.post(call) for call in self.take_out(session)]
        for handle in detached:
            with suppress(FlowFault):  # it went by itself
                yield Await(handle, ATTACH_SECONDS)
        # The app tells of what hangs on one of the client's own sessions.
        if tell and session.held_by is None:
            params = {"sessionId": session.id, "targetId": session.target_id}
            self._wire.event(client, parent, "Target.detachedFromTarget", params)

    def take_out(self, session: Session) -> list[Upstream]:
        """Forget a session and what was announced on it; gives the calls that end them in the app."""
        removed = self._sessions.remove(session.id)
        for gone in removed:
            self._ended(gone)
            self._wire.session_lost(gone.id)
        ids = {gone.id for gone in removed}
        return [
            _detach(gone.id, gone.held_by)
            for gone in reversed(removed)
            if not gone.virtual and gone.held_by not in ids
        ]

    def detach_all(self, client: int) -> Flow[None]:
        """End all of a client's sessions with the app."""
        yield from self._let_go(self._sessions.of_client(client))
        calls = [
            call
            for session in self._sessions.of_client(client)
            if self._sessions.get(session.id) is session
            for call in self.take_out(session)
        ]
        for handle in [self._wire.post(call) for call in calls]:
            with suppress(FlowFault):  # it went by itself
                yield Await(handle, ATTACH_SECONDS)

    def _let_go(self, sessions: list[Session]) -> Flow[None]:
        """Let what waits for a debugger run: a service worker that it has stopped, Chromium leaves waiting for ever."""
        waiting = [each.id for each in sessions if each.waiting]
        for handle in [self._wire.post(Upstream(GO_ON, {}, session_id)) for session_id in waiting]:
            with suppress(FlowFault):  # it went by itself
                yield Await(handle, GO_ON_SECONDS)


def _detach(session_id: str, held_by: str | None) -> Upstream:
    return Upstream("Target.detachFromTarget", {"sessionId": session_id}, held_by)
