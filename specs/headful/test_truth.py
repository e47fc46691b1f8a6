"""Cases 14 and 15: what a reply says is what the guest's log says, in whatever state the guest is."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import State
from specs.guarded import Stage, stage

pytestmark = [pytest.mark.electron, pytest.mark.headful, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]

#: The ways in which a guest is not shown; each can still take keys.
STATES = ("shown", "visibility: hidden", "opacity: 0", "display: none", "occluded", "minimised", "frozen")
#: Those of them that give no frame.
UNPAINTED = ("visibility: hidden", "minimised")
SWALLOW = """for (const type of ['keydown', 'keypress', 'keyup', 'beforeinput', 'mousedown', 'mouseup', 'click'])
  window.addEventListener(type, globalThis.swallow = (event) => {
    event.preventDefault(); event.stopImmediatePropagation(); }, true); 0"""
UNSWALLOW = """for (const type of ['keydown', 'keypress', 'keyup', 'beforeinput', 'mousedown', 'mouseup', 'click'])
  window.removeEventListener(type, globalThis.swallow, true); 0"""


@pytest.fixture(scope="module")
async def guarded(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Stage]:
    async with stage("guarded", runtime, display, janitor) as running:
        yield running


@pytest.fixture(scope="module")
async def raw(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Stage]:
    async with stage("raw", runtime, display, janitor) as running:
        yield running


@asynccontextmanager
async def in_state(on: Stage, name: str, eventually: Eventually) -> AsyncIterator[None]:
    """The guest's field has the guest's focus, and then the guest is in that state for a while."""
    await on.fixture.focus_guest("text")
    if name == "occluded":
        await on.fixture.sentinel(open=True, focus=True)
        code = "stage.sentinel.setBounds({ x: 0, y: 0, width: 1280, height: 900 })"
        await on.fixture.execute("main-process", code)
    elif name == "minimised":
        await on.fixture.window("minimize")

        async def minimised() -> bool:
            return (await on.fixture.state(logs=False)).window().minimized

        await eventually(minimised)
        # Chromium gives a page a few frames more after it was hidden.
        await eventually(lambda: unpainted(on))
    elif name == "frozen":
        await on.send("Page.setWebLifecycleState", {"state": "frozen"})
    elif name != "shown":
        prop, value = name.split(": ")
        await style(on, prop, value)
    try:
        yield
    finally:
        if name == "frozen":
            await on.send("Page.setWebLifecycleState", {"state": "active"})
        elif name == "minimised":
            await on.fixture.window("restore")
        elif name not in ("shown", "occluded"):
            await style(on, name.split(": ")[0], "")


async def unpainted(on: Stage) -> bool:
    """Whether the guest gets no frame any more."""
    frame = (
        "new Promise((done) => { requestAnimationFrame(() => done(true)); setTimeout(done, 200, false); })"
    )
    return not await on.fixture.execute("guest:0", frame)


async def style(on: Stage, prop: str, value: str) -> None:
    code = f"document.querySelector('webview').style.setProperty('{prop}', '{value}')"
    await on.fixture.execute("host", code)


def went_down(state: State) -> list[str]:
    return state.guest().keys()


class TestGuarded:
    @pytest.mark.parametrize("name", STATES)
    async def test_a_reply_without_error_means_that_the_page_got_it(
        self, guarded: Stage, name: str, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        async with in_state(guarded, name, eventually):
            answers = {"key": await guarded.key("k"), "text": await guarded.insert("t")}
        state = await guarded.seen(since)
        got = {
            "key": "k" in went_down(state),
            "text": any(r.data == "t" for r in state.guest().records("input")),
        }
        assert {what: error is None for what, error in answers.items()} == got
        for error in answers.values():
            assert error is None or "browser_" in error
        assert state.host.records("keydown", "input") == []

    async def test_a_stopped_renderer_gets_nothing_and_the_agent_is_told(self, guarded: Stage) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        await guarded.guest()  # attached before it stops
        pid = (await guarded.fixture.state(logs=False)).guest().pid
        os.kill(pid, signal.SIGSTOP)
        try:
            refused = [await guarded.key("k"), await guarded.insert("t")]
        finally:
            os.kill(pid, signal.SIGCONT)
        assert all(error is not None and "browser_input_not_delivered" in error for error in refused)
        assert await guarded.key("m") is None
        state = await guarded.seen(since)
        assert went_down(state) == ["m"]
        assert state.guest().values["text"] == "m"
        assert state.host.records("keydown", "input") == []

    async def test_a_stopped_guest_does_not_hold_up_another_clients_commands(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        await guarded.guest()  # attached before it stops
        pid = (await guarded.fixture.state(logs=False)).guest().pid
        x, y = await guarded.at("button")
        os.kill(pid, signal.SIGSTOP)
        try:
            error = await guarded.try_send(
                "Input.dispatchMouseEvent",
                {"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1},
                timeout=15,
            )
            assert error is not None
            assert "browser_" in error
            state = await guarded.fixture.state(logs=False)
            assert state.host.active == ["textarea"]

            await guarded.hands.type("still here")
        finally:
            os.kill(pid, signal.SIGCONT)
        state = await guarded.seen(since)
        assert state.host.values["textarea"] == "still here"

    async def test_a_page_that_swallows_its_keys_is_no_miss(self, guarded: Stage) -> None:
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        await guarded.fixture.execute("guest:0", SWALLOW)
        try:
            assert await guarded.key("k") is None
            assert await guarded.key("Enter") is None
            await guarded.click("button")
        finally:
            await guarded.fixture.execute("guest:0", UNSWALLOW)
        state = await guarded.seen(since)
        assert went_down(state) == ["k", "Enter"]
        assert state.guest().values["text"] == ""

    @pytest.mark.parametrize("name", UNPAINTED)
    async def test_a_screenshot_of_an_unpainted_guest_is_a_named_error(
        self, guarded: Stage, name: str, eventually: Eventually
    ) -> None:
        await guarded.fresh()
        async with in_state(guarded, name, eventually):
            error = await guarded.try_send("Page.captureScreenshot", timeout=20)
            assert error is not None
            # A guest that its host has just hidden may be given frames for a while; then the bound names it.
            assert any(code in error for code in ("browser_target_hidden", "browser_timeout")), error

    async def test_what_waits_for_a_frame_holds_nothing_up(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        # Focus emulation begins with the first key, and shows a hidden guest for a frame or two: not in the middle.
        assert await guarded.key("j") is None
        async with in_state(guarded, "minimised", eventually):
            sessions = await guarded.guest()
            waiting = []

            async def wait(method: str, params: dict[str, Any]) -> None:
                waiting.append(await guarded.try_send(method, params, timeout=25))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait, "Page.captureScreenshot", {})
                wheel = {"type": "mouseWheel", "x": 50, "y": 50, "deltaX": 0, "deltaY": 50}
                tasks.start_soon(wait, "Input.dispatchMouseEvent", wheel)
                answer = await guarded.client.send(
                    "Runtime.evaluate", {"expression": "2"}, session=sessions.root
                )
                assert answer["result"]["value"] == 2
                assert await guarded.key("k") is None
                assert waiting == [] or all(waiting)
            assert len(waiting) == 2
            named = ("browser_target_hidden", "browser_timeout")
            assert all(error is not None and any(code in error for code in named) for error in waiting), (
                waiting
            )
            # The next press finds the focus free.
            x, y = await guarded.at("button")
            await guarded.mouse("mousePressed", x, y)
            await guarded.mouse("mouseReleased", x, y)
        assert went_down(await guarded.seen(since)) == ["j", "k"]


class TestRaw:
    async def test_a_key_for_a_stopped_renderer_is_answered_with_ok_and_typed_at_the_person(
        self, raw: Stage
    ) -> None:
        since = await raw.fresh()
        await raw.fixture.focus_guest("text")
        await raw.guest()
        pid = (await raw.fixture.state(logs=False)).guest().pid
        os.kill(pid, signal.SIGSTOP)
        try:
            assert await raw.key("k") is None
        finally:
            os.kill(pid, signal.SIGCONT)
        state = await raw.seen(since)
        assert went_down(state) == []
        assert state.host.keys() == ["k"]

    @pytest.mark.parametrize("name", UNPAINTED)
    async def test_a_screenshot_of_an_unpainted_guest_is_never_answered(
        self, raw: Stage, name: str, eventually: Eventually
    ) -> None:
        await raw.fresh()
        async with in_state(raw, name, eventually):
            error = await raw.try_send("Page.captureScreenshot", timeout=3)
            assert error is not None
            assert "no reply" in error
