"""The guard's end of the bridge link, against a peer that speaks any way it likes."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from focusguard.bridge import BRIDGE_SCRIPT, link
from focusguard.bridge.link import BridgeLink, open_bridge_link
from focusguard.bridge.messages import Answer, BridgeEvent, Connected, Lost, Notice
from focusguard.electron.errors import LaunchFailed

pytestmark = pytest.mark.anyio

Eventually = Callable[..., Awaitable[Any]]


class Peer:
    """Somebody who connected to the socket."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._buffer = b""

    async def say(self, message: Any) -> None:
        await self.stream.send(json.dumps(message).encode() + b"\n")

    async def hears(self) -> Any:
        """The next line as JSON; None when the link has closed the connection."""
        with anyio.fail_after(5):
            while b"\n" not in self._buffer:
                try:
                    self._buffer += await self.stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)


class Room:
    """A link, and what it told."""

    def __init__(self, link: BridgeLink, told: list[BridgeEvent]) -> None:
        self.link, self.told = link, told

    def hello(self, **changes: Any) -> dict[str, Any]:
        token = self.link.env["FOCUSGUARD_TOKEN"]
        known = {"type": "hello", "version": 1, "token": token, "pid": 7, "electron": "33.2.1"}
        return {**known, "chromium": "130", "node": "20", "capabilities": ["ping"], **changes}

    @asynccontextmanager
    async def peer(self) -> AsyncIterator[Peer]:
        async with await anyio.connect_unix(self.link.path) as stream:
            yield Peer(stream)

    @asynccontextmanager
    async def bridge(self) -> AsyncIterator[Peer]:
        """A peer that was let in."""
        async with self.peer() as peer:
            await peer.say(self.hello())
            assert await peer.hears() == {"type": "welcome", "version": 1}
            yield peer

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]


@pytest.fixture
async def room() -> AsyncIterator[Room]:
    told: list[BridgeEvent] = []
    async with open_bridge_link(told.append) as opened:
        yield Room(opened, told)


class TestTheDoor:
    async def test_only_this_user_can_reach_it(self, room: Room) -> None:
        assert stat.S_IMODE(room.link.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(room.link.path.parent.stat().st_mode) == 0o700

    async def test_the_app_is_given_all_it_needs(self, room: Room) -> None:
        env = room.link.env
        assert env["FOCUSGUARD_SOCKET"] == str(room.link.path)
        assert env["FOCUSGUARD_BRIDGE"] == str(BRIDGE_SCRIPT) and BRIDGE_SCRIPT.is_file()
        assert len(bytes.fromhex(env["FOCUSGUARD_TOKEN"])) == 32

    async def test_each_link_has_a_token_of_its_own(self, room: Room) -> None:
        async with open_bridge_link(lambda _: None) as other:
            assert other.env["FOCUSGUARD_TOKEN"] != room.link.env["FOCUSGUARD_TOKEN"]

    async def test_nothing_is_left_when_it_closes(self) -> None:
        async with open_bridge_link(lambda _: None) as opened:
            folder = opened.path.parent
            assert folder.exists()
        assert not folder.exists()

    async def test_a_folder_too_deep_for_a_socket_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        deep = tmp_path / ("d" * 100)
        deep.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(deep))
        with pytest.raises(LaunchFailed, match="set TMPDIR to another, shorter path"):
            async with open_bridge_link(lambda _event: None):
                pass
        assert list(deep.iterdir()) == []

    async def test_the_callers_own_error_comes_out_as_it_is(self) -> None:
        with pytest.raises(KeyError, match="mine"):
            async with open_bridge_link(lambda _: None):
                raise KeyError("mine")


class TestHello:
    async def test_the_right_one_is_welcome(self, room: Room) -> None:
        async with room.bridge():
            assert room.link.connected
            (connected,) = room.of(Connected)
            assert (connected.hello.pid, connected.hello.electron) == (7, "33.2.1")
            assert room.link.env["FOCUSGUARD_TOKEN"] not in repr(connected)

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"token": "0" * 64}, "wrong token"),
            ({"token": ""}, "wrong token"),
            ({"token": "é" * 64}, "wrong token"),
            ({"version": 2}, "version 2; this guard speaks 1"),
            ({"token": "x", "version": 2}, "wrong token"),
            ({"type": "hi"}, "the first line is not a hello"),
            ({"token": None}, "the first line is not a hello"),
        ],
    )
    async def test_any_other_is_refused_for_good(self, room: Room, changes: Any, reason: str) -> None:
        async with room.peer() as peer:
            await peer.say(room.hello(**changes))
            assert await peer.hears() == {"type": "refused", "message": reason, "retry": False}
            assert await peer.hears() is None
        assert not room.told and not room.link.connected

    @pytest.mark.parametrize("line", [b"\n", b"GET / HTTP/1.1\r\n", b"[]\n", b"\xff\xfe\n", b"{\n"])
    async def test_a_stranger_is_refused(self, room: Room, line: bytes) -> None:
        async with room.peer() as peer:
            await peer.stream.send(line)
            assert (await peer.hears())["message"] == "the first line is not a hello"
        assert not room.told

    async def test_one_too_long_is_not_read_to_its_end(self, room: Room) -> None:
        async with room.peer() as peer:
            await peer.stream.send(b"x" * (link.MAX_HELLO_BYTES + 70_000))
            assert (await peer.hears())["message"] == "the first line is not a hello"

    async def test_one_that_is_cut_is_none(self, room: Room) -> None:
        async with room.peer() as peer:
            await peer.stream.send(json.dumps(room.hello()).encode()[:-5])
            await peer.stream.send_eof()
            assert await peer.hears() is None
        assert not room.told

    async def test_one_that_does_not_come_is_not_waited_for(
        self, room: Room, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(link, "HELLO_SECONDS", 0.05)
        async with room.peer() as peer:
            assert await peer.hears() is None

    async def test_silent_peers_are_bounded(self, room: Room) -> None:
        async with AsyncExitStack() as silent:
            for _ in range(link.MAX_UNPROVEN_PEERS):
                await silent.enter_async_context(room.peer())
            async with room.peer() as one_too_many:
                assert await one_too_many.hears() is None

    async def test_a_second_bridge_may_come_back_later(self, room: Room) -> None:
        async with room.bridge():
            async with room.peer() as second:
                await second.say(room.hello())
                answer = await second.hears()
                assert answer == {"type": "refused", "message": "another bridge is connected", "retry": True}
            assert room.link.connected and len(room.of(Connected)) == 1

    async def test_the_next_one_is_let_in_when_the_first_has_gone(
        self, room: Room, eventually: Eventually
    ) -> None:
        async with room.bridge():
            pass
        await eventually(lambda: room.of(Lost))
        async with room.bridge():
            assert [type(event) for event in room.told] == [Connected, Lost, Connected]


class TestMessages:
    async def test_answers_meet_their_requests_whatever_their_order(
        self, room: Room, eventually: Eventually
    ) -> None:
        async with room.bridge() as bridge:
            room.link.send({"id": 1, "method": "ping", "params": {}})
            room.link.send({"id": 2, "method": "target.describe", "params": {"targetId": "T"}})
            assert await bridge.hears() == {"id": 1, "method": "ping", "params": {}}
            assert (await bridge.hears())["params"] == {"targetId": "T"}
            await bridge.say({"id": 2, "result": {"found": False}})
            await bridge.say({"event": "composition", "params": {"hostWebContentsId": 1, "open": True}})
            await bridge.say({"id": 1, "error": {"code": "failed", "message": "no"}})
            await eventually(lambda: len(room.told) == 4)
        second, notice, first = room.told[1:4]
        assert isinstance(second, Answer) and (second.id, second.result) == (2, {"found": False})
        assert isinstance(notice, Notice) and notice.params == {"hostWebContentsId": 1, "open": True}
        assert isinstance(first, Answer) and first.error is not None and first.error.code == "failed"

    async def test_a_result_with_the_word_event_is_an_answer(
        self, room: Room, eventually: Eventually
    ) -> None:
        async with room.bridge() as bridge:
            room.link.send({"id": 1, "method": "target.describe"})
            await bridge.say({"id": 1, "result": {"found": True, "title": '"event"'}})
            await eventually(lambda: room.of(Answer))

    async def test_a_number_in_use_cannot_be_used_again(self, room: Room) -> None:
        async with room.bridge():
            room.link.send({"id": 1, "method": "ping"})
            with pytest.raises(ValueError, match="already in use"):
                room.link.send({"id": 1, "method": "ping"})

    async def test_an_answer_that_nobody_asked_for_is_dropped(
        self, room: Room, eventually: Eventually
    ) -> None:
        async with room.bridge() as bridge:
            await bridge.say({"id": 99, "result": {}})
            room.link.send({"id": 1, "method": "ping"})
            await bridge.say({"id": 1, "result": {}})
            await bridge.say({"id": 1, "result": {}})
            await bridge.say({"event": "done"})
            await eventually(lambda: room.of(Notice))
        assert [answer.id for answer in room.of(Answer)] == [1]

    @pytest.mark.parametrize("line", [b"nonsense\n", b"[1]\n", b'{"id": "x"}\n', b'{"event": 5}\n', b"{}\n"])
    async def test_a_broken_line_ends_the_connection(
        self, room: Room, line: bytes, eventually: Eventually
    ) -> None:
        async with room.bridge() as bridge:
            room.link.send({"id": 1, "method": "ping"})
            assert (await bridge.hears())["id"] == 1
            await bridge.stream.send(line)
            assert await bridge.hears() is None
        await eventually(lambda: room.of(Lost))
        assert "broke the protocol" in room.of(Lost)[0].reason

    async def test_a_line_too_long_ends_the_connection(
        self, room: Room, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
    ) -> None:
        monkeypatch.setattr(link, "MAX_LINE_BYTES", 100_000)
        async with room.bridge() as bridge:
            with pytest.raises((anyio.BrokenResourceError, anyio.ClosedResourceError)):
                for _ in range(1000):
                    await bridge.stream.send(b"x" * 65536)
        await eventually(lambda: room.of(Lost))

    async def test_a_long_line_passes_whole(self, room: Room, eventually: Eventually) -> None:
        async with room.bridge() as bridge:
            await bridge.say({"event": "long", "params": {"text": "ü" * 500_000}})
            await eventually(lambda: room.of(Notice))
        assert len(room.of(Notice)[0].params["text"]) == 500_000


class TestWithoutABridge:
    async def test_a_request_is_answered_later_and_not_from_inside(
        self, room: Room, eventually: Eventually
    ) -> None:
        room.link.send({"id": 1, "method": "ping"})
        assert not room.told
        await eventually(lambda: room.told)
        (answer,) = room.of(Answer)
        assert answer.id == 1 and answer.error.code == "bridge-lost"

    async def test_open_requests_are_answered_before_the_loss_is_told(
        self, room: Room, eventually: Eventually
    ) -> None:
        async with room.bridge() as bridge:
            for number in (3, 1, 2):
                room.link.send({"id": number, "method": "ping"})
            for _ in range(3):
                await bridge.hears()
        await eventually(lambda: room.of(Lost))
        kinds = [type(event) for event in room.told]
        assert kinds == [Connected, Answer, Answer, Answer, Lost]
        assert {answer.error.code for answer in room.of(Answer)} == {"bridge-lost"}

    async def test_a_bridge_that_stops_reading_is_lost_in_bounded_time(
        self, room: Room, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
    ) -> None:
        monkeypatch.setattr(link, "WRITE_SECONDS", 0.2)
        async with room.bridge():
            for number in range(1, 41):
                room.link.send({"id": number, "method": "text.insert", "params": {"text": "x" * 100_000}})
            await eventually(lambda: room.of(Lost), seconds=5)
        assert len(room.of(Answer)) == 40

    async def test_the_queue_is_bounded(self, room: Room, eventually: Eventually) -> None:
        async with room.bridge() as bridge:
            for number in range(1, link.MAX_QUEUED_REQUESTS + 50):
                room.link.send({"id": number, "method": "ping"})
            await eventually(lambda: room.of(Answer))
            assert {answer.error.code for answer in room.of(Answer)} == {"bridge-busy"}
            for _ in range(link.MAX_QUEUED_REQUESTS):
                await bridge.hears()
