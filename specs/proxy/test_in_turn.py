"""One app after the other: what is told, when it is tried again, and when it is not. No Electron."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest

from focusguard.cli.in_turn import LONGEST_PAUSE, Pauses, guard_in_turn
from focusguard.cli.log import Log
from focusguard.electron.errors import LaunchFailed
from focusguard.guard import RunningGuard
from specs.proxy.fake_app import FakeApp, running


class Apps:
    """Apps that are started one after the other: each ends as the list says, by itself or by not starting."""

    def __init__(self, *fates: str) -> None:
        self.fates = list(fates)
        self.staying = anyio.Event()

    def start(self) -> AbstractAsyncContextManager[RunningGuard]:
        return self._start(self.fates.pop(0))

    @asynccontextmanager
    async def _start(self, fate: str) -> AsyncIterator[RunningGuard]:
        if fate == "fails":
            raise LaunchFailed("it does not start")
        app = FakeApp()
        async with running(app=app) as started:
            if fate == "ends":
                app.go()
            else:
                self.staying.set()
            yield RunningGuard(started.hub)


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [
        line
        for line in map(json.loads, capsys.readouterr().out.splitlines())
        if line["event"].startswith("app.")
    ]


async def until(
    capsys: pytest.CaptureFixture[str], apps: Apps, pauses: Pauses | None, **how: Any
) -> list[Any]:
    """Goes on until an app stays; gives what was told."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(guard_in_turn, apps.start, Log(True), pauses, **how))
        with anyio.fail_after(10):
            await apps.staying.wait()
        tasks.cancel_scope.cancel()
    return events(capsys)


class TestOnlyOne:
    async def test_its_end_is_the_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert await guard_in_turn(Apps("ends").start, Log(True), None) == FakeApp().reason
        assert [line["event"] for line in events(capsys)] == ["app.guarded"]

    async def test_one_that_does_not_start(self) -> None:
        with pytest.raises(LaunchFailed):
            await guard_in_turn(Apps("fails").start, Log(True), None)


class TestAgain:
    async def test_after_one_has_ended_comes_the_next(self, capsys: pytest.CaptureFixture[str]) -> None:
        told = await until(capsys, Apps("ends", "fails", "stays"), Pauses(steady=60, first=0.01))
        assert [line["event"] for line in told] == ["app.guarded", "app.ended", "app.failed", "app.guarded"]
        assert told[1] == {"event": "app.ended", "reason": FakeApp().reason, "againIn": 0.01}
        assert told[2] == {"event": "app.failed", "reason": "it does not start", "againIn": 0.02}

    async def test_where_the_first_one_does_not_start_it_is_wrong_altogether(self) -> None:
        with pytest.raises(LaunchFailed):
            await guard_in_turn(Apps("fails", "stays").start, Log(True), Pauses(steady=60))

    async def test_the_patient_wait_for_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        told = await until(capsys, Apps("fails", "stays"), Pauses(steady=60, first=0.01), patient=True)
        assert [line["event"] for line in told] == ["app.failed", "app.guarded"]


class TestPauses:
    def test_they_grow_and_stay_bounded(self) -> None:
        pauses = Pauses(steady=10)
        assert [pauses.after(ran) for ran in (1, None, 2, 3, 9.9, None, 1)] == [1, 2, 4, 8, 16, 30, 30]
        assert LONGEST_PAUSE == 30

    def test_an_app_that_lasted_is_started_at_once(self) -> None:
        pauses = Pauses(steady=10)
        for ran in (1, 1, 1):
            pauses.after(ran)
        assert [pauses.after(ran) for ran in (10, 1)] == [1, 2]
