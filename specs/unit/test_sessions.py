"""The session table: who owns what, and what goes with what."""

from __future__ import annotations

from focusguard.cdp.sessions import Session, SessionTable


def table() -> SessionTable:
    """Client 1: a page, a frame on it, a frame on that, another page. Client 2: a page. The guard: one of its own."""
    sessions = SessionTable()
    sessions.add(Session("page", 1, "G", "G"))
    sessions.add(Session("frame", 1, "F", "G", parent_id="page", held_by="page", main=False))
    sessions.add(Session("deeper", 1, "D", "G", parent_id="frame", held_by="frame", main=False))
    sessions.add(Session("second", 1, "G", "G"))
    sessions.add(Session("theirs", 2, "G", "G"))
    sessions.add(Session("own", None, "G", "G"))
    return sessions


def ids(sessions: list[Session]) -> list[str]:
    return [session.id for session in sessions]


class TestOwnership:
    def test_of_a_client(self) -> None:
        assert ids(table().of_client(1)) == ["page", "frame", "deeper", "second"]
        assert ids(table().of_client(3)) == []

    def test_a_foreign_session_is_as_unknown_as_an_invented_one(self) -> None:
        sessions = table()
        assert sessions.owned(1, "page") is sessions.get("page")
        assert [sessions.owned(1, each) for each in ("theirs", "own", "invented", "")] == [None] * 4
        assert sessions.owned(2, "page") is None

    def test_of_a_target_oldest_first(self) -> None:
        assert ids(table().of_target("G", 1)) == ["page", "second"]
        assert ids(table().of_target("F", 2)) == []

    def test_a_guest_is_attended_by_clients_on_sessions_of_the_app(self) -> None:
        sessions = table()
        assert sessions.attended("G")
        for each in ("page", "second", "theirs"):
            sessions.remove(each)
        assert not sessions.attended("G"), "the guard's own session is nobody's"
        sessions.add(Session("tab", 1, "G", "G", virtual=True))
        assert not sessions.attended("G")

    def test_of_a_guest_everybodys(self) -> None:
        assert ids(table().of_guest("G")) == ["page", "frame", "deeper", "second", "theirs", "own"]


class TestRemoval:
    def test_what_hangs_below_goes_too_deepest_first(self) -> None:
        sessions = table()
        assert ids(sessions.remove("page")) == ["deeper", "frame", "page"]
        assert ids(list(sessions)) == ["second", "theirs", "own"]
        assert len(sessions) == 3

    def test_in_the_middle(self) -> None:
        sessions = table()
        assert ids(sessions.remove("frame")) == ["deeper", "frame"]
        assert sessions.get("page") is not None

    def test_twice_is_nothing(self) -> None:
        sessions = table()
        sessions.remove("page")
        assert sessions.remove("page") == []
        assert sessions.remove("invented") == []

    def test_while_it_is_walked(self) -> None:
        sessions = table()
        for session in sessions:
            sessions.remove(session.id)
        assert len(sessions) == 0
