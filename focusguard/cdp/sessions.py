"""Which CDP session belongs to whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Session:
    """One attachment of one owner to one target.

    Attributes:
        id: the session id, the app's own; virtual for tabs and browser sessions.
        client: the client's number, None for the guard's own sessions.
        target_id: the target it is attached to.
        guest_id: the guest that target is or belongs to.
        parent_id: the session on which its attachment was announced; None: the client's connection.
        held_by: the app's session that it hangs on and goes with; None: the app's root.
        main: whether the target is the guest itself and not a frame or worker below it.
        connection: whether it is the root of a `/devtools/page/{id}` connection: its messages carry no session id.
        wrapped: whether the client speaks to it through Target.sendMessageToTarget.
        virtual: whether the app does not know it.
        waiting: whether its target waits for a debugger, and the client has not let it go.
    """

    id: str
    client: int | None
    target_id: str
    guest_id: str
    parent_id: str | None = None
    held_by: str | None = None
    main: bool = True
    connection: bool = False
    wrapped: bool = False
    virtual: bool = False
    waiting: bool = False


class SessionTable:
    """Sessions by id."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def add(self, session: Session) -> Session:
        """Enter a session."""
        self._sessions[session.id] = session
        return session

    def get(self, session_id: str) -> Session | None:
        """The session with this id, whoever owns it."""
        return self._sessions.get(session_id)

    def owned(self, client: int, session_id: str) -> Session | None:
        """The session with this id if it is this client's: another client's id is as unknown as an invented one."""
        session = self._sessions.get(session_id)
        return session if session is not None and session.client == client else None

    def of_client(self, client: int) -> list[Session]:
        """A client's sessions, oldest first."""
        return [s for s in self._sessions.values() if s.client == client]

    def of_target(self, target_id: str, client: int) -> list[Session]:
        """A client's sessions on a target."""
        return [s for s in self._sessions.values() if s.target_id == target_id and s.client == client]

    def remove(self, session_id: str) -> list[Session]:
        """Take out a session and those announced on it; the removed ones, deepest first."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return []
        below = [s.id for s in self._sessions.values() if s.parent_id == session_id]
        removed = [gone for child in below for gone in self.remove(child)]
        return [*removed, session]

    def below(self, session_id: str) -> Iterator[Session]:
        """The sessions that were announced on a session, and on those."""
        for session in self:
            if session.parent_id == session_id:
                yield session
                yield from self.below(session.id)

    def of_guest(self, guest_id: str) -> list[Session]:
        """Everybody's sessions on a guest and below it."""
        return [s for s in self._sessions.values() if s.guest_id == guest_id]

    def attended(self, guest_id: str) -> bool:
        """Whether a client has a session of the app's on a guest or below it."""
        return any(s.client is not None and not s.virtual for s in self.of_guest(guest_id))
