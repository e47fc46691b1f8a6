"""The fixture in a real window with real keystrokes: what it logs is where they went."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime
from probes.fixture import Fixture, run_fixture
from probes.landing.cdp_client import CdpClient, attach_guest, find_guest, open_client
from probes.observed import Embedding
from specs.embeddings import VIEWS

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
LETTER = [{"type": kind, "keyCode": "q"} for kind in ("keyDown", "char", "keyUp")]


@pytest.fixture(scope="module")
async def fixture(
    embedding: Embedding, runtime: Runtime, display: Display, janitor: Janitor
) -> AsyncIterator[Fixture]:
    """The app in a window with the focus, with one guest in each embedding that this Electron has, in turn."""
    async with run_fixture(runtime, display=display, guests=0, janitor=janitor) as app:
        await app.open(embedding, window="headful")
        yield app


@pytest.fixture(scope="module")
async def app(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Fixture]:
    """The app in a window with the focus, with a webview."""
    async with run_fixture(
        runtime, display=display, window="headful", debugging="port", janitor=janitor
    ) as started:
        yield started


@pytest.fixture
async def person(display: Display) -> AsyncIterator[Person]:
    someone = Person(display)
    yield someone
    await someone.release_all()


class TestEveryEmbedding:
    async def test_logs_the_persons_keystroke_in_the_host(
        self, fixture: Fixture, person: Person, display: Display, eventually: Eventually
    ) -> None:
        await fixture.reset()
        await fixture.focus_host("textarea", text="draft", caret=2)
        await fixture.focus_guest("text")
        seq = await fixture.settle()
        assert (await fixture.state()).window().focused
        await person.type("Hi!")
        await fixture.settle()
        state = await fixture.state(since=seq)
        assert state.host.values["textarea"] == "drHi!aft"
        assert state.host.keys(target="textarea") == ["Shift", "H", "i", "Shift", "!"]
        assert all(record.trusted for record in state.host.records("keydown"))
        assert [document.name for document in state.having("keydown", "input")] == ["host"]
        pressed = [(entry.role, entry.key) for entry in state.before_input if entry.type == "keyDown"]
        assert pressed == [("host", key) for key in ["Shift", "H", "i", "Shift", "!"]]
        assert state.host.page is not None
        assert [seen.key for seen in state.host.page.seen if seen.type == "keydown"] == [
            "Shift",
            "H",
            "i",
            "Shift",
            "!",
        ]

    async def test_logs_a_key_that_the_guest_is_sent(self, fixture: Fixture) -> None:
        await fixture.reset()
        opened = await fixture.describe()
        await fixture.focus_guest("text")
        seq = await fixture.settle()
        await fixture.send_input_event(opened.guests[0].web_contents_id, LETTER)
        await fixture.settle()
        state = await fixture.state(since=seq)
        assert state.guest().values["text"] == "q"
        assert [document.name for document in state.having("keydown", "input")] == ["guest:0/main"]
        assert state.host.active == ["textarea"]

    @pytest.mark.only("webview", *VIEWS, "window")  # of an offscreen page there is nothing to click
    async def test_the_persons_mouse_finds_what_the_rects_say(
        self, fixture: Fixture, person: Person, eventually: Eventually
    ) -> None:
        await fixture.reset()
        rects = await fixture.rects()
        for frame in ("main", "cross-site", "nested"):
            seq = await fixture.settle()
            await person.click(*rects.on_screen("text", frame))
            await fixture.settle()
            await person.type("ok")
            await fixture.settle()
            state = await fixture.state(since=seq)
            assert state.guest(0, frame).values["text"] == "ok"
            assert [document.name for document in state.having("mousedown", "keydown")] == [
                f"guest:0/{frame}"
            ]
        await person.click(*rects.host_on_screen("form"))
        await fixture.settle()
        await person.type("home")
        await fixture.settle()
        state = await fixture.state()
        assert state.host.values["form"] == "home"
        await fixture.reset()
        after = await fixture.state()
        assert (after.host.active, after.host.has_focus) == (["textarea"], True)
        assert after.guest(0, "nested").values["text"] == ""

    async def test_reset_takes_the_focus_back_from_the_guest(self, fixture: Fixture, person: Person) -> None:
        opened = await fixture.describe()
        await fixture.reset()
        if opened.embedding != "offscreen":
            await person.click(*(await fixture.rects()).on_screen("textarea"))
            await person.type("x")
        await fixture.sentinel(open=True, focus=True)
        await fixture.reset()
        seq = await fixture.settle()
        await person.type("back")
        await fixture.settle()
        state = await fixture.state(since=seq)
        assert state.host.values["textarea"] == "back"
        assert [document.name for document in state.having("keydown")] == ["host"]

    async def test_a_persons_accelerator_counts_once(self, fixture: Fixture, person: Person) -> None:
        await fixture.reset()
        await fixture.settle()
        for combination in ("ctrl+r", "ctrl+shift+i", "F5"):
            await person.key(combination)
        await fixture.settle()
        state = await fixture.state()
        fired = {name: count for name, count in state.accelerators.items() if count}
        assert fired == {"Ctrl+R": 1, "Ctrl+Shift+I": 1, "F5": 1}


class TestSentinel:
    async def test_takes_the_persons_keys_when_it_is_in_front(
        self, app: Fixture, person: Person, display: Display
    ) -> None:
        await app.reset()
        await app.sentinel(open=True, focus=True)
        seq = await app.settle()
        await person.type("over here")
        await app.settle()
        state = await app.state(since=seq)
        assert state.document("sentinel").values["sentinel"] == "over here"
        assert [document.name for document in state.having("keydown")] == ["sentinel"]
        assert state.window("sentinel").focused
        assert not state.window().focused
        assert not state.host.has_focus


class TestRawLanding:
    """The facts that the project exists for, through Electron's own port: the fixture must show them."""

    @pytest.fixture
    async def client(self, app: Fixture) -> AsyncIterator[CdpClient]:
        assert app.process is not None
        assert app.process.debugging_url is not None
        async with open_client(app.process.debugging_url) as connected:
            yield connected

    async def test_a_key_for_the_guest_lands_in_the_host(self, app: Fixture, client: CdpClient) -> None:
        await app.reset()
        await app.focus_guest("text")
        url = (await app.describe()).guests[0].url
        sessions = await attach_guest(client, await find_guest(client, url), url, frames=False)
        seq = await app.settle()
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": "x", "code": "KeyX", "windowsVirtualKeyCode": 88}
            text = {"text": "x"} if kind == "keyDown" else {}
            await client.send("Input.dispatchKeyEvent", {**event, **text}, session=sessions.root)
        await client.send("Input.insertText", {"text": "yz"}, session=sessions.root)
        await app.settle()
        state = await app.state(since=seq)
        assert state.host.values["textarea"] == "xyz"
        assert state.guest().values["text"] == ""
        assert [document.name for document in state.having("keydown", "input")] == ["host"]
        # No key of the person: it never came by the main process's key handling of the guest.
        assert not any(entry.role == "guest" for entry in state.before_input)

    async def test_a_press_in_the_guest_takes_the_persons_next_key(
        self, app: Fixture, client: CdpClient, person: Person
    ) -> None:
        await app.reset()
        url = (await app.describe()).guests[0].url
        sessions = await attach_guest(client, await find_guest(client, url), url, frames=False)
        x, y = (await app.rects()).element("text").centre
        seq = await app.settle()
        for kind in ("mousePressed", "mouseReleased"):
            event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            await client.send("Input.dispatchMouseEvent", event, session=sessions.root)
        await person.type("mine")
        await app.settle()
        state = await app.state(since=seq)
        assert state.host.active == ["guest-0"]
        assert state.host.values["textarea"] == ""
        assert state.guest().values["text"] == "mine"
        assert [entry.role for entry in state.before_input if entry.type == "keyDown"] == ["guest"] * 4

    @pytest.mark.parametrize("mode", ["on-focus", "at-end"])
    async def test_an_app_that_gives_the_focus_back_has_it_again(
        self, app: Fixture, client: CdpClient, person: Person, mode: str
    ) -> None:
        await app.reset()
        await app.restore_on_focus(mode)  # type: ignore[arg-type]
        url = (await app.describe()).guests[0].url
        sessions = await attach_guest(client, await find_guest(client, url), url, frames=False)
        x, y = (await app.rects()).element("text").centre
        await app.settle()
        for kind in ("mousePressed", "mouseReleased"):
            event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            await client.send("Input.dispatchMouseEvent", event, session=sessions.root)
        await app.settle()
        await person.type("mine")
        await app.settle()
        state = await app.state()
        assert state.host.active == ["textarea"]
        assert state.host.values["textarea"] == "mine"
