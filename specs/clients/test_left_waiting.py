"""Case 17: a client has new frames and workers wait for a debugger, and leaves without having let them go: they run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.landing.cdp_client import attach_guest, find_guest, open_client
from specs.guarded import Route, Stage, endpoint, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
WAITING = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
#: Begins a frame of another site and a worker of each kind; `ran` has those that have run, by their kind of target.
BEGIN = """(() => {
  window.ran = [];
  const heard = (kind) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => window.ran.push(kind);
    return port2;
  };
  const frame = document.createElement('iframe');
  frame.onload = () => window.ran.push('iframe');
  frame.src = document.querySelector('#cross-site').src.replace('cross-site', 'late');
  document.body.append(frame);
  new Worker('/guest/worker.js').postMessage(null, [heard('worker')]);
  const shared = new SharedWorker(`/guest/worker.js?${Date.now()}`).port;
  shared.onmessage = () => window.ran.push('shared_worker');
  shared.postMessage(null);
  navigator.serviceWorker.register('/guest/worker.js').then(({ installing }) => {
    installing.postMessage(null, [heard('service_worker')]);
  });
  return null;
})()"""
#: What runs afterwards. Chromium leaves a service worker waiting for ever: `register` is never answered.
RUNS = {
    "guarded": {"iframe", "worker", "shared_worker", "service_worker"},
    "raw": {"iframe", "worker", "shared_worker"},
}


@pytest.fixture(params=["guarded", "raw"])
async def on(
    request: pytest.FixtureRequest, runtime: Runtime, display: Display, janitor: Janitor
) -> AsyncIterator[Stage]:
    """A new app each time: its service worker is registered once."""
    route: Route = request.param
    async with stage(route, runtime, display, janitor, window="hidden") as running:
        yield running


@pytest.mark.parametrize("leaving", ["close", "abort"])
async def test_what_waits_for_it_runs_when_it_has_gone(
    on: Stage, leaving: Literal["close", "abort"], eventually: Eventually
) -> None:
    await on.fresh()
    waiting: set[str] = set()

    def heard(event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Target.attachedToTarget" and params["waitingForDebugger"]:
            waiting.add(params["targetInfo"]["type"])

    async with open_client(endpoint(on)) as client:
        target = await find_guest(client, on.url())
        session = (await attach_guest(client, target, on.url(), frames=False)).root
        client.on_event = heard
        await client.send("Target.setAutoAttach", WAITING, session=session)
        await on.fixture.execute("guest:0", BEGIN)
        await eventually(lambda: {"iframe", "worker", "service_worker"} <= waiting)
        ran = set(await on.fixture.execute("guest:0", "window.ran"))
        assert not ran & waiting
        if leaving == "abort":
            client.connection.transport.abort()

    with anyio.move_on_after(3):
        while set(await on.fixture.execute("guest:0", "window.ran")) != RUNS["guarded"]:
            await anyio.sleep(0.02)
    assert set(await on.fixture.execute("guest:0", "window.ran")) == RUNS[on.route]
