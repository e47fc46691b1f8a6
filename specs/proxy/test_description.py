"""`/json/protocol`: from the app's port where it has one, from its bridge where it has none, or a reason."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from focusguard.errors import ProtocolError
from focusguard.policy.guard import Guard, Options
from focusguard.proxy.description import DOMAIN, LARGEST
from specs.proxy.fake_app import TOKEN, FakeApp, Reply, Running, bridge, running

APP = {"version": {"major": "1", "minor": "3"}, "domains": [{"domain": "Page", "commands": []}]}
PATH = f"/{TOKEN}/json/protocol"


def packed(data: bytes) -> dict[str, Any]:
    return {"found": True, "gzip": base64.b64encode(gzip.compress(data)).decode()}


@asynccontextmanager
async def app_port(*answers: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A debugging port that gives these answers, one after the other; and what it was asked."""
    asked: list[bytes] = []
    left = list(answers)

    async def serve(stream: SocketStream) -> None:
        async with stream:
            asked.append(await stream.receive())
            await stream.send(left.pop(0))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        yield f"ws://127.0.0.1:{port}/devtools/browser/1234", asked
        tasks.cancel_scope.cancel()


def ok(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body


class TestPort:
    async def test_the_apps_own_with_the_guards_domain(self) -> None:
        app = FakeApp()
        async with app_port(ok(json.dumps(APP).encode())) as (url, asked), running(app=app) as guard:
            app.url = url
            for _ in range(2):  # the second time nobody is asked
                reply = await guard.get(PATH)
                assert reply.json() == {**APP, "domains": [*APP["domains"], DOMAIN]}
                assert reply.headers["content-type"] == "application/json; charset=UTF-8"
        assert [line.split(b"\r\n")[0] for line in asked] == [b"GET /json/protocol HTTP/1.1"]

    @pytest.mark.parametrize(
        "answer",
        [
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            ok(b"<html>"),
            ok(b'{"domains": 7}'),
            ok(b"[]"),
            b"",
        ],
    )
    async def test_a_failure_is_named_and_not_kept(self, answer: bytes) -> None:
        app = FakeApp()
        async with app_port(answer, ok(json.dumps(APP).encode())) as (url, _), running(app=app) as guard:
            app.url = url
            reply = await guard.get(PATH)
            assert (reply.status, reply.body[:24]) == (501, b"the app's protocol canno")
            assert (await guard.get(PATH)).status == 200


class TestBridge:
    """Over a pipe."""

    @staticmethod
    @asynccontextmanager
    async def asking(guard: Running) -> AsyncIterator[tuple[SocketStream, list[Reply]]]:
        """A bridge that was asked, and the client's answer once there is one."""
        replies: list[Reply] = []

        async def ask() -> None:
            replies.append(await guard.get(PATH))

        async with bridge(guard) as stream, anyio.create_task_group() as tasks:
            with anyio.fail_after(5):
                tasks.start_soon(ask)
                yield stream, replies

    @staticmethod
    async def question(stream: SocketStream) -> int:
        """The number of the question."""
        data = b""
        while (found := re.search(rb'{"id":(-?\d+),"method":"app.protocol".*\n', data)) is None:
            data += await stream.receive()
        return int(found[1])

    @pytest.mark.parametrize(
        ("says", "status", "text"),
        [
            ({"result": packed(json.dumps(APP).encode())}, 200, '{"version"'),
            ({"result": {"found": False}}, 501, "this build of the app holds no description"),
            ({"result": {"found": True, "gzip": "bm8="}}, 501, "something else"),
            ({"result": {"found": True, "gzip": "n"}}, 501, "something else"),
            ({"result": packed(b"no")}, 501, "no description of the protocol"),
            ({"result": packed(b" " * (LARGEST + 1))}, 501, "no description of the protocol"),
            ({"error": {"code": "unknown-method", "message": "not part of this protocol"}}, 501, "not part"),
        ],
        ids=["given", "none", "no gzip", "no base64", "no JSON", "too large", "an older bridge"],
    )
    async def test_it_is_asked(self, says: dict[str, Any], status: int, text: str) -> None:
        async with running() as guard:
            async with self.asking(guard) as (stream, replies):
                number = await self.question(stream)
                await stream.send(json.dumps({"id": number, **says}).encode() + b"\n")
            assert replies[0].status == status
            assert text in replies[0].body.decode()
            assert guard.hub.guard.idle

    async def test_one_that_goes(self) -> None:
        async with running() as guard:
            async with self.asking(guard) as (stream, replies):
                await self.question(stream)
                await stream.aclose()
            assert replies[0].status == 501
            assert "the bridge went before it answered" in replies[0].body.decode()
            assert (await guard.get(PATH)).body.startswith(
                b"the app's protocol cannot be described: there is no bridge"
            )


class TestDomain:
    """The description of the guard's domain says what the guard does, and its page says the same."""

    PAGE = Path(__file__).parents[2].joinpath("docs/focusguard-domain.md").read_text("utf-8")

    def test_its_methods_are_answered_as_described(self) -> None:
        domain = Guard(Options("1.0")).domain
        for command in DOMAIN["commands"]:
            answer = domain.handle(f"FocusGuard.{command['name']}", 1)
            assert list(answer) == [result["name"] for result in command.get("returns", [])]
        with pytest.raises(ProtocolError):
            domain.handle("FocusGuard.close", 1)

    def test_its_page_names_everything(self) -> None:
        kinds = {one["id"]: one for one in DOMAIN["types"]}
        for command in DOMAIN["commands"]:
            assert f"FocusGuard.{command['name']}" in self.PAGE
        parameters = [result for command in DOMAIN["commands"] for result in command.get("returns", [])]
        parameters += [one for event in DOMAIN["events"] for one in event["parameters"]]
        for one in parameters:
            assert f"| `{one['name']}` |" in self.PAGE
            for below in kinds.get(one.get("$ref", ""), {}).get("properties", []):
                assert re.search(rf"\b{below['name']}\b", self.PAGE), below
            assert all(f"`{word}`" in self.PAGE for word in one.get("enum", []))
