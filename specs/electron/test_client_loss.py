"""Case 19: a client goes, in whatever way, while it holds keys, a button, a request or the whole page."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, get_args

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from focusguard.cdp.limits import Limits
from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.landing.cdp_client import attach_guest, find_guest, open_client
from specs.guarded import Stage, endpoint, key_event, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
Leaving = Literal["close", "reset", "SIGKILL", "SIGSTOP"]

LEAVINGS: tuple[Leaving, ...] = get_args(Leaving)
CLIENT = Path(__file__).parents[1] / "leaving_client.py"
#: Holds a request of the page, and tells how it ended.
FETCH = """globalThis.ended = 'waiting';
fetch('/guest/frame.html').then((answer) => { globalThis.ended = answer.status; },
  (error) => { globalThis.ended = String(error); }); 0"""

#: A task of the page's own; a page that is paused runs none.
TASK = {"expression": "new Promise((resolve) => setTimeout(resolve, 0, 'ran'))", "awaitPromise": True}


@pytest.fixture(scope="module")
async def guarded(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Stage]:
    limits = Limits(silent_seconds=1.5)
    async with stage("guarded", runtime, display, janitor, window="hidden", limits=limits) as running:
        yield running


class Leaver:
    """A client in a process of its own, and the ways in which it goes."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self.process = process
        self._lines = BufferedByteReceiveStream(process.stdout)

    async def hears(self, word: str) -> None:
        with anyio.fail_after(15):
            assert (await self._lines.receive_until(b"\n", 1000)).decode() == word

    async def order(self, **order: Any) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(order).encode() + b"\n")
        await self.hears("done")

    async def send(self, method: str, params: dict[str, Any] | None = None, *, wait: bool = True) -> None:
        await self.order(method=method, params=params or {}, wait=wait)

    async def key_down(self, combination: str, **extra: Any) -> None:
        event = key_event(combination, **extra)
        kind = "keyDown" if "text" in event else "rawKeyDown"
        await self.send("Input.dispatchKeyEvent", {"type": kind, **event})

    async def leave(self, how: Leaving) -> None:
        if how == "close" or how == "reset":
            await self.order(leave=how)
        else:
            self.process.send_signal(signal.Signals[how])


@asynccontextmanager
async def leaver(on: Stage) -> AsyncIterator[Leaver]:
    process = await anyio.open_process(
        [sys.executable, str(CLIENT), endpoint(on), on.url()], stdin=subprocess.PIPE, stderr=None
    )
    try:
        client = Leaver(process)
        await client.hears("attached")
        yield client
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


SHIFT = {"key": "Shift", "code": "ShiftLeft", "windowsVirtualKeyCode": 16, "location": 1, "modifiers": 8}


async def hold_keys(client: Leaver) -> None:
    await client.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **SHIFT})
    await client.key_down("shift+A")


async def hold_button(on: Stage, client: Leaver, kind: str = "mousePressed") -> None:
    x, y = await on.at("button")
    event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
    await client.send("Input.dispatchMouseEvent", event)


class TestGuarded:
    @pytest.mark.parametrize("how", LEAVINGS)
    async def test_its_keys_go_up_and_nobody_elses(
        self, guarded: Stage, how: Leaving, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        held = key_event("b")
        await guarded.send("Input.dispatchKeyEvent", {"type": "keyDown", **held})
        async with leaver(guarded) as client:
            await hold_keys(client)
            await client.leave(how)

            async def up() -> bool:
                records = (await guarded.fixture.state(since=since)).guest().records("keyup")
                return sorted(record.code or "" for record in records) == ["KeyA", "ShiftLeft"]

            await eventually(up)
        assert await guarded.key("c") is None
        state = await guarded.seen(since)
        codes = [record.code for record in state.guest().records("keyup")]
        assert codes == ["KeyA", "ShiftLeft", "KeyC"]
        assert state.guest().values["text"] == "bAc"
        assert state.guest().records("keyup")[-1].shift is False
        assert state.host.records("keydown", "keyup", "input") == []
        assert state.host.active == ["textarea"]

    @pytest.mark.parametrize("how", LEAVINGS)
    async def test_its_button_goes_up(self, guarded: Stage, how: Leaving, eventually: Eventually) -> None:
        since = await guarded.fresh()
        async with leaver(guarded) as client:
            await hold_button(guarded, client)
            await client.leave(how)

            async def up() -> bool:
                return bool((await guarded.fixture.state(since=since)).guest().records("mouseup"))

            await eventually(up)
        state = await guarded.seen(since)
        assert [record.buttons for record in state.guest().records("mouseup")] == [0]
        assert state.host.active == ["textarea"]

    @pytest.mark.parametrize("how", LEAVINGS)
    async def test_a_request_that_it_paused_goes_on(
        self, guarded: Stage, how: Leaving, eventually: Eventually
    ) -> None:
        await guarded.fresh()
        async with leaver(guarded) as client:
            await client.send("Fetch.enable")
            await client.send("Runtime.evaluate", {"expression": FETCH})
            assert await guarded.fixture.execute("guest:0", "globalThis.ended") == "waiting"
            await client.leave(how)
            await eventually(lambda: ended(guarded))
        assert await ended(guarded) == 200

    @pytest.mark.parametrize("how", LEAVINGS)
    async def test_the_page_that_it_paused_runs(self, guarded: Stage, how: Leaving) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        async with leaver(guarded) as client:
            await client.send("Debugger.enable")
            await client.key_down("a")
            await client.send("Debugger.pause")
            await client.send("Runtime.evaluate", {"expression": "1 + 1"}, wait=False)
            await client.leave(how)
            answer = await guarded.send("Runtime.evaluate", TASK)
            assert answer["result"]["value"] == "ran"
        assert await guarded.key("k") is None
        state = await guarded.seen(since)
        assert [record.code for record in state.guest().records("keyup")] == ["KeyA", "KeyK"]

    async def test_a_stopped_client_that_holds_nothing_stays(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        async with leaver(guarded) as idle, leaver(guarded) as holding:
            await holding.key_down("a")
            for client in (idle, holding):
                await client.leave("SIGSTOP")

            async def up() -> bool:
                return bool((await guarded.fixture.state(since=since)).guest().records("keyup"))

            await eventually(up)
            idle.process.send_signal(signal.SIGCONT)
            await idle.key_down("b")
        assert (await guarded.seen(since)).guest().values["text"] == "ab"

    async def test_a_key_that_two_hold_goes_up_with_the_second(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        await guarded.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **SHIFT})
        async with leaver(guarded) as client:
            await hold_keys(client)
            await client.leave("close")

            async def up() -> bool:
                return bool((await guarded.fixture.state(since=since)).guest().records("keyup"))

            await eventually(up)
        state = await guarded.seen(since)
        assert [record.code for record in state.guest().records("keyup")] == ["KeyA"]
        await guarded.send("Input.dispatchKeyEvent", {"type": "keyUp", **SHIFT, "modifiers": 0})
        state = await guarded.seen(since)
        assert [record.code for record in state.guest().records("keyup")] == ["KeyA", "ShiftLeft"]

    async def test_what_it_had_sent_and_nobody_carried_out_is_dropped(self, guarded: Stage) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        async with leaver(guarded) as client:
            for letter in "abcdefghijklmnopqrstuvwxyz" * 4:
                for kind in ("keyDown", "keyUp"):
                    event = {"type": kind, **key_event(letter)}
                    await client.send("Input.dispatchKeyEvent", event, wait=False)
            await client.leave("SIGKILL")
            await client.process.wait()
            await guarded.key("1")
        state = await guarded.seen(since)
        downs = [record.code for record in state.guest().records("keydown")]
        ups = [record.code for record in state.guest().records("keyup")]
        assert sorted(downs) == sorted(ups)
        assert state.guest().values["text"].endswith("1")
        assert state.host.active == ["textarea"]
        assert state.host.records("keydown", "keyup", "input") == []


class TestListeners:
    async def test_none_is_left_behind(self, guarded: Stage) -> None:
        await leaves_no_listener(guarded)


class TestRaw:
    async def test_a_button_stays_down_and_the_focus_away(self, raw: Stage, eventually: Eventually) -> None:
        since = await raw.fresh()
        async with leaver(raw) as client:
            await hold_button(raw, client)
            await client.leave("SIGKILL")
            await client.process.wait()
        await raw.fixture.settle(quiet=0.3)
        state = await raw.fixture.state(since=since)
        assert len(state.guest().records("mousedown")) == 1
        assert state.guest().records("mouseup") == []
        assert state.host.active != ["textarea"]

    async def test_keys_stay_down(self, raw: Stage) -> None:
        since = await raw.fresh()
        await raw.fixture.focus_guest("text")
        async with leaver(raw) as client:
            await hold_keys(client)
            await client.leave("SIGKILL")
            await client.process.wait()
        await raw.fixture.settle(quiet=0.3)
        state = await raw.fixture.state(since=since)
        assert [record.code for record in state.host.records("keydown")] == ["ShiftLeft", "KeyA"]
        assert [document.name for document in state.having("keyup")] == []

    @pytest.mark.parametrize("how", ["close", "reset", "SIGKILL"])
    async def test_what_it_paused_goes_on(self, raw: Stage, how: Leaving, eventually: Eventually) -> None:
        """No fault: Chromium undoes interception and pauses with the session. What a proxy has to keep."""
        await raw.fresh()
        async with leaver(raw) as client:
            await client.send("Fetch.enable")
            await client.send("Runtime.evaluate", {"expression": FETCH})
            await client.send("Debugger.enable")
            await client.send("Debugger.pause")
            await client.leave(how)
            await eventually(lambda: ended(raw))
        assert await ended(raw) == 200

    async def test_no_listener_stays(self, raw: Stage) -> None:
        await leaves_no_listener(raw)

    async def test_a_stopped_client_keeps_the_page_paused(self, raw: Stage) -> None:
        await raw.fresh()
        async with leaver(raw) as client:
            await client.send("Debugger.enable")
            await client.send("Debugger.pause")
            await client.send("Runtime.evaluate", {"expression": "1 + 1"}, wait=False)
            await client.leave("SIGSTOP")
            assert "no reply" in str(await raw.try_send("Runtime.evaluate", TASK, timeout=3))


#: How many wait for what happens to each page of the app.
LISTENERS = """return electron.webContents.getAllWebContents()
  .map((wc) => Object.fromEntries(wc.eventNames().map((name) => [String(name), wc.listenerCount(name)])))"""
ROUNDS = 12


async def leaves_no_listener(on: Stage) -> None:
    """Many come and go, and nothing stays on the app's pages; Node warns of more than ten of a kind."""

    async def come_and_go() -> None:
        async with open_client(endpoint(on)) as client:
            sessions = await attach_guest(client, await find_guest(client, on.url()), on.url(), frames=False)
            await client.send("Runtime.evaluate", {"expression": "1"}, session=sessions.root)
            if on.guarded:
                await client.send("Browser.setDownloadBehavior", {"behavior": "deny"})

    await on.fresh()
    await come_and_go()
    await on.fixture.settle()
    before = await on.fixture.execute("main-process", LISTENERS)
    for _ in range(ROUNDS):
        await come_and_go()
    await on.fixture.settle()
    assert await on.fixture.execute("main-process", LISTENERS) == before
    assert on.fixture.process is not None
    assert "MaxListenersExceededWarning" not in on.fixture.process.output_tail()


async def ended(on: Stage) -> Any:
    """How the page's request ended; None while it waits."""
    value = await on.fixture.execute("guest:0", "globalThis.ended")
    return None if value == "waiting" else value
