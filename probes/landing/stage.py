"""The app that trials run on: one embedding, one window state, one route; restarted only when it must be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import ElectronProcess, launch_electron
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE, Fixture, FixtureControl, FixtureGone, open_fixture_control
from probes.landing.schema import Embedding, Route, Window
from probes.landing.watch import FrontWatch, watch_front


@dataclass(frozen=True)
class Lane:
    """One column of the matrix."""

    embedding: Embedding
    window: Window
    route: Route

    def __str__(self) -> str:
        return f"{self.embedding} {self.window} {self.route}"


@dataclass
class Stage:
    """A running app with its guest, and the ways to reach it.

    Attributes:
        endpoint: The browser's WebSocket, of Electron itself or of the guard.
        person: Real input; None in a hidden window.
        awake: Id of the guest's document that is known to take input in a hidden window.
        blind: Switches the observer off; for the spec that shows that a run notices.
    """

    lane: Lane
    runtime: Runtime
    fixture: Fixture
    endpoint: str
    display: Display
    front: FrontWatch
    person: Person | None
    awake: str = ""
    blind: bool = False

    @property
    def headful(self) -> bool:
        """Whether real keys reach the host."""
        return self.lane.window == "headful"


class UnsupportedEmbeddingError(Exception):
    """This version of Electron has no such embedding."""


@asynccontextmanager
async def open_stage(
    runtime: Runtime, lane: Lane, display: Display, janitor: Janitor
) -> AsyncIterator[Stage]:
    """Starts the app for a lane.

    Raises:
        UnsupportedEmbeddingError: If this version lacks the embedding.
    """
    async with AsyncExitStack() as stack:
        if lane.route == "raw":
            fixture, endpoint = await stack.enter_async_context(_raw(runtime, display, janitor))
        else:
            fixture, endpoint = await stack.enter_async_context(_guarded(runtime, lane, display, janitor))
        if lane.embedding not in fixture.hello.embeddings:
            raise UnsupportedEmbeddingError(f"Electron {fixture.hello.electron} has no {lane.embedding}")
        await fixture.open(lane.embedding, window=lane.window)
        front = await stack.enter_async_context(watch_front(display))
        person = Person(display) if lane.window == "headful" else None
        yield Stage(lane, runtime, fixture, endpoint, display, front, person)


@asynccontextmanager
async def _raw(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[tuple[Fixture, str]]:
    async with (
        open_fixture_control(janitor=janitor) as control,
        launch_electron(
            runtime, FIXTURE, env=control.env, display=display, debugging="port", janitor=janitor
        ) as process,
    ):
        fixture = await _connected(control, process)
        assert process.debugging_url is not None
        yield fixture, process.debugging_url


@asynccontextmanager
async def _guarded(
    runtime: Runtime, lane: Lane, display: Display, janitor: Janitor
) -> AsyncIterator[tuple[Fixture, str]]:
    import focusguard  # late: what is measured is not needed to measure without it

    # A plain window is a guest only where the app tells the bridge so, which it can only do with its own `require`.
    bridge: focusguard.guard.BridgeMode = "app" if lane.embedding == "window" else "preload"
    async with (
        open_fixture_control(janitor=janitor) as control,
        focusguard.launch(
            runtime, app=FIXTURE, env=control.env, display=display, bridge=bridge, janitor=janitor
        ) as guard,
    ):
        assert guard.process is not None
        yield await _connected(control, guard.process), guard.ws_endpoint


async def _connected(control: FixtureControl, process: ElectronProcess) -> Fixture:
    """Waits for the app's side of the fixture.

    Raises:
        FixtureGone: If it does not come, with what the app said.
    """
    try:
        fixture = await control.connected()
    except FixtureGone as error:
        raise FixtureGone(f"{error}; the app said: {process.output_tail(1000)}") from error
    fixture.process = process
    return fixture
