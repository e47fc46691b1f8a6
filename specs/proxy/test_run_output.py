"""What `focusguard run` prints: its last line, and pages that change all the time. No Electron."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import click
import pytest
from anyio.abc import TaskGroup

from focusguard import cli
from focusguard.cli import run as command
from focusguard.cli.log import Log
from focusguard.electron.errors import LaunchFailed, UpstreamFailed
from focusguard.guard import RunningGuard
from focusguard.policy.effects import Report
from specs.proxy.fake_app import FakeApp, running


class Watched(RunningGuard):
    """A guard that tells when it is watched: what `run` prints first, it prints in the same breath."""

    watched: anyio.Event

    def watch(self, watcher: Callable[[Report], None]) -> None:
        super().watch(watcher)
        self.watched.set()


@asynccontextmanager
async def guarding(app: FakeApp, watched: anyio.Event) -> AsyncIterator[RunningGuard]:
    async with running(app=app) as started:
        guard = Watched(started.hub)
        guard.watched = watched
        yield guard


@asynccontextmanager
async def showing(app: FakeApp, as_json: bool) -> AsyncIterator[TaskGroup]:
    """`run` has printed its first line; what is left to print is there when the block has ended."""
    watched = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(command._show, guarding(app, watched), as_json)
        with anyio.fail_after(5):
            await watched.wait()
        yield tasks


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


class TestLastLine:
    async def test_after_the_app_has_ended(self, capsys: pytest.CaptureFixture[str]) -> None:
        app = FakeApp()
        async with showing(app, True):
            app.go()
        printed = lines(capsys)
        assert set(printed[0]) == {"endpoint", "wsEndpoint", "bridge"}
        assert printed[-2:] == [{"ended": app.reason}, {"stopped": app.reason}]

    async def test_after_an_interruption(self, capsys: pytest.CaptureFixture[str]) -> None:
        async with showing(FakeApp(), True) as tasks:
            tasks.cancel_scope.cancel()
        printed = lines(capsys)
        assert printed[-1] == {"stopped": "interrupted"}
        assert [line for line in printed if "ended" in line] == []

    async def test_after_a_start_that_failed(self, capsys: pytest.CaptureFixture[str]) -> None:
        @asynccontextmanager
        async def failing() -> AsyncIterator[RunningGuard]:
            raise LaunchFailed("the app ended before it was guarded")
            yield

        with pytest.raises(LaunchFailed):
            await command._show(failing(), True)
        assert lines(capsys) == [{"stopped": "the app ended before it was guarded"}]

    async def test_for_people_there_is_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        app = FakeApp()
        async with showing(app, False):
            app.go()
        assert capsys.readouterr().out.endswith(f"\nended: {app.reason}\n")

    async def test_where_nobody_reads_any_more_it_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        printed: list[Any] = []

        def broken(text: str) -> None:
            printed.append(text)
            if len(printed) > 1:
                raise BrokenPipeError

        monkeypatch.setattr(click, "echo", broken)
        ended = anyio.Event()

        async def show(guard: RunningGuard) -> None:
            @asynccontextmanager
            async def given() -> AsyncIterator[RunningGuard]:
                yield guard

            with pytest.raises(BrokenPipeError):
                await command._show(given(), True)
            ended.set()

        async with running() as started, anyio.create_task_group() as tasks:
            tasks.start_soon(show, RunningGuard(started.hub))
            await anyio.sleep(0.1)
            assert not ended.is_set()
            async with started.client():
                with anyio.fail_after(5):
                    await ended.wait()


class TestRepeats:
    @pytest.fixture
    def now(self) -> list[float]:
        return [100.0]

    @pytest.fixture
    def log(self, now: list[float]) -> Log:
        return Log(True, clock=lambda: now[0])

    @staticmethod
    def changed(page: int) -> Report:
        return Report("bridge.target.changed", {"webContentsId": page})

    def test_a_page_that_changes_is_told_of_once_a_second(
        self, log: Log, now: list[float], capsys: pytest.CaptureFixture[str]
    ) -> None:
        for step in (0, 0.3, 0.5, 0.3, 0.7):  # 100.0 100.3 100.8 101.1 101.8
            now[0] += step
            log(self.changed(3))
        assert len(lines(capsys)) == 2

    def test_other_pages_and_other_reports_are_told_of(
        self, log: Log, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for _ in range(2):
            log(self.changed(3))
            log(self.changed(4))
            log(Report("bridge.composition", {"webContentsId": 3}))
        told = [(line["event"], line["webContentsId"]) for line in lines(capsys)]
        assert told.count(("bridge.target.changed", 3)) == 1
        assert told.count(("bridge.target.changed", 4)) == 1
        assert told.count(("bridge.composition", 3)) == 2

    def test_a_page_that_is_gone_is_forgotten(self, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
        log(self.changed(3))
        log(Report("bridge.target.gone", {"webContentsId": 3}))
        log(self.changed(3))
        assert [line["event"].rpartition(".")[2] for line in lines(capsys)] == ["changed", "gone", "changed"]


class TestErrors:
    def test_an_app_that_does_not_answer_is_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        @click.command()
        def failing() -> None:
            raise UpstreamFailed("the app's bridge did not answer within 30 s")

        monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: failing)
        assert cli._run(["anything"]) == 1
        assert capsys.readouterr().err == "focusguard: the app's bridge did not answer within 30 s\n"
