"""An isolated display: an X server and a window manager of its own, on a free number, reached by nobody else.

Everything headful happens here. A display is known to this process by the pid of the X server that it
started, and `person.py` refuses any other.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import Process
from Xlib import X
from Xlib import display as xdisplay
from Xlib import error as xerror
from Xlib.protocol import event as xevent

from focusguard.electron import reaper
from focusguard.electron.errors import DisplayFailed
from focusguard.electron.janitor import Janitor, end_group, janitor_or_own

START_SECONDS = 20.0
#: A click raises and focuses, new windows get the focus, Alt+Tab switches; no other key is taken.
OPENBOX_CONFIG = """<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <focus><focusNew>yes</focusNew><followMouse>no</followMouse><focusLast>yes</focusLast></focus>
  <placement><policy>Smart</policy><center>yes</center></placement>
  <theme><name>Clearlooks</name><animateIconify>no</animateIconify></theme>
  <desktops><number>1</number><popupTime>0</popupTime></desktops>
  <keyboard>
    <keybind key="A-Tab">
      <action name="NextWindow"><dialog>none</dialog><interactive>no</interactive><raise>yes</raise></action>
    </keybind>
  </keyboard>
  <mouse>
    <dragThreshold>3</dragThreshold><doubleClickTime>200</doubleClickTime>
    <context name="Titlebar">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Left" action="Drag"><action name="Move"/></mousebind>
    </context>
    <context name="Client">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Middle" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Right" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
    </context>
  </mouse>
</openbox_config>
"""
#: Leads to somebody's session, input method or compositor, and so out of the display.
FOREIGN_VARIABLES = (
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "XAUTHORITY",
    "SESSION_MANAGER",
    "DESKTOP_STARTUP_ID",
)


@dataclass(frozen=True, slots=True)
class Window:
    """A top-level window as the window manager lists it.

    Attributes:
        id: X window id.
        title: Its title.
        pid: The process that says it owns it, or None.
        x, y, width, height: Its content in pixels of the screen.
    """

    id: int
    title: str
    pid: int | None
    x: int
    y: int
    width: int
    height: int


class Display:
    """A running isolated display. Made by `isolated_display` only.

    Attributes:
        name: Such as `:99`.
        number: Such as 99.
        width, height: Of the screen, in pixels.
        env: The variables that a program needs to come up here.
    """

    def __init__(self, number: int, server: Process, width: int, height: int, folder: Path) -> None:
        self.name = f":{number}"
        self.number = number
        self.width = width
        self.height = height
        self.env: dict[str, str] = {
            "DISPLAY": self.name,
            "GDK_BACKEND": "x11",
            "XDG_SESSION_TYPE": "x11",
            "XDG_RUNTIME_DIR": str(folder),
            "DBUS_SESSION_BUS_ADDRESS": "disabled:",
            "NO_AT_BRIDGE": "1",
        }
        self._server = server
        self._connection = self.connect()
        self._root = self._connection.screen().root
        self._atoms: dict[str, int] = {}

    @property
    def server_pid(self) -> int:
        """The X server's process id."""
        return self._server.pid

    @property
    def alive(self) -> bool:
        """Whether the X server that this process started is still running."""
        return self._server.returncode is None and reaper.stat_fields(self._server.pid)[:1] not in ([], ["Z"])

    def connect(self) -> Any:
        """A new connection of its own to this display's X server.

        Returns:
            A `Xlib.display.Display`.

        Raises:
            DisplayFailed: The server is gone, or another one answers at this number.
        """
        try:
            connection = xdisplay.Display(self.name)
        except (xerror.DisplayError, xerror.ConnectionClosedError, OSError) as error:
            raise DisplayFailed(f"the isolated display {self.name} does not answer: {error}") from error
        if peer_pid(connection.display.socket) != self.server_pid:
            connection.close()
            raise DisplayFailed(f"another X server than the rig's own answers at {self.name}")
        return connection

    def active_window(self) -> int | None:
        """The id of the window that the window manager has made active, or None."""
        value = self._property(self._root, "_NET_ACTIVE_WINDOW")
        return int(value[0]) if value is not None and len(value) and value[0] else None

    def windows(self) -> list[Window]:
        """The top-level windows, in the order in which they were mapped."""
        found = []
        for number in self._property(self._root, "_NET_CLIENT_LIST") or ():
            window = self._connection.create_resource_object("window", int(number))
            try:
                box = window.get_geometry()
                place = window.translate_coords(self._root, 0, 0)
                title = self._property(window, "_NET_WM_NAME")
                pid = self._property(window, "_NET_WM_PID")
            except (xerror.BadWindow, xerror.BadDrawable):
                continue  # gone between the list and the look
            # translate_coords(root, 0, 0) asks where the root's origin is in the window, hence the sign
            found.append(
                Window(
                    id=int(number),
                    title=bytes(title).decode("utf-8", "replace") if title is not None else "",
                    pid=int(pid[0]) if pid is not None and len(pid) else None,
                    x=-place.x,
                    y=-place.y,
                    width=box.width,
                    height=box.height,
                )
            )
        return found

    def activate(self, window: int) -> None:
        """Asks the window manager to raise a window and give it the focus, as a task bar does."""
        target = self._connection.create_resource_object("window", window)
        message = xevent.ClientMessage(
            window=target,
            client_type=self._connection.intern_atom("_NET_ACTIVE_WINDOW"),
            data=(32, [2, X.CurrentTime, 0, 0, 0]),  # 2: a pager speaks, on the person's behalf
        )
        self._root.send_event(message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        self._connection.flush()

    def has_window_manager(self) -> bool:
        """Whether a window manager has taken over."""
        return self._property(self._root, "_NET_SUPPORTING_WM_CHECK") is not None

    def pointer(self) -> tuple[int, int]:
        """Where the pointer is on the screen, in pixels."""
        at = self._root.query_pointer()
        return at.root_x, at.root_y

    async def wait_for_window(
        self,
        matches: Callable[[Window], bool] = lambda _window: True,
        *,
        active: bool = False,
        seconds: float = 20.0,
    ) -> Window:
        """Waits for a window.

        Args:
            matches: Chooses one.
            active: Wait until it is the active one, too.
            seconds: The bound.

        Raises:
            DisplayFailed: No such window came up in time.
        """
        with anyio.move_on_after(seconds):
            while True:
                for window in self.windows():
                    if matches(window) and (not active or self.active_window() == window.id):
                        return window
                await anyio.sleep(0.02)
        kind = "active window" if active else "window"
        raise DisplayFailed(f"no {kind} of that kind within {seconds:g} s; there are {self.windows()}")

    async def screenshot(self, path: Path) -> Path:
        """Writes what the screen shows as a PNG.

        Returns:
            The path.
        """
        return await anyio.to_thread.run_sync(self._screenshot, path)

    def close(self) -> None:
        """Closes this object's own connection."""
        with suppress(xerror.ConnectionClosedError, OSError):
            self._connection.close()

    def _screenshot(self, path: Path) -> Path:
        connection = self.connect()
        try:
            image = connection.screen().root.get_image(0, 0, self.width, self.height, X.ZPixmap, 0xFFFFFFFF)
        finally:
            connection.close()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_png(self.width, self.height, bytes(image.data)))
        return path

    def _property(self, window: Any, name: str) -> Any:
        atom = self._atoms.get(name)
        if atom is None:
            atom = self._atoms[name] = self._connection.intern_atom(name)
        value = window.get_full_property(atom, X.AnyPropertyType)
        return value.value if value is not None else None


#: The displays that this process has started and not yet stopped.
_live: set[Display] = set()


def is_own_display(candidate: object) -> bool:
    """Whether this is a display that this process started and that is still running."""
    return isinstance(candidate, Display) and candidate in _live and candidate.alive


@asynccontextmanager
async def isolated_display(
    *, width: int = 1280, height: int = 900, window_manager: bool = True, janitor: Janitor | None = None
) -> AsyncIterator[Display]:
    """Starts an X server on a free number and a window manager, and stops both on leaving, whatever happens.

    It listens on a local socket only.

    Args:
        width: Of the screen, in pixels.
        height: Of the screen, in pixels.
        window_manager: Whether to start openbox.
        janitor: Ends the display if this process is killed; one is started where none is given.

    Yields:
        The display, with its window manager ready.

    Raises:
        DisplayFailed: A program is missing or did not start.
    """
    for program in ("Xvfb", "openbox") if window_manager else ("Xvfb",):
        if shutil.which(program) is None:
            raise DisplayFailed(
                f"{program} is not installed; run `apt-get install -y xvfb openbox`, or `make setup` as root"
            )
    async with AsyncExitStack() as stack:
        keeper = await stack.enter_async_context(janitor_or_own(janitor))
        folder = Path(tempfile.gettempdir()) / f"focusguard-display-{os.urandom(6).hex()}"
        keeper.watch_path(folder)
        stack.callback(keeper.release_path, folder)
        stack.callback(reaper.remove_path, folder)
        folder.mkdir(mode=0o700)
        server, number = await stack.enter_async_context(_x_server(keeper, folder, width, height))
        display = Display(number, server, width, height, folder)
        _live.add(display)
        stack.callback(display.close)
        stack.callback(_live.discard, display)
        if window_manager:
            await stack.enter_async_context(_openbox(keeper, folder, display))
        yield display


@asynccontextmanager
async def _x_server(
    keeper: Janitor, folder: Path, width: int, height: int
) -> AsyncIterator[tuple[Process, int]]:
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{width}x{height}x24", "-dpi", "96"]
    command += ["-nolisten", "tcp", "-noreset"]
    log = folder / "xvfb.log"
    try:
        server = await _start(command, keeper, log, {}, pass_fds=(writing,))
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    number = -1
    try:
        try:
            text = await _read_line(reading)
        finally:
            os.close(reading)
        if not text.strip().isdigit():
            raise DisplayFailed(f"Xvfb did not start: {_tail(log)}")
        number = int(text)
        keeper.watch_display(number, server.pid)
        yield server, number
    finally:
        await end_group(server, grace=3.0)
        keeper.release_group(server.pid)
        if number >= 0:
            reaper.remove_x_files(number, server.pid)
            keeper.release_display(number)


@asynccontextmanager
async def _openbox(keeper: Janitor, folder: Path, display: Display) -> AsyncIterator[None]:
    config, log = folder / "openbox.xml", folder / "openbox.log"
    config.write_text(OPENBOX_CONFIG)
    env = {**display.env, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    manager = await _start(["openbox", "--sm-disable", "--config-file", str(config)], keeper, log, env)
    try:
        with anyio.move_on_after(START_SECONDS):
            while manager.returncode is None and not display.has_window_manager():
                await anyio.sleep(0.01)
        if not display.has_window_manager():
            raise DisplayFailed(f"openbox did not start on {display.name}: {_tail(log)}")
        yield
    finally:
        await end_group(manager, grace=3.0)
        keeper.release_group(manager.pid)


async def _read_line(descriptor: int) -> bytes:
    text = b""
    with anyio.move_on_after(START_SECONDS):
        while not text.endswith(b"\n"):
            await anyio.wait_readable(descriptor)
            part = os.read(descriptor, 16)
            if not part:
                break
            text += part
    return text


async def _start(
    command: list[str], keeper: Janitor, log: Path, env: dict[str, str], pass_fds: tuple[int, ...] = ()
) -> Process:
    base = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    with log.open("wb") as output:
        process = await anyio.open_process(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**base, **env, **keeper.env},
            start_new_session=True,
            pass_fds=pass_fds,
        )
    keeper.watch_group(process.pid)
    return process


def peer_pid(connection: socket.socket) -> int:
    """The process that listens at the other end of a Unix socket (0 where the system does not say)."""
    if connection.family != socket.AF_UNIX:
        return 0
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", data)[0])


def encode_png(width: int, height: int, pixels: bytes) -> bytes:
    """Encodes an image as PNG; a pixel is blue, green, red, unused: X's order on a 24-bit screen."""
    rgb = bytearray(width * height * 3)
    for channel in range(3):
        rgb[channel::3] = pixels[2 - channel :: 4]
    row = width * 3
    raw = b"".join(b"\0" + bytes(rgb[start : start + row]) for start in range(0, len(rgb), row))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw, 6))
        + chunk(b"IEND", b"")
    )


def _tail(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return " | ".join(lines[-3:]) or "it said nothing"
