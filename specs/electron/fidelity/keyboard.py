"""The US keyboard, and how client libraries send its keys.

Read in their sources: Playwright 1.60 (`server/input.ts`, `usKeyboardLayout.ts`, `chromium/crInput.ts`), Puppeteer
24.43 (`cdp/Input.ts`, `USKeyboardLayout.ts`), agent-browser 0.27 (`native/interaction.rs`), browser-use
(`default_action_watchdog.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Command = tuple[str, dict[str, Any]]

KEY, INSERT = "Input.dispatchKeyEvent", "Input.insertText"
BITS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


@dataclass(frozen=True, slots=True)
class Definition:
    """One key as the libraries' layouts have it."""

    code: str
    key: str
    virtual: int
    shifted: str = ""
    shifted_virtual: int = 0
    text: str = ""
    location: int = 0


def _definitions() -> Iterable[Definition]:
    for number in range(1, 25):
        yield Definition(f"F{number}", f"F{number}", 111 + number)
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        yield Definition(f"Key{letter}", letter.lower(), ord(letter), letter)
    for digit, shifted in zip("0123456789", ")!@#$%^&*(", strict=True):
        yield Definition(f"Digit{digit}", digit, ord(digit), shifted)
    for code, virtual, plain, shifted in (
        ("Backquote", 192, "`", "~"),
        ("Minus", 189, "-", "_"),
        ("Equal", 187, "=", "+"),
        ("BracketLeft", 219, "[", "{"),
        ("BracketRight", 221, "]", "}"),
        ("Backslash", 220, "\\", "|"),
        ("Semicolon", 186, ";", ":"),
        ("Quote", 222, "'", '"'),
        ("Comma", 188, ",", "<"),
        ("Period", 190, ".", ">"),
        ("Slash", 191, "/", "?"),
    ):
        yield Definition(code, plain, virtual, shifted)
    yield Definition("Space", " ", 32)
    yield Definition("Enter", "Enter", 13, text="\r")
    for code, virtual in (
        ("Escape", 27),
        ("Backspace", 8),
        ("Tab", 9),
        ("CapsLock", 20),
        ("ContextMenu", 93),
        ("PrintScreen", 44),
        ("ScrollLock", 145),
        ("Pause", 19),
        ("PageUp", 33),
        ("PageDown", 34),
        ("Insert", 45),
        ("Delete", 46),
        ("Home", 36),
        ("End", 35),
        ("ArrowLeft", 37),
        ("ArrowUp", 38),
        ("ArrowRight", 39),
        ("ArrowDown", 40),
        ("NumLock", 144),
        ("AltGraph", 225),
        ("AudioVolumeMute", 173),
        ("AudioVolumeDown", 174),
        ("AudioVolumeUp", 175),
        ("MediaTrackNext", 176),
        ("MediaTrackPrevious", 177),
        ("MediaPlayPause", 179),
    ):
        yield Definition(code, code, virtual)
    for code, key, virtual, location in (
        ("ShiftLeft", "Shift", 16, 1),
        ("ShiftRight", "Shift", 16, 2),
        ("ControlLeft", "Control", 17, 1),
        ("ControlRight", "Control", 17, 2),
        ("AltLeft", "Alt", 18, 1),
        ("AltRight", "Alt", 18, 2),
        ("MetaLeft", "Meta", 91, 1),
        ("MetaRight", "Meta", 92, 2),
        ("NumpadDivide", "/", 111, 3),
        ("NumpadMultiply", "*", 106, 3),
        ("NumpadSubtract", "-", 109, 3),
        ("NumpadAdd", "+", 107, 3),
    ):
        yield Definition(code, key, virtual, location=location)
    yield Definition("NumpadEnter", "Enter", 13, text="\r", location=3)
    for digit, key, virtual in (
        ("0", "Insert", 45),
        ("1", "End", 35),
        ("2", "ArrowDown", 40),
        ("3", "PageDown", 34),
        ("4", "ArrowLeft", 37),
        ("5", "Clear", 12),
        ("6", "ArrowRight", 39),
        ("7", "Home", 36),
        ("8", "ArrowUp", 38),
        ("9", "PageUp", 33),
    ):
        yield Definition(f"Numpad{digit}", key, virtual, digit, 96 + int(digit), location=3)
    yield Definition("NumpadDecimal", "Delete", 46, ".", 110, location=3)


LAYOUT: dict[str, Definition] = {definition.code: definition for definition in _definitions()}
#: Every key of an ordinary US keyboard with a numeric pad.
KEYS: list[str] = [
    code for code in LAYOUT if not (code[0] == "F" and code[1:].isdigit() and int(code[1:]) > 12)
]
#: Keys that only few keyboards have.
RARE_KEYS: list[str] = [code for code in LAYOUT if code not in KEYS]
#: What only Puppeteer's layout has, by the name it goes by: code, key, virtual key, location.
PUPPETEER_KEYS: dict[str, Definition] = {
    name: Definition(code, key, virtual, location=location)
    for name, code, key, virtual, location in (
        ("Power", "Power", "Power", 0, 0),
        ("Eject", "Eject", "Eject", 0, 0),
        ("Abort", "Abort", "Cancel", 3, 0),
        ("Help", "Help", "Help", 6, 0),
        ("Convert", "Convert", "Convert", 28, 0),
        ("NonConvert", "NonConvert", "NonConvert", 29, 0),
        ("Accept", "", "Accept", 30, 0),
        ("ModeChange", "", "ModeChange", 31, 0),
        ("Select", "Select", "Select", 41, 0),
        ("Print", "", "Print", 42, 0),
        ("Open", "Open", "Execute", 43, 0),
        ("MediaStop", "MediaStop", "MediaStop", 178, 0),
        ("NumpadEqual", "NumpadEqual", "=", 187, 3),
        ("Attn", "", "Attn", 246, 0),
        ("Props", "Props", "CrSel", 247, 0),
        ("ExSel", "", "ExSel", 248, 0),
        ("EraseEof", "", "EraseEof", 249, 0),
        ("Play", "", "Play", 250, 0),
        ("ZoomOut", "", "ZoomOut", 251, 0),
        ("SoftLeft", "SoftLeft", "SoftLeft", 0, 4),
        ("SoftRight", "SoftRight", "SoftRight", 0, 4),
        ("Camera", "Camera", "Camera", 44, 4),
        ("Call", "Call", "Call", 0, 4),
        ("EndCall", "EndCall", "EndCall", 95, 4),
        ("VolumeDown", "VolumeDown", "VolumeDown", 182, 4),
        ("VolumeUp", "VolumeUp", "VolumeUp", 183, 4),
        # In Playwright's layout and on a keyboard it is Delete.
        ("NumpadDecimal", "NumpadDecimal", "\0", 46, 3),
    )
}
PRINTABLE: list[str] = [code for code, one in LAYOUT.items() if len(one.key) == 1 and not one.location]
MODIFIERS: dict[str, tuple[str, ...]] = {
    "none": (),
    "Shift": ("Shift",),
    "Ctrl": ("Control",),
    "Alt": ("Alt",),
    "Meta": ("Meta",),
    "Ctrl+Shift": ("Control", "Shift"),
}
_MODIFIER_CODES = {"Shift": "ShiftLeft", "Control": "ControlLeft", "Alt": "AltLeft", "Meta": "MetaLeft"}


def _by_character(keypad: Mapping[str, str]) -> dict[str, tuple[str, bool]]:
    """Which key a library takes for a character, and whether it is the shifted one."""
    found: dict[str, tuple[str, bool]] = {}
    for code in PRINTABLE:
        found[LAYOUT[code].key] = (code, False)
        if LAYOUT[code].shifted:
            found[LAYOUT[code].shifted] = (code, True)
    found |= {character: (code, False) for character, code in keypad.items()}
    found |= {"\r": ("Enter", False), "\n": ("Enter", False)}
    return found


@dataclass
class Playwright:
    """Playwright's `keyboard`."""

    characters = _by_character({})
    name = "playwright"
    held: list[str] = field(default_factory=list)
    down_codes: set[str] = field(default_factory=set)

    def _bits(self) -> int:
        return sum(BITS[name] for name in self.held)

    def _described(self, definition: Definition, shifted: bool) -> dict[str, Any]:
        key, virtual = definition.key, definition.virtual
        text = definition.text or (key if len(key) == 1 else "")
        if shifted and definition.shifted:
            key = text = definition.shifted
            virtual = definition.shifted_virtual or virtual
        if self.held and self.held != ["Shift"]:
            text = ""
        return {
            "code": definition.code,
            "key": key,
            "text": text,
            "virtual": virtual,
            "location": definition.location,
        }

    def _resolve(self, name: str) -> tuple[Definition, bool]:
        shift = "Shift" in self.held
        if name in self.characters:
            code, shifted = self.characters[name]
            return LAYOUT[code], shifted or (shift and name not in "\r\n")
        return LAYOUT[_MODIFIER_CODES.get(name, name)], shift

    def down(self, name: str) -> Command:
        definition, shifted = self._resolve(name)
        repeat = definition.code in self.down_codes
        self.down_codes.add(definition.code)
        if definition.key in BITS and definition.key not in self.held:
            self.held.append(definition.key)
        one = self._described(definition, shifted)
        return KEY, self._down(one, repeat)

    def _down(self, one: dict[str, Any], repeat: bool) -> dict[str, Any]:
        return {
            "type": "keyDown" if one["text"] else "rawKeyDown",
            "modifiers": self._bits(),
            "windowsVirtualKeyCode": one["virtual"],
            "code": one["code"],
            "commands": [],
            "key": one["key"],
            "text": one["text"],
            "unmodifiedText": one["text"],
            "autoRepeat": repeat,
            "location": one["location"],
            "isKeypad": one["location"] == 3,
        }

    def up(self, name: str) -> Command:
        definition, shifted = self._resolve(name)
        one = self._described(definition, shifted)
        if definition.key in self.held:
            self.held.remove(definition.key)
        self.down_codes.discard(definition.code)
        return KEY, self._up(one)

    def _up(self, one: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "keyUp",
            "modifiers": self._bits(),
            "key": one["key"],
            "windowsVirtualKeyCode": one["virtual"],
            "code": one["code"],
            "location": one["location"],
            "isKeypad": one["location"] == 3,
        }

    def press(self, name: str, modifiers: Iterable[str] = (), repeats: int = 0) -> list[Command]:
        modifiers = list(modifiers)
        return [
            *(self.down(modifier) for modifier in modifiers),
            *(self.down(name) for _ in range(1 + repeats)),
            self.up(name),
            *(self.up(modifier) for modifier in reversed(modifiers)),
        ]

    def type(self, text: str) -> list[Command]:
        """`keyboard.type`: characters on the keyboard as keys, without Shift; others as text."""
        commands: list[Command] = []
        for character in text:
            if character in self.characters:
                commands += self.press(character)
            else:
                commands.append((INSERT, {"text": character}))
        return commands


@dataclass
class Puppeteer(Playwright):
    """Puppeteer's `keyboard`."""

    characters = _by_character(
        {"*": "NumpadMultiply", "+": "NumpadAdd", "-": "NumpadSubtract", "/": "NumpadDivide"}
    )
    name = "puppeteer"

    def _resolve(self, name: str) -> tuple[Definition, bool]:
        if name in PUPPETEER_KEYS and not (name in LAYOUT and "Shift" in self.held):
            return PUPPETEER_KEYS[name], False
        return super()._resolve(name)

    def _down(self, one: dict[str, Any], repeat: bool) -> dict[str, Any]:
        params = super()._down(one, repeat)
        del params["commands"]
        return params

    def _up(self, one: dict[str, Any]) -> dict[str, Any]:
        params = super()._up(one)
        del params["isKeypad"]
        return params


class AgentBrowser:
    """agent-browser's `press` and `keyboard type`."""

    name = "agent-browser"
    _named = ("Enter", "Tab", "Escape", "Backspace", "Delete", "Home", "End", "PageUp", "PageDown", "Space")

    def _info(self, name: str) -> tuple[str, str, int]:
        definition = LAYOUT.get(name)
        if definition is not None and (name in self._named or name.startswith("Arrow")):
            return definition.key, definition.code, definition.virtual
        character = definition.key if definition is not None and name in PRINTABLE else name
        if len(character) == 1:
            code, _ = Playwright.characters.get(character, ("", False))
            return character, code, LAYOUT[code].virtual if code else 0
        return name, name, 0

    def press(self, name: str, modifiers: Iterable[str] = ()) -> list[Command]:
        bits = sum(BITS[modifier] for modifier in modifiers)
        key, code, virtual = self._info(name)
        text = {"Enter": "\r", "Tab": "\t"}.get(key, key if len(key) == 1 else None)
        if bits & (BITS["Control"] | BITS["Meta"]):
            text = None
        base: dict[str, Any] = {
            "key": key,
            "code": code,
            "windowsVirtualKeyCode": virtual,
            "nativeVirtualKeyCode": virtual,
        }
        if bits:
            base["modifiers"] = bits
        down = base | ({"text": text, "unmodifiedText": text} if text else {})
        return [(KEY, {"type": "keyDown", **down}), (KEY, {"type": "keyUp", **base})]

    def type(self, text: str) -> list[Command]:
        commands: list[Command] = []
        for character in text:
            if character in "\r\n\t":
                commands += self.press("Tab" if character == "\t" else "Enter")
            else:
                commands.append((INSERT, {"text": character}))
        return commands


class BrowserUse:
    """browser-use's typing: a key without text, the character by itself, the key's release."""

    name = "browser-use"

    def type(self, text: str) -> list[Command]:
        commands: list[Command] = []
        for character in text:
            if character in "\r\n":
                key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
                press = {"text": "\r", "key": "Enter"}
                bits = 0
            else:
                code, shifted = Playwright.characters.get(character, ("", False))
                plain = LAYOUT[code].key if code else character
                virtual = LAYOUT[code].virtual if code else 0
                key = {"key": plain, "code": code, "windowsVirtualKeyCode": virtual}
                press = {"text": character, "key": character}
                bits = BITS["Shift"] if shifted else 0
            commands += [
                (KEY, {"type": "keyDown", "modifiers": bits, **key}),
                (KEY, {"type": "char", **press}),
                (KEY, {"type": "keyUp", "modifiers": bits, **key}),
            ]
        return commands
