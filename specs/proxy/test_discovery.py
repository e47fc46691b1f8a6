"""HTTP discovery: what Chromium's own endpoints give, of guests only."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from specs.proxy.fake_app import GUEST, TOKEN, FakeApp, Running, running


@pytest.fixture
async def guard() -> AsyncIterator[Running]:
    async with running() as started:
        yield started


async def get(guard: Running, path: str, method: str = "GET") -> object:
    """A document."""
    reply = await guard.get(f"/{TOKEN}{path}", method=method)
    assert reply.status == 200, reply
    assert reply.headers["content-type"] == "application/json; charset=UTF-8"
    assert reply.headers["cache-control"] == "no-store"
    return reply.json()


class TestVersion:
    async def test_it_names_the_app_and_the_guard(self, guard: Running) -> None:
        version = await get(guard, "/json/version")
        assert isinstance(version, dict)
        mine = version.pop("FocusGuard")
        assert version == {
            "Browser": "Chrome/130.0.0.0",
            "Protocol-Version": "1.3",
            "User-Agent": "Mozilla/5.0 Electron/33",
            "V8-Version": "13.0",
            "WebKit-Version": "537.36 (@abc)",
            "webSocketDebuggerUrl": f"ws://127.0.0.1:{guard.port}/{TOKEN}/devtools/browser/focusguard",
        }
        assert (mine["mode"], len(mine["limits"])) == ("no-bridge", 1)


class TestList:
    @pytest.mark.parametrize("path", ["/json", "/json/", "/json/list", "/json/list?t=1"])
    async def test_guests_only(self, guard: Running, path: str) -> None:
        hidden = {**FakeApp.info("HOST"), "type": "page"}
        guard.app.event("Target.targetCreated", {"targetInfo": hidden})
        assert await get(guard, path) == [
            {
                "id": GUEST,
                "type": "page",
                "title": "a guest",
                "url": "http://guest.test/",
                "description": "",
                "webSocketDebuggerUrl": f"ws://127.0.0.1:{guard.port}/{TOKEN}/devtools/page/{GUEST}",
            }
        ]

    async def test_half_a_surrogate_pair_in_a_title(self, guard: Running) -> None:
        info = {**FakeApp.info(GUEST), "title": "a \ud83d"}
        guard.app.event("Target.targetInfoChanged", {"targetInfo": info})
        await anyio.sleep(0.05)
        (listed,) = await get(guard, "/json/list")
        assert listed["title"] == "a \ufffd"

    async def test_its_websocket_is_one(self, guard: Running) -> None:
        async with guard.client(guard.page_url) as client:
            answer = await client.ask("Runtime.evaluate", {"expression": "1+1"})
            assert answer == {"id": 1, "result": {"result": {"value": "1+1"}}}


class TestActions:
    """The same rules as for a client's command, and nothing is left of the one that asked."""

    @pytest.mark.parametrize(
        ("method", "path", "status", "says"),
        [
            ("GET", f"/json/activate/{GUEST}", 200, "Target activated"),
            ("GET", "/json/activate/HOST", 404, "No target with given id found"),
            ("GET", "/json/close/HOST", 404, "No target with given id found"),
            ("GET", f"/json/close/{GUEST}", 403, "browser_refused: without a bridge"),
            ("PUT", "/json/new?http%3A%2F%2Fguest.test%2F", 403, "browser_refused: without a bridge"),
            ("PUT", "/json/new", 403, "browser_refused: without a bridge"),
            ("GET", "/json/new?about:blank", 405, "use PUT"),
            ("POST", "/json/new?about:blank", 405, "use PUT"),
            ("GET", "/json/protocol", 501, "the app's protocol cannot be described: there is no bridge"),
            ("GET", "/", 404, "unknown path"),
            ("GET", "/json/version/x", 404, "unknown path"),
            ("GET", "/devtools/browser/focusguard", 404, "unknown path"),
        ],
    )
    async def test_answers(self, guard: Running, method: str, path: str, status: int, says: str) -> None:
        reply = await guard.get(f"/{TOKEN}{path}", method=method)
        assert (reply.status, reply.body.decode()[: len(says)]) == (status, says)
        assert reply.headers["content-type"].startswith("text/plain")
        assert not guard.hub.guard._wire.clients
        assert guard.hub.guard.idle

    async def test_nothing_is_raised_or_focused(self, guard: Running) -> None:
        before = len(guard.app.sent)
        await guard.get(f"/{TOKEN}/json/activate/{GUEST}")
        assert guard.app.sent[before:] == []

    async def test_after_the_app_is_gone(self, guard: Running) -> None:
        guard.app.go()
        reply = await guard.get(f"/{TOKEN}/json/list")
        assert reply.status == 200
