"""The isolated display: a person's input arrives there and goes nowhere else, and nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import socket
import string
import struct
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from anyio.abc import Process

from focusguard.electron import reaper
from focusguard.electron.display import Display, Window, isolated_display
from focusguard.electron.errors import DisplayFailed, ForeignDisplay, RigError
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import ElectronProcess, launch_electron
from focusguard.electron.person import Person, split_combination
from focusguard.electron.runtimes import Runtime

pytestmark = pytest.mark.headful

EVERY_KEY = "".join(chr(code) for code in range(0x20, 0x7F))


class Room:
    """A person in front of the rig app's window."""

    def __init__(
        self, process: ElectronProcess, window: Window, person: Person, read: Callable[..., Any]
    ) -> None:
        self.process, self.window, self.person, self._read = process, window, person, read

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        return [item for item in self._read(self.process) if item["event"] in kinds]

    @property
    def value(self) -> str:
        return next((item["value"] for item in reversed(self.events("input"))), "")

    def at(self, x: int, y: int) -> tuple[int, int]:
        return self.window.x + x, self.window.y + y


@pytest.fixture
async def room(
    runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor, said: Any, eventually: Any
) -> AsyncIterator[Room]:
    async with launch_electron(runtime, rig_app, display=display, janitor=janitor) as process:
        await eventually(lambda: any(item["event"] == "ready" for item in said(process)), seconds=30)
        window = await display.wait_for_window(lambda item: item.title == "rig app", active=True)
        yield Room(process, window, Person(display), said)


class TestKeystrokesArrive:
    async def test_every_character_of_the_keyboard(self, room: Room, eventually: Any) -> None:
        await room.person.type(EVERY_KEY, rate=60)
        await eventually(
            lambda: room.value == EVERY_KEY, what=f"the field holds every character: {room.value!r}"
        )
        assert all(item["trusted"] for item in room.events("keydown", "keyup"))

    async def test_keys_have_their_place_on_the_keyboard(self, room: Room, eventually: Any) -> None:
        await room.person.type("aA1!<\t", rate=40)
        await eventually(lambda: len(room.events("keyup")) >= 9)
        downs = [(item["key"], item["code"]) for item in room.events("keydown")]
        assert downs == [
            ("a", "KeyA"),
            ("Shift", "ShiftLeft"),
            ("A", "KeyA"),
            ("1", "Digit1"),
            ("Shift", "ShiftLeft"),
            ("!", "Digit1"),
            ("Shift", "ShiftLeft"),
            ("<", "Comma"),
            ("Tab", "Tab"),
        ]

    async def test_combinations(self, room: Room, eventually: Any) -> None:
        await room.person.type("replace me", rate=60)
        await room.person.key("ctrl+a")
        await room.person.type("new", rate=60)
        await room.person.key("ctrl+a")
        await room.person.key("ctrl+c")
        await room.person.key("End")
        await room.person.key("ctrl+v")
        await eventually(lambda: room.value == "newnew")

    async def test_a_held_key_repeats(self, room: Room, eventually: Any) -> None:
        await room.person.key_down("x")
        await eventually(lambda: len(room.value) >= 4, what="the X server repeats the key")
        await room.person.key_up("x")
        await eventually(lambda: room.events("keyup"))
        assert {item["repeat"] for item in room.events("keydown")} == {False, True}

    async def test_only_a_key_held_on_purpose_repeats(self, room: Room, eventually: Any) -> None:
        await room.person.type("y", hold=1.2)  # longer than the X server's delay before it repeats
        await room.person.type("z")
        await eventually(lambda: room.value.endswith("z"))
        assert room.value == "yz"

    async def test_the_schedule_is_kept_and_logged(self, room: Room, eventually: Any) -> None:
        text = string.ascii_lowercase * 2
        strokes = await room.person.type(text, rate=50, jitter=0.5, seed=7)
        assert strokes == room.person.journal
        downs = [stroke for stroke in strokes if stroke.kind == "key-down"]
        assert "".join(stroke.detail for stroke in downs) == text
        assert [stroke.at_ns for stroke in strokes] == sorted(stroke.at_ns for stroke in strokes)
        whole = (downs[-1].at_ns - downs[0].at_ns) / 1e9
        assert whole >= (len(text) - 2) / 50  # never faster than asked, on average
        await eventually(lambda: room.value == text)

    async def test_a_cancelled_person_leaves_no_key_down(self, room: Room, eventually: Any) -> None:
        with anyio.move_on_after(0.2):
            await room.person.type("A" * 100, rate=20, hold=0.045)
        kinds = [stroke.kind for stroke in room.person.journal]
        assert kinds.count("key-down") == kinds.count("key-up") > 0
        await eventually(lambda: len(room.events("keyup")) == kinds.count("key-up"))

    async def test_what_is_not_on_the_keyboard_is_refused_before_anything_is_typed(self, room: Room) -> None:
        with pytest.raises(RigError, match="'漢' is not on the isolated display's keyboard"):
            await room.person.type("ab漢")
        with pytest.raises(RigError, match="'Hyper-drive'"):
            await room.person.key("ctrl+Hyper-drive")
        assert room.person.journal == []
        assert not room.person.can_type("漢")
        assert room.person.can_type("é") is False


class TestPointing:
    async def test_clicks_land_where_they_point(self, room: Room, eventually: Any) -> None:
        await room.person.click(*room.at(100, 60))
        await room.person.click(*room.at(400, 200), button=3)
        await eventually(lambda: len(room.events("mouseup")) == 2)
        assert [(item["x"], item["y"], item["button"]) for item in room.events("mousedown")] == [
            (100, 60, 0),
            (400, 200, 2),
        ]

    async def test_a_double_click(self, room: Room, eventually: Any) -> None:
        await room.person.click(*room.at(500, 300), count=2)
        await eventually(lambda: room.events("dblclick"))

    async def test_the_wheel_scrolls_the_page(self, room: Room, eventually: Any) -> None:
        await room.person.wheel(*room.at(500, 300), 3)
        await eventually(lambda: any(item["y"] > 0 for item in room.events("scroll")))

    async def test_a_drag_keeps_the_button_down(self, room: Room, eventually: Any) -> None:
        await room.person.drag([room.at(400, 200), room.at(450, 220), room.at(500, 260)])
        await eventually(lambda: room.events("mouseup"))
        moves = [item for item in room.events("mousemove") if item["buttons"] == 1]
        assert moves[-1]["x"] == 500
        assert room.events("mouseup")[-1]["x"] == 500

    def test_combinations_are_split(self) -> None:
        assert split_combination("ctrl+shift+i") == ["ctrl", "shift", "i"]
        assert split_combination("ctrl++") == ["ctrl", "+"]
        assert split_combination("+") == ["+"]


class TestForeignDisplays:
    @pytest.fixture
    def stranger(self, tmp_path: Path) -> Iterator[SimpleNamespace]:
        """Somebody's X server, which the rig did not start."""
        reading, writing = os.pipe()
        process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x480x24", "-nolisten", "tcp"],
            pass_fds=(writing,),
            stderr=subprocess.DEVNULL,
        )
        os.close(writing)
        try:
            number = int(os.read(reading, 16))
            yield SimpleNamespace(
                name=f":{number}", number=number, pid=process.pid, alive=True, returncode=None
            )
        finally:
            os.close(reading)
            process.terminate()
            process.wait(10)

    @pytest.mark.parametrize("given", [":0", None, SimpleNamespace(name=":0", alive=True)])
    def test_anything_but_a_display_of_ours_is_refused(self, given: Any) -> None:
        with pytest.raises(ForeignDisplay, match="was not started by this rig"):
            Person(given)

    def test_a_stranger_s_display_is_refused_even_in_our_clothes(
        self, stranger: SimpleNamespace, tmp_path: Path
    ) -> None:
        worn = Display(stranger.number, cast(Process, stranger), 640, 480, tmp_path)
        try:
            with pytest.raises(ForeignDisplay, match=stranger.name):
                Person(worn)
        finally:
            worn.close()

    async def test_a_number_that_changed_hands_is_refused(
        self, stranger: SimpleNamespace, display: Display
    ) -> None:
        name, display.name = display.name, stranger.name
        try:
            with pytest.raises(DisplayFailed, match="another X server"):
                Person(display)
        finally:
            display.name = name

    async def test_a_display_that_has_been_stopped_is_refused(self, janitor: Janitor) -> None:
        async with isolated_display(window_manager=False, janitor=janitor) as short:
            person = Person(short)
            await person.key("a")
        attempts: list[Callable[[], Awaitable[object]]] = [
            lambda: person.type("a"),
            lambda: person.key("ctrl+a"),
            lambda: person.key_down("a"),
            lambda: person.key_up("a"),
            lambda: person.move(1, 1),
            lambda: person.click(1, 1),
            lambda: person.wheel(1, 1, 1),
            lambda: person.drag([(1, 1), (2, 2)]),
        ]
        for attempt in attempts:
            with pytest.raises(ForeignDisplay, match="has been stopped"):
                await attempt()
        with pytest.raises(ForeignDisplay):
            Person(short)

    async def test_a_display_whose_server_died_is_refused(self, janitor: Janitor, eventually: Any) -> None:
        async with isolated_display(janitor=janitor) as short:
            person = Person(short)
            os.kill(short.server_pid, signal.SIGKILL)
            await eventually(lambda: not short.alive)
            with pytest.raises(ForeignDisplay):
                await person.key("a")
        assert not is_left_over(short.number)


class TestTheDisplay:
    async def test_several_at_once(self, display: Display, janitor: Janitor) -> None:
        async with (
            isolated_display(janitor=janitor) as one,
            isolated_display(width=800, height=600, window_manager=False, janitor=janitor) as two,
        ):
            assert len({display.name, one.name, two.name}) == 3
            assert (one.has_window_manager(), two.has_window_manager()) == (True, False)
            assert (two.width, two.height) == (800, 600)

    async def test_it_listens_on_a_local_socket_only(self, display: Display) -> None:
        targets = [str(item.readlink()) for item in Path(f"/proc/{display.server_pid}/fd").iterdir()]
        inodes = {target[8:-1] for target in targets if target.startswith("socket:[")}
        for table in ("tcp", "tcp6", "udp", "udp6"):
            lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
            assert not [line for line in lines if line.split()[9] in inodes]

    async def test_a_screenshot_shows_the_window(self, room: Room, display: Display, tmp_path: Path) -> None:
        async def colour() -> tuple[int, int, int]:
            shot = await display.screenshot(tmp_path / "shots" / "screen.png")
            return pixel(shot.read_bytes(), *room.at(450, 300))

        with anyio.move_on_after(10):
            while await colour() != (0x33, 0x66, 0xCC):
                await anyio.sleep(0.05)
        assert await colour() == (0x33, 0x66, 0xCC)

    async def test_windows_are_listed_with_their_process(self, room: Room, display: Display) -> None:
        (window,) = [item for item in display.windows() if item.title == "rig app"]
        assert window.pid == room.process.pid
        assert (window.width, window.height) == (600, 400)
        assert display.active_window() == window.id

    async def test_alt_tab_changes_the_window(
        self,
        room: Room,
        runtime: Runtime,
        rig_app: Path,
        display: Display,
        janitor: Janitor,
        eventually: Any,
        said: Any,
    ) -> None:
        async with launch_electron(runtime, rig_app, display=display, janitor=janitor) as other:
            second = await display.wait_for_window(lambda item: item.pid == other.pid, active=True)
            # An app asks for the focus itself while it starts, and would have it back.
            await eventually(lambda: any(item["event"] == "ready" for item in said(other)))
            await room.person.key("alt+Tab")
            await eventually(lambda: display.active_window() == room.window.id)
            await room.person.key("alt+Tab")
            await eventually(lambda: display.active_window() == second.id)
            display.activate(room.window.id)
            await eventually(lambda: display.active_window() == room.window.id)

    async def test_a_missing_program_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(DisplayFailed, match="Xvfb is not installed"):
            async with isolated_display():
                pass


#: Starts everything, says what it has started, and waits to be killed.
OWNER = """
import anyio, json, sys
from pathlib import Path
from focusguard.electron.display import isolated_display
from focusguard.electron.janitor import open_janitor
from focusguard.electron.launching import launch_electron
from focusguard.electron.runtimes import find_runtime

async def main():
    async with open_janitor() as keeper, isolated_display(janitor=keeper) as display:
        runtime, app = find_runtime(), Path(sys.argv[1])
        async with launch_electron(runtime, app, display=display, janitor=keeper) as process:
            await display.wait_for_window(lambda window: window.title == "rig app")
            (mark,) = keeper.env.values()
            folders = [str(process.user_data_dir.parent), display.env["XDG_RUNTIME_DIR"]]
            told = {"mark": mark, "display": display.number, "group": process.pid, "folders": folders}
            print(json.dumps(told), flush=True)
            await anyio.sleep_forever()

anyio.run(main)
"""


class TestNothingStays:
    @pytest.mark.parametrize(
        "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda item: item.name
    )
    async def test_when_the_owner_is_ended(
        self, rig_app: Path, eventually: Any, number: signal.Signals
    ) -> None:
        owner = await anyio.open_process(
            [sys.executable, "-c", OWNER, str(rig_app)], stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            assert owner.stdout is not None
            with anyio.fail_after(60):
                told = json.loads(await owner.stdout.receive())
            assert len(reaper.marked_processes(told["mark"])) >= 2  # the display's
            assert len(reaper.marked_processes(told["mark"], told["folders"])) >= 4  # and Electron's
            assert len(reaper.group_members(told["group"])) >= 4
            assert all(Path(folder).is_dir() for folder in told["folders"])
            os.kill(owner.pid, number)
            with anyio.fail_after(20):
                await owner.wait()
        finally:
            if owner.returncode is None:
                owner.kill()
            await owner.aclose()
        await eventually(lambda: not reaper.marked_processes(told["mark"], told["folders"]), seconds=15)
        await eventually(lambda: not reaper.group_members(told["group"]), seconds=5)
        await eventually(lambda: not any(Path(folder).exists() for folder in told["folders"]), seconds=10)
        await eventually(lambda: not is_left_over(told["display"]), seconds=5)

    def test_a_successor_s_display_is_left_alone(self, display: Display) -> None:
        reaper.remove_x_files(display.number, display.server_pid)
        assert Path(f"/tmp/.X11-unix/X{display.number}").is_socket()

    def test_a_lock_is_removed_for_its_own_server_only(self) -> None:
        lock = Path("/tmp/.X31337-lock")
        lock.write_text(f"{os.getpid():>10}\n")
        try:
            reaper.remove_x_files(31337, os.getpid() + 1)
            assert lock.exists()
            reaper.remove_x_files(31337, os.getpid())
            assert not lock.exists()
        finally:
            lock.unlink(missing_ok=True)

    @pytest.mark.parametrize("path", ["/", "/tmp", "relative/path"])
    async def test_the_janitor_takes_no_charge_of_what_is_not_its_own(
        self, janitor: Janitor, path: str
    ) -> None:
        with pytest.raises(RigError, match="does not take charge"):
            janitor.watch_path(Path(path))


def is_left_over(number: int) -> bool:
    """Whether a socket lies there that nobody answers. (Another server may have taken the number since.)"""
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(f"/tmp/.X11-unix/X{number}")
        except ConnectionRefusedError:
            return True
        except FileNotFoundError:
            pass
    return False


def pixel(png: bytes, x: int, y: int) -> tuple[int, int, int]:
    """One pixel of a PNG that `encode_png` wrote (no filters, one data chunk)."""
    width = struct.unpack(">I", png[16:20])[0]
    start = png.index(b"IDAT") + 4
    raw = zlib.decompress(png[start : start + struct.unpack(">I", png[start - 8 : start - 4])[0]])
    at = y * (1 + 3 * width) + 1 + 3 * x
    return raw[at], raw[at + 1], raw[at + 2]
