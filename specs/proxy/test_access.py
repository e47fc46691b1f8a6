"""Who may speak to the guard: the same rules for plain HTTP and before a WebSocket upgrade."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from websockets.exceptions import InvalidStatus

from focusguard.proxy.access import Access, Refusal
from specs.proxy.fake_app import TOKEN, Running, running

PORT = 4567
HOST = ("Host", f"127.0.0.1:{PORT}")


@pytest.fixture
async def guard() -> AsyncIterator[Running]:
    async with running() as started:
        yield started


class TestHost:
    """Exactly one Host, a loopback name with this port: a rebinding name gives itself away here."""

    @pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"])
    def test_right(self, host: str) -> None:
        assert Access(PORT, None).check("/json", [("host", host)]) == "/json"

    @pytest.mark.parametrize(
        "hosts",
        [
            [],
            [""],
            ["127.0.0.1"],
            ["localhost"],
            ["127.0.0.1:4568"],
            ["127.0.0.1:04567"],
            ["127.0.0.1:4567, evil.test"],
            ["127.0.0.1:4567", "127.0.0.1:4567"],
            ["127.0.0.1:4567", "evil.test"],
            ["evil.test:4567"],
            ["127.0.0.1.evil.test:4567"],
            ["localhost.evil.test:4567"],
            ["[::1]:4567"],
            ["0.0.0.0:4567"],
            ["127.1:4567"],
            ["2130706433:4567"],
            ["localhost.:4567"],
            ["user@127.0.0.1:4567"],
        ],
    )
    def test_wrong(self, hosts: list[str]) -> None:
        refusal = Access(PORT, None).check("/json", [("Host", host) for host in hosts])
        assert isinstance(refusal, Refusal)
        assert (refusal.status, refusal.text) == (403, f"Host must be 127.0.0.1:{PORT}")


class TestOrigin:
    """Web pages send one, whatever it says; nobody else does."""

    @pytest.mark.parametrize(
        "origin", ["", "null", f"http://127.0.0.1:{PORT}", "http://evil.test", "file://"]
    )
    def test_any_origin_is_refused(self, origin: str) -> None:
        refusal = Access(PORT, None).check("/json", [HOST, ("oRiGiN", origin)])
        assert isinstance(refusal, Refusal)
        assert refusal.status == 403


class TestToken:
    """In the path, or as a bearer; for everything."""

    def test_in_the_path_it_is_taken_off(self) -> None:
        access = Access(PORT, TOKEN)
        assert access.check(f"/{TOKEN}/json/list?x=1", [HOST]) == "/json/list?x=1"
        assert access.check(f"/{TOKEN}", [HOST]) == "/"
        assert access.check(f"/{TOKEN}/", [HOST]) == "/"

    def test_as_a_bearer_the_path_stays(self) -> None:
        bearer = ("Authorization", f"Bearer {TOKEN}")
        assert Access(PORT, TOKEN).check("/json/list", [HOST, bearer]) == "/json/list"

    @pytest.mark.parametrize(
        ("path", "headers"),
        [
            ("/", []),
            ("/json", []),
            (f"/{TOKEN[:-1]}/json", []),
            (f"/{TOKEN}x/json", []),
            (f"/{TOKEN.upper()}/json", []),
            (f"/x/{TOKEN}/json", []),
            (f"//{TOKEN}/json", []),
            (f"/json?token={TOKEN}", []),
            ("/\udcff\udcfe/json", []),
            ("/json", [("Authorization", TOKEN)]),
            ("/json", [("Authorization", f"bearer {TOKEN}")]),
            ("/json", [("Authorization", f"Basic {TOKEN}")]),
            ("/json", [("Authorization", "Bearer \xff\udcff")]),
            ("/json", [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer x")]),
        ],
    )
    def test_missing_or_wrong(self, path: str, headers: list[tuple[str, str]]) -> None:
        refusal = Access(PORT, TOKEN).check(path, [HOST, *headers])
        assert isinstance(refusal, Refusal)
        assert refusal.status == 403
        assert TOKEN not in refusal.text

    def test_without_a_token_the_other_rules_hold(self) -> None:
        assert Access(PORT, None).check("/json", [HOST]) == "/json"
        assert isinstance(Access(PORT, None).check("/json", [HOST, ("Origin", "null")]), Refusal)

    def test_the_base_of_all_endpoints(self) -> None:
        assert Access(PORT, TOKEN).base == f"127.0.0.1:{PORT}/{TOKEN}"
        assert Access(PORT, None).base == f"127.0.0.1:{PORT}"


UPGRADE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


class TestOnTheWire:
    """Refused before anything else: no upgrade, no word about what is here."""

    @pytest.mark.parametrize("upgrade", [(), UPGRADE], ids=["http", "websocket"])
    @pytest.mark.parametrize(
        ("path", "headers"),
        [
            ("/json/version", ("Host: 127.0.0.1:{port}",)),
            ("/" + TOKEN + "/json/version", ()),
            ("/" + TOKEN + "/json/version", ("Host: evil.test:{port}",)),
            ("/" + TOKEN + "/json/version", ("Host: [::1]:{port}",)),
            ("/" + TOKEN + "/json/version", ("Host: 127.0.0.1:{port}", "Host: 127.0.0.1:{port}")),
            (
                "/" + TOKEN + "/devtools/browser/x",
                ("Host: 127.0.0.1:{port}", "Origin: http://127.0.0.1:{port}"),
            ),
            ("/" + TOKEN + "/devtools/browser/x", ("Host: 127.0.0.1:{port}", "Origin:")),
            ("/" + TOKEN + "/devtools/browser/x", ("Host: 127.0.0.1:{port}", "Origin: null")),
        ],
    )
    async def test_refused(
        self, guard: Running, path: str, headers: tuple[str, ...], upgrade: tuple[str, ...]
    ) -> None:
        lines = tuple(line.format(port=guard.port) for line in headers)
        reply = await guard.get(path, headers=(*lines, *upgrade))
        assert reply.status == 403
        assert TOKEN.encode() not in reply.body
        assert reply.headers["connection"] == "close"
        assert not guard.hub.guard._wire.clients

    @pytest.mark.parametrize("in_path", [True, False])
    async def test_let_in(self, guard: Running, in_path: bool) -> None:
        bearer = (f"Host: 127.0.0.1:{guard.port}", f"Authorization: Bearer {TOKEN}")
        if in_path:
            reply = await guard.get(f"/{TOKEN}/json/version")
        else:
            reply = await guard.get("/json/version", headers=bearer)
        assert reply.status == 200
        url = guard.url if in_path else guard.url.replace(f"/{TOKEN}", "")
        more = {} if in_path else {"additional_headers": {"Authorization": f"Bearer {TOKEN}"}}
        async with guard.client(url, **more) as client:
            assert "result" in await client.ask("Browser.getVersion")

    async def test_a_websocket_client_is_told_why(self, guard: Running) -> None:
        with pytest.raises(InvalidStatus) as caught:
            async with guard.client(guard.url.replace(TOKEN, "wrong")):
                pass
        assert caught.value.response.status_code == 403
        assert b"token is missing or wrong" in caught.value.response.body

    async def test_without_a_token(self) -> None:
        async with running(token=None) as guard:
            assert (await guard.get("/json/version")).status == 200
            assert guard.url == f"ws://127.0.0.1:{guard.port}/devtools/browser/focusguard"
            async with guard.client() as client:
                assert "result" in await client.ask("Browser.getVersion")

    async def test_it_listens_on_loopback_only(self, guard: Running) -> None:
        assert guard.hub.server.access.base.startswith("127.0.0.1:")
        import socket

        with socket.socket(socket.AF_INET6) as other:
            assert other.connect_ex(("::1", guard.port)) != 0
