"""Drives the fixture app (`electron_fixture/`) over its control socket.

`run_fixture` starts the app and opens its windows. Where somebody else starts it (the guard does),
`open_fixture_control` gives the environment that the app needs and waits for it to connect:

    async with open_fixture_control() as control:
        async with launch_electron(runtime, FIXTURE, env=control.env):
            fixture = await control.connected()
            await fixture.open("webview", window="hidden")
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic import BaseModel

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import ElectronProcess, launch_electron
from focusguard.electron.runtimes import Runtime
from probes.observed import (
    Acknowledged,
    CrashState,
    Embedding,
    FocusAnswer,
    Frame,
    GuestFocus,
    GuestInfo,
    HostField,
    Model,
    Opened,
    Rects,
    RestoreMode,
    State,
    WindowState,
)

#: The app's folder.
FIXTURE = Path(__file__).resolve().parents[1] / "electron_fixture"
#: The variables that the app reads.
CONTROL_VARIABLE = "FOCUSGUARD_FIXTURE_CONTROL"
#: Seconds that the app has to start and connect.
CONNECT_SECONDS = 60.0
#: Seconds that any op may take; the app's own bound (25 s) is shorter and gives the better message.
OP_SECONDS = 30.0
LINE_LIMIT = 64 * 1024 * 1024

M = TypeVar("M", bound=BaseModel)


class FixtureError(Exception):
    """The fixture could not do what it was asked; the message starts with its code, such as `crashed:`."""


class FixtureGone(FixtureError):
    """The app's end of the control socket is closed: it has ended, or never came."""


class Hello(Model):
    """The app's first line."""

    instance: str
    pid: int
    electron: str
    chromium: str
    node: str
    embeddings: list[Embedding]


class Settled(Model):
    """Answer of `settle`: whether it became quiet in time, and the newest record's number."""

    settled: bool
    seq: int


class TargetLookup(Model):
    """Answer of `target_lookup`."""

    supported: bool
    web_contents_id: int | None


class Fixture:
    """The running app.

    Attributes:
        hello: Who it is.
        process: Its process, where `run_fixture` started it.
        opened: What stands on its stage, since `open`.
    """

    def __init__(self, stream: SocketStream, hello: Hello) -> None:
        self.hello = hello
        self.process: ElectronProcess | None = None
        self.opened: Opened | None = None
        self._stream = stream
        self._last = 0
        self._waiting: dict[int, tuple[anyio.Event, dict[str, Any]]] = {}
        self._gone = False

    # -- stage --

    async def open(self, embedding: Embedding, *, window: WindowState = "hidden", guests: int = 1) -> Opened:
        """Opens the host window and its guests (none, one or two); what was open before is closed.

        Every page takes input when this returns, except where it is not shown at all: Chromium drops input to a
        page for half a second after it was loaded or shown.
        """
        self.opened = await self._ask(Opened, "open", embedding=embedding, window=window, guests=guests)
        return self.opened

    async def close(self) -> None:
        """Closes all windows."""
        await self.request("close")
        self.opened = None

    async def describe(self) -> Opened:
        """What stands on the stage now."""
        self.opened = await self._ask(Opened, "describe")
        return self.opened

    async def reset(self, nonce: str | None = None) -> Acknowledged:
        """Back to the start: values, selections, focus, counters, scroll, menus, logs, in every live document.

        The host's textarea has the focus afterwards, the guests have none; the sentinel is closed; a guest that
        had navigated or lost a frame's renderer is loaded anew, one that lost its own is made anew (`opened`
        follows).

        Args:
            nonce: Unique name of the trial; one is made where none is given.

        Raises:
            FixtureError: A live document did not acknowledge.
        """
        nonce = nonce or secrets.token_hex(8)
        answer = await self._ask(Acknowledged, "reset", nonce=nonce)
        if (answer.nonce, answer.instance, answer.pid) != (nonce, self.hello.instance, self.hello.pid):
            raise FixtureError(f"foreign-acknowledgement: {answer!r} is not this fixture's")
        known = {guest.web_contents_id for guest in self.opened.guests} if self.opened is not None else set()
        if known != {document.web_contents_id for document in answer.documents if document.role == "guest"}:
            await self.describe()
        return answer

    async def add_guest(self) -> GuestInfo:
        """Makes one more guest (there is room for two)."""
        return await self._ask(GuestInfo, "add_guest")

    async def destroy_guest(self, guest: int = 0) -> None:
        """Destroys a guest the way an app does that closes it."""
        await self.request("destroy_guest", guest=guest)

    async def navigate(self, url: str, *, guest: int = 0, wait: bool = True) -> None:
        """Sends a guest to another page, and waits until it has loaded."""
        await self.request("navigate", guest=guest, url=url, wait=wait)

    async def reload(self, *, guest: int = 0, wait: bool = True) -> None:
        """Reloads a guest, and waits until it has loaded."""
        await self.request("reload", guest=guest, wait=wait)

    async def sentinel(self, *, open: bool = True, focus: bool = False) -> None:
        """A second window of the app; with `focus` (headful) it is in front and has the focus."""
        await self.request("sentinel", open=open, focus=focus)

    async def window(
        self, action: Literal["show", "hide", "minimize", "restore", "focus", "blur", "showInactive"]
    ) -> None:
        """Calls a method of the host window."""
        await self.request("window", action=action)

    # -- focus --

    async def focus_host(
        self,
        field: HostField = "textarea",
        *,
        text: str | None = None,
        caret: int | None = None,
        selection: tuple[int, int] | None = None,
        direction: Literal["none", "forward", "backward"] = "none",
    ) -> FocusAnswer:
        """Puts the person's focus into a field of the host.

        Args:
            field: Which one.
            text: Its new value; unchanged where None.
            caret: Offset of the caret.
            selection: Instead of a caret: start and end of the selection.
            direction: Direction of the selection.
        """
        params: dict[str, Any] = {"field": field}
        if text is not None:
            params["text"] = text
        if caret is not None:
            selection = (caret, caret)
        if selection is not None:
            params["selection"] = {"start": selection[0], "end": selection[1], "direction": direction}
        return await self._ask(FocusAnswer, "focus_host", **params)

    async def focus_guest(
        self,
        field: str = "text",
        *,
        guest: int = 0,
        frame: Frame | Literal["none"] = "main",
        text: str | None = None,
    ) -> GuestFocus:
        """Gives a guest's field the guest's own focus by script, while the person's stays in the host.

        Args:
            field: `text`, `contenteditable`; in the main frame also `textarea`, `select`, `combobox` and others.
            guest: Index of the guest.
            frame: Where the field is; `none` leaves the guest without a focused element.
            text: The field's new value; unchanged where None.

        Raises:
            FixtureError: The guest's active element is not what was asked for.
        """
        params: dict[str, Any] = {"guest": guest, "frame": frame, "field": field}
        if text is not None:
            params["text"] = text
        return await self._ask(GuestFocus, "focus_guest", **params)

    async def restore_on_focus(self, mode: RestoreMode) -> None:
        """Has the host give the focus back as apps do: when the webview gets it, or at the guest's `mouseup`."""
        await self.request("restore_on_focus", mode=mode)

    async def give_back(self) -> bool:
        """Has the host focus its last field again if a webview has the focus; says whether it did."""
        answer: dict[str, Any] = await self.request("give_back")
        return bool(answer["returned"])

    async def webview_attribute(self, name: str, value: str | None, *, guest: int = 0) -> None:
        """Sets (None: removes) an attribute of the webview; a reset removes `inert` and `tabindex`."""
        await self.request("webview_attribute", guest=guest, name=name, value=value)

    # -- input through Electron's own API --

    async def send_input_event(self, web_contents_id: int, events: Sequence[Mapping[str, Any]]) -> None:
        """`webContents.sendInputEvent` for each event, in one turn of the main process."""
        await self.request(
            "send_input_event", webContentsId=web_contents_id, events=[dict(item) for item in events]
        )

    async def insert_text(self, web_contents_id: int, text: str) -> None:
        """`webContents.insertText`, waited for at most 3 s."""
        await self.request("web_contents_insert_text", webContentsId=web_contents_id, text=text)

    # -- oracles --

    async def state(self, *, since: int = 0, logs: bool = True) -> State:
        """Everything: documents with their logs, counters, windows, renderers.

        Args:
            since: Only records with a higher number.
            logs: False leaves the documents' logs out.

        Raises:
            FixtureError: Records that were asked for have had to make room for newer ones.
        """
        state = await self._ask(State, "state", since=since, logs=logs)
        if logs and state.forgotten > since:
            raise FixtureError(f"log-full: records up to {state.forgotten} are gone; ask for newer ones only")
        return state

    async def settle(self, *, quiet: float = 0.06, timeout: float = 3.0) -> int:
        """Waits until no log has grown for a while.

        Args:
            quiet: Seconds without a new record.
            timeout: Seconds after which it gives up.

        Returns:
            The newest record's number: what to give `state(since=…)` later.

        Raises:
            FixtureError: It did not become quiet.
        """
        answer = await self._ask(Settled, "settle", quiet=quiet * 1000, timeout=timeout * 1000)
        if not answer.settled:
            raise FixtureError(f"not-quiet: the logs kept growing for {timeout:g} s")
        return answer.seq

    async def rects(self, guest: int = 0) -> Rects:
        """Where the elements of a guest and of the host are."""
        return await self._ask(Rects, "rects", guest=guest)

    async def frames_take_input(self, guest: int = 0) -> bool:
        """Waits until a press into a guest's cross-site frames goes there; False where that does not come.

        Chromium gives it to the page around a frame until the frame is drawn, each time that the page becomes visible.
        """
        return bool(await self.request("frames_take_input", guest=guest))

    async def crash_state(self) -> CrashState:
        """Renderers that are gone or stopped. Asks no document."""
        return await self._ask(CrashState, "crash_state")

    async def target_lookup(self, target_id: str) -> TargetLookup:
        """`webContents.fromDevToolsTargetId`, where this Electron has it."""
        return await self._ask(TargetLookup, "target_lookup", targetId=target_id)

    async def execute(self, document: str, code: str) -> Any:
        """Runs JavaScript: an expression in a page's world, or in the main process the body of an async function.

        Args:
            document: `host`, `host-frame`, `sentinel`, `guest:0`, `guest:0/cross-site`, a document's id, or
                `main-process`.
            code: In the main process, `electron`, `stage` and `require` are in scope.

        Returns:
            Its value, as JSON has it.
        """
        answer: dict[str, Any] = await self.request("execute", document=document, code=code)
        return answer["value"]

    async def quit(self) -> None:
        """Ends the app."""
        await self.request("quit")

    # -- the line --

    async def request(self, op: str, /, **params: Any) -> Any:
        """Sends one op and waits for its answer.

        Raises:
            FixtureError: The app refused it, or did not answer within `OP_SECONDS`.
            FixtureGone: The app has ended.
        """
        if self._gone:
            raise self._ended(f"the fixture has ended; {op} was not sent")
        self._last += 1
        number = self._last
        event, slot = anyio.Event(), dict[str, Any]()
        self._waiting[number] = (event, slot)
        try:
            with anyio.fail_after(OP_SECONDS):
                await self._stream.send(
                    json.dumps({"id": number, "op": op, "params": params}).encode() + b"\n"
                )
                await event.wait()
        except TimeoutError:
            raise FixtureError(f"timeout: the fixture did not answer {op} within {OP_SECONDS:g} s") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self._ended(f"the fixture ended during {op}") from error
        finally:
            del self._waiting[number]
        if "error" in slot:
            raise FixtureError(slot["error"])
        if "result" not in slot:
            raise self._ended(f"the fixture ended during {op}")
        return slot["result"]

    def _ended(self, what: str) -> FixtureGone:
        ending = "" if self.process is None else f"; {self.process.ending()}"
        return FixtureGone(f"gone: {what}{ending}")

    async def _ask(self, model: type[M], op: str, /, **params: Any) -> M:
        return model.model_validate(await self.request(op, **params))

    async def hang_up(self) -> None:
        """Closes the line. For the control only."""
        await self._stream.aclose()

    def answered(self, message: dict[str, Any]) -> None:
        """Takes an answer from the line. For the control only."""
        waiting = self._waiting.get(message.get("id", 0))
        if waiting is not None:
            waiting[1].update(message)
            waiting[0].set()

    def ended(self) -> None:
        """Notes that the line is closed. For the control only."""
        self._gone = True
        for event, _ in self._waiting.values():
            event.set()


class FixtureControl:
    """The driver's end of the control socket. Made by `open_fixture_control`.

    Attributes:
        env: The variables that the app has to be started with.
        path: The socket.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env: dict[str, str] = {CONTROL_VARIABLE: str(path)}
        self._arrived = anyio.Event()
        self._fixture: Fixture | None = None

    async def connected(self, timeout: float = CONNECT_SECONDS) -> Fixture:
        """Waits for the app.

        Args:
            timeout: Seconds.

        Raises:
            FixtureGone: It did not come in time.
        """
        with anyio.move_on_after(timeout):
            await self._arrived.wait()
        if self._fixture is None:
            raise FixtureGone(f"gone: no fixture connected within {timeout:g} s")
        return self._fixture

    async def close(self) -> None:
        """Hangs up; the app ends by itself then."""
        if self._fixture is not None:
            await self._fixture.hang_up()

    async def serve(self, stream: SocketStream) -> None:
        """Talks with one app until it goes; a second one is turned away."""
        async with stream:
            if self._fixture is not None:
                return
            lines = BufferedByteReceiveStream(stream)
            fixture: Fixture | None = None
            try:
                while True:
                    message = json.loads(await lines.receive_until(b"\n", LINE_LIMIT))
                    if fixture is None:
                        fixture = self._fixture = Fixture(stream, Hello.model_validate(message))
                        self._arrived.set()
                    else:
                        fixture.answered(message)
            except (
                anyio.EndOfStream,
                anyio.IncompleteRead,
                anyio.BrokenResourceError,
                anyio.ClosedResourceError,
            ):
                pass
            finally:
                if fixture is not None:
                    fixture.ended()


@asynccontextmanager
async def open_fixture_control(*, janitor: Janitor | None = None) -> AsyncIterator[FixtureControl]:
    """Listens for a fixture that somebody else starts.

    Args:
        janitor: Removes the socket if this process is killed.

    Yields:
        The control: `env` for the app's start, then `await control.connected()`.
    """
    folder = Path(tempfile.mkdtemp(prefix="focusguard-fixture-"))  # only this user may enter it
    if janitor is not None:
        janitor.watch_path(folder)
    try:
        control = FixtureControl(folder / "control.sock")
        async with (
            await anyio.create_unix_listener(control.path, mode=0o600) as listener,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(listener.serve, control.serve)
            try:
                yield control
            finally:
                tasks.cancel_scope.cancel()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if janitor is not None:
            janitor.release_path(folder)


@asynccontextmanager
async def run_fixture(
    runtime: Runtime | Path,
    *,
    display: Display | None = None,
    embedding: Embedding = "webview",
    window: WindowState = "hidden",
    guests: int = 1,
    debugging: Literal["pipe", "port", "none"] = "none",
    require: Path | None = None,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    janitor: Janitor | None = None,
) -> AsyncIterator[Fixture]:
    """Starts the app, opens its windows, and ends it on leaving.

    Args:
        runtime: The Electron to use.
        display: Where its windows are; needed for `headful`.
        embedding: How the guests are embedded.
        window: `hidden` or `headful`.
        guests: How many guests.
        debugging: How the app's DevTools protocol is reached (`fixture.process`).
        require: A file that Node loads before the app.
        args: Further switches of the app.
        env: Further variables of the app.
        janitor: Ends everything if this process is killed.

    Yields:
        The driver, with `process` and `opened` set.
    """
    async with (
        open_fixture_control(janitor=janitor) as control,
        launch_electron(
            runtime,
            FIXTURE,
            args=args,
            env={**(env or {}), **control.env},
            display=display,
            debugging=debugging,
            require=require,
            janitor=janitor,
        ) as process,
    ):
        fixture = await _connected(control, process)
        fixture.process = process
        await fixture.open(embedding, window=window, guests=guests)
        yield fixture


async def _connected(control: FixtureControl, process: ElectronProcess) -> Fixture:
    """Waits for the app to connect, but no longer than it lives."""
    ended: int | None = None

    async def watch() -> None:
        nonlocal ended
        ended = await process.wait()
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        fixture = await control.connected()
        tasks.cancel_scope.cancel()
        return fixture
    raise FixtureGone(
        f"gone: Electron ended with {ended} before the fixture connected; it said: {process.output_tail(2000)}"
    )
