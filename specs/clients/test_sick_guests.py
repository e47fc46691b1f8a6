"""Case 17: some of an app's guests are sick. Every client connects, lists and types into a healthy one all the same.

The healthy guest has a service worker, a shared worker and frames of other sites. Of the others the renderer of one is
stopped (SIGSTOP), one is a webview at `about:blank`, one a view that has never been navigated.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.landing.cdp_client import CdpError, attach_guest, find_guest
from specs.clients.driver import CLIENTS, Client, Refused
from specs.clients.tasks import MARKS, Scene
from specs.guarded import Stage, stage

pytestmark = MARKS

#: Seconds in which a client is at a healthy guest: its own start, and the guard's bound for a guest that hangs.
CONNECT_SECONDS = 15.0
#: Where one page hangs it waits for ever for its own list of tabs, with and without the guard.
HELD_UP = "Playwright MCP"
START_BOUND = 5.0
#: Begins the workers where they are not there, and has each say what it is.
ASK = """(async () => {
  const { installing, waiting, active } = await navigator.serviceWorker.register('/guest/worker.js');
  if (!window.shared) window.shared = new SharedWorker('/guest/worker.js').port;
  const { port1, port2 } = new MessageChannel();
  const answers = [port1, window.shared].map((port) => new Promise((resolve) => {
    port.onmessage = (event) => resolve(event.data.kind);
  }));
  (installing || waiting || active).postMessage(null, [port2]);
  window.shared.postMessage(null);
  return Promise.all(answers);
})()"""
WORKERS = ["ServiceWorkerGlobalScope", "SharedWorkerGlobalScope"]
BLANK = """(() => {
  const view = document.createElement('webview');
  view.src = 'about:blank';
  view.style.cssText = 'position: absolute; left: 0; top: 0; width: 1px; height: 1px';
  document.body.append(view);
  return null;
})()"""
#: Electron before 30 has only the older kind of view.
BARE = """
  const { BrowserView, WebContentsView } = electron;
  if (Number(process.versions.electron.split('.')[0]) < 30) stage.host.addBrowserView(new BrowserView());
  else stage.host.contentView.addChildView(new WebContentsView());
  return null;
"""


@asynccontextmanager
async def stopped(on: Stage) -> AsyncIterator[None]:
    """The second guest's renderer is stopped."""
    state = await on.fixture.state(logs=False)
    pid = state.guest(1).pid
    assert pid not in (state.guest(0).pid, state.host.pid)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def listed(on: Stage) -> set[str]:
    """The addresses of the guests that a client sees."""
    infos = (await on.client.send("Target.getTargets"))["targetInfos"]
    return {info["url"] for info in infos if info["type"] == "page"}


@pytest.fixture(scope="module")
async def ward(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Stage]:
    """The app, for all clients in turn."""
    async with stage("guarded", runtime, display, janitor, guests=2) as on:
        await on.fresh()
        assert await on.fixture.execute("guest:0", ASK) == WORKERS
        await on.fixture.execute("host", BLANK)
        await on.fixture.execute("main-process", BARE)
        with anyio.fail_after(10):
            while await listed(on) != {on.url(0), on.url(1), "about:blank", ""}:
                await anyio.sleep(0.02)
        async with stopped(on):
            yield on


@pytest.mark.parametrize(
    "client", [each for each in CLIENTS if each.name != HELD_UP], ids=lambda client: client.name
)
async def test_nobody_is_held_up(ward: Stage, client: Client, tmp_path: Path) -> None:
    scene = Scene(ward, client, tmp_path)
    await ward.fixture.execute("guest:0", "document.querySelector('#textarea').value = ''")
    told: list[str] = []

    async def try_the_sick_one() -> None:
        driver = (await scene.drivers(2))[1]
        try:
            await driver.ask("connect", **scene.address(1))
            await driver.ask("click", selector="#button")
        except Refused as refusal:
            told.append(str(refusal))

    try:
        await scene.drivers(2)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(try_the_sick_one)
            with anyio.fail_after(CONNECT_SECONDS):
                await scene.ask("connect", **scene.address())
            assert ward.url() in await scene.ask("pages")
            await scene.ask("press", selector="#textarea", key="Enter")
            assert (await scene.seen()).guest().values["textarea"] == "\n"
            assert await ward.fixture.execute("guest:0", ASK) == WORKERS
        assert len(told) == 1 and told[0]
    finally:
        await scene.close()


async def enabled(on: Stage, guest: int) -> str:
    """What a client is told that enables a domain in a guest, as all of them do; empty where it succeeds."""
    target = await find_guest(on.client, on.url(guest))
    sessions = await attach_guest(on.client, target, on.url(guest), frames=False)
    try:
        await on.client.send("Page.enable", session=sessions.root, timeout=START_BOUND + 1)
    except CdpError as error:
        return str(error)
    finally:
        await sessions.close()
    return ""


async def test_the_guest_that_hangs_is_named(ward: Stage) -> None:
    assert await enabled(ward, 0) == ""
    said = await enabled(ward, 1)
    assert said == (
        f"browser_timeout: Page.enable was not answered within {START_BOUND:g} s."
        " To do: look at the page before sending it again."
    )


async def test_raw_it_is_never_answered(
    runtime: Runtime, display: Display, janitor: Janitor, tmp_path: Path
) -> None:
    """In windows of their own, which every client takes for pages."""
    (client,) = (each for each in CLIENTS if each.name == HELD_UP)
    async with stage("raw", runtime, display, janitor, guests=2, embedding="window") as on:
        await on.fresh()
        scene = Scene(on, client, tmp_path)
        try:
            (driver,) = await scene.drivers(1)
            await driver.ask("connect", **scene.address())
            await driver.ask("close")
            async with stopped(on):
                assert await enabled(on, 1) == f"no reply within {START_BOUND + 1:g} s"
                with anyio.move_on_after(START_BOUND + 1) as waiting:
                    await driver.ask("connect", **scene.address())
                assert waiting.cancelled_caught
        finally:
            await scene.close()
