"""What every client is asked to do, and how it is told whether it has: from the fixture, never from the client.

Meanwhile the person types into the host with real keystrokes. A client reads for a page as well as it acts on one;
what it has read is held against what the fixture knows.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.install import ensure_runtime
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import State
from specs.clients.driver import Client, Driver, Refused, open_driver
from specs.guarded import Route, Stage, endpoint, stage
from specs.pictures import COLOUR, PAINT, UNPAINT, size_and_colour

#: Today's clients ask for what older Chromiums do not have, and before Electron 29 dialogs open (docs/architecture.md).
OLDEST = 29
#: Of every module that drives all clients.
MARKS = [
    pytest.mark.headful,
    pytest.mark.anyio,
    pytest.mark.skipif(
        int(ensure_runtime().version.partition(".")[0]) < OLDEST,
        reason=f"these clients are measured on Electron {OLDEST} and newer",
    ),
]
#: What the person types: more than fits into the longest task.
TEXT = "the quick brown fox jumps over the lazy dog " * 16
#: Keys per second.
RATE = 12.0
#: Seconds in which an app that was told to quit has ended; raw it takes a tenth.
ENDING_SECONDS = 0.5
#: Where a client stumbled over a message, which depends on the length of a number in it.
POSITION = re.compile(r" at line \d+ column \d+")
ASK = """(() => {
  window.agreed = null;
  document.querySelector('#button').onclick = () => { window.agreed = confirm('Really?'); };
})()"""
UPLOADED = """(async () => {
  const [file] = document.querySelector('#file').files;
  return file ? [file.name, await file.text()] : null;
})()"""


class NotSeen(Exception):
    """The client is content, and the page shows something else."""


def shows(found: object, wanted: object) -> None:
    """Holds what the fixture shows against what the client was asked for."""
    if found != wanted:
        raise NotSeen(f"not seen: {found!r} instead of {wanted!r}")


class Scene:
    """A client at an app with two guests, and the person at its host. Made by `open_scene`.

    Attributes:
        on: The app.
        client: Who is measured.
        keys: How many the person has typed so far.
    """

    def __init__(self, on: Stage, client: Client, folder: Path) -> None:
        self.on, self.client, self.folder = on, client, folder
        self.fixture = on.fixture
        self.keys = 0
        self._drivers: list[Driver] = []
        self._connected: set[int] = set()
        self._stack = AsyncExitStack()
        self._begin = 0

    @property
    def url(self) -> str:
        """The page that the client is to drive."""
        return self.on.url()

    async def run(self, task: Task) -> str:
        """Has one task done.

        Returns:
            `ok`, or the client's own message, or what was seen instead.
        """
        await self.on.fresh()
        self._begin = len(self.on.hands.journal)
        try:
            await task(self)
        except (Refused, NotSeen) as fault:
            return POSITION.sub("", str(fault))
        finally:
            self.keys += len(self._typed())
        return "ok"

    async def ask(self, task: str, **args: Any) -> Any:
        """Has the client do something while the person types, and looks that the person has not been disturbed.

        Raises:
            Refused: The client could not.
        """
        if task == "connect":
            self._connected.add(0)
        else:
            await self.connected()
        driver = (await self.drivers(1))[0]
        refused: Refused | None = None
        value: Any = None
        async with self.typing():
            try:
                value = await driver.ask(task, **args)
            except Refused as fault:
                refused = fault
        if refused is not None:
            raise refused
        return value

    async def connected(self, guest: int = 0) -> None:
        """Sees to it that the client is connected to a guest; each guest has a driver of its own."""
        if guest not in self._connected:
            self._connected.add(guest)  # once: what comes next shows what a failed connection is worth
            driver = (await self.drivers(guest + 1))[guest]
            await driver.ask("connect", **self.address(guest))

    def disconnected(self) -> None:
        """Notes that the client has left."""
        self._connected.discard(0)

    def address(self, guest: int = 0) -> dict[str, str]:
        """Where a client connects, and the page that it is to drive."""
        ws = endpoint(self.on)
        guard = self.on.guard
        http = guard.endpoint if guard is not None else "http://" + ws.split("/")[2]
        return {"http": http, "ws": ws, "url": self.on.url(guest)}

    async def drivers(self, count: int) -> list[Driver]:
        """The client's processes, as many as that."""
        while len(self._drivers) < count:
            opening = open_driver(self.client, self.folder)
            self._drivers.append(await self._stack.enter_async_context(opening))
        return self._drivers

    async def seen(self) -> State:
        """The state once nothing moves any more."""
        return await self.on.seen()

    async def close(self) -> None:
        """Ends the client's processes."""
        await self._stack.aclose()

    # -- the person --

    @asynccontextmanager
    async def typing(self) -> AsyncIterator[None]:
        """The person types into the host from before it to after it, and nothing of it is lost.

        On the raw route nobody types: there the person's keys would end in the page, and change what it shows.
        """
        if not self.on.guarded:
            yield
            return
        before = len(self._typed())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.on.hands.type, TEXT, RATE)
            await self._until_typed(before + 1)
            yield
            await self._until_typed(len(self._typed()) + 1)
            tasks.cancel_scope.cancel()
        host = (await self.seen()).host
        assert host.values["textarea"] == self._typed(), "what the person has typed is not what the host has"
        assert host.active == ["textarea"], "the person's focus is not where it was"

    def _typed(self) -> str:
        strokes = self.on.hands.journal[self._begin :]
        return "".join(stroke.detail for stroke in strokes if stroke.kind == "key-down")

    async def _until_typed(self, count: int) -> None:
        with anyio.fail_after(5):
            while len(self._typed()) < count:
                await anyio.sleep(0.005)


@asynccontextmanager
async def open_scene(
    route: Route, client: Client, runtime: Runtime, display: Display, janitor: Janitor, folder: Path
) -> AsyncIterator[Scene]:
    """Starts an app with two guests, and the client's driver.

    Yields:
        The scene; the client has not connected yet.
    """
    async with stage(route, runtime, display, janitor, guests=2) as on:
        scene = Scene(on, client, folder)
        try:
            await scene.drivers(1)
            yield scene
        finally:
            await scene.close()


Task = Callable[[Scene], Awaitable[None]]


async def connect(scene: Scene) -> None:
    await scene.ask("connect", **scene.address())


async def list_pages(scene: Scene) -> None:
    pages = await scene.ask("pages")
    shows(sorted(pages), sorted(scene.on.url(index) for index in range(2)))


async def title(scene: Scene) -> None:
    await scene.fixture.execute("guest:0", "document.title = 'a title of its own'")
    shows(await scene.ask("title"), "a title of its own")


async def screenshot(scene: Scene) -> None:
    await scene.fixture.execute("guest:0", PAINT)
    try:
        picture = await scene.ask("screenshot")
    finally:
        await scene.fixture.execute("guest:0", UNPAINT)
    view = (await scene.fixture.rects()).viewport
    size = [round(view.width * view.scale), round(view.height * view.scale)]
    shows(await scene.fixture.execute("host", size_and_colour(picture)), [*size, list(COLOUR)])


async def click(scene: Scene) -> None:
    await scene.ask("click", selector="#button")
    guest = (await scene.seen()).guest()
    shows((guest.count("button"), guest.count("button-double")), (1, 0))


async def double_click(scene: Scene) -> None:
    await scene.ask("double_click", selector="#button")
    guest = (await scene.seen()).guest()
    shows((guest.count("button"), guest.count("button-double")), (2, 1))


async def type_text(scene: Scene) -> None:
    await scene.ask("type", selector="#text", text="By the agent")
    shows((await scene.seen()).guest().values["text"], "By the agent")


async def enter(scene: Scene) -> None:
    await scene.ask("press", selector="#textarea", key="Enter")
    guest = (await scene.seen()).guest()
    shows((guest.values["textarea"], guest.keys(target="textarea")), ("\n", ["Enter"]))


async def replace(scene: Scene) -> None:
    await scene.fixture.execute("guest:0", "document.querySelector('#text').value = 'what was there'")
    await scene.ask("replace", selector="#text", text="New")
    shows((await scene.seen()).guest().values["text"], "New")


async def fill_same_site_frame(scene: Scene) -> None:
    await _fill_frame(scene, "same-site")


async def fill_cross_site_frame(scene: Scene) -> None:
    await _fill_frame(scene, "cross-site")


async def _fill_frame(scene: Scene, frame: Literal["same-site", "cross-site"]) -> None:
    # A press before a frame of another process is drawn goes to the page around it.
    assert await scene.fixture.frames_take_input()
    await scene.ask("fill_frame", frame=f"#{frame}", selector="#text", text="In a frame")
    shows((await scene.seen()).guest(frame=frame).values["text"], "In a frame")


async def choose(scene: Scene) -> None:
    await scene.ask("choose", selector="#select", value="blue")
    guest = (await scene.seen()).guest()
    shows((guest.values["select"], guest.count("select")), ("blue", 1))


async def upload(scene: Scene) -> None:
    path = scene.folder / "notes.txt"
    path.write_text("of the agent", "utf-8")
    await scene.ask("upload", selector="#file", path=str(path))
    shows(await scene.fixture.execute("guest:0", UPLOADED), ["notes.txt", "of the agent"])


async def accept_dialog(scene: Scene) -> None:
    await scene.fixture.execute("guest:0", ASK)
    try:
        said = await scene.ask("accept_dialog", selector="#button")
        shows((said, await scene.fixture.execute("guest:0", "window.agreed")), ("Really?", True))
    finally:
        await scene.fixture.execute("guest:0", "document.querySelector('#button').onclick = null")


async def scroll(scene: Scene) -> None:
    await scene.ask("scroll", selector="#scroll-area", down=120)
    guest = (await scene.seen()).guest()
    shows((guest.scrolls["scroll-area"].y, guest.scrolls["window"].y), (120, 0))


async def drag(scene: Scene) -> None:
    await scene.ask("drag", source="#draggable", target="#drop-zone")
    page = (await scene.seen()).guest().page
    assert page is not None
    shows((page.dropped, page.counters.get("drop", 0)), (["dragged"], 1))


async def navigate(scene: Scene) -> None:
    url = scene.url + "&another=1"
    await scene.ask("navigate", url=url)
    shows((await scene.seen()).guest().url, url)


async def new_tab(scene: Scene) -> None:
    before = len((await scene.seen()).documents)
    await scene.ask("new_tab", url=scene.url)
    shows(len((await scene.seen()).documents) > before, True)


async def close(scene: Scene) -> None:
    before = [(document.id, document.status) for document in (await scene.seen()).documents]
    await scene.ask("close")
    scene.disconnected()
    shows([(document.id, document.status) for document in (await scene.seen()).documents], before)


async def reconnect(scene: Scene) -> None:
    await scene.ask("connect", **scene.address())
    await click(scene)


async def two_at_once(scene: Scene) -> None:
    for index in range(2):
        await scene.connected(index)
    drivers = await scene.drivers(2)
    refused: list[Refused] = []

    async def work(index: int) -> None:
        try:
            await drivers[index].ask("type", selector="#text", text=f"Agent {index}")
            await drivers[index].ask("click", selector="#button")
        except Refused as fault:
            refused.append(fault)

    async with scene.typing(), anyio.create_task_group() as tasks:
        tasks.start_soon(work, 0)
        tasks.start_soon(work, 1)
    if refused:
        raise refused[0]
    state = await scene.seen()
    for index in range(2):
        guest = state.guest(index)
        shows((guest.values["text"], guest.count("button")), (f"Agent {index}", 1))


async def quit_browser(scene: Scene) -> None:
    await scene.ask("quit")
    process = scene.on.fixture.process
    assert process is not None
    with anyio.move_on_after(ENDING_SECONDS):
        await process.wait()
        raise NotSeen("not seen: the app has ended")


#: In this order: the first one connects, `close` ends that, the last one would end the app.
TASKS: dict[str, Task] = {
    "connect": connect,
    "list": list_pages,
    "title": title,
    "screenshot": screenshot,
    "click": click,
    "double-click": double_click,
    "type": type_text,
    "enter": enter,
    "select all and replace": replace,
    "fill in a same-site frame": fill_same_site_frame,
    "fill in a cross-site frame": fill_cross_site_frame,
    "choose in a native select": choose,
    "upload a file": upload,
    "accept a dialog": accept_dialog,
    "scroll": scroll,
    "drag": drag,
    "navigate": navigate,
    "new tab": new_tab,
    "close": close,
    "reconnect": reconnect,
    "two at once": two_at_once,
    "quit the browser": quit_browser,
}
