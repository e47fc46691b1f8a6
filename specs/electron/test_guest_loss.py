"""Case 20: guests are destroyed in every way, 200 in all, each with 20 commands in flight."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

import focusguard
from specs.guarded import Stage, endpoint, key_event

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
Way = Literal["the host removes it", "it closes itself", "the app closes it", "its renderer dies"]
Command = tuple[str, dict[str, Any]]
Message = dict[str, Any]

#: Guests at a time, and rounds of so many; the client leaves and the guard stops in two more each.
CROWD = 10
ROUNDS: dict[Way, int] = {
    "the host removes it": 6,
    "it closes itself": 4,
    "the app closes it": 3,
    "its renderer dies": 3,
}
#: Seconds in which each command has to be answered once its guest is gone.
ANSWER_SECONDS = 5.0
GATHER = """(() => {
  for (let index = 0; index < %d; index += 1) {
    const view = document.createElement('webview');
    view.className = 'crowd';
    view.src = `${location.origin.replace('app.', 'crowd.')}/guest/frame.html?member=${index}`;
    view.style.cssText = `position:absolute;top:200px;left:${index * 110}px;width:100px;height:100px`;
    view.addEventListener('close', () => view.remove());
    document.getElementById('guests').appendChild(view);
  }
})()"""
REMOVE = "document.querySelectorAll('webview.crowd').forEach((view) => view.remove())"
#: The crowd: by its URL, one that has just come would be missed.
MEMBERS = """electron.webContents.getAllWebContents().filter(
  (each) => each.getType() === 'webview' && !each.getURL().includes('/guest/index.html'))"""
CLOSE_ALL = f"for (const each of {MEMBERS}) each.close()"
#: A member's page closes itself when another page of the same origin says so.
LISTEN = {
    "expression": """new BroadcastChannel('end').onmessage = () => window.close();
    new Promise((loaded) => document.readyState === 'complete' ? loaded(0) : (window.onload = () => loaded(0)))""",
    "awaitPromise": True,
}
CLOSE = {"expression": "new BroadcastChannel('end').postMessage(0); 0"}
NEVER = {"expression": "new Promise(() => {})", "awaitPromise": True}
BUSY = {"expression": "for (const end = Date.now() + 30; Date.now() < end;);"}
PRESS = {"type": "mousePressed", "x": 20, "y": 20, "button": "left", "clickCount": 1}
COMMON: list[Command] = [
    ("Runtime.evaluate", NEVER),
    ("Page.enable", {}),
    ("Runtime.evaluate", BUSY),
    ("Input.dispatchMouseEvent", PRESS),
    ("Input.dispatchMouseEvent", {**PRESS, "type": "mouseReleased"}),
    ("Input.dispatchKeyEvent", {"type": "keyDown", **key_event("a")}),
    ("Input.dispatchKeyEvent", {"type": "keyUp", **key_event("a")}),
    ("Input.insertText", {"text": "b"}),
    ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
    ("DOM.getDocument", {}),
    ("Page.captureScreenshot", {}),
    ("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key_event("Tab")}),
    ("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 30, "y": 30}),
    ("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": 30, "y": 30, "deltaX": 0, "deltaY": 40}),
    ("Debugger.enable", {}),
    ("Input.imeSetComposition", {"text": "n", "selectionStart": 1, "selectionEnd": 1}),
    ("Runtime.evaluate", NEVER),
]
#: What an agent may have in flight, 20 in all, by turns: requests that it holds, or a page that is loading. Both at
#: once would keep the page from ever loading, which no guard can help.
HOLDING: list[Command] = [
    *COMMON,
    ("Fetch.enable", {}),
    ("Runtime.evaluate", {"expression": "fetch('/guest/frame.html?held'); 0"}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}),
]
LOADING: list[Command] = [
    *COMMON,
    ("DOM.enable", {}),
    ("Page.reload", {}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}),
]


@dataclass
class Pilot:
    """A client that counts: every message that it gets, and which of its commands each answers.

    Attributes:
        sent: Method of each command, by id.
        replies: What answered it.
        gone: Sessions that have ended.
        late: Answers that came after their session had ended.
    """

    connection: ClientConnection
    sent: dict[int, str] = field(default_factory=dict)
    where: dict[int, str | None] = field(default_factory=dict)
    replies: dict[int, list[Message]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    late: list[Message] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)
    closed: bool = False

    async def read(self) -> None:
        try:
            async for text in self.connection:
                message = json.loads(text)
                if "id" in message:
                    self.replies.setdefault(message["id"], []).append(message)
                    if message.get("sessionId") in self.gone:
                        self.late.append(message)
                elif message["method"] == "Target.detachedFromTarget":
                    self.gone.add(message["params"]["sessionId"])
                self._notify()
        except ConnectionClosed:
            pass
        self.closed = True
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    async def post(self, method: str, params: dict[str, Any], session: str | None = None) -> int:
        number = len(self.sent) + 1
        self.sent[number] = method
        self.where[number] = session
        message = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        await self.connection.send(json.dumps(message))
        return number

    async def ask(self, method: str, params: dict[str, Any], session: str | None = None) -> Message:
        number = await self.post(method, params, session)
        await self.wait(lambda: number in self.replies, 30)
        return self.replies[number][0]

    async def wait(self, until: Callable[[], bool], seconds: float) -> None:
        """Waits for messages until that holds, the connection ends, or the time is up."""
        with anyio.move_on_after(seconds):
            while not until() and not self.closed:
                await self.changed.wait()

    @property
    def unanswered(self) -> list[str]:
        return [
            f"{number} {method} on {self.where[number]}{' (gone)' * (self.where[number] in self.gone)}"
            for number, method in self.sent.items()
            if number not in self.replies
        ]

    @property
    def doubled(self) -> list[str]:
        return [self.sent[number] for number, replies in self.replies.items() if len(replies) > 1]

    @property
    def errors(self) -> list[Message]:
        return [reply["error"] for replies in self.replies.values() for reply in replies if "error" in reply]


@asynccontextmanager
async def pilot(url: str) -> AsyncIterator[Pilot]:
    async with connect(url, max_size=None, compression=None, proxy=None) as connection:
        flying = Pilot(connection)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(flying.read)
            yield flying
            await connection.close()


async def crowd(on: Stage, flying: Pilot) -> list[str]:
    """New guests, and a session on each."""
    await on.fixture.execute("host", f"{REMOVE}; {GATHER % CROWD}")
    with anyio.fail_after(60):
        while True:
            infos = (await flying.ask("Target.getTargets", {}))["result"]["targetInfos"]
            found = [info["targetId"] for info in infos if "member=" in info["url"]]
            if len(found) == CROWD:
                break
            await anyio.sleep(0.02)
    params = [{"targetId": each, "flatten": True} for each in found]
    return [(await flying.ask("Target.attachToTarget", each))["result"]["sessionId"] for each in params]


async def take_off(flying: Pilot, sessions: list[str], commands: list[Command], head_start: int) -> None:
    """Every guest gets every command at once; goes on when so many have been answered."""
    assert len(commands) == 20
    before = len(flying.replies)
    for session in sessions:
        for method, params in commands:
            await flying.post(method, params, session)
    await flying.wait(lambda: len(flying.replies) - before >= head_start, 30)


async def destroy(on: Stage, way: Way, flying: Pilot, sessions: list[str]) -> None:
    if way == "the host removes it":
        await on.fixture.execute("host", REMOVE)
    elif way == "it closes itself":
        await flying.post("Runtime.evaluate", CLOSE, sessions[0])
    elif way == "the app closes it":
        await on.fixture.execute("main-process", CLOSE_ALL)
    else:
        code = f"for (const each of {MEMBERS}) each.forcefullyCrashRenderer()"
        await on.fixture.execute("main-process", code)


async def nobody(on: Stage) -> bool:
    return await on.fixture.execute("main-process", f"return {MEMBERS}.length") == 0


def retried(error: Message) -> bool:
    return bool(json.loads(error.get("data", "{}")).get("retryable"))


class TestGuarded:
    @pytest.mark.parametrize("way", list(ROUNDS))
    async def test_each_command_is_answered_once_and_the_app_lives(
        self, guarded: Stage, way: Way, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        said: Counter[str] = Counter()
        for number in range(ROUNDS[way]):
            # Electron 33 ends, app and all, when the renderer of a webview dies while it loads, whoever loads it.
            calm = way in ("it closes itself", "its renderer dies")
            commands = LOADING if number % 2 and not calm else HOLDING
            async with pilot(endpoint(guarded)) as flying:
                sessions = await crowd(guarded, flying)
                for session in sessions if calm else ():
                    await flying.ask("Runtime.evaluate", LISTEN, session)
                # In a busy one, ten renderers that die among presses ended it too: 5 of 60 rounds, after 80 answers.
                most = 30 if way == "its renderer dies" else 80
                await take_off(flying, sessions, commands, (0, 30, most)[number % 3])
                await destroy(guarded, way, flying, sessions)
                if way == "its renderer dies":
                    await flying.wait(lambda: not flying.unanswered, ANSWER_SECONDS)
                    assert flying.unanswered == []
                    assert flying.gone == set()
                    await guarded.fixture.execute("host", REMOVE)
                await eventually(lambda: nobody(guarded))
                await flying.wait(lambda: len(flying.gone) == CROWD, ANSWER_SECONDS)
                await flying.wait(lambda: not flying.unanswered, ANSWER_SECONDS)
                assert flying.unanswered == []
                assert flying.doubled == []
                assert set(sessions) <= flying.gone
                assert [each for each in flying.late if retried(each.get("error", {}))] == []
                lost = [
                    each for each in flying.errors if "gone" in each["message"] or "died" in each["message"]
                ]
                assert lost != []
                assert [each for each in lost if retried(each)] == []
                said.update(each["message"].partition(":")[0] for each in flying.errors)
                after = [await flying.ask("DOM.getDocument", {}, session) for session in sessions]
                assert {each["error"]["code"] for each in after} == {-32001}
        print(f"{way}: {dict(said)}")
        await serves_on(guarded, since)

    async def test_the_client_leaves(self, guarded: Stage, eventually: Eventually) -> None:
        since = await guarded.fresh()
        for commands in (HOLDING, LOADING):
            async with pilot(endpoint(guarded)) as flying:
                await take_off(flying, await crowd(guarded, flying), commands, 30)
            await guarded.fixture.execute("host", REMOVE)
            await eventually(lambda: nobody(guarded))
            assert flying.doubled == []
        await serves_on(guarded, since)

    async def test_the_guard_stops(self, raw: Stage, eventually: Eventually) -> None:
        """A guard that was attached to a running app goes while commands are in flight and guests are destroyed."""
        since = await raw.fresh()
        for commands in (HOLDING, LOADING):
            async with anyio.create_task_group() as tasks:
                async with focusguard.attach(endpoint(raw)) as guard:
                    connection = await connect(guard.ws_endpoint, max_size=None, compression=None, proxy=None)
                    flying = Pilot(connection)
                    tasks.start_soon(flying.read)
                    await take_off(flying, await crowd(raw, flying), commands, 10)
                    await raw.fixture.execute("host", REMOVE)
                with anyio.fail_after(ANSWER_SECONDS):
                    await connection.wait_closed()
            assert flying.doubled == []
            await eventually(lambda: nobody(raw))
        state = await raw.seen(since)
        assert state.guest().status == state.host.status == "alive"


class TestRaw:
    async def test_commands_in_flight_are_never_answered(self, raw: Stage, eventually: Eventually) -> None:
        """The app outlives it on this Electron; newer ones have died of it."""
        await raw.fresh()
        async with pilot(endpoint(raw)) as flying:
            sessions = await crowd(raw, flying)
            await take_off(flying, sessions, HOLDING, 0)
            await raw.fixture.execute("host", REMOVE)
            await eventually(lambda: nobody(raw))
            await flying.wait(lambda: not flying.unanswered, 2.0)
            assert flying.unanswered != []
        assert (await raw.fixture.state(logs=False)).host.status == "alive"


async def serves_on(on: Stage, since: int) -> None:
    """The guest that stayed takes a key, and the host none."""
    await on.fixture.focus_guest("text")
    assert await on.key("k") is None
    state = await on.seen(since)
    assert state.guest().values["text"] == "k"
    assert state.host.active == ["textarea"]
    assert state.host.records("keydown", "input") == []
