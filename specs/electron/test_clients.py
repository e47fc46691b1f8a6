"""Cases 18 and 23: two clients at one guest, ids that are nobody's, and a client that closes the browser."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from websockets.asyncio.client import ClientConnection, connect

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.landing.cdp_client import CdpError, attach_guest, find_guest, open_client
from specs.guarded import Stage, endpoint, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]

COUNT = 1000
INVENTED = "0123456789ABCDEF0123456789ABCDEF"
ENDINGS = ("Browser.close", "Browser.crash", "Browser.crashGpuProcess")


class Numbered:
    """A client that chooses its ids itself, with two sessions on one guest."""

    def __init__(self, name: str, connection: ClientConnection) -> None:
        self.name, self.connection = name, connection
        self.sessions: list[str] = []
        self.replies: list[dict[str, Any]] = []

    async def attach(self, target: str) -> None:
        for number in (1, 2):
            await self.say(number, "Target.attachToTarget", {"targetId": target, "flatten": True})
            while len(self.sessions) < number:
                message = json.loads(await self.connection.recv())
                if message.get("id") == number:
                    self.sessions.append(message["result"]["sessionId"])

    async def say(self, number: int, method: str, params: dict[str, Any], session: str | None = None) -> None:
        message = {"id": number, "method": method, "params": params}
        await self.connection.send(json.dumps(message | ({"sessionId": session} if session else {})))

    async def ask_all(self) -> None:
        """Each id on both sessions; the answer has to say who asked, where, and with which number."""
        for number in range(1, COUNT + 1):
            for session in self.sessions:
                expression = f"'{self.name} {number} {session}'"
                await self.say(number, "Runtime.evaluate", {"expression": expression}, session)

    async def take_all(self) -> None:
        while len(self.replies) < COUNT * len(self.sessions):
            message = json.loads(await self.connection.recv())
            if "id" in message:
                self.replies.append(message)

    def crossed(self) -> list[dict[str, Any]]:
        return [
            reply
            for reply in self.replies
            if reply.get("result", {}).get("result", {}).get("value")
            != f"{self.name} {reply['id']} {reply.get('sessionId')}"
        ]


@asynccontextmanager
async def numbered(on: Stage, name: str) -> AsyncIterator[Numbered]:
    async with connect(endpoint(on), max_size=None, compression=None, proxy=None) as connection:
        client = Numbered(name, connection)
        await client.attach(await find_guest(on.client, on.url()))
        yield client


async def both_at_once(on: Stage) -> None:
    async with numbered(on, "one") as one, numbered(on, "two") as two:
        with anyio.fail_after(40):
            async with anyio.create_task_group() as tasks:
                for client in (one, two):
                    tasks.start_soon(client.ask_all)
                    tasks.start_soon(client.take_all)
        for client in (one, two):
            assert client.crossed() == []
            counted = {(reply["id"], reply["sessionId"]) for reply in client.replies}
            assert len(counted) == len(client.replies) == 2 * COUNT


async def refusals(on: Stage) -> dict[str, str | None]:
    """What a client is told that uses a session which is not its own, by kind of session."""
    async with open_client(endpoint(on)) as mine, open_client(endpoint(on)) as other:
        target = await find_guest(mine, on.url())
        left = (await attach_guest(mine, target, on.url(), frames=False)).root
        await mine.send("Target.detachFromTarget", {"sessionId": left})
        foreign = (await attach_guest(other, target, on.url(), frames=False)).root
        found: dict[str, str | None] = {}
        for kind, session in (("detached", left), ("invented", INVENTED), ("other client's", foreign)):
            for method, params in (
                ("Runtime.evaluate", {"expression": "globalThis.reached = 1"}),
                ("Input.insertText", {"text": kind}),
                ("Input.dispatchKeyEvent", {"type": "keyDown", "key": "k", "code": "KeyK", "text": "k"}),
                ("Target.detachFromTarget", {"sessionId": session}),
            ):
                try:
                    where = None if method.startswith("Target.") else session
                    await mine.send(method, params, session=where)
                    found[f"{kind}: {method}"] = None
                except CdpError as error:
                    found[f"{kind}: {method}"] = str(error)
        # The other client's session has not been ended by it.
        await other.send("Runtime.evaluate", {"expression": "1"}, session=foreign)
        return found


class TestGuarded:
    async def test_no_reply_crosses(self, guarded: Stage) -> None:
        await guarded.fresh()
        await both_at_once(guarded)

    async def test_a_session_that_is_not_the_clients_is_an_error(self, guarded: Stage) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        found = await refusals(guarded)
        assert [what for what, error in found.items() if error is None] == []
        assert {error for what, error in found.items() if "Target." not in what} == {
            "Session with given id not found."
        }
        state = await guarded.seen(since)
        assert [document.name for document in state.having("keydown", "input")] == []
        assert await guarded.fixture.execute("guest:0", "typeof globalThis.reached") == "undefined"

    @pytest.mark.parametrize("method", ENDINGS)
    async def test_the_app_outlives_a_client_that_ends_the_browser(self, guarded: Stage, method: str) -> None:
        await guarded.fresh()
        sessions = await guarded.guest()
        for session in (None, sessions.root):
            with pytest.raises(CdpError, match="browser_refused"):
                await guarded.client.send(method, session=session)
        process = guarded.fixture.process
        assert process is not None
        assert process.returncode is None
        assert await guarded.key("k") is None
        assert (await guarded.fixture.crash_state()).sick == []

    async def test_a_client_that_leaves_leaves_the_others(self, guarded: Stage) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        for _ in range(5):
            async with open_client(endpoint(guarded)) as passing:
                await attach_guest(
                    passing, await find_guest(passing, guarded.url()), guarded.url(), frames=True
                )
            assert await guarded.key("k") is None
        assert (await guarded.seen(since)).guest().values["text"] == "kkkkk"


class TestRaw:
    async def test_shows_no_crossed_reply_either(self, raw: Stage) -> None:
        """No fault: Chromium numbers by connection and session. What a proxy has to keep."""
        await raw.fresh()
        await both_at_once(raw)

    async def test_refuses_foreign_sessions_too(self, raw: Stage) -> None:
        """No fault here either."""
        await raw.fresh()
        found = await refusals(raw)
        assert [what for what, error in found.items() if error is None] == []

    @pytest.mark.parametrize("method", ["Browser.close", "Browser.crash"])
    async def test_a_client_ends_the_persons_app(
        self, runtime: Runtime, display: Display, janitor: Janitor, method: str
    ) -> None:
        async with stage("raw", runtime, display, janitor, window="hidden") as running:
            process = running.fixture.process
            assert process is not None
            with anyio.move_on_after(5):
                await running.client.connection.send(json.dumps({"id": 9999, "method": method}))
            with anyio.fail_after(10):
                await process.wait()
