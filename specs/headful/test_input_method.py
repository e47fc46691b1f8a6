"""A person composes with a real input method while an agent works in the guest: every word arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from focusguard.electron.display import isolated_display
from focusguard.electron.input_method import input_method
from focusguard.electron.janitor import Janitor
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime
from probes.landing.cdp_client import focus_node
from specs.bridged import Bridged, bridged

pytestmark = [pytest.mark.headful, pytest.mark.input_method, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
#: What is typed, and what the person means by it.
WORDS = {"pinyin": ("nihao ", "你好"), "hangul": ("gksrmf", "한글")}
#: Keys per second of somebody who composes; a repair takes two frames after the guest's own.
RATE = 12.0
FOCUS_EVENTS = ("focus", "blur", "focusin", "focusout")


class Desk:
    """A person with an input method in front of the fixture."""

    def __init__(self, app: Bridged, person: Person, engine: str) -> None:
        self.app, self.person = app, person
        self.keys, self.word = WORDS[engine]
        self._seq = 0

    async def start(self) -> None:
        """A fresh trial, with the input method as after the window came to the front."""
        await self.app.fixture.reset()
        await self.app.guest()
        await self.app.fixture.execute("host", "void (document.activeElement.blur())")
        await self.app.fixture.focus_host("textarea", text="")
        await self.app.fixture.settle()
        await anyio.sleep(0.5)
        self._seq = await self.app.fixture.settle()

    async def type(self, keys: str) -> None:
        await self.person.type(keys, rate=RATE)
        await anyio.sleep(0.2)

    async def value(self) -> str:
        """What stands in the field once the last composition is over."""
        if self.word == "한글":
            await self.person.key("Right")
            await anyio.sleep(0.3)
        await self.app.fixture.settle()
        return str((await self.app.fixture.state()).host.values["textarea"]).strip()

    async def seen(self) -> list[str]:
        """The compositions' beginnings and ends, and focus events of the host."""
        records = (await self.app.fixture.state(since=self._seq)).host.records()
        return [r.type for r in records if r.type in ("compositionstart", "compositionend", *FOCUS_EVENTS)]


@pytest.fixture(scope="module", params=["pinyin", "hangul"])
async def desk(request: pytest.FixtureRequest, runtime: Runtime, janitor: Janitor) -> AsyncIterator[Desk]:
    async with (
        isolated_display(janitor=janitor) as display,
        input_method(request.param, display, janitor) as env,
        bridged(runtime, display=display, janitor=janitor, window="headful", env=env) as app,
    ):
        person = Person(display)
        desk = Desk(app, person, request.param)
        await desk.start()
        await desk.type(desk.keys)  # the first word loads the dictionary
        await anyio.sleep(2)
        yield desk


@pytest.fixture(autouse=True)
async def fresh(desk: Desk) -> None:
    await desk.start()


async def nothing(app: Bridged) -> None:
    pass


async def press_a_field(app: Bridged) -> None:
    await app.press("text")


async def press_a_button(app: Bridged) -> None:
    await app.press("button")


async def focus_by_script(app: Bridged) -> None:
    await app.fixture.focus_guest("text")


async def focus_by_protocol(app: Bridged) -> None:
    await focus_node(partial(app.client.send, session=(await app.guest()).root), "#text")


async def type_into_a_field(app: Bridged) -> None:
    await app.fixture.focus_guest("text")
    await anyio.sleep(0.2)
    for letter in "agent":
        events = [{"type": kind, "keyCode": letter} for kind in ("keyDown", "char", "keyUp")]
        await app.ask("keys.send", webContentsId=app.number(), events=events)


async def insert_text(app: Bridged) -> None:
    await app.fixture.focus_guest("text")
    await app.ask("text.insert", webContentsId=app.number(), text="inserted")


ACTIONS = [
    nothing,
    press_a_button,
    press_a_field,
    focus_by_script,
    focus_by_protocol,
    type_into_a_field,
    insert_text,
]


class TestBeforeAWord:
    @pytest.mark.parametrize("action", ACTIONS)
    async def test_the_next_word_arrives(
        self, desk: Desk, action: Callable[[Bridged], Awaitable[None]]
    ) -> None:
        await action(desk.app)
        await anyio.sleep(0.5)
        await desk.type(desk.keys)
        assert await desk.value() == desk.word
        seen = await desk.seen()
        assert seen.count("compositionstart") == seen.count("compositionend") > 0
        assert not set(seen) & set(FOCUS_EVENTS)


class TestWithinAWord:
    async def test_a_page_that_focuses_itself_cannot_end_it(self, desk: Desk, eventually: Eventually) -> None:
        """In a page where nothing has been focused before; docs/bridge-protocol.md tells of the others."""
        await desk.app.fixture.reload()
        await anyio.sleep(0.5)
        await desk.start()
        half = 3 if desk.word == "你好" else 2
        await desk.type(desk.keys[:half])
        await eventually(lambda: self.composing(desk))
        await anyio.sleep(0.1)
        await desk.app.fixture.execute("guest:0", "void document.querySelector('#text').focus()")
        await desk.type(desk.keys[half:])
        assert await desk.value() == desk.word
        await anyio.sleep(1.0)
        assert not await desk.app.fixture.execute("guest:0", "document.documentElement.inert")

    async def composing(self, desk: Desk) -> bool:
        return bool((await desk.app.ask("host.composition", webContentsId=desk.app.host))["open"])


FIELD = "<!doctype html><title>Field</title><input id=field autofocus>"
#: It takes the focus again and again while it loads, and an image of it never comes.
ENDLESS = FIELD + (
    "<script>field.onblur = null; const end = Date.now() + 1500;"
    "(function again() { field.blur(); field.focus(); if (Date.now() < end) setTimeout(again, 40); })()</script>"
    "<img src=/never>"
)


@asynccontextmanager
async def pages(**named: str) -> AsyncIterator[str]:
    """Serves pages by their names, and nothing, for ever, under any other."""

    async def serve(stream: SocketStream) -> None:
        async with stream:
            name = (await stream.receive()).split()[1].decode().strip("/")
            if name not in named:
                await anyio.sleep_forever()
            body = named[name].encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
            await stream.send(head.encode() + body)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, serve)
        yield f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/"
        tasks.cancel_scope.cancel()


class TestAPageThatLoads:
    async def test_it_may_take_as_long_as_it_likes(self, desk: Desk) -> None:
        """Electron's own scripts wait until all of a page is there; what watches it may not."""
        async with pages(endless=ENDLESS) as site:
            await desk.type(desk.keys)
            await desk.app.fixture.navigate(f"{site}endless", wait=False)
            await anyio.sleep(0.4)
            await desk.type(desk.keys)
            assert await desk.value() == desk.word * 2
            assert await loads(desk.app)

    async def test_in_mid_word_it_gets_its_focus_when_the_word_is_over(
        self, desk: Desk, eventually: Eventually
    ) -> None:
        async with pages(field=FIELD) as site:
            half = 3 if desk.word == "你好" else 2
            await desk.type(desk.keys[:half])
            await desk.app.fixture.navigate(f"{site}field", wait=False)
            await anyio.sleep(0.3)
            await desk.type(desk.keys[half:])
            assert await desk.value() == desk.word
            await eventually(lambda: has_focus(desk.app))

    async def test_an_agent_that_comes_finds_it_ready(self, desk: Desk) -> None:
        root = (await desk.app.guest()).root
        async with pages(field=FIELD) as site:
            await desk.type(desk.keys)
            assert await desk.value() == desk.word  # and no syllable is open
            await desk.app.fixture.navigate(f"{site}field", wait=False)
            await anyio.sleep(0.1)
            await desk.app.ask("host.room", webContentsId=desk.app.number(), longestMs=1500)
            await focus_node(partial(desk.app.client.send, session=root), "#field")
            assert await has_focus(desk.app)


async def loads(app: Bridged) -> bool:
    code = f"return electron.webContents.fromId({app.number()}).isLoadingMainFrame()"
    return bool(await app.fixture.execute("main-process", code))


async def has_focus(app: Bridged) -> bool:
    ask = f"electron.webContents.fromId({app.number()}).executeJavaScript('document.activeElement.id')"
    return bool(await app.fixture.execute("main-process", f"return {ask}") == "field")
