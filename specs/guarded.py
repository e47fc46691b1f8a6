"""The fixture on its stage and an agent that drives its guests, through the guard or straight into Electron.

A spec runs twice over the same steps: `guarded`, where it says what has to hold, and `raw`, its control, where it
shows the fault, or says that there is none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import anyio
import pytest

import focusguard
from focusguard.cdp.limits import DEFAULT_LIMITS, Limits
from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import launch_electron
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime
from focusguard.guard import BridgeMode, RunningGuard
from probes.fixture import FIXTURE, Fixture, open_fixture_control
from probes.landing.cdp_client import (
    CdpClient,
    CdpError,
    GuestSessions,
    attach_guest,
    find_guest,
    open_client,
)
from probes.observed import Box, Document, Embedding, Record, State, WindowState

Route = Literal["raw", "guarded"]
SessionName = Literal["root", "frame", "nested"]

#: Key names, and what CDP calls them: code, virtual key, text.
KEYS: dict[str, tuple[str, int, str]] = {
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Tab": ("Tab", 9, ""),
    "Backspace": ("Backspace", 8, ""),
    "Delete": ("Delete", 46, ""),
    " ": ("Space", 32, " "),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "=": ("Equal", 187, "="),
    "-": ("Minus", 189, "-"),
    "F5": ("F5", 116, ""),
    "F11": ("F11", 122, ""),
}
MODIFIERS = {"alt": 1, "ctrl": 2, "meta": 4, "shift": 8}
#: What an agent's input looks like in a log.
INPUT = ("keydown", "keypress", "keyup", "beforeinput", "input", "compositionstart", "compositionend")
#: What a page sees of the focus.
FOCUS = ("focus", "blur", "focusin", "focusout")


def key_event(combination: str, **extra: Any) -> dict[str, Any]:
    """A key's CDP parameters without the `type`, from `a`, `Enter`, `ctrl+shift+i`."""
    *around, key = combination.split("+") if len(combination) > 1 else [combination]
    if key in KEYS:
        code, number, text = KEYS[key]
    else:
        code = f"Digit{key}" if key.isdigit() else f"Key{key.upper()}"
        number, text = ord(key.upper()), key
    modifiers = sum(MODIFIERS[name] for name in around)
    event: dict[str, Any] = {
        "key": key,
        "code": code,
        "windowsVirtualKeyCode": number,
        "modifiers": modifiers,
    }
    if text and not modifiers & ~MODIFIERS["shift"]:
        event["text"] = text
    return {**event, **extra}


class Stage:
    """A running app, and an agent at its guests.

    Attributes:
        route: `raw` or `guarded`.
        fixture: The app's oracles.
        client: The agent's connection.
        guard: The guard; None for `raw`.
        person: Real input; None where the window is hidden.
    """

    def __init__(
        self,
        route: Route,
        fixture: Fixture,
        client: CdpClient,
        guard: RunningGuard | None,
        person: Person | None,
        display: Display | None,
    ) -> None:
        self.route, self.fixture, self.client, self.guard, self.person = route, fixture, client, guard, person
        self.display = display
        self._sessions: dict[str, GuestSessions] = {}

    @property
    def guarded(self) -> bool:
        return self.guard is not None

    @property
    def hands(self) -> Person:
        """The person of a headful stage."""
        assert self.person is not None, "a hidden window has no person"
        return self.person

    async def fresh(self) -> int:
        """A new trial, with new sessions on the guests; the number of its first record."""
        if self.person is not None:
            await self.person.release_all()
        for sessions in self._sessions.values():
            await sessions.close()
        self._sessions.clear()
        await self.fixture.reset()
        return await self.fixture.settle()

    def url(self, index: int = 0) -> str:
        """A guest's address."""
        opened = self.fixture.opened
        assert opened is not None
        return opened.guests[index].url

    async def guest(self, index: int = 0) -> GuestSessions:
        """The agent's sessions on a guest, its cross-site frame and the one inside that."""
        url = self.url(index)
        target = await find_guest(self.client, url)
        if target not in self._sessions:
            self._sessions[target] = await attach_guest(self.client, target, url, frames=True)
        return self._sessions[target]

    async def send(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        guest: int = 0,
        session: SessionName = "root",
        timeout: float = 10.0,
    ) -> dict[str, Any]:
        """The agent sends a command on one of its sessions."""
        found = (await self.guest(guest)).session(session)
        assert found is not None, f"the guest has no {session} session on the {self.route} route"
        return await self.client.send(method, params, session=found, timeout=timeout)

    async def try_send(self, method: str, params: Mapping[str, Any] | None = None, **how: Any) -> str | None:
        """The same, where an error is an answer too: its text, or None."""
        try:
            await self.send(method, params, **how)
        except CdpError as error:
            return str(error)
        return None

    async def key(
        self, combination: str, *, guest: int = 0, session: SessionName = "root", **extra: Any
    ) -> str | None:
        """The agent presses and releases a key; gives the first error."""
        event = key_event(combination, **extra)
        kind = "keyDown" if "text" in event else "rawKeyDown"
        down = await self.try_send(
            "Input.dispatchKeyEvent", {"type": kind, **event}, guest=guest, session=session
        )
        event.pop("text", None)
        event.pop("commands", None)
        up = await self.try_send(
            "Input.dispatchKeyEvent", {"type": "keyUp", **event}, guest=guest, session=session
        )
        return down or up

    async def insert(self, text: str, *, guest: int = 0, session: SessionName = "root") -> str | None:
        """The agent's `Input.insertText`; gives the error."""
        return await self.try_send("Input.insertText", {"text": text}, guest=guest, session=session)

    async def at(
        self, element: str, *, guest: int = 0, frame: str = "main", session: SessionName = "root"
    ) -> tuple[float, float]:
        """Where an element's middle is, as that session counts."""
        rects = await self.fixture.rects(guest)
        box: Box = rects.element(element, frame) if session == "root" else rects.in_frame(element, frame)
        return box.centre

    async def mouse(
        self, kind: str, x: float, y: float, *, guest: int = 0, session: SessionName = "root", **extra: Any
    ) -> dict[str, Any]:
        """The agent's mouse: `mousePressed`, `mouseReleased`, `mouseMoved`."""
        event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1, **extra}
        return await self.send("Input.dispatchMouseEvent", event, guest=guest, session=session)

    async def click(
        self, element: str, *, guest: int = 0, frame: str = "main", session: SessionName = "root"
    ) -> None:
        """The agent presses and releases on an element, in a frame as soon as that can be pressed."""
        if frame in ("cross-site", "nested"):
            if self.person is None:  # a hidden page becomes visible, and draws its frames, when it is driven
                await self.send("Emulation.setFocusEmulationEnabled", {"enabled": True}, guest=guest)
            assert await self.fixture.frames_take_input(guest)
        x, y = await self.at(element, guest=guest, frame=frame, session=session)
        await self.mouse("mousePressed", x, y, guest=guest, session=session)
        await self.mouse("mouseReleased", x, y, guest=guest, session=session)

    async def seen(self, since: int = 0) -> State:
        """The state once nothing moves any more."""
        await self.fixture.settle()
        return await self.fixture.state(since=since)


def endpoint(on: Stage) -> str:
    """Where further clients of the stage connect."""
    if on.guard is not None:
        return on.guard.ws_endpoint
    assert on.fixture.process is not None and on.fixture.process.debugging_url is not None
    return on.fixture.process.debugging_url


@asynccontextmanager
async def stage(
    route: Route,
    runtime: Runtime,
    display: Display | None,
    janitor: Janitor,
    *,
    window: WindowState = "headful",
    guests: int = 1,
    embedding: Embedding = "webview",
    env: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    bridge: BridgeMode | None = None,
) -> AsyncIterator[Stage]:
    """Starts the fixture with the guard around it (bridge preloaded), or raw with a port, and connects an agent."""
    async with AsyncExitStack() as stack:
        control = await stack.enter_async_context(open_fixture_control(janitor=janitor))
        variables = {**control.env, **(env or {})}
        guard: RunningGuard | None = None
        # A plain window is a guest only where the app says so to the bridge, which it needs to have required itself.
        bridge = bridge or ("app" if embedding == "window" else "preload")
        if route == "guarded":
            guard = await stack.enter_async_context(
                focusguard.launch(
                    runtime,
                    app=FIXTURE,
                    env=variables,
                    display=display,
                    bridge=bridge,
                    janitor=janitor,
                    limits=limits,
                )
            )
            process, endpoint = guard.process, guard.ws_endpoint
        else:
            process = await stack.enter_async_context(
                launch_electron(
                    runtime, FIXTURE, env=variables, display=display, debugging="port", janitor=janitor
                )
            )
            assert process.debugging_url is not None
            endpoint = process.debugging_url
        fixture = await control.connected()
        fixture.process = process
        await fixture.open(embedding, window=window, guests=guests)
        person = None
        if window == "headful":
            assert display is not None, "a person needs a display"
            person = Person(display)
        if guard is not None:
            await guard.wait_for_guests(guests)
        client = await stack.enter_async_context(open_client(endpoint))
        yield Stage(route, fixture, client, guard, person, display)
        with anyio.CancelScope(shield=True), anyio.move_on_after(2):
            if person is not None:
                await person.release_all()


def records(document: Document, *types: str) -> list[str]:
    """The log of these events, short enough to stand in a failure."""
    return [shown(record) for record in document.records(*types)]


def shown(record: Record) -> str:
    """One record as a word or two: `keydown textarea 'a'`."""
    said = record.key if record.key is not None else record.data
    return f"{record.type} {record.target}" + ("" if said is None else f" {said!r}")


#: What a class or spec runs on: `staged` of specs/headful/conftest.py.
guarded = pytest.mark.parametrize("staged", ["guarded"], indirect=True, scope="module")
raw = pytest.mark.parametrize("staged", ["raw"], indirect=True, scope="module")
