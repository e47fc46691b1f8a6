"""What a Python program has of a guard: ways in, callbacks for guests, and names of errors. No Electron."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio.to_thread
import pytest

import focusguard
from focusguard.guard import GuestInfo, RunningGuard
from focusguard.policy.effects import Report
from specs.proxy.fake_app import GUEST, TOKEN, FakeApp, Running, running

Eventually = Callable[..., Awaitable[Any]]
OTHER = "GUEST0000000000000000000000000002"


@pytest.fixture
async def behind() -> AsyncIterator[Running]:
    async with running() as started:
        yield started


@pytest.fixture
def guard(behind: Running) -> RunningGuard:
    return RunningGuard(behind.hub)


def get(url: str, headers: dict[str, str]) -> Any:
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5) as answer:
        return json.load(answer)


class TestWaysIn:
    async def test_an_ordinary_url_and_headers(self, behind: Running, guard: RunningGuard) -> None:
        assert guard.address == f"http://127.0.0.1:{behind.port}"
        assert guard.headers == {"Authorization": f"Bearer {TOKEN}"}
        listed = await anyio.to_thread.run_sync(get, f"{guard.address}/json/list", guard.headers)
        assert [page["id"] for page in listed] == [GUEST]
        url = guard.address.replace("http:", "ws:") + "/devtools/browser/focusguard"
        async with behind.client(url, additional_headers=guard.headers) as client:
            assert "result" in await client.ask("Browser.getVersion")

    async def test_a_control_without_them_nobody_comes_in(self, guard: RunningGuard) -> None:
        for headers in ({}, {"Authorization": f"Bearer {TOKEN}x"}):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                await anyio.to_thread.run_sync(get, f"{guard.address}/json/list", headers)

    async def test_without_a_token_there_are_none(self) -> None:
        async with running(token=None) as started:
            guard = RunningGuard(started.hub)
            assert guard.headers == {}
            assert guard.endpoint == guard.address


class TestOnGuest:
    async def test_it_tells_of_those_that_are_there_come_and_go(
        self, behind: Running, guard: RunningGuard, eventually: Eventually
    ) -> None:
        told: list[tuple[str, str, str]] = []
        guard.on_guest(
            opened=lambda info: told.append(("opened", info["targetId"], info["url"])),
            closed=lambda info: told.append(("closed", info["targetId"], info["url"])),
        )
        assert told == [("opened", GUEST, "http://guest.test/")]
        behind.app.event("Target.targetCreated", {"targetInfo": FakeApp.info(OTHER)})
        await eventually(lambda: len(guard.guests()) == 2)
        moved = {**FakeApp.info(OTHER), "url": "http://guest.test/later"}
        behind.app.event("Target.targetInfoChanged", {"targetInfo": moved})
        behind.app.event("Target.targetDestroyed", {"targetId": OTHER})
        await eventually(lambda: len(told) == 3)
        assert told[1:] == [
            ("opened", OTHER, "http://guest.test/"),
            ("closed", OTHER, "http://guest.test/later"),
        ]

    async def test_what_it_hands_over_is_what_clients_see(self, guard: RunningGuard) -> None:
        infos: list[GuestInfo] = []
        guard.on_guest(opened=infos.append)
        assert infos == guard.guests()
        assert infos[0]["type"] == "page"
        assert set(infos[0]) >= GuestInfo.__required_keys__

    async def test_one_of_the_two_is_enough(
        self, behind: Running, guard: RunningGuard, eventually: Eventually
    ) -> None:
        closed: list[GuestInfo] = []
        guard.on_guest(closed=closed.append)
        behind.app.event("Target.targetDestroyed", {"targetId": GUEST})
        await eventually(lambda: closed)
        assert [info["targetId"] for info in closed] == [GUEST]


class TestWatch:
    async def test_a_watcher_that_fails_disturbs_nobody(
        self, behind: Running, guard: RunningGuard, caplog: pytest.LogCaptureFixture
    ) -> None:
        kinds: list[str] = []

        def failing(report: Report) -> None:
            raise ZeroDivisionError(report.kind)

        guard.watch(failing)
        guard.watch(lambda report: kinds.append(report.kind))
        async with behind.client() as client:
            assert "result" in await client.ask("Browser.getVersion")
            assert "result" in await client.ask("Target.getTargets")
        assert guard.lost is None
        assert "client.joined" in kinds
        assert "a watcher failed on client.joined" in caplog.text


class TestNames:
    def test_all_that_is_promised_is_there(self) -> None:
        for name in focusguard.__all__:
            assert getattr(focusguard, name) is not None
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            _ = focusguard.nothing

    def test_errors_of_the_start_have_one_base(self) -> None:
        for name in ("LaunchFailed", "UpstreamFailed", "RuntimeMissing", "DisplayFailed", "ForeignDisplay"):
            assert issubclass(getattr(focusguard, name), focusguard.RigError)

    def test_importing_the_package_waits_for_nothing(self) -> None:
        program = (
            "import sys, focusguard; print(sorted(n for n in sys.modules if n.startswith('focusguard')))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout.strip() == "['focusguard', 'focusguard.errors']"
