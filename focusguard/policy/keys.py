"""CDP key events as Electron input events, where Electron can express them.

`webContents.sendInputEvent` takes a `keyCode` string and computes the virtual key, `code` and `key` from it and the
US layout (shell/common/gin_converters/blink_converter.cc, shell/common/keyboard_util.cc). So an event is expressible
exactly when that computation gives what the CDP command asks for; everything else needs the focus and goes through
CDP. The fidelity corpus (specs/electron/test_fidelity.py) compares the two, event by event. Measured with it:

- 9.4.1 knows the type `keyDown` and not `rawKeyDown`; newer versions make the one of the other. So a press and its
  character are two events, as Chromium has them for a real key, while CDP's `keyDown` is one: see `_one_event_only`.
- `key` follows Shift and, for letters, Caps Lock. With Caps Lock, a capital letter without Shift could be said, but
  the page would see `getModifierState('CapsLock')`, which sign-in forms show to people. It borrows instead.
- A sign of the shifted level (`!`) as a `keyCode` turns Shift on.
- A character whose `keyCode` is no key's name comes without `key` and `code`; a NUL behind it makes sure of that, and
  does not arrive.
- 33.2.1 takes the character of a named key from the layout (`numadd` types `+`) and one outside the Basic Multilingual
  Plane whole; 25.1.1, 22.3.25 and 9.4.1 type the name's first letters, and half of the character.
- An unknown name among the modifiers sets random ones before 33. All names used here are known to 9.4.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

ALT, CTRL, META, SHIFT = 1, 2, 4, 8
_LEFT, _RIGHT = 1, 2

#: First Electron that takes a character from a named key, and whole (see above).
WHOLE_CHARACTERS_SINCE = 33
#: UTF-16 units that a key event carries (blink::WebKeyboardEvent::kTextLengthCap, less the NUL at the end).
TEXT_UNITS = 3

ElectronEvent = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the US layout, as Electron computes it.

    Attributes:
        name: Electron's `keyCode` string.
        virtual: Windows virtual key code.
        plain: `KeyboardEvent.key` without Shift.
        shifted: `KeyboardEvent.key` with Shift.
    """

    name: str
    virtual: int
    plain: str
    shifted: str

    @property
    def types(self) -> bool:
        """Whether it makes a character."""
        return len(self.plain) == 1 or self.plain == "Enter"


_SIGNS = (
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
)
#: `code`, Electron's name, virtual key, `key`.
_NAMED = (
    ("Tab", "Tab", 9, "Tab"),
    ("Space", "Space", 32, " "),
    ("Backspace", "Backspace", 8, "Backspace"),
    ("Enter", "Enter", 13, "Enter"),
    ("Escape", "Escape", 27, "Escape"),
    ("CapsLock", "Capslock", 20, "CapsLock"),
    ("NumLock", "Numlock", 144, "NumLock"),
    ("ScrollLock", "Scrolllock", 145, "ScrollLock"),
    ("PageUp", "PageUp", 33, "PageUp"),
    ("PageDown", "PageDown", 34, "PageDown"),
    ("End", "End", 35, "End"),
    ("Home", "Home", 36, "Home"),
    ("ArrowLeft", "Left", 37, "ArrowLeft"),
    ("ArrowUp", "Up", 38, "ArrowUp"),
    ("ArrowRight", "Right", 39, "ArrowRight"),
    ("ArrowDown", "Down", 40, "ArrowDown"),
    ("PrintScreen", "PrintScreen", 44, "PrintScreen"),
    ("Insert", "Insert", 45, "Insert"),
    ("Delete", "Delete", 46, "Delete"),
    ("ShiftLeft", "Shift", 16, "Shift"),
    ("ControlLeft", "Control", 17, "Control"),
    ("AltLeft", "Alt", 18, "Alt"),
    ("AltRight", "AltGr", 225, "Alt"),
    ("MetaLeft", "Meta", 91, "Meta"),
    ("NumpadMultiply", "nummult", 106, "*"),
    ("NumpadAdd", "numadd", 107, "+"),
    ("NumpadSubtract", "numsub", 109, "-"),
    ("NumpadDecimal", "numdec", 110, "."),
    ("NumpadDivide", "numdiv", 111, "/"),
    ("AudioVolumeMute", "VolumeMute", 173, "AudioVolumeMute"),
    ("AudioVolumeDown", "VolumeDown", 174, "AudioVolumeDown"),
    ("AudioVolumeUp", "VolumeUp", 175, "AudioVolumeUp"),
    ("MediaTrackNext", "MediaNextTrack", 176, "MediaTrackNext"),
    ("MediaTrackPrevious", "MediaPreviousTrack", 177, "MediaTrackPrevious"),
    ("MediaStop", "MediaStop", 178, "MediaStop"),
    ("MediaPlayPause", "MediaPlayPause", 179, "MediaPlayPause"),
)


def _layout() -> Iterator[tuple[str, Key]]:
    for letter in "abcdefghijklmnopqrstuvwxyz":
        yield f"Key{letter.upper()}", Key(letter, ord(letter.upper()), letter, letter.upper())
    for digit, shifted in zip("0123456789", ")!@#$%^&*(", strict=True):
        yield f"Digit{digit}", Key(digit, ord(digit), digit, shifted)
        yield f"Numpad{digit}", Key(f"num{digit}", 96 + int(digit), digit, digit)
    for number in range(1, 25):
        yield f"F{number}", Key(f"F{number}", 111 + number, f"F{number}", f"F{number}")
    for code, virtual, plain, shifted in _SIGNS:
        yield code, Key(plain, virtual, plain, shifted)
    for code, name, virtual, key in _NAMED:
        yield code, Key(name, virtual, key, key)


US_LAYOUT: dict[str, Key] = dict(_layout())
_MODIFIER_NAMES = ((ALT, "alt"), (CTRL, "control"), (META, "meta"), (SHIFT, "shift"))


def leaves_guest(params: dict[str, Any]) -> bool:
    """Whether the key may move the focus out of the guest: Tab from its last field ends in the host."""
    if not presses(params):
        return False
    return "Tab" in (params.get("key"), params.get("code")) or params.get("windowsVirtualKeyCode") == 9


def presses(params: dict[str, Any]) -> bool:
    """Whether the command is the press of a key, and not its release or a character alone."""
    return params.get("type") in ("keyDown", "rawKeyDown")


#: A press that no person and no agent makes (all modifiers and F24), for a guest whose widget drops releases and
#: characters: it does so after a person's press was stopped there, until the next press comes
#: (content/browser/renderer_host/render_widget_host_impl.cc, suppress_events_until_keydown_). The guard's evidence
#: keeps it from the page.
ROUSING: dict[str, Any] = {
    "type": "rawKeyDown",
    "key": "F24",
    "code": "F24",
    "windowsVirtualKeyCode": 135,
    "modifiers": ALT | CTRL | META | SHIFT,
}
ROUSING_EVENT: ElectronEvent = {
    "type": "rawKeyDown",
    "keyCode": "F24",
    "modifiers": ["alt", "control", "meta", "shift"],
}


def makes_character(params: dict[str, Any]) -> bool:
    """Whether the command produces a keypress."""
    return params.get("type") == "char" or (params.get("type") == "keyDown" and bool(params.get("text")))


def whole(text: str) -> bool:
    """Whether there is text, and no half of a surrogate pair in it: only CDP can carry one."""
    return bool(text) and not any("\ud800" <= letter <= "\udfff" for letter in text)


def insertable(text: str) -> bool:
    """Whether the app's `insertText` makes of a text what CDP's makes of it.

    A line break becomes several insertions. Electron's own come out of one script, so that what a page does between
    them (promises, mutation observers) happens after all of them (seen with ProseMirror on 33.2.1).
    """
    return whole(text) and not any(letter < " " or letter == "\x7f" for letter in text)


def event_types(params: dict[str, Any]) -> list[str]:
    """The DOM events one of which proves that the key was seen."""
    return {"keyUp": ["keyup"], "char": ["keypress"]}.get(params.get("type", ""), ["keydown"])


def for_the_page(params: dict[str, Any]) -> dict[str, Any]:
    """The command without what only the app would notice.

    With a native key code, Chromium hands the key to the app before the page gets it and once more if the page did
    not want it (content/browser/devtools/protocol/input_handler.cc): menus and `before-input-event` would take the
    agent's key for the person's. No page can see the number.
    """
    return {name: value for name, value in params.items() if name != "nativeVirtualKeyCode"}


def to_electron(params: dict[str, Any], electron: int) -> list[ElectronEvent] | None:
    """The Electron input events that a page sees exactly as this `Input.dispatchKeyEvent`; None where there are none.

    Args:
        params: of the command.
        electron: the app's major version.
    """
    kind = params.get("type")
    if kind not in ("keyDown", "keyUp", "rawKeyDown", "char") or not _plain(params) or leaves_guest(params):
        return None
    bits = params.get("modifiers", 0)
    text = params.get("text", "")
    modifiers = _modifiers(params, bits)
    events: list[ElectronEvent] = []
    if kind != "char":
        name = _key_name(params, bits)
        if name is None or (kind == "keyDown" and _one_event_only(params, bits, text)):
            return None
        events.append(
            {"type": "keyUp" if kind == "keyUp" else "keyDown", "keyCode": name, "modifiers": modifiers}
        )
    if makes_character(params):
        name = _character_name(params, bits, text, electron)
        if name is None:
            return None
        events.append({"type": "char", "keyCode": name, "modifiers": modifiers})
    return events


def _plain(params: dict[str, Any]) -> bool:
    """Whether it carries nothing that Electron has no word for, and everything in the form that Chromium takes."""
    if params.get("commands") or params.get("isSystemKey") or "timestamp" in params:
        return False
    texts = ("text", "unmodifiedText", "key", "code")
    numbers = ("modifiers", "windowsVirtualKeyCode", "location")
    return all(isinstance(params.get(name, ""), str) for name in texts) and all(
        isinstance(params.get(name, 0), int) for name in numbers
    )


def _key_name(params: dict[str, Any], bits: int) -> str | None:
    """Electron's name for the key, where its computation gives what the command says."""
    key = US_LAYOUT.get(params.get("code", ""))
    if key is None or params.get("windowsVirtualKeyCode", 0) != key.virtual:
        return None
    return key.name if params.get("key") == (key.shifted if bits & SHIFT else key.plain) else None


def _one_event_only(params: dict[str, Any], bits: int, text: str) -> bool:
    """Whether the page could tell that the press and its character come apart.

    Access keys are looked for before a `keyDown` with text is dispatched, but after a press without. And once a page
    has handled a press, Chromium drops the `char` after it (WebFrameWidgetImpl, suppress_next_keypress_event_), but
    not after a `keyDown` without text: clients that send one for a key that types send the `char` next.
    """
    if text:
        return bits & (ALT | CTRL | META) == ALT
    return US_LAYOUT[params["code"]].types and not bits & (CTRL | META)


def _character_name(params: dict[str, Any], bits: int, text: str, electron: int) -> str | None:
    """Electron's name for the character, where its computation gives what the command says."""
    if not whole(text) or (bits & ALT and params.get("unmodifiedText", "") != text):
        return None
    if electron < WHOLE_CHARACTERS_SINCE and not all(letter <= "\uffff" for letter in text):
        return None
    name, code = params.get("key", ""), params.get("code", "")
    if not name and not code:
        units = len(text.encode("utf-16-le")) // 2
        return text + "\0" if units <= TEXT_UNITS and "\0" not in text else None
    key = US_LAYOUT.get(code)
    if key is None or name != (key.shifted if bits & SHIFT else key.plain):
        return None
    if key.plain == "Enter":
        return text if text == "\r" else None
    if code.startswith("Numpad"):
        return key.name if text == key.plain and electron >= WHOLE_CHARACTERS_SINCE else None
    if len(key.plain) != 1:
        return None
    typed = (key.plain, key.shifted) if code.startswith("Key") else (name,)
    return text if text in typed else None


def _modifiers(params: dict[str, Any], bits: int) -> list[str]:
    names = [name for bit, name in _MODIFIER_NAMES if bits & bit]
    if params.get("autoRepeat"):
        names.append("isautorepeat")
    # `KeyboardEvent.location` follows these (blink::KeyboardEvent), whichever key it is.
    if params.get("isKeypad"):
        names.append("iskeypad")
    location = params.get("location", 0)
    if location & _LEFT:
        names.append("left")
    if location & _RIGHT:
        names.append("right")
    return names
