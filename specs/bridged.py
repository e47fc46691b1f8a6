"""The fixture with the bridge in it, and a guard's end of the link that only asks."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio

from focusguard.bridge import BRIDGE_SCRIPT
from focusguard.bridge.link import BridgeLink, open_bridge_link
from focusguard.bridge.messages import (
    RESULTS,
    Answer,
    BorrowEnded,
    BridgeEvent,
    Connected,
    Hello,
    Lost,
    Notice,
)
from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.fixture import Fixture, run_fixture
from probes.landing.cdp_client import CdpClient, GuestSessions, attach_guest, find_guest, open_client
from probes.observed import Embedding, WindowState

Ending = Literal["press", "release"]


class BridgeError(Exception):
    """The bridge answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Asker:
    """Asks the bridge and waits for its answers."""

    def __init__(self) -> None:
        self.hello: Hello | None = None
        self.link: BridgeLink | None = None
        self.notices: list[Notice] = []
        self.losses = 0
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[anyio.Event, list[Answer]]] = {}

    def told(self, message: BridgeEvent) -> None:
        match message:
            case Connected(hello):
                self.hello = hello
            case Answer():
                event, box = self._waiting[message.id]
                box.append(message)
                event.set()
            case Notice():
                self.notices.append(message)
            case Lost():
                self.losses += 1

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self.link is not None
        number = next(self._numbers)
        event, box = self._waiting[number] = (anyio.Event(), [])
        self.link.send({"id": number, "method": method, "params": params})
        with anyio.fail_after(10):
            await event.wait()
        del self._waiting[number]
        answer = box[0]
        if answer.error is not None:
            raise BridgeError(answer.error.code, answer.error.message)
        result = dict(answer.result or {})
        if method in RESULTS:
            RESULTS[method].model_validate(result)
        return result

    def named(self, name: str) -> list[Mapping[str, Any]]:
        return [notice.params for notice in self.notices if notice.name == name]


class Bridged:
    """A running fixture, the bridge in it, and an agent's CDP sessions on its guests."""

    def __init__(self, fixture: Fixture, asker: Asker, client: CdpClient) -> None:
        self.fixture, self.asker, self.client = fixture, asker, client
        self.ask = asker.ask
        self._sessions: dict[str, GuestSessions] = {}

    async def guest(self, index: int = 0) -> GuestSessions:
        opened = self.fixture.opened
        assert opened is not None
        url = opened.guests[index].url
        target = await find_guest(self.client, url)
        if target not in self._sessions:
            self._sessions[target] = await attach_guest(self.client, target, url, frames=False)
            await self.client.send(
                "Emulation.setFocusEmulationEnabled", {"enabled": True}, session=self._sessions[target].root
            )
        return self._sessions[target]

    def number(self, index: int = 0) -> int:
        opened = self.fixture.opened
        assert opened is not None
        return opened.guests[index].web_contents_id

    @property
    def host(self) -> int:
        opened = self.fixture.opened
        assert opened is not None
        return opened.host.web_contents_id

    async def mouse(self, kind: str, x: float, y: float, *, guest: int = 0) -> None:
        session = (await self.guest(guest)).root
        event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        await self.client.send("Input.dispatchMouseEvent", event, session=session)

    async def at(self, element: str, *, guest: int = 0) -> tuple[float, float]:
        return (await self.fixture.rects(guest)).element(element).centre

    async def press(
        self, element: str, *, guest: int = 0, end: Ending = "press", pace: float = 0
    ) -> BorrowEnded:
        """An agent's click on an element under a borrow."""
        return await self.click(*(await self.at(element, guest=guest)), guest=guest, end=end, pace=pace)

    async def click(
        self, x: float, y: float, *, guest: int = 0, end: Ending = "press", pace: float = 0
    ) -> BorrowEnded:
        """An agent's click under a borrow, which ends with the press or with the release."""
        begun = await self.ask("borrow.begin", webContentsId=self.number(guest), paceMs=pace, readyMs=150)
        assert begun["state"] == "held", begun
        await self.mouse("mousePressed", x, y, guest=guest)
        if end == "release":
            await self.mouse("mouseReleased", x, y, guest=guest)
        ended = await self.ask("borrow.end", lease=begun["lease"])
        if end == "press":
            await self.mouse("mouseReleased", x, y, guest=guest)
        return BorrowEnded.model_validate(ended)


@asynccontextmanager
async def bridged(
    runtime: Runtime,
    *,
    display: Display | None = None,
    janitor: Janitor | None = None,
    embedding: Embedding = "webview",
    window: WindowState = "hidden",
    guests: int = 1,
    preload: bool = False,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Bridged]:
    """Starts the fixture with the bridge: by its own `require`, or with `preload` before it and by its own too."""
    asker = Asker()
    async with open_bridge_link(asker.told) as link:
        asker.link = link
        async with run_fixture(
            runtime,
            display=display,
            janitor=janitor,
            embedding=embedding,
            window=window,
            guests=guests,
            debugging="port",
            require=BRIDGE_SCRIPT if preload else None,
            env={**link.env, **(env or {})},
        ) as fixture:
            with anyio.fail_after(10):
                while asker.hello is None:
                    await anyio.sleep(0.01)
            assert fixture.process is not None and fixture.process.debugging_url is not None
            async with open_client(fixture.process.debugging_url) as client:
                yield Bridged(fixture, asker, client)
