"""An app of somebody's own as what a run of the landing probe measures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.landing.cases import Case
from probes.landing.runner import Ground, Request
from probes.landing.schema import Control, Route, Subject
from probes.landing.stage import Lane
from probes.own_app.controls import run_own_controls
from probes.own_app.finding import App, Found
from probes.own_app.observers import FIELD
from probes.own_app.stage import OwnStage, open_own_stage
from probes.own_app.trial import run_own_trial


@dataclass
class OwnGround:
    """Starts the app for one column after the other.

    Attributes:
        label: What the person's field has turned out to be; each start of the app begins with it.
    """

    app: App
    found: Found
    label: str = FIELD

    @asynccontextmanager
    async def open(
        self, request: Request, lane: Lane, display: Display, janitor: Janitor
    ) -> AsyncIterator[Ground]:
        """Starts it."""
        async with open_own_stage(self.app, self.found, request.runtime, lane, display, janitor) as stage:
            stage.observers.label = self.label
            yield Ground(
                *await stage.observers.versions(),
                partial(self._controls, stage),
                partial(run_own_trial, stage),
            )

    async def _controls(self, stage: OwnStage) -> list[Control]:
        controls = await run_own_controls(stage)
        self.label = stage.observers.label
        return controls


def request_for(
    app: App,
    found: Found,
    runtime: Runtime,
    *,
    routes: tuple[Route, ...],
    cases: tuple[Case, ...],
    quick: bool = False,
    seed: int = 0,
) -> Request:
    """A run on the app, one column at a time: two of it could be in each other's way."""
    return Request(
        runtime=runtime,
        embeddings=(found.embedding,),
        windows=("headful",),
        routes=routes,
        cases=cases,
        quick=quick,
        seed=seed,
        jobs=1,
        open_ground=OwnGround(app, found).open,
        subject=Subject(
            app=str(app.path or runtime.executable),
            args=list(app.args),
            host=found.host.url,
            host_field=found.host_field,
            guest=found.guest.url,
            guest_field=found.guest_field,
        ),
    )
