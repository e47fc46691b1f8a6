"""Runs a plan: lanes side by side, controls first in each, one app per lane as long as it lives."""

from __future__ import annotations

import hashlib
import platform
import random
import signal
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
from pydantic import BaseModel

from focusguard.cli import version
from focusguard.electron.display import Display, isolated_display
from focusguard.electron.errors import RigError
from focusguard.electron.janitor import Janitor, open_janitor
from focusguard.electron.runtimes import REPOSITORY, Runtime
from focusguard.errors import GuardError
from focusguard.groups import single_error
from probes.fixture import FixtureError
from probes.landing.cases import Case, exists_in
from probes.landing.controls import Break, run_controls
from probes.landing.schema import (
    Control,
    Embedding,
    LandingResult,
    Plan,
    Route,
    Row,
    RuntimeInfo,
    Subject,
    Window,
)
from probes.landing.stage import Lane, UnsupportedEmbeddingError, open_stage
from probes.landing.trial import NeedsFreshAppError, empty_row, run_trial

#: Folders whose files decide what a run shows.
SOURCES = ("focusguard", "probes", "electron_fixture")
#: Starts of one lane that may fail before the lane is given up.
START_ATTEMPTS = 2
#: Trials in a row whose preparation may fail, each in a new app, before the lane is given up.
PREPARATION_ATTEMPTS = 3


@dataclass(frozen=True)
class Ground:
    """A running app that trials run on.

    Attributes:
        electron, chromium: Versions, as the app says; empty where it does not.
        controls: Shows that its observers see; once, before the first trial.
        trial: Runs one case.
    """

    electron: str
    chromium: str
    controls: Callable[[], Awaitable[list[Control]]]
    trial: Callable[[Case], Awaitable[Row]]


@asynccontextmanager
async def fixture_ground(
    request: Request, lane: Lane, display: Display, janitor: Janitor
) -> AsyncIterator[Ground]:
    """The fixture app.

    Raises:
        UnsupportedEmbeddingError: If this version lacks the embedding.
    """
    async with open_stage(request.runtime, lane, display, janitor) as stage:
        hello = stage.fixture.hello
        yield Ground(
            hello.electron,
            hello.chromium,
            partial(run_controls, stage, request.broken),
            partial(run_trial, stage),
        )


@dataclass(frozen=True)
class Request:
    """What a run is asked for, on one runtime.

    Attributes:
        open_ground: Starts what is measured, for a column.
        subject: What that is; None for the fixture.
    """

    runtime: Runtime
    embeddings: tuple[Embedding, ...]
    windows: tuple[Window, ...]
    routes: tuple[Route, ...]
    cases: tuple[Case, ...]
    quick: bool = False
    seed: int = 0
    jobs: int = 4
    broken: Break | None = None
    open_ground: Callable[[Request, Lane, Display, Janitor], AbstractAsyncContextManager[Ground]] = (
        fixture_ground
    )
    subject: Subject | None = None

    @property
    def lanes(self) -> list[Lane]:
        """The columns, in the order of the matrix."""
        return [
            Lane(embedding, window, route)
            for embedding in self.embeddings
            for window in self.windows
            for route in self.routes
        ]

    def cases_of(self, lane: Lane) -> list[Case]:
        """The cases that exist in a lane, those that may break the app last."""
        here = [case for case in self.cases if exists_in(case, lane.embedding, lane.window, lane.route)]
        if self.seed:
            random.Random(f"{self.seed} {lane}").shuffle(here)
        return sorted(here, key=lambda case: case.destructive)

    @property
    def cells(self) -> int:
        """How many rows make the run complete."""
        return sum(len(self.cases_of(lane)) for lane in self.lanes)


class Event(BaseModel):
    """Progress: a lane's new state in words, or a row."""

    lane: str
    text: str
    row: Row | None = None


@dataclass
class Run:
    """What a run has found so far; kept here so that an interrupted run has it too."""

    request: Request
    report: Callable[[Event], None]
    rows: list[Row] = field(default_factory=list)
    controls: list[Control] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    screenshots: dict[str, bytes] = field(default_factory=dict)
    chromium: str = ""
    electron: str = ""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    _begin: float = field(default_factory=time.monotonic)

    async def perform(self) -> None:
        """Runs all lanes, a few at a time."""
        lanes = self.request.lanes
        if self.request.seed:
            random.Random(self.request.seed).shuffle(lanes)
        limit = anyio.CapacityLimiter(max(1, self.request.jobs))
        async with anyio.create_task_group() as watch:
            watch.start_soon(_end_on_termination)
            async with open_janitor() as janitor, anyio.create_task_group() as tasks:
                for lane in lanes:
                    tasks.start_soon(self._lane, lane, janitor, limit)
            watch.cancel_scope.cancel()

    async def _lane(self, lane: Lane, janitor: Janitor, limit: anyio.CapacityLimiter) -> None:
        async with limit:
            try:
                with single_error():
                    async with isolated_display(janitor=janitor) as display:
                        await _LaneRun(self, lane, display, janitor).perform()
            except Exception as error:  # whatever breaks in what is measured: the other lanes go on
                self.faults.append(f"{lane}: {describe_error(error)}")
            self.report(Event(lane=str(lane), text="done"))

    def result(self) -> LandingResult:
        """The document, complete or not."""
        request = self.request
        order = {case.name: index for index, case in enumerate(request.cases)}
        lanes = {(lane.embedding, lane.window, lane.route): index for index, lane in enumerate(request.lanes)}
        rows = sorted(
            self.rows, key=lambda row: (order[row.case], lanes[(row.embedding, row.window, row.route)])
        )
        mark_twins(rows)
        faults = [*self.faults, *_faults_of(rows, self.controls, request)]
        return LandingResult(
            tool=f"focusguard {version()}",
            started=self.started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            seconds=round(time.monotonic() - self._begin, 1),
            system=f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            runtime=RuntimeInfo(
                electron=self.electron or request.runtime.version,
                chromium=self.chromium or request.runtime.chromium,
                sha256=request.runtime.sha256,
            ),
            sources=hash_sources(REPOSITORY),
            plan=Plan(
                embeddings=list(request.embeddings),
                windows=list(request.windows),
                routes=list(request.routes),
                cases=[case.name for case in request.cases],
                quick=request.quick,
                seed=request.seed,
                cells=request.cells,
            ),
            controls=self.controls,
            complete=not faults,
            incomplete_because=faults,
            rows=rows,
            subject=request.subject,
        )


@dataclass
class _LaneRun:
    """One lane: its cases, and the app that they run on."""

    run: Run
    lane: Lane
    display: Display
    janitor: Janitor
    controlled: bool = False
    retried: set[str] = field(default_factory=set)
    unprepared: int = 0

    async def perform(self) -> None:
        pending = self.run.request.cases_of(self.lane)
        failures = 0
        while pending:
            if self.unprepared >= PREPARATION_ATTEMPTS:
                self.run.faults.append(
                    f"{self.lane}: given up after {self.unprepared} failed preparations in a row"
                )
                return
            self._tell("starting")
            before = len(pending)
            try:
                with single_error():
                    async with self.run.request.open_ground(
                        self.run.request, self.lane, self.display, self.janitor
                    ) as ground:
                        self.run.electron = ground.electron
                        self.run.chromium = ground.chromium
                        if not await self._controls(ground):
                            return
                        await self._trials(ground, pending)
            except UnsupportedEmbeddingError as error:
                for case in pending:
                    self._add(empty_row(self.lane, case, "unsupported", str(error)))
                return
            except Exception as error:
                if len(pending) == before:
                    failures += 1
                if failures >= START_ATTEMPTS:
                    raise
                self._tell(f"starting again: {describe_error(error)}")

    async def _controls(self, ground: Ground) -> bool:
        if not self.controlled:
            self._tell("controls")
            controls = await ground.controls()
            self.run.controls += controls
            self.controlled = all(control.passed for control in controls)
        return self.controlled

    async def _trials(self, ground: Ground, pending: list[Case]) -> None:
        """Works off the list until it is empty or the app is not fit for more."""
        while pending:
            case = pending[0]
            self._tell(case.name)
            try:
                row = await ground.trial(case)
            except NeedsFreshAppError as error:
                pending.pop(0)
                self._add(empty_row(self.lane, case, "invalid", f"the app did not answer any more: {error}"))
                return
            unprepared = row.status == "invalid" and not row.evidence.commands
            if unprepared and case.name not in self.retried:
                # Nothing was done yet, so that a new app may be tried.
                self.retried.add(case.name)
                return
            self.unprepared = self.unprepared + 1 if unprepared else 0
            pending.pop(0)
            if self.lane.window == "headful" and row.status == "observed":
                await self._screenshot(row)
            self._add(row)
            if case.destructive or leaves_traces(row):
                return

    async def _screenshot(self, row: Row) -> None:
        async with anyio.TemporaryDirectory(prefix="focusguard-landing-") as folder:
            data = (await self.display.screenshot(Path(folder) / "screen.png")).read_bytes()
        name = hashlib.sha256(data).hexdigest()[:16]
        self.run.screenshots[name] = data
        row.evidence.screenshot = name

    def _add(self, row: Row) -> None:
        self.run.rows.append(row)
        self.run.report(Event(lane=str(self.lane), text=row.case, row=row))

    def _tell(self, text: str) -> None:
        self.run.report(Event(lane=str(self.lane), text=text))


async def _end_on_termination() -> None:
    """SIGTERM ends a run the way Ctrl-C does: everything that it started goes, what it saw is written."""
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            raise KeyboardInterrupt


def leaves_traces(row: Row) -> bool:
    """Whether a reset cannot be trusted after this trial, so that the next one gets a new app."""
    if row.status == "invalid" or row.evidence.gone or row.evidence.host_reloaded:
        return True
    seen = {sighting.type for sighting in row.evidence.sightings}
    if "dragstart" in seen and "dragend" not in seen:
        return True  # the page is still in a drag and takes no other input
    # Input without a reply may still arrive.
    return row.reply.startswith("timeout") and any(
        command.method.startswith("Input.") for command in row.evidence.commands
    )


def describe_error(error: BaseException) -> str:
    """One line: our own errors speak for themselves, others need their type and place."""
    if isinstance(error, (RigError, GuardError, FixtureError)):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def mark_twins(rows: Iterable[Row]) -> None:
    """Writes into each guarded row whether the same cell without the guard showed a fault."""
    known = {row.key: row for row in rows}
    for row in known.values():
        if row.route != "guarded":
            continue
        twin = known.get((row.case, row.embedding, row.window, "raw"))
        if twin is None or twin.status != "observed":
            row.evidence.twin = "absent"
        else:
            row.evidence.twin = "fault" if shows_fault(twin) else "no-fault"


def shows_fault(raw: Row) -> bool:
    """Whether a raw row shows something that a guard has to put right, misdirected input included."""
    return raw.faulty or raw.landing == ["nowhere"]


def hash_sources(root: Path, folders: Sequence[str] = SOURCES) -> dict[str, str]:
    """One sha256 per folder, over the names and contents of its source files."""
    result = {}
    for folder in folders:
        total = hashlib.sha256()
        files = sorted(
            path
            for path in (root / folder).rglob("*")
            if path.suffix in (".py", ".cjs", ".js", ".html", ".css", ".json")
            and "node_modules" not in path.parts
        )
        for path in files:
            total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
        result[folder] = total.hexdigest()
    return result


def _faults_of(rows: Sequence[Row], controls: Sequence[Control], request: Request) -> list[str]:
    faults = [
        f"control {item.name} failed on {item.embedding} {item.window} {item.route}: {item.seen}"
        for item in controls
        if not item.passed
    ]
    faults += [
        f"{row.case} on {row.embedding} {row.window} {row.route} is invalid: {row.evidence.reason}"
        for row in rows
        if row.status == "invalid"
    ]
    if len(rows) < request.cells:
        faults.append(f"{request.cells - len(rows)} of {request.cells} planned cells are missing")
    return faults
