"""The bridge inside a real Electron (hidden windows): what it answers, what it undoes, what it never does."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from focusguard.bridge import BRIDGE_SCRIPT
from focusguard.bridge.messages import PROTOCOL_VERSION
from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.fixture import Fixture, run_fixture
from probes.observed import Embedding
from specs.bridged import Bridged, BridgeError, bridged

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
BRIDGE = "process[Symbol.for('focusguard.bridge')]"
FOCUS_EVENTS = ("focus", "blur", "focusin", "focusout", "change")


def key(name: str, *modifiers: str, text: str = "") -> list[dict[str, Any]]:
    down = {"type": "keyDown", "keyCode": name, "modifiers": list(modifiers)}
    char = [{"type": "char", "keyCode": text, "modifiers": list(modifiers)}] if text else []
    return [down, *char, {**down, "type": "keyUp"}]


def complaints(fixture: Fixture) -> list[str]:
    """What Node or the fixture said of an error in the main process."""
    assert fixture.process is not None
    lines = fixture.process.output_tail().splitlines()
    return [line for line in lines if re.search(r"Uncaught|Unhandled|^\s*at |^fixture:|[a-z]Error:", line)]


@pytest.fixture(scope="module")
async def app(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Bridged]:
    async with bridged(runtime, display=display, janitor=janitor, preload=True, guests=2) as running:
        yield running


@pytest.fixture
async def fresh(app: Bridged) -> Bridged:
    await app.fixture.reset()
    await app.guest()
    await app.fixture.settle()
    return app


class TestLoading:
    async def test_it_says_what_it_is(self, app: Bridged) -> None:
        hello = app.asker.hello
        assert hello is not None and hello.version == PROTOCOL_VERSION
        assert (hello.pid, hello.electron) == (app.fixture.hello.pid, app.fixture.hello.electron)
        assert {"target.describe", "keys.send", "borrow.begin", "borrow.end"} <= set(hello.capabilities)

    async def test_loaded_before_the_app_and_by_the_app_it_is_one(self, app: Bridged) -> None:
        path = json.dumps(str(BRIDGE_SCRIPT))
        code = f"return require({path}) === {BRIDGE} && require.cache[require.resolve({path})] !== undefined"
        assert await app.fixture.execute("main-process", code)
        assert app.asker.losses == 0

    async def test_the_secrets_do_not_stay_in_the_environment(self, app: Bridged) -> None:
        code = (
            "return [process.env.FOCUSGUARD_TOKEN, process.env.FOCUSGUARD_SOCKET, process.env.NODE_OPTIONS]"
        )
        assert await app.fixture.execute("main-process", code) == [None, None, None]

    async def test_without_a_guard_it_changes_nothing(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        env = {"FOCUSGUARD_BRIDGE": str(BRIDGE_SCRIPT)}
        async with run_fixture(runtime, display=display, janitor=janitor, env=env) as fixture:
            code = """const all = electron.webContents.getAllWebContents();
              return all.some((wc) => Object.prototype.hasOwnProperty.call(wc, 'emit'));"""
            assert not await fixture.execute("main-process", code)


class TestTargets:
    async def test_a_webview_and_its_host(self, fresh: Bridged) -> None:
        opened = fresh.fixture.opened
        assert opened is not None
        guest = await fresh.ask("target.describe", targetId=(await fresh.guest()).target_id)
        assert (guest["kind"], guest["guest"]) == ("webview", True)
        assert (guest["webContentsId"], guest["hostWebContentsId"]) == (fresh.number(), fresh.host)
        assert guest["url"] == opened.guests[0].url

    async def test_the_host_is_no_guest(self, fresh: Bridged) -> None:
        infos = (await fresh.client.send("Target.getTargets"))["targetInfos"]
        pages = [await fresh.ask("target.describe", targetId=info["targetId"]) for info in infos]
        by_number = {page["webContentsId"]: page for page in pages if page["found"]}
        assert by_number[fresh.host]["guest"] is False and by_number[fresh.host]["kind"] == "window"

    async def test_one_that_is_not_there(self, fresh: Bridged) -> None:
        assert await fresh.ask("target.describe", targetId="0" * 32) == {"found": False}

    async def test_every_embedding(
        self, runtime: Runtime, display: Display, janitor: Janitor, embedding: Embedding
    ) -> None:
        async with bridged(runtime, display=display, janitor=janitor) as app:
            await app.fixture.open(embedding, window="hidden")
            await app.fixture.execute("main-process", f"{BRIDGE}.isGuest = null")
            seen = await app.ask("target.describe", targetId=(await app.guest()).target_id)
            assert seen["kind"] == embedding
            assert seen["guest"] is (embedding != "window")  # a plain window only if the app says so
            inside = embedding in ("webview", "browser-view", "web-contents-view")
            assert seen["hostWebContentsId"] == (app.host if inside else None)
            if embedding != "webview":
                begun = await app.ask("borrow.begin", webContentsId=app.number())
                assert begun == {"state": "nothing-to-hold", "lease": None, "waitedMs": 0}
            await app.fixture.execute("main-process", f"{BRIDGE}.isGuest = (wc) => wc.id !== {app.number()}")
            seen = await app.ask("target.describe", targetId=(await app.guest()).target_id)
            assert seen["guest"] is False

    async def test_a_guest_that_goes_is_told(self, fresh: Bridged, eventually: Eventually) -> None:
        number = fresh.number(1)
        await fresh.fixture.destroy_guest(1)
        await eventually(lambda: {"webContentsId": number} in fresh.asker.named("target.gone"))
        await fresh.fixture.add_guest()
        await fresh.fixture.describe()


class TestKeys:
    async def test_keys_go_to_the_guest_and_nowhere_else(self, fresh: Bridged) -> None:
        await fresh.fixture.focus_guest("text")
        seq = await fresh.fixture.settle()
        sent = await fresh.ask("keys.send", webContentsId=fresh.number(), events=key("q", text="q"))
        assert sent == {"sent": 3}
        await fresh.fixture.settle()
        state = await fresh.fixture.state(since=seq)
        assert state.guest().values["text"] == "q"
        assert [document.name for document in state.having("keydown", "input")] == ["guest:0/main"]
        assert not [entry for entry in state.before_input if entry.seq > seq]

    async def test_no_shortcut_of_the_app_hears_them(self, fresh: Bridged) -> None:
        for name in ("R", "W", "Q"):
            await fresh.ask("keys.send", webContentsId=fresh.number(), events=key(name, "control"))
        await fresh.ask("keys.send", webContentsId=fresh.number(), events=key("F5"))
        await fresh.fixture.settle()
        state = await fresh.fixture.state()
        assert not any(state.accelerators.values())

    async def test_text_is_inserted(self, fresh: Bridged) -> None:
        await fresh.fixture.focus_guest("text")
        await fresh.ask("text.insert", webContentsId=fresh.number(), text="größe 你好 👍")
        await fresh.fixture.settle()
        assert (await fresh.fixture.state()).guest().values["text"] == "größe 你好 👍"

    async def test_the_mark_is_there_for_the_agent_and_ends(
        self, fresh: Bridged, eventually: Eventually
    ) -> None:
        watch = f"""const wc = electron.webContents.fromId({fresh.number()}); global.marked = [];
          wc.on('input-event', (event, input) => global.marked.push([input.type, {BRIDGE}.isAgentInput(wc)]));"""
        await fresh.fixture.execute("main-process", watch)
        asked = f"return {BRIDGE}.isAgentInput(electron.webContents.fromId({fresh.number()}))"
        assert await fresh.fixture.execute("main-process", asked) is False
        await fresh.ask("keys.send", webContentsId=fresh.number(), events=key("q", text="q"))
        assert await fresh.fixture.execute("main-process", asked) is True
        other = f"return {BRIDGE}.isAgentInput(electron.webContents.fromId({fresh.host}))"
        assert await fresh.fixture.execute("main-process", other) is False

        async def over() -> bool:
            return not await fresh.fixture.execute("main-process", asked)

        await eventually(over, seconds=3)
        marked = await fresh.fixture.execute("main-process", "return global.marked")
        assert all(mark for _, mark in marked)
        begun = await fresh.ask("borrow.begin", webContentsId=fresh.number())
        assert await fresh.fixture.execute("main-process", asked) is True
        await fresh.ask("borrow.end", lease=begun["lease"])
        assert await fresh.fixture.execute("main-process", asked) is False


class TestBorrow:
    async def test_raw_the_press_takes_the_focus(self, fresh: Bridged) -> None:
        x, y = await fresh.at("button")
        await fresh.mouse("mousePressed", x, y)
        await fresh.mouse("mouseReleased", x, y)
        await fresh.fixture.settle()
        assert (await fresh.fixture.state()).host.active != ["textarea"]

    async def test_a_press_leaves_no_trace_in_the_host(self, fresh: Bridged) -> None:
        await fresh.fixture.focus_host("textarea", text="0123456789", selection=(2, 5), direction="backward")
        seq = await fresh.fixture.settle()
        await fresh.press("button")
        await fresh.fixture.settle()
        state = await fresh.fixture.state(since=seq)
        assert state.host.active == ["textarea"]
        assert not state.host.records(*FOCUS_EVENTS)
        selection = state.host.selections["textarea"]
        assert (selection.start, selection.end, selection.direction) == (2, 5, "backward")
        assert state.guest().count("clicks") or state.guest().records("click")

    async def test_taking_it_moves_the_focus_and_gives_it_back(self, fresh: Bridged) -> None:
        begun = await fresh.ask("borrow.begin", webContentsId=fresh.number(), take=True)
        state = await fresh.fixture.state()
        assert begun["state"] == "held" and state.host.active != ["textarea"]
        ended = await fresh.ask("borrow.end", lease=begun["lease"])
        assert ended["returned"]
        assert (await fresh.fixture.state()).host.active == ["textarea"]

    async def test_a_lease_ends_once(self, fresh: Bridged) -> None:
        begun = await fresh.ask("borrow.begin", webContentsId=fresh.number())
        await fresh.ask("borrow.end", lease=begun["lease"])
        for lease in (begun["lease"], 4711, None):
            assert (await fresh.ask("borrow.end", lease=lease))["reason"] == "no-lease"

    async def test_a_field_that_goes_is_not_missed(self, fresh: Bridged) -> None:
        begun = await fresh.ask("borrow.begin", webContentsId=fresh.number())
        await fresh.fixture.execute(
            "host", "void (window.gone = document.querySelector('#textarea'), gone.remove())"
        )
        await fresh.mouse("mousePressed", *(await fresh.at("button")))
        ended = await fresh.ask("borrow.end", lease=begun["lease"])
        assert ended["reason"] in ("element-gone", "returned", "at-home")
        assert (await fresh.fixture.execute("host", "document.activeElement === document.body")) is True
        await fresh.fixture.execute("host", "void document.querySelector('#fields').prepend(gone)")

    async def test_the_host_may_be_loaded_anew_meanwhile(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        async with bridged(runtime, display=display, janitor=janitor) as app:
            begun = await app.ask("borrow.begin", webContentsId=app.number())
            code = f"""const wc = electron.webContents.fromId({app.host}); wc.reload();
              await new Promise((resolve) => wc.once('dom-ready', resolve));"""
            await app.fixture.execute("main-process", code)
            ended = await app.ask("borrow.end", lease=begun["lease"])
            assert (ended["returned"], ended["reason"]) == (False, "host-reloaded")


class TestErrors:
    @pytest.mark.parametrize(
        ("method", "params", "code"),
        [
            ("no.such", {}, "unknown-method"),
            ("toString", {}, "unknown-method"),
            ("keys.send", {"webContentsId": 9999, "events": []}, "no-such-target"),
            ("borrow.begin", {"webContentsId": 9999}, "no-such-target"),
            ("borrow.begin", {}, "no-such-target"),
            ("guest.open", {"url": "about:blank"}, "unsupported"),
        ],
    )
    async def test_they_have_a_code(
        self, fresh: Bridged, method: str, params: dict[str, Any], code: str
    ) -> None:
        with pytest.raises(BridgeError) as raised:
            await fresh.ask(method, **params)
        assert raised.value.code == code

    async def test_an_app_without_a_way_to_close_says_so(self, fresh: Bridged) -> None:
        with pytest.raises(BridgeError, match="unsupported"):
            await fresh.ask("guest.close", webContentsId=fresh.number())

    async def test_events_that_are_none_are_an_error_and_no_crash(self, fresh: Bridged) -> None:
        with pytest.raises(BridgeError, match="failed"):
            await fresh.ask("keys.send", webContentsId=fresh.number(), events=[{"type": "nonsense"}, 5])
        assert await fresh.ask("ping") == {}

    async def test_the_app_opens_what_it_wants(self, fresh: Bridged) -> None:
        code = f"""global.opened = []; {BRIDGE}.onOpenGuest = (url) => {{
          global.opened.push(url); return electron.webContents.fromId({fresh.number()}); }};"""
        await fresh.fixture.execute("main-process", code)
        answer = await fresh.ask("guest.open", url="https://example.org/")
        assert answer["webContentsId"] == fresh.number()
        await fresh.fixture.execute(
            "main-process", f"{BRIDGE}.onOpenGuest = () => {{ throw new Error('no'); }}"
        )
        with pytest.raises(BridgeError, match="failed: no"):
            await fresh.ask("guest.open", url="https://example.org/")
        await fresh.fixture.execute("main-process", f"{BRIDGE}.onOpenGuest = null")

    async def test_a_host_that_hangs_is_an_error_in_bounded_time(self, fresh: Bridged) -> None:
        busy = f"""electron.webContents.fromId({fresh.host}).executeJavaScript(
          'for (const t = Date.now(); Date.now() - t < 1500;);0'); return 0"""
        await fresh.fixture.execute("main-process", busy)
        await anyio.sleep(0.1)
        with anyio.fail_after(1.2), pytest.raises(BridgeError) as raised:
            await fresh.ask("borrow.begin", webContentsId=fresh.number(), readyMs=150)
        assert raised.value.code == "pane-unavailable"
        await anyio.sleep(1.8)
        ended = await fresh.press("button")
        assert ended.reason in ("returned", "at-home")
        await fresh.fixture.settle()
        assert (await fresh.fixture.state()).host.active == ["textarea"]

    async def test_a_host_that_is_gone_is_an_error_in_bounded_time(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        async with bridged(runtime, display=display, janitor=janitor) as app:
            kill = (
                f"process.kill(electron.webContents.fromId({app.host}).getOSProcessId(), 'SIGKILL'); return 0"
            )
            await app.fixture.execute("main-process", kill)
            await anyio.sleep(0.3)
            with anyio.fail_after(1), pytest.raises(BridgeError) as raised:
                await app.ask("borrow.begin", webContentsId=app.number(), readyMs=150)
            assert raised.value.code in ("pane-unavailable", "no-such-target")
            assert await app.ask("ping") == {}


class FakeGuard:
    """A guard that only shakes hands; its line can be cut."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "guard.sock"
        self.hellos: list[dict[str, Any]] = []
        self.answer: dict[str, Any] = {"type": "welcome", "version": PROTOCOL_VERSION}
        self.streams: list[SocketStream] = []

    @property
    def env(self) -> dict[str, str]:
        token = "ab" * 32
        return {
            "FOCUSGUARD_SOCKET": str(self.path),
            "FOCUSGUARD_TOKEN": token,
            "FOCUSGUARD_BRIDGE": str(BRIDGE_SCRIPT),
        }

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            self.streams.append(stream)
            lines = BufferedByteReceiveStream(stream)
            try:
                self.hellos.append(json.loads(await lines.receive_until(b"\n", 65536)))
                await stream.send(json.dumps(self.answer).encode() + b"\n")
                while True:
                    await lines.receive()
            except (
                anyio.EndOfStream,
                anyio.IncompleteRead,
                anyio.BrokenResourceError,
                anyio.ClosedResourceError,
            ):
                return

    async def cut(self) -> None:
        for stream in self.streams:
            await stream.aclose()
        self.streams.clear()


@pytest.fixture
async def guard() -> AsyncIterator[FakeGuard]:
    with tempfile.TemporaryDirectory() as folder:
        guard = FakeGuard(Path(folder))
        async with (
            await anyio.create_unix_listener(guard.path) as listener,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(listener.serve, guard.serve)
            yield guard
            tasks.cancel_scope.cancel()


class TestWhenTheGuardGoes:
    async def untouched(self, fixture: Fixture) -> bool:
        code = f"""const all = electron.webContents.getAllWebContents();
          const own = (wc, name) => Object.prototype.hasOwnProperty.call(wc, name);
          const code = 'typeof __focusguardPane + typeof __focusguardSentry';
          const look = (wc) => wc.executeJavaScriptInIsolatedWorld(73117, [{{ code }}]);
          const left = await Promise.all(all.filter((wc) => wc.getURL()).map(look));
          const session = electron.session.defaultSession;
          const preloads = session.getPreloadScripts ? session.getPreloadScripts().map((one) => one.filePath)
            : session.getPreloads();
          return !all.some((wc) => own(wc, 'emit') || own(wc, 'focus'))
            && left.every((what) => what === 'undefinedundefined')
            && !preloads.some((file) => /shield/.test(file))
            && !all.some((wc) => {BRIDGE}.isAgentInput(wc));"""
        return bool(await fixture.execute("main-process", code))

    async def test_all_is_undone_and_it_comes_back(
        self, runtime: Runtime, display: Display, janitor: Janitor, guard: FakeGuard, eventually: Eventually
    ) -> None:
        async with run_fixture(runtime, display=display, janitor=janitor, env=guard.env) as fixture:
            await eventually(lambda: guard.hellos)
            await eventually(lambda: self.touched(fixture))
            before = await self.listeners(fixture)
            guard.answer = {"type": "refused", "message": "wait", "retry": True}
            await guard.cut()
            await eventually(lambda: self.untouched(fixture), seconds=5)
            await eventually(lambda: len(guard.hellos) > 2, seconds=5)
            guard.answer = {"type": "welcome", "version": PROTOCOL_VERSION}
            await eventually(lambda: self.touched(fixture), seconds=8)
            assert await self.listeners(fixture) == before
            tokens = {hello["token"] for hello in guard.hellos}
            assert tokens == {guard.env["FOCUSGUARD_TOKEN"]}

    async def listeners(self, fixture: Fixture) -> Any:
        """How many wait for the end of each page."""
        code = "return electron.webContents.getAllWebContents().map((wc) => wc.listenerCount('destroyed'))"
        return await fixture.execute("main-process", code)

    async def touched(self, fixture: Fixture) -> bool:
        return not await self.untouched(fixture)

    async def test_a_refusal_is_final(
        self, runtime: Runtime, display: Display, janitor: Janitor, guard: FakeGuard
    ) -> None:
        guard.answer = {"type": "refused", "message": "wrong token"}
        async with run_fixture(runtime, display=display, janitor=janitor, env=guard.env) as fixture:
            await anyio.sleep(0.5)
            assert len(guard.hellos) == 1
            assert await self.untouched(fixture)

    @pytest.mark.parametrize("line", [b"nonsense\n", b"[]\n", b'{"id": 1}\n', b"x" * 100])
    async def test_a_guard_that_talks_nonsense_does_no_harm(
        self,
        runtime: Runtime,
        display: Display,
        janitor: Janitor,
        guard: FakeGuard,
        eventually: Eventually,
        line: bytes,
    ) -> None:
        async with run_fixture(runtime, display=display, janitor=janitor, env=guard.env) as fixture:
            await eventually(lambda: guard.streams)
            await anyio.sleep(0.1)
            await guard.streams[0].send(line)
            await anyio.sleep(0.2)
            assert (await fixture.state()).host.status == "alive"
            assert not complaints(fixture)

    async def test_the_app_ends_without_a_word(
        self, runtime: Runtime, display: Display, janitor: Janitor, guard: FakeGuard, eventually: Eventually
    ) -> None:
        async with run_fixture(runtime, display=display, janitor=janitor, env=guard.env) as fixture:
            await eventually(lambda: guard.hellos)
            await fixture.quit()
            assert fixture.process is not None
            with anyio.fail_after(10):
                assert await fixture.process.wait() == 0
            assert not complaints(fixture)


class TestKnownElectrons:
    async def test_keys_and_a_press(
        self, known_runtime: Runtime, display: Display, janitor: Janitor, eventually: Eventually
    ) -> None:
        async with bridged(known_runtime, display=display, janitor=janitor) as app:
            await app.fixture.reset()
            described = await app.ask("target.describe", targetId=(await app.guest()).target_id)
            assert described["webContentsId"] == app.number()
            await app.fixture.focus_guest("text")
            await app.ask("keys.send", webContentsId=app.number(), events=key("q", text="q"))
            seq = await app.fixture.settle()
            await app.press("button")
            await app.fixture.settle()
            state = await app.fixture.state(since=seq)
            assert state.guest().values["text"] == "q"
            assert state.host.active == ["textarea"]
            assert not state.host.records(*FOCUS_EVENTS)
            assert not complaints(app.fixture)
