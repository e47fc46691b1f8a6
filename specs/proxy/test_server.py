"""The server: frames, limits, clients that misbehave, and what is left when it stops."""

from __future__ import annotations

import asyncio
import gc
import json
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketAttribute, SocketStream
from websockets.exceptions import ConnectionClosed, InvalidStatus

from focusguard.cdp.limits import Limits
from specs.conftest import Eventually
from specs.proxy.fake_app import GUEST, TOKEN, Client, Running, bridge, open_files, running

MIB = 1024 * 1024


@pytest.fixture
async def guard() -> AsyncIterator[Running]:
    async with running() as started:
        yield started


def frame(opcode: int, payload: bytes, *, fin: bool = True) -> bytes:
    """One masked frame of a client."""
    head = bytes([(0x80 if fin else 0) | opcode])
    if len(payload) < 126:
        head += bytes([0x80 | len(payload)])
    elif len(payload) < 65536:
        head += bytes([0x80 | 126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([0x80 | 127]) + struct.pack(">Q", len(payload))
    return head + b"\0\0\0\0" + payload


async def raw_client(guard: Running) -> SocketStream:
    """An upgraded connection that speaks bytes."""
    stream = await anyio.connect_tcp("127.0.0.1", guard.port)
    request = (
        f"GET /{TOKEN}/devtools/browser/x HTTP/1.1\r\nHost: 127.0.0.1:{guard.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    await stream.send(request.encode())
    assert (await stream.receive()).startswith(b"HTTP/1.1 101")
    return stream


async def closed_with(client: Client) -> tuple[int, str]:
    """How the guard has ended the connection."""
    with anyio.fail_after(5), pytest.raises(ConnectionClosed) as caught:
        while True:
            await client.connection.recv()
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code, caught.value.rcvd.reason


class TestMessages:
    """CDP messages are text, in one frame or in many."""

    async def test_in_one(self, guard: Running) -> None:
        async with guard.client() as client:
            assert (await client.ask("Browser.getVersion"))["result"]["product"] == "Chrome/130.0.0.0"

    async def test_in_fragments(self, guard: Running) -> None:
        async with guard.client() as client:
            text = json.dumps(
                {"id": 1, "method": "Target.getTargets", "params": {"x": "é" * 50}}, ensure_ascii=False
            )
            await client.connection.send([text[:9], text[9:80], "", text[80:]])
            assert [info["targetId"] for info in (await client.hear())["result"]["targetInfos"]] == [GUEST]

    async def test_byte_by_byte(self, guard: Running) -> None:
        async with await raw_client(guard) as stream:
            for byte in frame(1, b'{"id":1,"method":"Target.getTargets"}'):
                await stream.send(bytes([byte]))
            assert GUEST.encode() in await stream.receive()

    async def test_many_in_one_read(self, guard: Running) -> None:
        async with await raw_client(guard) as stream:
            await stream.send(
                b"".join(frame(1, b'{"id":%d,"method":"Browser.close"}' % n) for n in range(50))
            )
            answers = b""
            with anyio.fail_after(5):
                while answers.count(b"browser_refused: ") < 50:
                    answers += await stream.receive()

    async def test_a_last_command_before_the_close_counts(self, guard: Running) -> None:
        async with guard.client() as client:
            session = await client.attach()
        async with await raw_client(guard) as stream:
            command = b'{"id":1,"method":"Target.attachToTarget","params":{"targetId":"%b","flatten":true}}'
            before = len(guard.app.got("Target.attachToTarget"))
            await stream.send(frame(1, command % GUEST.encode()) + frame(8, struct.pack(">H", 1000)))
            with anyio.fail_after(5):
                while len(guard.app.got("Target.attachToTarget")) == before:
                    await anyio.sleep(0.005)
        assert session

    async def test_ten_mebibytes_both_ways(self, guard: Running) -> None:
        async with guard.client() as client:
            session = await client.attach()
            text = "x" * (10 * MIB)
            answer = await client.ask("Runtime.evaluate", {"expression": text}, session)
            assert answer["result"]["result"]["value"] == text

    @pytest.mark.parametrize("cut", [True, False])
    async def test_too_large(self, cut: bool) -> None:
        async with (
            running(limits=Limits(message_bytes=MIB)) as guard,
            guard.client() as client,
            guard.client() as other,
        ):
            half = "x" * (MIB // 2 + 100)
            await client.connection.send([half, half] if cut else half * 2)
            assert (await closed_with(client))[0] == 1009
            assert "result" in await other.ask("Browser.getVersion")

    async def test_binary(self, guard: Running) -> None:
        async with guard.client() as client:
            await client.connection.send(b'{"id":1,"method":"Browser.getVersion"}')
            assert await closed_with(client) == (1003, "CDP messages are text")

    async def test_nothing_after_a_binary_frame_is_taken(self, guard: Running) -> None:
        async with await raw_client(guard) as stream:
            attach = b'{"id":1,"method":"Target.attachToTarget","params":{"targetId":"%b"}}' % GUEST.encode()
            before = len(guard.app.got("Target.attachToTarget"))
            await stream.send(frame(2, b"x", fin=False) + frame(0, attach) + frame(1, attach))
            with anyio.fail_after(5), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                while True:
                    await stream.receive()
            assert len(guard.app.got("Target.attachToTarget")) == before

    @pytest.mark.parametrize(
        ("data", "says"),
        [
            ("", "Message must be a valid JSON"),
            ("{", "Message must be a valid JSON"),
            ("[]", "Message must be an object"),
            ("[" * 100_000, "JSON: stack limit exceeded"),
            ('{"id":1}', "Message must have string 'method' property"),
            ('{"id":1,"method":"A.b","params":{"z":' + "9" * 400 + "}}", "JSON: invalid number"),
        ],
    )
    async def test_what_is_no_command_is_answered(self, guard: Running, data: str, says: str) -> None:
        async with guard.client() as client:
            await client.connection.send(data)
            assert (await client.hear())["error"]["message"] == says
            assert "result" in await client.ask("Browser.getVersion")

    async def test_text_that_is_none_is_answered_too(self, guard: Running) -> None:
        async with await raw_client(guard) as stream:
            await stream.send(frame(1, b'{"id":1,"method":"Browser.getVersion","params":{"x":"\xff\xfe"}}'))
            assert b"Message must be a valid JSON" in await stream.receive()

    async def test_half_a_surrogate_pair_goes_there_and_back(self, guard: Running) -> None:
        async with guard.client() as client:
            session = await client.attach()
            answer = await client.ask("Runtime.evaluate", {"expression": "\ud83d"}, session)
            assert answer["result"]["result"]["value"] == "\ud83d"

    async def test_half_a_surrogate_pair_does_not_cost_the_bridge(self, guard: Running) -> None:
        async with bridge(guard), guard.client() as client:
            answer = await client.ask("Target.createTarget", {"url": "http://guest.test/\ud83d"})
            assert "the request cannot be written" in answer["error"]["message"]
            link = guard.hub.link
            assert link is not None and link.connected
            assert "result" in await client.ask("Browser.getVersion")

    async def test_a_ping_is_answered(self, guard: Running) -> None:
        async with guard.client() as client:
            await (await client.connection.ping())


class TestRequests:
    """What comes before a WebSocket, and never becomes one."""

    @pytest.mark.parametrize(
        "request_",
        [
            b"\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
            b"GET\r\n\r\n",
            b"GET / HTTP/2.0\r\n\r\n",
            b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
            b"G\xffT / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"x" * 20000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(500)) + b"\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ],
    )
    async def test_what_is_no_request_ends_that_connection_only(
        self, guard: Running, request_: bytes
    ) -> None:
        async with guard.client() as client:
            reply = await guard.raw(request_, end=True)
            assert reply.status in (0, 400, 403, 431)
            assert "result" in await client.ask("Browser.getVersion")

    @pytest.mark.parametrize(
        "headers",
        [
            ("Upgrade: websocket", "Upgrade: websocket", "Connection: Upgrade"),
            ("Upgrade: websocket",),
            ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 8", "Sec-WebSocket-Key: x"),
            (
                "Upgrade: websocket",
                "Connection: Upgrade",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: x",
            ),
            ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
            ("Upgrade: \xff, websocket", "Connection: \xff"),
        ],
    )
    async def test_an_upgrade_that_is_none(self, guard: Running, headers: tuple[str, ...]) -> None:
        async with guard.client() as client:
            lines = (f"Host: 127.0.0.1:{guard.port}", *headers)
            reply = await guard.get(f"/{TOKEN}/devtools/browser/x", headers=lines)
            assert reply.status in (400, 426)
            assert "result" in await client.ask("Browser.getVersion")
            assert guard.hub.guard._wire.clients == [1]

    @pytest.mark.parametrize(("length", "body"), [(4, b"true"), (0, b""), (30000, b"x" * 30000)])
    async def test_a_body_that_belongs_to_nothing_is_passed_over(
        self, guard: Running, length: int, body: bytes
    ) -> None:
        head = (
            f"GET /{TOKEN}/json/version HTTP/1.1\r\nHost: 127.0.0.1:{guard.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        assert (await guard.raw(head.encode() + body)).status == 200

    async def test_a_body_without_end_is_not_waited_for(self, guard: Running) -> None:
        head = (
            f"GET /{TOKEN}/json HTTP/1.1\r\nHost: 127.0.0.1:{guard.port}\r\nContent-Length: 9999999\r\n\r\n"
        )
        assert (await guard.raw(head.encode())).status == 0

    @pytest.mark.parametrize("sent", [b"", b"GET /json/version HTTP/1.1\r\nHost: 127"])
    async def test_half_a_request_and_silence(self, sent: bytes) -> None:
        async with running(limits=Limits(handshake_seconds=0.2)) as guard:
            assert (await guard.raw(sent)).status == 0

    @pytest.mark.parametrize(
        "path", ["/devtools/page/invented", "/devtools/page/", "/devtools", "/json", "/"]
    )
    async def test_a_websocket_to_nowhere(self, guard: Running, path: str) -> None:
        with pytest.raises(InvalidStatus) as caught:
            async with guard.client(f"ws://127.0.0.1:{guard.port}/{TOKEN}{path}"):
                pass
        assert caught.value.response.status_code == 404

    async def test_more_sockets_than_anybody_needs_are_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("focusguard.proxy.server.SPARE_SOCKETS", 3)
        async with running(limits=Limits(clients=1)) as guard:
            idle = [await anyio.connect_tcp("127.0.0.1", guard.port) for _ in range(4)]
            await anyio.wait_all_tasks_blocked()
            assert (await guard.raw(b"")).status == 0
            for stream in idle:
                await stream.aclose()
            with anyio.fail_after(5):
                while (await guard.get(f"/{TOKEN}/json/version")).status != 200:
                    await anyio.sleep(0.01)


class TestManyClients:
    async def test_more_than_allowed_are_refused_and_room_is_made_again(self) -> None:
        async with running(limits=Limits(clients=2)) as guard:
            async with guard.client() as first, guard.client():
                with pytest.raises(InvalidStatus) as caught:
                    async with guard.client():
                        pass
                assert caught.value.response.status_code == 503
                assert b"2 clients are connected already" in caught.value.response.body
                assert "result" in await first.ask("Browser.getVersion")
            with anyio.fail_after(5):
                while guard.hub.server._connections:
                    await anyio.sleep(0.005)
            async with guard.client() as again:
                assert "result" in await again.ask("Browser.getVersion")

    async def test_ids_of_two_clients_do_not_meet(self, guard: Running) -> None:
        async with guard.client() as first, guard.client() as second:
            sessions = [
                (client, await client.attach(), name) for client, name in ((first, "a"), (second, "b"))
            ]
            for client, session, name in sessions:
                for number in range(200):
                    await client.say("Runtime.evaluate", {"expression": f"{name}{number}"}, session)
            for client, session, name in sessions:
                for number in range(200):
                    message = await client.hear()
                    assert (message["sessionId"], message["result"]["result"]["value"]) == (
                        session,
                        f"{name}{number}",
                    )

    async def test_a_client_that_is_cut_off_is_cleared_away(
        self, guard: Running, eventually: Eventually
    ) -> None:
        stream = await raw_client(guard)
        command = b'{"id":1,"method":"Target.attachToTarget","params":{"targetId":"%b","flatten":true}}'
        await stream.send(frame(1, command % GUEST.encode()))
        await stream.receive()
        raw = stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(
            __import__("socket").SOL_SOCKET, __import__("socket").SO_LINGER, struct.pack("ii", 1, 0)
        )
        await stream.aclose()  # a reset, not a goodbye
        await eventually(lambda: guard.app.got("Target.detachFromTarget"))
        await eventually(lambda: not guard.hub.guard._wire.clients)


class TestSlowClients:
    """A client that stops reading costs a bounded amount of memory, and nobody else anything."""

    LIMITS = Limits(outgoing_bytes=4 * MIB)

    async def stalled(self, guard: Running) -> tuple[Any, str]:
        plain = guard.slow_socket()
        request = (
            f"GET /{TOKEN}/devtools/page/{GUEST} HTTP/1.1\r\nHost: 127.0.0.1:{guard.port}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        plain.sendall(request.encode())
        with anyio.fail_after(5):
            while not guard.app.got("Target.attachToTarget"):
                await anyio.sleep(0.005)
        await anyio.sleep(0.05)
        return plain, f"SESSION{guard.app.sessions:025d}"

    async def test_events_that_nobody_takes(self, eventually: Eventually) -> None:
        async with running(limits=self.LIMITS) as guard:
            plain, session = await self.stalled(guard)
            async with guard.client() as other:
                held = 0
                for _ in range(200):
                    guard.app.event("Network.dataReceived", {"data": "x" * 100_000}, session)
                    await anyio.lowlevel.checkpoint()
                    held = max(held, *(c._unsent for c in guard.hub.server._connections.values()))
                    assert "result" in await other.ask("Browser.getVersion")
                assert held <= 4 * MIB + 2 * 100_200
                await eventually(
                    lambda: list(guard.hub.guard._wire.clients) == [2], what="the slow client is gone"
                )
                await eventually(lambda: len(guard.hub.server._connections) == 1, what="its socket too")
                await eventually(lambda: guard.app.got("Target.detachFromTarget"))
                assert "result" in await other.ask("Browser.getVersion")
            plain.close()

    async def test_pings_without_end(self, eventually: Eventually) -> None:
        async with running(limits=Limits(outgoing_bytes=64 * 1024)) as guard:
            plain, _ = await self.stalled(guard)
            plain.setblocking(False)
            with anyio.fail_after(10):
                while guard.hub.server._connections:
                    try:
                        plain.send(frame(9, b"x" * 125) * 500)
                    except BlockingIOError:
                        await anyio.sleep(0.005)
                    except OSError:
                        break
                    await anyio.lowlevel.checkpoint()
            await eventually(lambda: not guard.hub.server._connections)
            plain.close()

    async def test_a_slow_client_that_reads_gets_everything(self) -> None:
        async with running(limits=self.LIMITS) as guard, guard.client(guard.page_url, max_queue=1) as client:
            assert "result" in await client.ask("Runtime.evaluate", {"expression": "1"})
            session = f"SESSION{guard.app.sessions:025d}"
            for number in range(300):
                guard.app.event("Network.dataReceived", {"n": number, "data": "x" * 10_000}, session)
            for number in range(300):
                assert (await client.hear())["params"]["n"] == number


class TestEnds:
    """The app goes, the guard stops: everybody is told, nothing is left."""

    async def test_the_app_goes(self, eventually: Eventually) -> None:
        async with running() as guard, guard.client() as client, guard.client(guard.page_url) as page:
            session = await client.attach()
            guard.app.silent.add("Page.navigate")
            await client.say("Page.enable", {}, session)
            await client.hear()
            guard.app.silent.add("Page.captureScreenshot")
            await client.say("Page.captureScreenshot", {}, session)
            await eventually(lambda: guard.app.got("Page.captureScreenshot"))
            guard.app.go()
            assert (await client.hear())["error"]["message"].startswith("browser_error: the app is gone")
            assert await closed_with(client) == (1001, "the app is gone")
            assert await closed_with(page) == (1001, "the app is gone")
            assert guard.hub.lost == "the app closed its debugging pipe"

    async def test_a_guest_goes(self, guard: Running) -> None:
        async with guard.client() as client, guard.client(guard.page_url) as page:
            await client.ask("Target.setDiscoverTargets", {"discover": True})
            assert "result" in await page.ask("Page.enable")
            guard.app.event("Target.targetDestroyed", {"targetId": GUEST})
            assert (await page.hear())["method"] == "Inspector.detached"
            assert await closed_with(page) == (1000, "the guest is gone")
            assert (await client.hear())["method"] == "Target.targetDestroyed"

    async def test_the_guard_stops(self) -> None:
        async with running() as guard:
            contexts = [guard.client(), guard.client(guard.page_url)]
            clients = [await context.__aenter__() for context in contexts]
            for client in clients:
                await client.ask("Browser.getVersion")
        for client in clients:
            assert await closed_with(client) == (1001, "the guard is stopping")
            await client.connection.close()
        with pytest.raises(OSError):
            await anyio.connect_tcp("127.0.0.1", guard.port)

    async def test_what_clients_held_goes_up_before_the_guard_does(self) -> None:
        async with running() as guard:
            context = guard.client()
            client = await context.__aenter__()
            session = await client.attach()
            drag = {"type": "dragEnter", "x": 1, "y": 1, "data": {"items": [], "dragOperationsMask": 1}}
            await client.ask("Input.dispatchDragEvent", drag, session)
        drags = [message["params"]["type"] for message in guard.app.got("Input.dispatchDragEvent")]
        assert drags == ["dragEnter", "dragCancel"]
        assert [message["params"] for message in guard.app.got("Target.detachFromTarget")] == [
            {"sessionId": session}
        ]
        await client.connection.close()

    async def test_it_does_not_wait_for_an_app_that_hangs(self) -> None:
        async with running() as guard:
            context = guard.client()
            client = await context.__aenter__()
            await client.attach()
            guard.app.silent.add("Target.detachFromTarget")
            begun = anyio.current_time()
        assert anyio.current_time() - begun < 4
        await client.connection.close()

    async def test_it_does_not_wait_for_a_client_that_hangs(self) -> None:
        async with running() as guard:
            plain, session = await TestSlowClients().stalled(guard)
            for _ in range(100):
                guard.app.event("Network.dataReceived", {"data": "x" * 100_000}, session)
            await anyio.sleep(0.05)
            begun = anyio.current_time()
        assert anyio.current_time() - begun < 5
        plain.close()

    async def test_no_task_and_no_socket_is_left(self) -> None:
        gc.collect()
        tasks, descriptors = asyncio.all_tasks(), open_files()
        for _ in range(3):
            async with running() as guard:
                async with guard.client() as client, guard.client(guard.page_url):
                    session = await client.attach()
                    await client.ask("Runtime.evaluate", {"expression": "1"}, session)
                stream = await raw_client(guard)
                await stream.send(frame(1, b'{"id":1,')[:5])
                await stream.aclose()
                half = await anyio.connect_tcp("127.0.0.1", guard.port)
            await half.aclose()
        gc.collect()
        await anyio.sleep(0.05)
        assert asyncio.all_tasks() == tasks
        assert open_files() == descriptors


class TestSilence:
    """A client that gives no sign of life is ended where it holds something, and only there."""

    @pytest.mark.parametrize(
        ("command", "ends"),
        [("Debugger.enable", True), ("Fetch.enable", True), ("Page.enable", False), (None, False)],
    )
    async def test_only_while_it_holds_a_page(self, command: str | None, ends: bool) -> None:
        async with running(limits=Limits(silent_seconds=0.3)) as guard, await raw_client(guard) as stream:
            attach = {
                "id": 1,
                "method": "Target.attachToTarget",
                "params": {"targetId": GUEST, "flatten": True},
            }
            await stream.send(frame(1, json.dumps(attach).encode()))
            said = b""
            while b"sessionId" not in said:
                said += await stream.receive()
            session = said.partition(b'"sessionId":"')[2].partition(b'"')[0].decode()
            if command is not None:
                await stream.send(
                    frame(1, json.dumps({"id": 2, "method": command, "sessionId": session}).encode())
                )
            said = b""
            with anyio.move_on_after(1.5), suppress(anyio.EndOfStream):
                while b"no sign of life" not in said:
                    said += await stream.receive()
            assert b"\x89" in said, "no ping"
            assert (b"no sign of life" in said) is ends

    async def test_a_client_that_answers_pings_holds_as_long_as_it_likes(self) -> None:
        async with running(limits=Limits(silent_seconds=0.3)) as guard, guard.client() as client:
            session = await client.attach()
            await client.ask("Debugger.enable", session=session)
            await anyio.sleep(1.0)
            await client.ask("Runtime.evaluate", {"expression": "1"}, session)
