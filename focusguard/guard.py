"""Starting the guard: around an app that it launches, or an app that already runs."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

import anyio

from focusguard.bridge import BRIDGE_SCRIPT
from focusguard.bridge.link import open_bridge_link
from focusguard.cdp.limits import DEFAULT_LIMITS, Limits
from focusguard.cdp.targets import Guest, shown_page
from focusguard.cli import version
from focusguard.electron import inspector
from focusguard.electron.display import Display
from focusguard.electron.errors import LaunchFailed, UpstreamFailed
from focusguard.electron.janitor import Janitor, janitor_or_own
from focusguard.electron.launching import ElectronProcess, launch_electron, wait_for_port
from focusguard.electron.runtimes import Runtime, runtime_at
from focusguard.groups import single_error
from focusguard.policy.borrow import Pace
from focusguard.policy.effects import Report
from focusguard.policy.guard import Guard as Policy
from focusguard.policy.guard import Options
from focusguard.proxy.front import Front
from focusguard.proxy.hub import Hub
from focusguard.proxy.upstream import PipeUpstream, Upstream, WebSocketUpstream

#: Seconds for keys and buttons to go up and for borrows to be returned when the guard stops.
SETTLE_SECONDS = 2.0
#: Seconds for the app's CDP endpoint to answer, and for its bridge to say hello.
START_SECONDS = 30.0

BridgeMode = Literal["preload", "app", "inject", "none"]


class _SometimesOfAGuest(TypedDict, total=False):
    canAccessOpener: bool
    subtype: str
    parentFrameId: str


class GuestInfo(_SometimesOfAGuest):
    """A guest as clients see it: CDP's `Target.TargetInfo` of a page."""

    targetId: str
    type: str
    title: str
    url: str
    attached: bool
    browserContextId: str


GuestCallback = Callable[[GuestInfo], object]


class RunningGuard:
    """A guard that accepts clients. Made by `launch` and `attach`.

    Attributes:
        process: the app, where the guard launched it.
    """

    def __init__(self, hub: Hub, process: ElectronProcess | None = None) -> None:
        self._hub = hub
        self.process = process

    @property
    def endpoint(self) -> str:
        """HTTP endpoint with the token in its path; Playwright's `connect_over_cdp` takes it as it is."""
        return f"http://{self._hub.server.access.base}"

    @property
    def ws_endpoint(self) -> str:
        """WebSocket endpoint of the whole guard; Puppeteer's `browserWSEndpoint`."""
        return self._hub.browser_url

    @property
    def address(self) -> str:
        """The same HTTP endpoint as an ordinary URL, for clients that send `headers` with every request."""
        return f"http://127.0.0.1:{self._hub.server.access.port}"

    @property
    def headers(self) -> dict[str, str]:
        """What a client sends to be let in where the token is not in the path; empty where none is asked for."""
        token = self._hub.server.access.token
        return {"Authorization": f"Bearer {token}"} if token is not None else {}

    @property
    def bridge(self) -> dict[str, Any] | None:
        """What the bridge said of itself; None in the weaker mode without one."""
        return self._hub.guard.domain.bridge

    def guests(self) -> list[GuestInfo]:
        """The guests that clients see now, as CDP target infos."""
        return [_info(guest) for guest in self._hub.guard.tree.ready()]

    async def wait_for_guests(self, count: int = 1, *, seconds: float = 20.0) -> list[GuestInfo]:
        """Wait until at least so many guests are there.

        Args:
            count: how many.
            seconds: the bound.

        Returns:
            All that are there then.

        Raises:
            TimeoutError: they did not come in time.
        """
        with anyio.fail_after(seconds):
            while len(self.guests()) < count:
                await anyio.sleep(0.01)
        return self.guests()

    def watch(self, watcher: Callable[[Report], None]) -> None:
        """Have a function called for everything that the guard reports: guests, clients, borrows, refusals.

        It is called between two messages and must not block. What it raises is logged; the guard goes on.
        """
        self._hub.watchers.append(watcher)

    def on_guest(self, opened: GuestCallback | None = None, closed: GuestCallback | None = None) -> None:
        """Have functions called when a guest comes and when it goes, as `watch` does.

        Args:
            opened: called with each guest that clients see; for those that are there already, at once.
            closed: called with each of these as it was last, when clients no longer see it.
        """
        there: dict[str, Guest] = {}

        def take(guest: Guest) -> None:
            there[guest.target_id] = guest
            if opened is not None:
                opened(_info(guest))

        def watcher(report: Report) -> None:
            target = str(report.facts.get("targetId", ""))
            if report.kind == "guest.ready" and target in self._hub.guard.tree.guests and target not in there:
                take(self._hub.guard.tree.guests[target])
            elif report.kind == "guest.gone" and (guest := there.pop(target, None)) and closed is not None:
                closed(_info(guest))

        self.watch(watcher)
        for guest in self._hub.guard.tree.ready():
            take(guest)

    def metrics(self) -> dict[str, Any]:
        """Counts and borrow times, as `FocusGuard.getMetrics` gives them."""
        return self._hub.guard.domain.metrics()

    @property
    def lost(self) -> str | None:
        """Why the app is gone, None while it is there."""
        return self._hub.lost

    async def wait_until_lost(self) -> str:
        """Wait until the app is gone; gives the reason."""
        while self._hub.lost is None:
            await anyio.sleep(0.05)
        return self._hub.lost


@asynccontextmanager
async def launch(
    runtime: Runtime | Path | str,
    app: Path | str | None = None,
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    display: Display | None = None,
    bridge: BridgeMode = "preload",
    debugging: Literal["pipe", "port"] = "pipe",
    pace: Pace = "between-keys",
    port: int | Front = 0,
    token: str | None = "",
    limits: Limits = DEFAULT_LIMITS,
    janitor: Janitor | None = None,
) -> AsyncIterator[RunningGuard]:
    """Start an Electron app with the guard around it.

    Args:
        runtime: the Electron executable, or a runtime of `focusguard electron`.
        app: the app's folder or main file; None for a packaged app.
        args: the app's arguments.
        env: variables over those of this process.
        display: an isolated display of the rig; the person's own display where there is none.
        bridge: `preload` loads it before the app (`NODE_OPTIONS=--require`), `app` leaves that to the app
            (`require(process.env.FOCUSGUARD_BRIDGE)`), `inject` loads it into an unmodified app through the Node
            inspector, which is closed again, `none` runs in the weaker mode.
        debugging: how the guard reaches the app. `port`, which Electron 9 always has, lets every local process past
            the guard (`process.debugging_url`): for something that has to look at the whole app beside it.
        pace: when a borrow starts while the person types.
        port: the guard's port; 0 takes a free one. Or a front that is open already, and stays so.
        token: what clients must show; empty makes one, None asks for none.
        limits: bounds on what clients may hold.
        janitor: ends the app if this process is killed.

    Yields:
        The guard, once the app's CDP endpoint and the bridge have answered.

    Raises:
        focusguard.electron.errors.LaunchFailed: the app cannot be started, or ended before it was guarded; the message
            has what it said.
        focusguard.electron.errors.UpstreamFailed: the app's CDP endpoint, or its bridge, did not answer.
        focusguard.electron.errors.PortTaken: somebody else listens on the port.
    """
    chosen = runtime if isinstance(runtime, Runtime) else runtime_at(Path(runtime))
    hub = _hub(pace, limits, bridge_expected=bridge != "none")
    async with AsyncExitStack() as stack:
        stack.enter_context(single_error())
        keeper = await stack.enter_async_context(janitor_or_own(janitor))
        extra = dict(env or {})
        if bridge != "none":
            hub.link = await stack.enter_async_context(open_bridge_link(hub.bridge_said, janitor=keeper))
            extra |= hub.link.env
            if bridge != "app":
                del extra["FOCUSGUARD_BRIDGE"]
        process = await stack.enter_async_context(
            launch_electron(
                chosen,
                Path(app) if app is not None else None,
                args=args,
                env=extra,
                display=display,
                debugging=debugging if chosen.has_debugging_pipe else "port",
                require=BRIDGE_SCRIPT if bridge == "preload" else None,
                switches=[inspector.WAIT_SWITCH] if bridge == "inject" else (),
                await_port=False,
                janitor=keeper,
            )
        )
        if bridge == "inject" and hub.link is not None:
            url = await inspector.wait_for_inspector(process.output_tail, lambda: process.returncode)
            await inspector.load(url, BRIDGE_SCRIPT, hub.link.env, waiting=True)
        upstream: Upstream
        if process.pipe is not None:
            upstream = PipeUpstream(*process.take_pipe())
        else:
            upstream = await WebSocketUpstream.open(await wait_for_port(process))
        guard = RunningGuard(hub, process)
        async with _running(hub, upstream, port, token, wait_for_bridge=bridge != "none", process=process):
            yield guard


@asynccontextmanager
async def attach(
    url: str,
    *,
    inspector_url: str | None = None,
    pace: Pace = "between-keys",
    port: int | Front = 0,
    token: str | None = "",
    limits: Limits = DEFAULT_LIMITS,
) -> AsyncIterator[RunningGuard]:
    """Guard an app that already runs with `--remote-debugging-port`.

    Args:
        url: the app's browser WebSocket, `ws://127.0.0.1:PORT/devtools/browser/…`.
        inspector_url: WebSocket of the app's Node inspector, through which the bridge is loaded and which is
            closed then. Without it the guard runs in its weaker mode.
        pace: see `launch`.
        port: see `launch`.
        token: see `launch`.
        limits: see `launch`.

    Yields:
        The guard.

    Raises:
        focusguard.electron.errors.UpstreamFailed: nothing answers at `url`.
        focusguard.electron.errors.LaunchFailed: the bridge cannot be loaded.
        focusguard.electron.errors.PortTaken: somebody else listens on the port.
    """
    hub = _hub(pace, limits, bridge_expected=inspector_url is not None)
    async with AsyncExitStack() as stack:
        stack.enter_context(single_error())
        upstream = await WebSocketUpstream.open(url)
        if inspector_url is not None:
            hub.link = await stack.enter_async_context(open_bridge_link(hub.bridge_said))
            await inspector.load(inspector_url, BRIDGE_SCRIPT, hub.link.env, waiting=False)
        async with _running(hub, upstream, port, token, wait_for_bridge=inspector_url is not None):
            yield RunningGuard(hub)


def _info(guest: Guest) -> GuestInfo:
    return cast(GuestInfo, shown_page(guest, attached=False))


def _hub(pace: Pace, limits: Limits, *, bridge_expected: bool) -> Hub:
    options = Options(version=version(), pace=pace, bridge_expected=bridge_expected, limits=limits)
    return Hub(Policy(options), limits)


@asynccontextmanager
async def _running(
    hub: Hub,
    upstream: Upstream,
    port: int | Front,
    token: str | None,
    *,
    wait_for_bridge: bool,
    process: ElectronProcess | None = None,
) -> AsyncIterator[None]:
    secret = secrets.token_urlsafe(32) if token == "" else token
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hub.run_upstream, upstream)
        try:
            await _started(hub, wait_for_bridge, process)
            try:
                async with hub.server.listen(port, secret):
                    yield
            finally:
                await _settled(hub)
        finally:
            hub.close()
            tasks.cancel_scope.cancel()


async def _settled(hub: Hub) -> None:
    """The clients are gone: what they held down in the app goes up before the guard does."""
    with anyio.CancelScope(shield=True), anyio.move_on_after(SETTLE_SECONDS):
        while not hub.guard.idle and hub.lost is None:
            await anyio.sleep(0.01)


async def _ended(process: ElectronProcess) -> LaunchFailed:
    """What became of an app whose endpoint is gone: that is closed before the app is."""
    with anyio.move_on_after(SETTLE_SECONDS):
        while process.returncode is None:
            await anyio.sleep(0.01)
    return LaunchFailed(f"the app ended before it was guarded: {process.ending()}")


async def _started(hub: Hub, wait_for_bridge: bool, process: ElectronProcess | None) -> None:
    with anyio.move_on_after(START_SECONDS):
        while hub.lost is None and not (
            hub.started.is_set() and (hub.bridge_joined.is_set() or not wait_for_bridge)
        ):
            await anyio.sleep(0.01)
        if hub.lost is None:
            return
    if hub.lost is not None and process is not None:
        raise await _ended(process)
    if hub.lost is not None:
        raise UpstreamFailed(f"the app ended before it was guarded: {hub.lost}")
    missing = "bridge" if hub.started.is_set() else "CDP endpoint"
    advice = (
        "does the build allow NODE_OPTIONS, or does the app require FOCUSGUARD_BRIDGE?"
        if missing == "bridge"
        else ""
    )
    raise UpstreamFailed(f"the app's {missing} did not answer within {START_SECONDS:g} s. {advice}".strip())
