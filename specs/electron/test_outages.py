"""Something that the guard relies on goes, comes late, or was never there: what it does then is as it says."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import focusguard
from focusguard.electron import inspector
from focusguard.electron.display import Display
from focusguard.electron.errors import LaunchFailed
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import launch_electron
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE, open_fixture_control
from probes.landing.cdp_client import CdpClosedError, open_client
from specs.guarded import Stage, endpoint, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
#: The page is busy for so long when it is pressed.
BUSY = """document.querySelector('#button').onmousedown = () => {
  for (const end = Date.now() + 400; Date.now() < end;);
}; 0"""

#: What an app finds on its pages: their methods, and how many listen to what the bridge looks at.
API = """return electron.webContents.getAllWebContents().map((each) => [
  typeof each.focus, typeof each.emit, Object.keys(each).filter((name) => typeof each[name] === 'function').sort(),
  ['before-input-event', 'input-event', '-run-dialog', 'focus'].map((name) => each.listenerCount(name)),
])"""


async def serves(on: Stage, *, guest: int = 0) -> None:
    """A press and a key reach the guest, and the host keeps its focus."""
    since = await on.fresh()
    await on.click("text", guest=guest)
    assert await on.key("k", guest=guest) is None
    state = await on.seen(since)
    assert state.guest(guest).values["text"] == "k"
    assert state.host.active == ["textarea"]
    assert state.host.records("keydown", "input") == []


async def cut_bridge(on: Stage) -> None:
    """Breaks the line to the bridge off, at the guard's end."""
    assert on.guard is not None
    link = on.guard._hub.link
    assert link is not None and link._peer is not None
    await link._peer.aclose()


@asynccontextmanager
async def pressed_while_busy(on: Stage) -> AsyncIterator[list[str | None]]:
    """Inside, a press is on its way to a page that is busy with it; afterwards it has its answer: an error or None."""
    await on.send("Runtime.evaluate", {"expression": BUSY})
    x, y = await on.at("button")
    press = {"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1}
    answers: list[str | None] = []

    async def pressing() -> None:
        answers.append(await on.try_send("Input.dispatchMouseEvent", press))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pressing)
        await anyio.sleep(0.1)
        yield answers


class TestTheBridgeGoes:
    """Input that needs it is refused with `browser_bridge_lost`; it comes again by itself."""

    async def test_during_a_press_which_is_answered_and_the_focus_comes_home(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        await guarded.fresh()
        assert guarded.guard is not None
        seen: list[str] = []
        guarded.guard.watch(lambda report: seen.append(report.kind))
        async with pressed_while_busy(guarded) as answers:
            await cut_bridge(guarded)
            await eventually(lambda: "bridge.lost" in seen)
            refused = await guarded.insert("x")
            assert refused is None or refused.startswith(
                ("browser_bridge_lost", "browser_input_not_delivered")
            )
        assert len(answers) == 1
        await eventually(lambda: guarded.guard is not None and guarded.guard.bridge is not None)
        assert (await guarded.seen()).host.active == ["textarea"]
        await serves(guarded)

    async def test_again_and_again(self, guarded: Stage, eventually: Eventually) -> None:
        assert guarded.guard is not None
        for _ in range(3):
            await cut_bridge(guarded)
            await eventually(lambda: guarded.guard is not None and guarded.guard.bridge is None)
            await eventually(lambda: guarded.guard is not None and guarded.guard.bridge is not None)
        await serves(guarded)


class TestTheHost:
    async def test_one_that_hangs_gets_no_press_into_its_guest(self, guarded: Stage) -> None:
        since = await guarded.fresh()
        await guarded.guest()
        x, y = await guarded.at("button")
        pid = (await guarded.fixture.state(logs=False)).host.pid
        press = {"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1}
        os.kill(pid, signal.SIGSTOP)
        try:
            error = await guarded.try_send("Input.dispatchMouseEvent", press)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert error is not None and error.startswith("browser_focus_guard_unavailable")
        state = await guarded.seen(since)
        assert state.guest().records("mousedown") == []
        assert state.host.active == ["textarea"]
        await serves(guarded)

    async def test_one_that_is_loaded_anew_during_a_press(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        """Its guests go with it; what was on its way to them is answered, and the new ones are guests too."""
        await guarded.fresh()
        async with pressed_while_busy(guarded) as answers:
            await guarded.fixture.execute("main-process", "stage.host.webContents.reload()")
        assert len(answers) == 1
        assert answers[0] is None or answers[0].startswith("browser_error")
        assert guarded.guard is not None
        await guarded.fixture.open("webview", window="hidden")
        await guarded.guard.wait_for_guests(1)
        await serves(guarded)


class TestLateGuests:
    async def test_one_that_comes_after_the_client_is_announced_attached_and_driven(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        async with open_client(endpoint(guarded)) as client:
            follow = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
            await client.send("Target.setAutoAttach", follow)
            before = set(client.attached)
            await guarded.fixture.add_guest()
            await guarded.fixture.describe()
            url = guarded.url(1)
            found = await client.wait_attached(lambda item: item.session_id not in before, 10)
            assert found is not None
            await guarded.fixture.focus_guest("text", guest=1)
            insert = {"text": "late"}
            await client.send("Input.insertText", insert, session=found.session_id)
            state = await guarded.seen(since)
            assert state.guest(1).values["text"] == "late"
            assert state.guest(1).url == url
            assert state.host.records("input") == []
            await guarded.fixture.destroy_guest(1)
            await eventually(lambda: found.session_id not in client.attached)


class TestTheApp:
    async def test_it_dies_with_commands_in_flight(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        """Each is answered, or the connection ends before; nobody waits for ever, and the guard says why."""
        async with stage("guarded", runtime, display, janitor, window="hidden") as on:
            assert on.guard is not None and on.guard.process is not None
            await on.fresh()
            await on.guest()
            outcomes: list[str] = []

            async def ask(expression: str) -> None:
                try:
                    never = {"expression": expression, "awaitPromise": True}
                    outcomes.append(await on.try_send("Runtime.evaluate", never, timeout=10) or "answered")
                except CdpClosedError:
                    outcomes.append("closed")

            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(ask, "new Promise(() => {})")
                await anyio.sleep(0.2)
                os.kill(on.guard.process.pid, signal.SIGKILL)
            assert len(outcomes) == 20
            assert all(each == "closed" or each.startswith("browser_error") for each in outcomes), outcomes
            with anyio.fail_after(10):
                assert await on.guard.wait_until_lost() != ""


class TestWithoutABridge:
    async def test_input_reaches_the_guest_and_the_focus_comes_home(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        async with stage("guarded", runtime, display, janitor, window="hidden", bridge="none") as on:
            status = await on.client.send("FocusGuard.getStatus")
            assert status["mode"] == "no-bridge"
            assert status["limits"] != []
            await serves(on)
            since = await on.fresh()
            await on.fixture.focus_guest("text")
            assert await on.insert("text 好") is None
            state = await on.seen(since)
            assert state.guest().values["text"] == "text 好"
            assert state.host.active == ["textarea"]
            assert state.host.records("keydown", "input") == []


class TestInjection:
    async def test_into_an_app_that_knows_nothing_of_it(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        async with stage("guarded", runtime, display, janitor, window="hidden", bridge="inject") as on:
            assert on.guard is not None and on.guard.bridge is not None
            await serves(on)

    async def test_into_an_app_that_runs_already(
        self, runtime: Runtime, display: Display, janitor: Janitor, eventually: Eventually
    ) -> None:
        """The bridge is loaded through the inspector, which is closed again; with the guard nothing is left of it."""
        async with (
            open_fixture_control(janitor=janitor) as control,
            launch_electron(
                runtime,
                FIXTURE,
                env=control.env,
                display=display,
                debugging="port",
                switches=["--inspect=0"],
                janitor=janitor,
            ) as process,
        ):
            fixture = await control.connected()
            fixture.process = process
            await fixture.open("webview", window="hidden")
            assert process.debugging_url is not None
            before = await fixture.execute("main-process", API)
            url = await inspector.wait_for_inspector(
                lambda: process.output_tail(1 << 16), lambda: process.returncode
            )
            async with focusguard.attach(process.debugging_url, inspector_url=url) as guard:
                assert guard.bridge is not None
                await guard.wait_for_guests(1)
                async with open_client(guard.ws_endpoint) as client:
                    on = Stage("guarded", fixture, client, guard, None, display)
                    await serves(on)
            # The guard is gone, and the app goes on as before.
            assert (await fixture.state(logs=False)).host.active == ["textarea"]

            async def untouched() -> bool:
                return bool(await fixture.execute("main-process", API) == before)

            await eventually(untouched)


async def test_an_app_that_cannot_start_says_why(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        LaunchFailed, match=r"ended before it was guarded: .*there is no display: set DISPLAY"
    ):
        async with focusguard.launch(runtime, FIXTURE):
            pass
