"""The two routes that are compared: a plain page that has the focus, unguarded, and a guarded guest that has not."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import launch_electron
from focusguard.electron.runtimes import Runtime
from focusguard.guard import RunningGuard, launch
from specs.electron.fidelity.keyboard import Command

APP = Path(__file__).parent / "app"
ROOT = Path(__file__).parents[3]
#: Seconds for a stage to stand, and for one row.
READY_SECONDS = 60.0
ROW_SECONDS = 30.0
#: Seconds between the commands of a patient row.
PATIENCE = 0.03
#: After so many rows one line says how far it is.
PROGRESS_ROWS = 500

Window = Literal["hidden", "headful"]


def bundle_editor(folder: Path) -> Path:
    """Bundles the rich-text editor for the oldest Chromium (83) into one file."""
    made = folder / "editor.js"
    subprocess.run(
        [
            str(ROOT / "node_modules/.bin/esbuild"),
            str(APP / "editor.mjs"),
            "--bundle",
            "--format=iife",
            "--target=chrome83",
            "--log-level=warning",
            f"--outfile={made}",
        ],
        check=True,
        cwd=ROOT,
    )
    return made


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison.

    Attributes:
        name: unique in the corpus.
        group: what it belongs to.
        commands: what the client sends, in order.
        spec: how the page is prepared (see recorder.js).
        session: whose session the commands go to.
        patient: each reply is waited for before the next command, and a little longer: the clipboard, and the focus
            between processes, are not there at once. Otherwise none is waited for.
    """

    name: str
    group: str
    commands: Sequence[Command]
    spec: Mapping[str, Any] = field(default_factory=lambda: {"field": "area"})
    session: Literal["root", "cross", "nested"] = "root"
    patient: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a row gave on one route.

    Attributes:
        record: what the page observed, by frame.
        replies: for each command its error code, or an empty text.
        seconds: from the first command to the last reply.
        borrows: how often the guard borrowed the focus for it.
    """

    record: Mapping[str, Any]
    replies: Sequence[str]
    seconds: float
    borrows: int


class Client:
    """A CDP client that posts without waiting."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0
        self._waiting: dict[int, tuple[anyio.Event, dict[str, Any]]] = {}

    async def read(self) -> None:
        try:
            async for text in self._connection:
                message = json.loads(text)
                waiting = self._waiting.get(message.get("id", 0))
                if waiting is not None:
                    waiting[1].update(message)
                    waiting[0].set()
        except ConnectionClosed:
            pass
        for event, _ in self._waiting.values():
            event.set()

    async def post(self, method: str, params: Mapping[str, Any], session: str | None) -> int:
        self._last += 1
        self._waiting[self._last] = (anyio.Event(), {})
        message = {"id": self._last, "method": method, "params": params}
        await self._connection.send(json.dumps(message | ({"sessionId": session} if session else {})))
        return self._last

    async def reply(self, number: int) -> dict[str, Any]:
        """The whole reply, also if it is an error."""
        event, box = self._waiting[number]
        with anyio.fail_after(ROW_SECONDS):
            await event.wait()
        del self._waiting[number]
        return box

    async def call(
        self, method: str, params: Mapping[str, Any], session: str | None = None
    ) -> dict[str, Any]:
        answer = await self.reply(await self.post(method, params, session))
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer.get('error', 'the connection is closed')}")
        result: dict[str, Any] = answer["result"]
        return result


@asynccontextmanager
async def open_client(url: str) -> AsyncIterator[Client]:
    async with connect(url, max_size=None, compression=None, proxy=None) as connection:
        client = Client(connection)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.read)
            yield client
            tasks.cancel_scope.cancel()


class Route:
    """A page on its stage, and a client's session on it."""

    def __init__(self, client: Client, url: str, root: str, guard: RunningGuard | None) -> None:
        self.client = client
        self.url = url
        self.sessions = {"root": root}
        self.guard = guard
        self._borrows = 0
        if guard is not None:
            guard.watch(lambda report: self._told(report.kind))

    def _told(self, kind: str) -> None:
        self._borrows += kind == "borrow"

    async def evaluate(self, expression: str) -> Any:
        params = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = await self.client.call("Runtime.evaluate", params, self.sessions["root"])
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression[:80]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    async def next(self, spec: Mapping[str, Any] | None) -> dict[str, Any]:
        """Prepares the next row and gives the record of the one before."""
        record: dict[str, Any] = await self.evaluate(f"stage.next({json.dumps(spec)})")
        return record

    async def run(self, rows: Sequence[Row]) -> list[Outcome]:
        """Runs rows, one after the other, and prints how far it is."""
        outcomes: list[Outcome] = []
        began = time.monotonic()
        halves: list[tuple[list[str], float, int]] = []
        records: list[dict[str, Any]] = []
        for row in rows:
            records.append(await self.next(row.spec))
            before, start = self._borrows, time.monotonic()
            replies = await self._send(row)
            halves.append((replies, time.monotonic() - start, self._borrows - before))
            if len(halves) % PROGRESS_ROWS == 0:
                name = "plain" if self.guard is None else "guarded"
                seconds = time.monotonic() - began
                print(f"  {name}: {len(halves)} of {len(rows)} rows in {seconds:.0f} s", flush=True)
        records.append(await self.next(None))
        for (replies, seconds, borrows), record in zip(halves, records[1:], strict=True):
            outcomes.append(Outcome(record, replies, seconds, borrows))
        return outcomes

    async def _send(self, row: Row) -> list[str]:
        session = self.sessions[row.session]
        replies: list[str] = []
        waiting: list[int] = []
        for method, params in row.commands:
            waiting.append(await self.client.post(method, params, session))
            if row.patient:
                replies.append(_said(await self.client.reply(waiting.pop())))
                await anyio.sleep(PATIENCE)
        return replies + [_said(await self.client.reply(number)) for number in waiting]

    async def leaks(self) -> list[str]:
        """What reached the host page, read from the app itself."""

        def ask() -> list[str]:
            with urllib.request.urlopen(self.url.replace("page.html", "leaks"), timeout=10) as answer:
                found: list[str] = json.load(answer)
                return found

        return await anyio.to_thread.run_sync(ask)


def _said(reply: Mapping[str, Any]) -> str:
    if "error" in reply:
        return str(reply["error"].get("message", reply["error"]))
    return "" if "result" in reply else "closed"


@asynccontextmanager
async def open_plain(
    runtime: Runtime, display: Display, editor: Path, janitor: Janitor
) -> AsyncIterator[Route]:
    """The page in a window of its own, which has the focus; its client talks to Electron itself."""
    env = {"FIDELITY_STAGE": "plain", "FIDELITY_EDITOR": str(editor)}
    async with (
        launch_electron(runtime, APP, env=env, display=display, debugging="port", janitor=janitor) as process,
        open_client(process.debugging_url or "") as client,
    ):
        yield await _ready(client, None)


@asynccontextmanager
async def open_guarded(
    runtime: Runtime, display: Display, editor: Path, janitor: Janitor, window: Window
) -> AsyncIterator[Route]:
    """The page as a guest, while a field of its host has the focus; its client talks to the guard."""
    env = {"FIDELITY_STAGE": f"webview-{window}", "FIDELITY_EDITOR": str(editor)}
    async with AsyncExitStack() as stack:
        guard = await stack.enter_async_context(
            launch(runtime, APP, env=env, display=display, janitor=janitor)
        )
        client = await stack.enter_async_context(open_client(guard.ws_endpoint))
        yield await _ready(client, guard)


async def _ready(client: Client, guard: RunningGuard | None) -> Route:
    """Waits until the page stands, has the focus (or believes so) and takes input."""
    with anyio.fail_after(READY_SECONDS):
        url, target = "", ""
        while not target:
            await anyio.sleep(0.05)
            for info in (await client.call("Target.getTargets", {}))["targetInfos"]:
                if info["url"].endswith("/page.html"):
                    url, target = info["url"], info["targetId"]
        attached = await client.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        route = Route(client, url, attached["sessionId"], guard)
        while not await _stands(route):
            await anyio.sleep(0.05)
        while not await _takes_input(route):
            await anyio.sleep(0.1)
    return route


async def _stands(route: Route) -> bool:
    try:
        return bool(
            await route.evaluate(
                "typeof stage === 'object' && document.readyState === 'complete' && stage.ready()"
            )
        )
    except RuntimeError:  # between two documents there is none to ask
        return False


async def _takes_input(route: Route) -> bool:
    """Chromium drops input for up to half a second after a page was shown."""
    await route.next({"field": "area"})
    knock = {"type": "keyUp", "key": "F12", "code": "F12", "windowsVirtualKeyCode": 123}
    await route.client.reply(await route.client.post("Input.dispatchKeyEvent", knock, route.sessions["root"]))
    record = (await route.next(None))["main"]
    return any(entry["type"] == "keyup" for entry in record["log"]) and record["focused"]
