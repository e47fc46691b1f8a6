"""The measured app, started for one column: with the guard or without, its observers beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import focusguard
from focusguard.electron.display import Display, isolated_display
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import ElectronProcess, launch_electron
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime
from focusguard.groups import single_error
from probes.landing.schema import Route
from probes.landing.stage import Lane
from probes.landing.watch import FrontWatch, watch_front
from probes.own_app.finding import App, Found, find, find_again
from probes.own_app.observers import Observers, open_observers


@dataclass
class OwnStage:
    """A running app, and the ways to reach it.

    Attributes:
        endpoint: The browser's WebSocket for the agent, of the app itself or of the guard.
    """

    lane: Lane
    app: App
    process: ElectronProcess
    endpoint: str
    observers: Observers
    display: Display
    front: FrontWatch
    person: Person


async def survey(app: App, runtime: Runtime) -> Found:
    """Starts the app behind the guard and finds what is measured in it.

    Raises:
        NothingToMeasure: Something is not there, or not only once.
    """
    with single_error():
        async with (
            isolated_display() as display,
            _started(app, runtime, "guarded", display) as (process, endpoint),
            open_observers(_port_of(process)) as observers,
        ):
            return await find(app, observers, endpoint)


@asynccontextmanager
async def open_own_stage(
    app: App, found: Found, runtime: Runtime, lane: Lane, display: Display, janitor: Janitor
) -> AsyncIterator[OwnStage]:
    """Starts the app for a column.

    Raises:
        NothingToMeasure: What was found on the first look does not come.
    """
    async with (
        _started(app, runtime, lane.route, display, janitor) as (process, endpoint),
        open_observers(_port_of(process)) as observers,
        watch_front(display) as front,
    ):
        await find_again(app, observers, found)
        await display.wait_for_window(active=True)
        yield OwnStage(lane, app, process, endpoint, observers, display, front, Person(display))


@asynccontextmanager
async def _started(
    app: App, runtime: Runtime, route: Route, display: Display, janitor: Janitor | None = None
) -> AsyncIterator[tuple[ElectronProcess, str]]:
    """The app with a debugging port, which the observers need beside the guard, and the agent's endpoint."""
    if route == "raw":
        async with launch_electron(
            runtime, app.path, args=app.args, display=display, debugging="port", janitor=janitor
        ) as process:
            yield process, _port_of(process)
        return
    async with focusguard.launch(
        runtime,
        app.path,
        args=app.args,
        display=display,
        bridge=app.bridge,
        debugging="port",
        janitor=janitor,
    ) as guard:
        assert guard.process is not None
        yield guard.process, guard.ws_endpoint


def _port_of(process: ElectronProcess) -> str:
    assert process.debugging_url is not None
    return process.debugging_url
