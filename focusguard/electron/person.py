"""A person at an isolated display: real key presses, clicks and wheel turns, through X's XTEST extension.

Nothing else plays the person: input injected into a page, or into a window by its id, skips the focus routing
that the rig is there to measure. A display that this process did not start is somebody's, and is refused.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from Xlib import XK, X
from Xlib import error as xerror
from Xlib.ext import xtest

from focusguard.electron.display import Display, is_own_display
from focusguard.electron.errors import DisplayFailed, ForeignDisplay, RigError

StrokeKind = Literal["key-down", "key-up", "button-down", "button-up", "motion"]

#: Names that people write, and X's keysym names for them. Single characters and X's own names need no entry.
KEY_NAMES = {
    "alt": "Alt_L",
    "altgr": "ISO_Level3_Shift",
    "arrowdown": "Down",
    "arrowleft": "Left",
    "arrowright": "Right",
    "arrowup": "Up",
    "backspace": "BackSpace",
    "capslock": "Caps_Lock",
    "cmd": "Super_L",
    "control": "Control_L",
    "ctrl": "Control_L",
    "del": "Delete",
    "delete": "Delete",
    "down": "Down",
    "end": "End",
    "enter": "Return",
    "esc": "Escape",
    "escape": "Escape",
    "home": "Home",
    "insert": "Insert",
    "left": "Left",
    "meta": "Super_L",
    "pagedown": "Next",
    "pageup": "Prior",
    "plus": "plus",
    "return": "Return",
    "right": "Right",
    "shift": "Shift_L",
    "space": "space",
    "super": "Super_L",
    "tab": "Tab",
    "up": "Up",
}
#: Characters that are typed with a named key.
CONTROL_CHARACTERS = {"\n": "Return", "\r": "Return", "\t": "Tab", "\b": "BackSpace", "\x1b": "Escape"}
SHIFT = "Shift_L"
#: X's buttons for a wheel turn: up, down, left, right.
WHEEL_UP, WHEEL_DOWN, WHEEL_LEFT, WHEEL_RIGHT = 4, 5, 6, 7


@dataclass(frozen=True, slots=True)
class Stroke:
    """One event that was handed to the X server.

    Attributes:
        kind: What it was.
        detail: The character or key name; `button N`; or `X,Y` of a motion.
        at_ns: When, on `time.monotonic_ns`.
    """

    kind: StrokeKind
    detail: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Key:
    """A key on the keyboard, and whether Shift belongs to it."""

    name: str
    code: int
    shifted: bool


class Person:
    """Types and points on an isolated display.

    Attributes:
        journal: Every event in the order in which it was sent.
        epoch_ns: Add it to `Stroke.at_ns` for the time of day, as in `performance.timeOrigin + now()`.
    """

    def __init__(self, display: Display) -> None:
        """Sits down at a display.

        Args:
            display: A running one that `isolated_display` made in this process.

        Raises:
            ForeignDisplay: It is anything else.
        """
        _refuse_foreign(display)
        self.journal: list[Stroke] = []
        self.epoch_ns = time.time_ns() - time.monotonic_ns()
        self._display = display
        self._connection: Any = display.connect()
        if not self._connection.has_extension("XTEST"):
            raise DisplayFailed(f"the X server of {display.name} has no XTEST extension")
        self._keyboard = _read_keyboard(self._connection)
        self._down: dict[int, str] = {}
        self._held: set[str] = set()
        self._repeat(on=False)
        self._typing = anyio.Lock()

    async def type(
        self, text: str, rate: float = 8.0, jitter: float = 0.0, seed: int = 0, *, hold: float | None = None
    ) -> list[Stroke]:
        """Types text on a fixed schedule, so that a late key does not move the ones after it.

        Args:
            text: Characters of the keyboard; a line feed is Return, a tab Tab.
            rate: Keys per second.
            jitter: Largest shift of a key's moment, as a share of the gap between two keys (0 to 0.9).
            seed: Of the jitter.
            hold: Seconds that a key stays down; 35 % of the gap if not given, at most 60 ms.

        Returns:
            What was sent, as it stands in the journal too.

        Raises:
            RigError: A character is not on the keyboard; nothing has been typed then.
            ForeignDisplay: The display is no longer the rig's own.
        """
        if rate <= 0 or not 0 <= jitter <= 0.9:
            raise RigError(f"a person cannot type at rate {rate} with jitter {jitter}")
        keys = [self._key_for(character) for character in text]
        gap = 1.0 / rate
        stay = min(0.06, 0.35 * gap) if hold is None else hold
        chance = random.Random(seed)
        async with self._typing:
            begin = len(self.journal)
            start = anyio.current_time()
            for number, (character, key) in enumerate(zip(text, keys, strict=True)):
                await anyio.sleep_until(start + (number + chance.uniform(-jitter, jitter) / 2) * gap)
                await self._strike(key, character, stay)
            self._sync()
            return self.journal[begin:]

    async def key(self, combination: str, *, hold: float = 0.01) -> None:
        """Presses and releases a key, with others held around it: `a`, `Return`, `ctrl+shift+i`, `ctrl++`.

        Args:
            combination: Key names or characters, joined by `+`.
            hold: Seconds that the last key stays down.
        """
        *around, last = [self._key_for(name) for name in split_combination(combination)]
        async with self._typing:
            held: list[Key] = []
            try:
                for key in around:
                    self._press(key, key.name)
                    held.append(key)
                await self._strike(last, last.name, hold)
            finally:
                for key in reversed(held):
                    self._release(key, key.name)
            self._sync()

    async def key_down(self, name: str) -> None:
        """Presses a key and keeps it down; the X server repeats it after its delay, as a keyboard does.

        Only keys that are held on purpose repeat: a program that the machine kept waiting between the press
        and the release of a typed key must not look like a person who held it.
        """
        key = self._key_for(name)
        self._check()
        self._held.add(key.name)
        self._repeat(on=True)
        self._press(key, key.name)
        self._sync()

    async def key_up(self, name: str) -> None:
        """Releases a key."""
        key = self._key_for(name)
        self._check()
        self._release(key, key.name)
        self._held.discard(key.name)
        self._repeat(on=bool(self._held))
        self._sync()

    async def release_all(self) -> None:
        """Releases every key and button that is still down."""
        for code, name in list(self._down.items()):
            if code < 0:
                self._button(-code, down=False)
            else:
                self._send("key-up", name, X.KeyRelease, code)
                del self._down[code]
        self._held.clear()
        self._repeat(on=False)
        self._sync()

    async def move(self, x: int, y: int) -> None:
        """Moves the pointer to a place on the screen, in pixels."""
        self._check()
        self._send("motion", f"{x},{y}", X.MotionNotify, x=x, y=y)
        self._sync()

    async def click(self, x: int, y: int, button: int = 1, *, hold: float = 0.02, count: int = 1) -> None:
        """Moves there and clicks.

        Args:
            x: On the screen, in pixels.
            y: On the screen, in pixels.
            button: 1 left, 2 middle, 3 right.
            hold: Seconds that the button stays down.
            count: 2 for a double click.
        """
        await self.move(x, y)
        for _ in range(count):
            await self.button_down(button)
            try:
                await anyio.sleep(hold)
            finally:
                await self.button_up(button)

    async def button_down(self, button: int = 1) -> None:
        """Presses a mouse button where the pointer is."""
        self._button(button, down=True)
        self._sync()

    async def button_up(self, button: int = 1) -> None:
        """Releases a mouse button."""
        self._button(button, down=False)
        self._sync()

    async def drag(self, path: Iterable[tuple[int, int]], button: int = 1, *, pause: float = 0.02) -> None:
        """Presses at the first place, moves along the others, releases at the last."""
        places = list(path)
        await self.move(*places[0])
        await self.button_down(button)
        try:
            for place in places[1:]:
                await anyio.sleep(pause)
                await self.move(*place)
            await anyio.sleep(pause)
        finally:
            await self.button_up(button)

    async def wheel(self, x: int, y: int, clicks: int, *, sideways: bool = False) -> None:
        """Turns the wheel over a place: positive clicks scroll down (or right), negative ones back."""
        await self.move(x, y)
        forward, back = (WHEEL_RIGHT, WHEEL_LEFT) if sideways else (WHEEL_DOWN, WHEEL_UP)
        for _ in range(abs(clicks)):
            self._button(forward if clicks > 0 else back, down=True)
            self._button(forward if clicks > 0 else back, down=False)
        self._sync()

    def can_type(self, character: str) -> bool:
        """Whether a character (or a key's name) is on the keyboard."""
        try:
            self._key_for(character)
        except RigError:
            return False
        return True

    async def _strike(self, key: Key, detail: str, hold: float) -> None:
        shift = self._keyboard[SHIFT] if key.shifted and not self._is_down(SHIFT) else None
        if shift is not None:
            self._press(shift, SHIFT)
        try:
            self._press(key, detail)
            try:
                await anyio.sleep(hold)
            finally:
                self._release(key, detail)
        finally:
            if shift is not None:
                self._release(shift, SHIFT)

    def _press(self, key: Key, detail: str) -> None:
        self._check()
        self._down[key.code] = detail
        self._send("key-down", detail, X.KeyPress, key.code)

    def _release(self, key: Key, detail: str) -> None:
        self._down.pop(key.code, None)
        self._send("key-up", detail, X.KeyRelease, key.code)

    def _button(self, button: int, *, down: bool) -> None:
        self._check()
        if down:
            self._down[-button] = f"button {button}"
        else:
            self._down.pop(-button, None)
        event = X.ButtonPress if down else X.ButtonRelease
        self._send("button-down" if down else "button-up", f"button {button}", event, button)

    def _send(self, kind: StrokeKind, detail: str, event: int, code: int = 0, x: int = 0, y: int = 0) -> None:
        try:
            self.journal.append(Stroke(kind, detail, time.monotonic_ns()))
            xtest.fake_input(self._connection, event, code, x=x, y=y)
            self._connection.flush()
        except (xerror.ConnectionClosedError, OSError) as error:
            raise DisplayFailed(f"the isolated display {self._display.name} has gone: {error}") from error

    def _sync(self) -> None:
        try:
            self._connection.sync()
        except (xerror.ConnectionClosedError, OSError) as error:
            raise DisplayFailed(f"the isolated display {self._display.name} has gone: {error}") from error

    def _repeat(self, *, on: bool) -> None:
        mode = X.AutoRepeatModeOn if on else X.AutoRepeatModeOff
        self._connection.change_keyboard_control(auto_repeat_mode=mode)

    def _is_down(self, name: str) -> bool:
        return self._keyboard[name].code in self._down

    def _key_for(self, name: str) -> Key:
        wanted = CONTROL_CHARACTERS.get(name) or (
            name if len(name) == 1 else KEY_NAMES.get(name.lower(), name)
        )
        key = self._keyboard.get(wanted)
        if key is None:
            raise RigError(f"{name!r} is not on the isolated display's keyboard (US layout)")
        return key

    def _check(self) -> None:
        _refuse_foreign(self._display)


def split_combination(combination: str) -> list[str]:
    """Splits `ctrl+shift+i` into its keys; a plus at the end, as in `ctrl++`, is the key itself."""
    if combination == "+":
        return ["+"]
    if combination.endswith("++"):
        return [*combination[:-2].split("+"), "+"]
    return combination.split("+")


def _refuse_foreign(display: object) -> None:
    if not is_own_display(display):
        name = getattr(display, "name", display)
        raise ForeignDisplay(
            f"the display {name!r} was not started by this rig, or has been stopped: native input goes only "
            "to a display made by isolated_display in this process, never to one that a person may be using"
        )


def _read_keyboard(connection: Any) -> dict[str, Key]:
    """Reads which key and level carries each keysym, by character where it has one, and by X's name."""
    first, last = connection.display.info.min_keycode, connection.display.info.max_keycode
    names = _keysym_names()
    keyboard: dict[str, Key] = {}
    # The lowest key code wins: it is the main block's, where another carries the same character.
    for offset, keysyms in enumerate(connection.get_keyboard_mapping(first, last - first + 1)):
        for level, keysym in enumerate(keysyms[:2]):
            for name in names.get(keysym, ()):
                keyboard.setdefault(name, Key(name, first + offset, level == 1))
    return keyboard


def _keysym_names() -> dict[int, list[str]]:
    names: dict[int, list[str]] = {}
    for attribute, value in vars(XK).items():
        if attribute.startswith("XK_") and isinstance(value, int):
            names.setdefault(value, []).append(attribute.removeprefix("XK_"))
    for code in (*range(0x20, 0x7F), *range(0xA0, 0x100)):
        names.setdefault(code, []).append(chr(code))  # keysyms of Latin 1 are their code points
    return names
