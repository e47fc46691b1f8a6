"""The ways to the app: messages cut anywhere, floods, a full pipe, and the end."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from focusguard.proxy.upstream import PipeUpstream, UpstreamFailed, WebSocketUpstream
from specs.conftest import Eventually
from specs.proxy.fake_app import open_files

MIB = 1024 * 1024


class Pipe:
    """The app's side of `--remote-debugging-pipe`."""

    def __init__(self) -> None:
        guard_reads, self.app_writes = os.pipe()
        self.app_reads, guard_writes = os.pipe()
        self.upstream = PipeUpstream(guard_reads, guard_writes)
        self.heard: list[bytes] = []
        self.reason = ""

    async def run(self) -> None:
        self.reason = await self.upstream.run(self.heard.append)

    def close(self) -> None:
        """The app is gone."""
        for descriptor in (self.app_writes, self.app_reads):
            if descriptor >= 0:
                os.close(descriptor)
        self.app_writes = self.app_reads = -1

    async def write(self, data: bytes) -> None:
        """The app says something, as the pipe takes it."""
        os.set_blocking(self.app_writes, False)
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.app_writes, rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self.app_writes)

    async def read(self, size: int) -> bytes:
        """The app takes so many bytes."""
        os.set_blocking(self.app_reads, False)
        data = b""
        with anyio.fail_after(10):
            while len(data) < size:
                try:
                    data += os.read(self.app_reads, size - len(data))
                except BlockingIOError:
                    await anyio.wait_readable(self.app_reads)
        return data


@asynccontextmanager
async def piped() -> AsyncIterator[Pipe]:
    pipe = Pipe()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pipe.run)
        try:
            yield pipe
        finally:
            pipe.close()
            tasks.cancel_scope.deadline = anyio.current_time() + 5


class TestPipe:
    """JSON that ends with a NUL byte, on two descriptors."""

    async def test_one_message_each_way(self, eventually: Eventually) -> None:
        async with piped() as pipe:
            pipe.upstream.send(b'{"id":1}')
            assert await pipe.read(9) == b'{"id":1}\0'
            await pipe.write(b'{"id":1,"result":{}}\0')
            await eventually(lambda: pipe.heard == [b'{"id":1,"result":{}}'])

    @given(
        messages=st.lists(st.binary(max_size=40).map(lambda m: m.replace(b"\0", b"")), max_size=8),
        data=st.data(),
    )
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_cut_anywhere(self, messages: list[bytes], data: st.DataObject) -> None:
        stream = b"".join(message + b"\0" for message in messages)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

        async def main() -> list[bytes]:
            async with piped() as pipe:
                for piece in pieces:
                    await pipe.write(piece)
                    await anyio.lowlevel.checkpoint()
                os.close(pipe.app_writes)
                pipe.app_writes = -1
                with anyio.fail_after(5):
                    while not pipe.reason:
                        await anyio.sleep(0.001)
            return pipe.heard

        assert anyio.run(main) == messages

    async def test_ten_mebibytes_each_way(self, eventually: Eventually) -> None:
        large = b"x" * (10 * MIB)
        async with piped() as pipe:
            await pipe.write(large + b"\0{}\0")
            await eventually(lambda: len(pipe.heard) == 2)
            assert pipe.heard == [large, b"{}"]
            pipe.upstream.send(large)
            pipe.upstream.send(b"{}")
            assert await pipe.read(len(large) + 4) == large + b"\0{}\0"

    async def test_a_full_pipe_keeps_the_order_and_holds_nobody_up(self) -> None:
        async with piped() as pipe:
            expected = b""
            for number in range(2000):
                message = b'{"id":%d,"x":"%b"}' % (number, b"y" * (number % 700))
                pipe.upstream.send(message)
                expected += message + b"\0"
            assert await pipe.read(len(expected)) == expected

    async def test_a_flood_does_not_keep_others_from_running(self) -> None:
        async with piped() as pipe, anyio.create_task_group() as tasks:
            turns = 0

            async def count() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await anyio.lowlevel.checkpoint()

            tasks.start_soon(count)
            for _ in range(50):
                await pipe.write(b'{"method":"Network.dataReceived"}\0' * 2000)
            with anyio.fail_after(10):
                while len(pipe.heard) < 100_000:
                    await anyio.lowlevel.checkpoint()
            assert turns > 20
            tasks.cancel_scope.cancel()

    async def test_the_app_closes_it(self, eventually: Eventually) -> None:
        async with piped() as pipe:
            await pipe.write(b"half a mess")
            pipe.close()
            await eventually(lambda: pipe.reason)
            assert pipe.reason == "the app closed its debugging pipe"
            assert pipe.heard == []
            pipe.upstream.send(b"{}")

    async def test_the_app_reads_no_more(self) -> None:
        async with piped() as pipe:
            os.close(pipe.app_reads)
            pipe.app_reads = -1
            for _ in range(3):
                pipe.upstream.send(b"x" * MIB)

    async def test_both_descriptors_are_closed_at_the_end(self, eventually: Eventually) -> None:
        gc.collect()
        before = open_files()
        async with piped() as pipe:
            pipe.close()
            await eventually(lambda: pipe.reason)
        assert open_files() == before


class TestWebSocket:
    """The app's own debugging port."""

    @asynccontextmanager
    async def port(self) -> AsyncIterator[tuple[str, list[ServerConnection], list[bytes]]]:
        there: list[ServerConnection] = []
        said: list[bytes] = []

        async def handle(connection: ServerConnection) -> None:
            there.append(connection)
            with suppress(ConnectionClosed):
                while True:
                    said.append(await connection.recv(decode=False))

        async with serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
            number = next(iter(server.sockets)).getsockname()[1]
            yield f"ws://127.0.0.1:{number}/devtools/browser/x", there, said

    async def test_both_ways_and_the_end(self, eventually: Eventually) -> None:
        heard: list[bytes] = []
        reasons: list[str] = []
        async with self.port() as (url, there, said):
            upstream = await WebSocketUpstream.open(url)
            async with anyio.create_task_group() as tasks:

                async def run() -> None:
                    reasons.append(await upstream.run(heard.append))

                tasks.start_soon(run)
                large = b"x" * (10 * MIB)
                upstream.send(b'{"id":1}')
                upstream.send(large)
                await eventually(lambda: said == [b'{"id":1}', large])
                await there[0].send('{"id":1,"result":{}}')
                await there[0].send(large.decode())
                await eventually(lambda: len(heard) == 2)
                assert heard == [b'{"id":1,"result":{}}', large]
                await there[0].close(1001)
                await eventually(lambda: reasons)
        assert reasons[0].startswith("the app closed its debugging connection")

    async def test_nobody_is_there(self) -> None:
        with pytest.raises(UpstreamFailed, match="Start the app with --remote-debugging-port"):
            await WebSocketUpstream.open("ws://127.0.0.1:1/devtools/browser/x")

    async def test_somebody_else_is_there(self) -> None:
        async def refuse(connection: ServerConnection) -> None: ...

        async with serve(
            refuse, "127.0.0.1", 0, process_request=lambda c, _: c.respond(403, "no\n")
        ) as server:
            number = next(iter(server.sockets)).getsockname()[1]
            with pytest.raises(UpstreamFailed, match="no CDP endpoint answers"):
                await WebSocketUpstream.open(f"ws://127.0.0.1:{number}/")

    @pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY", "all_proxy"])
    async def test_a_proxy_of_the_environment_is_not_asked(
        self, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with self.port() as (url, _, _):
            upstream = await WebSocketUpstream.open(url)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(upstream.run, lambda _: None)
                await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
