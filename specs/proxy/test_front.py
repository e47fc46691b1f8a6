"""A port that stays open over several guards: the same endpoint, and a clear answer while there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import anyio
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from focusguard.cdp.limits import Limits
from focusguard.electron.errors import PortTaken
from focusguard.proxy.front import Front, open_front
from focusguard.proxy.standby import standby
from specs.proxy.fake_app import TOKEN, Reply, open_files, running


@pytest.fixture
async def front() -> AsyncIterator[Front]:
    async with open_front(0, standby(TOKEN)) as opened:
        yield opened


async def ask(port: int, path: str, *more: str) -> Reply:
    """One HTTP request."""
    lines = (f"Host: 127.0.0.1:{port}", *more)
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
        answer = b""
        with anyio.fail_after(5):
            while True:
                try:
                    answer += await stream.receive()
                except anyio.EndOfStream:
                    return Reply.read(answer)


class TestOneAfterTheOther:
    async def test_the_endpoint_is_the_same(self, front: Front) -> None:
        endpoints = set()
        for _ in range(2):
            async with running(port=front) as guard:
                endpoints.add(guard.url)
                async with guard.client() as client:
                    assert "result" in await client.ask("Browser.getVersion")
                assert (await guard.get(f"/{TOKEN}/json/version")).status == 200
            assert (await ask(front.port, f"/{TOKEN}/json/version")).status == 503
        assert len(endpoints) == 1

    async def test_clients_are_told_when_a_guard_goes(self, front: Front) -> None:
        async with AsyncExitStack() as stack:
            async with running(port=front) as guard:
                client = await stack.enter_async_context(guard.client())
                await client.ask("Browser.getVersion")
            with pytest.raises(ConnectionClosed) as closed:
                await client.connection.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1001

    async def test_a_request_that_waits_ends_with_its_guard(self, front: Front) -> None:
        async with await anyio.connect_tcp("127.0.0.1", front.port) as stream:
            async with running(port=front):
                await stream.send(b"GET ")
                await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(5):
                async with running(port=front) as guard:
                    assert (await guard.get(f"/{TOKEN}/json/version")).status == 200


class TestMeanwhile:
    async def test_whoever_has_the_token_is_told_to_come_again(self, front: Front) -> None:
        reply = await ask(front.port, f"/{TOKEN}/json/version")
        assert (reply.status, reply.body[:37]) == (503, b"no app is guarded here just now; conn")
        with pytest.raises(InvalidStatus) as refused:
            async with connect(
                f"ws://127.0.0.1:{front.port}/{TOKEN}/devtools/browser/focusguard", proxy=None
            ):
                pass
        assert refused.value.response.status_code == 503

    @pytest.mark.parametrize("path", ["/json/version", "/wrong/json/version"])
    async def test_whoever_has_not_is_refused(self, front: Front, path: str) -> None:
        reply = await ask(front.port, path)
        assert (reply.status, b"token" in reply.body) == (403, True)

    async def test_a_web_page_is_refused(self, front: Front) -> None:
        reply = await ask(front.port, f"/{TOKEN}/json/version", "Origin: http://evil.test")
        assert reply.status == 403

    async def test_those_who_say_nothing_are_sent_away(self) -> None:
        limits = Limits(handshake_seconds=0.2, clients=1)
        async with open_front(0, standby(TOKEN, limits)) as front:
            before = open_files()
            async with await anyio.connect_tcp("127.0.0.1", front.port) as silent:
                await anyio.wait_all_tasks_blocked()
                async with await anyio.connect_tcp("127.0.0.1", front.port) as second:
                    with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
                        await second.receive()
                with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
                    await silent.receive()
            assert (await ask(front.port, f"/{TOKEN}/json")).status == 503
            assert open_files() <= before


class TestPort:
    async def test_one_that_is_taken_is_named(self, front: Front) -> None:
        with pytest.raises(PortTaken, match=f"port {front.port} cannot be had: .* another port"):
            async with open_front(front.port):
                pass

    async def test_a_guard_without_a_front_says_the_same(self, front: Front) -> None:
        with pytest.RaisesGroup(PortTaken, flatten_subgroups=True):
            async with running(port=front.port):
                pass
