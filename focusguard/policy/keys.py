"""CDP key events as Electron input events, where Electron can express them.

Electron computes `code`, `key` and the virtual key of an input event from its `keyCode` string and the US layout
(shell/common/gin_converters/blink_converter.cc), so an event is expressible exactly when that computation gives what
the CDP command asks for. Everything else needs the focus and goes through CDP. The table and its limits were measured
on Electron 33.2.1 with `webContents.sendInputEvent` in an unfocused guest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ALT, CTRL, META, SHIFT = 1, 2, 4, 8

ElectronEvent = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the US layout.

    Attributes:
        name: Electron's `keyCode` string.
        virtual: Windows virtual key code.
        plain: `KeyboardEvent.key` without Shift.
        shifted: `KeyboardEvent.key` with Shift.
        location: DOM location, 0 standard, 1 left.
    """

    name: str
    virtual: int
    plain: str
    shifted: str
    location: int = 0


def _layout() -> dict[str, Key]:
    keys: dict[str, Key] = {}
    for letter in "abcdefghijklmnopqrstuvwxyz":
        keys[f"Key{letter.upper()}"] = Key(letter, ord(letter.upper()), letter, letter.upper())
    for digit, shifted in zip("0123456789", ")!@#$%^&*(", strict=True):
        keys[f"Digit{digit}"] = Key(digit, ord(digit), digit, shifted)
    for code, virtual, plain, shifted in (
        ("Semicolon", 186, ";", ":"),
        ("Equal", 187, "=", "+"),
        ("Comma", 188, ",", "<"),
        ("Minus", 189, "-", "_"),
        ("Period", 190, ".", ">"),
        ("Slash", 191, "/", "?"),
        ("Backquote", 192, "`", "~"),
        ("BracketLeft", 219, "[", "{"),
        ("Backslash", 220, "\\", "|"),
        ("BracketRight", 221, "]", "}"),
        ("Quote", 222, "'", '"'),
    ):
        keys[code] = Key(plain, virtual, plain, shifted)
    keys["Space"] = Key("Space", 32, " ", " ")
    for code, name, virtual in (
        ("Backspace", "Backspace", 8),
        ("Enter", "Enter", 13),
        ("Escape", "Escape", 27),
        ("CapsLock", "Capslock", 20),
        ("NumLock", "Numlock", 144),
        ("ScrollLock", "Scrolllock", 145),
        ("PageUp", "PageUp", 33),
        ("PageDown", "PageDown", 34),
        ("End", "End", 35),
        ("Home", "Home", 36),
        ("ArrowLeft", "Left", 37),
        ("ArrowUp", "Up", 38),
        ("ArrowRight", "Right", 39),
        ("ArrowDown", "Down", 40),
        ("PrintScreen", "PrintScreen", 44),
        ("Insert", "Insert", 45),
        ("Delete", "Delete", 46),
    ):
        keys[code] = Key(name, virtual, code, code)
    for number in range(1, 25):
        keys[f"F{number}"] = Key(f"F{number}", 111 + number, f"F{number}", f"F{number}")
    for code, name, virtual, key in (
        ("ShiftLeft", "Shift", 16, "Shift"),
        ("ControlLeft", "Control", 17, "Control"),
        ("AltLeft", "Alt", 18, "Alt"),
        ("MetaLeft", "Meta", 91, "Meta"),
    ):
        keys[code] = Key(name, virtual, key, key, location=1)
    return keys


US_LAYOUT: dict[str, Key] = _layout()
_MODIFIER_NAMES = ((ALT, "alt"), (CTRL, "control"), (META, "meta"), (SHIFT, "shift"))


def leaves_guest(params: dict[str, Any]) -> bool:
    """Whether the key may move the focus out of the guest: Tab from its last field ends in the host."""
    return "Tab" in (params.get("key"), params.get("code")) or params.get("windowsVirtualKeyCode") == 9


def makes_character(params: dict[str, Any]) -> bool:
    """Whether the command produces a keypress."""
    return params.get("type") == "char" or (params.get("type") == "keyDown" and bool(params.get("text")))


def whole(text: str) -> bool:
    """Whether there is text, and no half of a surrogate pair in it: only CDP can carry one."""
    return bool(text) and not any("\ud800" <= letter <= "\udfff" for letter in text)


def event_types(params: dict[str, Any]) -> list[str]:
    """The DOM events one of which proves that the key was seen."""
    return {"keyUp": ["keyup"], "char": ["keypress"]}.get(params.get("type", ""), ["keydown"])


def to_electron(params: dict[str, Any]) -> list[ElectronEvent] | None:
    """The Electron input events that a page sees exactly as this `Input.dispatchKeyEvent`; None where there are none."""
    kind = params.get("type")
    if (
        kind not in ("keyDown", "keyUp", "rawKeyDown", "char")
        or params.get("commands")
        or leaves_guest(params)
    ):
        return None
    if not isinstance(params.get("modifiers", 0), int):
        return None
    text = params.get("text") or ""
    key, code = params.get("key", ""), params.get("code", "")
    if kind == "char" and not key and not code and len(text) == 1 and ord(text) > 0x7F and whole(text):
        return [{"type": "char", "keyCode": text, "modifiers": _modifiers(params, caps=False)}]
    entry = US_LAYOUT.get(code)
    if entry is None:
        return None
    shift = bool(params.get("modifiers", 0) & SHIFT)
    letter = code.startswith("Key")
    expected = entry.shifted if shift else entry.plain
    caps = letter and not shift and key == entry.shifted
    if key != expected and not caps:
        return None
    if params.get("windowsVirtualKeyCode", 0) != entry.virtual and kind != "char":
        return None
    if params.get("isKeypad") or params.get("location", 0) not in (
        (entry.location,) if entry.location else (0,)
    ):
        return None
    modifiers = _modifiers(params, caps=caps)
    if entry.location:
        modifiers.append("left")
    events: list[ElectronEvent] = []
    if kind != "char":
        name = "keyUp" if kind == "keyUp" else "rawKeyDown"
        events.append({"type": name, "keyCode": entry.name, "modifiers": modifiers})
    if makes_character(params):
        if text != ("\r" if code == "Enter" else key) or (kind == "keyDown" and len(text) != 1):
            return None
        events.append({"type": "char", "keyCode": text, "modifiers": modifiers})
    return events


def _modifiers(params: dict[str, Any], *, caps: bool) -> list[str]:
    bits = params.get("modifiers", 0)
    names = [name for bit, name in _MODIFIER_NAMES if bits & bit]
    if caps:
        names.append("capslock")
    if params.get("autoRepeat"):
        names.append("isautorepeat")
    return names
