"""`focusguard watch` without Electron: what it prints, how it ends, and what it says where it cannot watch."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.asyncio.server import ServerConnection, serve

from focusguard.cli import _run
from focusguard.watch.connection import CannotWatchError, GuardGoneError, Watcher, open_connection
from focusguard.watch.state import State
from specs.commands import started
from specs.proxy.fake_app import GUEST, TOKEN, FakeApp, Running, running

Eventually = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def watching(guard: Running, *, history: bool = False) -> AsyncIterator[tuple[Watcher, State]]:
    """A watcher that has looked once."""
    async with open_connection(guard.url) as connection:
        state = State()
        watcher = Watcher(connection, state, history=history)
        await watcher.look(0.0)
        yield watcher, state


class TestLooking:
    async def test_guests_clients_and_what_is_refused(self) -> None:
        async with running() as guard, watching(guard) as (watcher, state), guard.client() as agent:
            await agent.attach()
            assert "error" in await agent.ask("Browser.close")
            news = await watcher.look(1.0)
            assert [report["kind"] for report in news.reports] == ["client.joined", "refusal"]
            assert news.status
            assert state.guests[GUEST].clients == (2,)
            assert state.refusals == {"browser_refused": 1}
            assert (await watcher.look(2.0)).reports == []

    async def test_it_is_at_no_guest(self) -> None:
        async with running() as guard:
            before = list(guard.app.sent)
            async with watching(guard) as (watcher, _):
                await watcher.look(1.0)
            assert guard.app.sent == before

    async def test_nor_is_it_at_the_address_of_one(self, tmp_path: Path, eventually: Eventually) -> None:
        async with running() as guard:
            before = list(guard.app.sent)
            async with started(tmp_path, "watch", "--json", guard.page_url) as watch:
                await eventually(lambda: watch.lines, seconds=20)
                assert watch.objects[0]["status"]["clients"] == [{"client": 1, "guests": [], "watches": True}]
            assert guard.app.sent == before

    @pytest.mark.parametrize("history", [True, False])
    async def test_what_went_on_before(self, history: bool) -> None:
        async with running() as guard:
            async with guard.client() as agent:
                await agent.ask("Browser.close")
            async with watching(guard, history=history) as (_, state):
                assert state.refusals == ({"browser_refused": 1} if history else {})
                assert state.missed == 0

    async def test_a_guest_that_goes_is_known_by_its_address(self) -> None:
        async with running() as guard, watching(guard) as (watcher, state):
            guard.app.event("Target.targetDestroyed", {"targetId": GUEST})
            with anyio.fail_after(5):
                while not state.gone:
                    await watcher.look(1.0)
            assert [(each.url, each.state) for each in state.gone] == [("http://guest.test/", "gone")]
            assert state.guests == {}

    async def test_one_that_stands_still_misses_some_and_says_so(self) -> None:
        async with running() as guard, watching(guard) as (watcher, state):
            for number in range(600):
                guard.hub.guard._wire.report("client.left", client=number)
            news = await watcher.look(1.0)
            assert (len(news.reports), state.missed) == (500, 100)


class TestEnding:
    async def test_the_guard_says_why_it_goes(self) -> None:
        app = FakeApp()
        async with running(app=app) as guard, watching(guard) as (watcher, _):
            app.go()
            with pytest.raises(GuardGoneError, match="the app is gone"), anyio.fail_after(5):
                while True:
                    await watcher.look(1.0)

    async def test_lines_for_scripts(self, tmp_path: Path, eventually: Eventually) -> None:
        app = FakeApp()
        async with running(app=app) as guard:
            endpoint = f"http://{guard.hub.server.access.base}"
            async with started(tmp_path, "watch", "--json", endpoint) as watch:
                await eventually(lambda: len(watch.lines) >= 2, seconds=20)
                async with guard.client() as agent:
                    await agent.ask("Browser.close")
                await eventually(lambda: watch.events("client.left"))
                app.go()
                assert await watch.ends() == 0
                printed = watch.objects
                assert printed[0]["status"]["guests"][0]["targetId"] == GUEST
                assert printed[1]["metrics"]["borrows"] == 0
                refusal = {"client": 2, "method": "Browser.close", "code": "browser_refused"}
                assert watch.events("refusal") == [{"event": "refusal", **refusal}]
                assert printed[-1] == {"stopped": "the app is gone"}
                assert watch.complaints == ""
                assert TOKEN not in "".join(watch.lines)

    async def test_lines_for_people_where_there_is_no_terminal(
        self, tmp_path: Path, eventually: Eventually
    ) -> None:
        app = FakeApp()
        async with running(app=app) as guard, started(tmp_path, "watch", guard.url) as watch:
            await eventually(lambda: guard.hub.guard.domain._watching, seconds=20)
            async with guard.client():
                pass
            await eventually(lambda: len(watch.lines) >= 2)
            app.go()
            assert await watch.ends() == 0
            said = [line.split() for line in watch.lines]
            assert said[:2] == [["client.joined", "client=2"], ["client.left", "client=2"]]
            assert watch.lines[-1] == "the guard is gone: the app is gone"
            assert "\x1b" not in "".join(watch.lines)

    async def test_sigterm(self, tmp_path: Path, eventually: Eventually) -> None:
        async with running() as guard, started(tmp_path, "watch", "--json", guard.url) as watch:
            await eventually(lambda: watch.lines, seconds=20)
            watch.process.terminate()
            assert await watch.ends() == 143
            assert watch.objects[-1] == {"stopped": "terminated"}


class TestCannotWatch:
    async def test_nobody_there(self, unused: int, tmp_path: Path) -> None:
        async with started(tmp_path, "watch", "--json", f"http://127.0.0.1:{unused}/{TOKEN}") as watch:
            assert await watch.ends() == 1
            said = f"no guard to watch at http://127.0.0.1:{unused} ("
            assert watch.complaints.startswith(f"Error: {said}")
            assert watch.objects[-1]["stopped"].startswith(said)
            assert TOKEN not in watch.complaints + "".join(watch.lines)

    @pytest.mark.parametrize("scheme", ["http", "ws"])
    async def test_a_wrong_token(self, scheme: str, tmp_path: Path) -> None:
        async with (
            running() as guard,
            started(
                tmp_path, "watch", f"{scheme}://127.0.0.1:{guard.port}/wrong/devtools/browser/x"
            ) as watch,
        ):
            assert await watch.ends() == 1
            assert "token is missing or wrong" in watch.complaints

    async def test_what_is_no_guard(self) -> None:
        async def other(connection: ServerConnection) -> None:
            async for message in connection:
                error = {"code": -32601, "message": "'FocusGuard.getStatus' wasn't found"}
                await connection.send(json.dumps({"id": json.loads(message)["id"], "error": error}))

        async with serve(other, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            async with open_connection(f"ws://127.0.0.1:{port}/") as connection:
                with pytest.raises(CannotWatchError, match="it is no guard, or an older one"):
                    await Watcher(connection, State(), history=True).look(0.0)

    @pytest.mark.parametrize("endpoint", ["nonsense", "ftp://127.0.0.1/"])
    def test_what_is_no_endpoint(self, endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert _run(["watch", endpoint]) == 2
        assert "neither a port, nor" in capsys.readouterr().err

    def test_no_endpoint_and_no_service(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        monkeypatch.delenv("FOCUSGUARD_ENDPOINT", raising=False)
        assert _run(["watch"]) == 2
        assert "give the endpoint that `focusguard run` prints" in capsys.readouterr().err

    @pytest.fixture
    def unused(self) -> int:
        """A port of loopback on which nobody listens."""
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            port: int = bound.getsockname()[1]
        return port
