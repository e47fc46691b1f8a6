"""The rows of the fidelity corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from specs.electron.fidelity.keyboard import (
    BITS,
    INSERT,
    KEY,
    KEYS,
    LAYOUT,
    MODIFIERS,
    PRINTABLE,
    PUPPETEER_KEYS,
    RARE_KEYS,
    AgentBrowser,
    BrowserUse,
    Command,
    Playwright,
    Puppeteer,
)
from specs.electron.fidelity.stage import Row

FIELDS = ("area", "line", "rich", "editor")
#: Keys that do something of their own in an editor.
EDITING = (
    *("Enter", "NumpadEnter", "Tab", "Backspace", "Delete", "Escape", "Space", "Insert", "Home", "End"),
    *(
        "ArrowLeft",
        "ArrowUp",
        "ArrowRight",
        "ArrowDown",
        "PageUp",
        "PageDown",
        "KeyA",
        "KeyB",
        "KeyC",
        "KeyV",
    ),
    *("KeyX", "KeyY", "KeyZ", "Digit1", "Slash", "ContextMenu", "F10"),
)
#: Keys that open a select's list: a window of its own, which would take the person's keys and is not left open.
_OPENING = ("Enter", "NumpadEnter", "Space")
TEXTS = {
    "letter": "a",
    "word": "word",
    "cjk": "你好，世界",
    "hangul": "한국어",
    "kana": "かな",
    "accented": "déjà vu",
    "combining": "e\u0301",
    "emoji": "😀",
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "flag": "🇨🇭",
    "skin": "👍🏽",
    "keycap": "1\ufe0f\u20e3",
    "outside the plane": "𝒳𠮷",
    "right to left": "שלום",
    "newline": "one\ntwo",
    "carriage return": "one\r\ntwo",
    "tab": "one\ttwo",
    "trailing newline": "one\n",
    "no-break": "a\u00a0b",
    "zero width": "a\u200bb",
    "control": "a\u0001b",
    "bell": "\u0007",
    "nul": "a\u0000b",
    "delete": "\u007f",
    "line separator": "a\u2028b",
    "markup": "<b>&amp;</b>",
    "empty": "",
    "spaces": "  two  ",
    "long": "The quick brown fox jumps over the lazy dog. " * 20,
}


def _area(**more: Any) -> dict[str, Any]:
    return {"field": "area", **more}


def _leaves(field: str, code: str, modifiers: Sequence[str]) -> bool:
    """Whether the key leaves the page: a window's page begins anew then, a guest's focus must not go to its host."""
    return code == "Tab" and field == "first" and "Shift" in modifiers


def product() -> Iterator[Row]:
    """Every key × modifiers × the style of each client library, in a text area."""
    for code in KEYS:
        for name, modifiers in MODIFIERS.items():
            for keyboard in (Playwright(), Puppeteer(), AgentBrowser()):
                commands = keyboard.press(code, modifiers)
                yield Row(f"{keyboard.name} {name} {code}", "keys", commands, _area())
    for name in PUPPETEER_KEYS:
        yield Row(f"puppeteer's own {name}", "keys", Puppeteer().press(name), _area())
    for code in RARE_KEYS:
        for keyboard in (Puppeteer(), AgentBrowser()):
            yield Row(f"{keyboard.name} {code}", "keys", keyboard.press(code), _area())


def elsewhere() -> Iterator[Row]:
    """The keys that do something, in other fields and in none."""
    combinations = [(), ("Shift",), ("Control",), ("Control", "Shift"), ("Alt",)]
    for field in ("line", "rich", "editor"):
        for code in EDITING:
            for modifiers in combinations:
                name = f"{field} {'+'.join((*modifiers, code))}"
                yield Row(name, "fields", Playwright().press(code, modifiers), {"field": field})
    for field in ("secret", "number", "button", "check", "choice", "link", "name", "body", "first"):
        for code in (*EDITING[:16], "KeyA", "KeyT", "Digit1"):
            for modifiers in ((), ("Shift",)):
                if _leaves(field, code, modifiers) or (field == "choice" and code in _OPENING):
                    continue
                name = f"{field} {'+'.join((*modifiers, code))}"
                yield Row(name, "fields", Playwright().press(code, modifiers), {"field": field})
    for code in ("KeyK", "Digit1", "Enter"):
        for keyboard in (Playwright(), AgentBrowser()):
            yield Row(f"access {keyboard.name} {code}", "fields", keyboard.press(code, ("Alt",)), _area())


def repeats() -> Iterator[Row]:
    """A key held down."""
    for code in KEYS:
        yield Row(f"repeat {code}", "repeat", Playwright().press(code, (), repeats=2), _area())
    for code in ("KeyA", "ArrowLeft", "Backspace", "Space", "Digit1"):
        for name, modifiers in list(MODIFIERS.items())[1:]:
            commands = Puppeteer().press(code, modifiers, repeats=2)
            yield Row(f"repeat {name} {code}", "repeat", commands, _area())


def sides() -> Iterator[Row]:
    """Modifiers on the left and on the right, and both."""
    for modifier in ("Shift", "Control", "Alt", "Meta"):
        left, right = f"{modifier}Left", f"{modifier}Right"
        for held in ((left,), (right,), (left, right)):
            for code in ("KeyA", "Digit1", "ArrowLeft", "Delete", "Numpad4"):
                name = f"{'+'.join((*held, code))}"
                yield Row(name, "sides", Playwright().press(code, held), _area())
    for code in ("KeyE", "Digit4", "Quote"):
        yield Row(f"AltGraph+{code}", "sides", Playwright().press(code, ("AltGraph",)), _area())


def typing() -> Iterator[Row]:
    """What the libraries' `type` sends: capitals and signs without Shift, the rest as text."""
    characters = [LAYOUT[code].key for code in PRINTABLE]
    characters += [LAYOUT[code].shifted for code in PRINTABLE if LAYOUT[code].shifted]
    for character in [*characters, "\n", "\r", "\t", "é", "你", "😀"]:
        for keyboard in (Playwright(), Puppeteer(), AgentBrowser(), BrowserUse()):
            if character == "\t" and not isinstance(keyboard, AgentBrowser):
                continue
            yield Row(f"type {keyboard.name} {character!r}", "typing", keyboard.type(character), _area())
    sentence = "Hello, World! (a+b) * 2 = {x}\nНет, 你好 😀"
    for field in FIELDS:
        for keyboard in (Playwright(), Puppeteer(), AgentBrowser(), BrowserUse()):
            commands = keyboard.type(sentence)
            yield Row(f"sentence {field} {keyboard.name}", "typing", commands, {"field": field})


def _event(kind: str, **params: Any) -> Command:
    return KEY, {"type": kind, **params}


def _of(code: str, *, shift: bool = False) -> dict[str, Any]:
    one = LAYOUT[code]
    return {
        "key": one.shifted if shift else one.key,
        "code": code,
        "windowsVirtualKeyCode": one.virtual,
        "modifiers": BITS["Shift"] if shift else 0,
    }


def styles() -> Iterator[Row]:
    """Other ways to say a key, as scripts that speak the protocol themselves do."""
    for code in PRINTABLE:
        for shift in (False, True) if LAYOUT[code].shifted else (False,):
            key = _of(code, shift=shift)
            text = {"text": key["key"], "unmodifiedText": key["key"]}
            label = f"{'Shift+' if shift else ''}{code}"
            yield Row(f"char {label}", "styles", [_event("char", text=key["key"])], _area())
            yield Row(f"whole char {label}", "styles", [_event("char", **key, **text)], _area())
            three = [_event("rawKeyDown", **key), _event("char", **key, **text), _event("keyUp", **key)]
            yield Row(f"raw and char {label}", "styles", three, _area())
    key = _of("KeyA")
    enter = _of("Enter")
    plain: dict[str, Sequence[Command]] = {
        "keyDown without text": [_event("keyDown", **key), _event("keyUp", **key)],
        "rawKeyDown with text": [_event("rawKeyDown", **key, text="a"), _event("keyUp", **key)],
        "keyDown with other text": [_event("keyDown", **key, text="x"), _event("keyUp", **key)],
        "keyDown with much text": [_event("keyDown", **key, text="abc"), _event("keyUp", **key)],
        "keyDown with too much text": [_event("keyDown", **key, text="abcdef"), _event("keyUp", **key)],
        "keyDown with CJK": [_event("keyDown", **key, text="你"), _event("keyUp", **key)],
        "keyDown with emoji": [_event("keyDown", **key, text="😀"), _event("keyUp", **key)],
        "only text": [_event("keyDown", text="a"), _event("keyUp")],
        "only key": [_event("keyDown", key="a"), _event("keyUp", key="a")],
        "only code": [_event("keyDown", code="KeyA"), _event("keyUp", code="KeyA")],
        "only virtual": [
            _event("keyDown", windowsVirtualKeyCode=65, text="a"),
            _event("keyUp", windowsVirtualKeyCode=65),
        ],
        "no virtual": [
            _event("keyDown", key="a", code="KeyA", text="a"),
            _event("keyUp", key="a", code="KeyA"),
        ],
        "nothing": [_event("keyDown"), _event("keyUp")],
        "native": [_event("keyDown", **key, text="a", nativeVirtualKeyCode=38), _event("keyUp", **key)],
        "system key": [_event("keyDown", **key, text="a", isSystemKey=True), _event("keyUp", **key)],
        "raw system key": [
            _event("rawKeyDown", **_of("F10"), isSystemKey=True),
            _event("keyUp", **_of("F10")),
        ],
        "keypad flag": [_event("keyDown", **key, text="a", isKeypad=True), _event("keyUp", **key)],
        "location 1": [_event("keyDown", **key, text="a", location=1), _event("keyUp", **key, location=1)],
        "location 2": [_event("keyDown", **key, text="a", location=2), _event("keyUp", **key, location=2)],
        "location 3": [_event("keyDown", **key, text="a", location=3), _event("keyUp", **key, location=3)],
        "repeat at once": [_event("keyDown", **key, text="a", autoRepeat=True), _event("keyUp", **key)],
        "repeated release": [_event("keyUp", **key, autoRepeat=True)],
        "all modifiers": [
            _event("rawKeyDown", **key | {"modifiers": 15}),
            _event("keyUp", **key | {"modifiers": 15}),
        ],
        "ctrl and alt with text": [
            _event("keyDown", **key | {"modifiers": 3}, text="a"),
            _event("keyUp", **key),
        ],
        "ctrl with text": [_event("keyDown", **key | {"modifiers": 2}, text="a"), _event("keyUp", **key)],
        "meta with text": [_event("keyDown", **key | {"modifiers": 4}, text="a"), _event("keyUp", **key)],
        "ctrl with control character": [
            _event("keyDown", **key | {"modifiers": 2}, text="\u0001"),
            _event("keyUp", **key | {"modifiers": 2}),
        ],
        "enter with newline": [_event("keyDown", **enter, text="\n"), _event("keyUp", **enter)],
        "enter without text": [_event("keyDown", **enter), _event("keyUp", **enter)],
        "enter raw": [_event("rawKeyDown", **enter), _event("keyUp", **enter)],
        "enter raw and char": [
            _event("rawKeyDown", **enter),
            _event("char", text="\r"),
            _event("keyUp", **enter),
        ],
        "enter char": [_event("char", text="\r")],
        "newline char": [_event("char", text="\n")],
        "backspace char": [_event("char", text="\b")],
        "escape char": [_event("char", text="\u001b")],
        "backspace raw and char": [
            _event("rawKeyDown", **_of("Backspace")),
            _event("char", text="\b"),
            _event("keyUp", **_of("Backspace")),
        ],
        "space as key": [
            _event("keyDown", key="Space", code="Space", windowsVirtualKeyCode=32, text=" "),
            _event("keyUp", key="Space", code="Space", windowsVirtualKeyCode=32),
        ],
        "esc as key": [_event("keyDown", key="Esc"), _event("keyUp", key="Esc")],
        "press without release": [
            _event("keyDown", **key, text="a"),
            _event("keyDown", **_of("KeyB"), text="b"),
        ],
        "release without press": [_event("keyUp", **key)],
        "half a pair": [_event("char", text="\ud83d")],
        "both halves": [_event("char", text="\ud83d"), _event("char", text="\ude00")],
        "timestamp": [_event("keyDown", **key, text="a", timestamp=1.0e9), _event("keyUp", **key)],
        "key identifier": [
            _event("keyDown", **key, text="a", keyIdentifier="U+0041"),
            _event("keyUp", **key),
        ],
    }
    for name, commands in plain.items():
        yield Row(f"style {name}", "styles", commands, _area())
    for character in "é你ß😀\u0001\u007f\u00a0ø":
        yield Row(f"char {character!r}", "styles", [_event("char", text=character)], _area())
        named = [_event("char", text=character, key=character)]
        yield Row(f"char with key {character!r}", "styles", named, _area())
    yield from _dead_keys()


def _dead_keys() -> Iterator[Row]:
    dead = {"key": "Dead", "code": "BracketLeft", "windowsVirtualKeyCode": 219}
    letter = {"key": "ê", "code": "KeyE", "windowsVirtualKeyCode": 69}
    for field in FIELDS:
        commands = [
            _event("rawKeyDown", **dead),
            _event("keyUp", **dead),
            _event("keyDown", **letter, text="ê", unmodifiedText="ê"),
            _event("keyUp", **letter),
        ]
        yield Row(f"dead key {field}", "styles", commands, {"field": field})
    process = {"key": "Process", "code": "KeyA", "windowsVirtualKeyCode": 229}
    yield Row("process key", "styles", [_event("rawKeyDown", **process), _event("keyUp", **process)], _area())
    for key, code, virtual in (
        ("é", "Digit2", 50),
        ("ß", "Minus", 189),
        ("я", "KeyZ", 90),
        ("ñ", "Semicolon", 192),
    ):
        other = {"key": key, "code": code, "windowsVirtualKeyCode": virtual}
        commands = [_event("keyDown", **other, text=key, unmodifiedText=key), _event("keyUp", **other)]
        yield Row(f"other layout {key}", "styles", commands, _area())


def texts() -> Iterator[Row]:
    """`Input.insertText`, into every kind of field, over a selection and not."""
    for field in FIELDS:
        for name, text in TEXTS.items():
            yield Row(f"insert {field} {name}", "text", [(INSERT, {"text": text})], {"field": field})
        selected = {"field": field, "caret": [2, 5]}
        for name in ("word", "cjk", "emoji", "empty", "newline"):
            yield Row(f"replace {field} {name}", "text", [(INSERT, {"text": TEXTS[name]})], selected)
        mixed = [*Playwright().type("a"), (INSERT, {"text": "你"}), *Playwright().press("Backspace")]
        yield Row(f"mixed {field}", "text", mixed, {"field": field})
    for field in ("secret", "number"):
        for text in ("7", "word", "你好"):
            yield Row(f"insert {field} {text}", "text", [(INSERT, {"text": text})], {"field": field})
    yield Row("half a pair", "text", [(INSERT, {"text": "\ud83d"})], _area())


def selections() -> Iterator[Row]:
    """Keys over a selection, and sequences in which one key prepares the next."""
    for field in FIELDS:
        for name, keys in {
            "select all, replace": [("KeyA", ("Control",)), ("KeyX", ())],
            "select word, delete": [("ArrowRight", ("Control", "Shift")), ("Delete", ())],
            "copy and paste": [
                ("KeyA", ("Control",)),
                ("KeyC", ("Control",)),
                ("End", ()),
                ("KeyV", ("Control",)),
            ],
            "cut and paste": [
                ("ArrowLeft", ("Shift",)),
                ("KeyX", ("Control",)),
                ("Home", ()),
                ("KeyV", ("Control",)),
            ],
            "undo and redo": [("KeyX", ()), ("KeyZ", ("Control",)), ("KeyY", ("Control",))],
            "new line": [("KeyX", ()), ("Enter", ()), ("KeyY", ()), ("ArrowUp", ()), ("Delete", ())],
            "soft line": [("Enter", ("Shift",)), ("KeyY", ())],
            "word delete": [("Backspace", ("Control",)), ("Delete", ("Control",))],
        }.items():
            keyboard = Playwright()
            commands = [command for code, held in keys for command in keyboard.press(code, held)]
            yield Row(f"{field} {name}", "sequences", commands, {"field": field}, patient="paste" in name)


def commands_of_editors() -> Iterator[Row]:
    """Edit commands run if, and only if, the page did not cancel the key."""
    lists = (
        ["selectAll"],
        ["moveToEndOfLine"],
        ["deleteBackward"],
        ["selectAll", "cut"],
        ["insertText:x"],
        ["nonsense"],
    )
    for field in FIELDS:
        for edits in lists:
            for cancel in (False, True):
                key = _of("KeyE") | {"modifiers": BITS["Control"], "commands": edits}
                spec: dict[str, Any] = {"field": field} | ({"cancel": ["keydown"]} if cancel else {})
                name = f"commands {field} {'+'.join(edits)}{' cancelled' if cancel else ''}"
                yield Row(
                    name, "commands", [_event("rawKeyDown", **key), _event("keyUp", **_of("KeyE"))], spec
                )
    typed = _of("KeyA") | {"commands": ["selectAll"], "text": "a"}
    for cancel in ([], ["keydown"], ["keypress"]):
        name = f"commands and text, cancelled {cancel}"
        yield Row(
            name,
            "commands",
            [_event("keyDown", **typed), _event("keyUp", **_of("KeyA"))],
            _area(cancel=cancel),
        )


def pages() -> Iterator[Row]:
    """Pages that interfere: they cancel events, stop them, move the focus, or are busy."""
    press = Playwright().press
    for cancel in ("keydown", "keypress", "beforeinput", "textInput", "keyup"):
        for code in ("KeyA", "Enter", "Backspace", "Space", "ArrowLeft", "Tab"):
            for field in ("area", "rich", "editor"):
                spec = {"field": field, "cancel": [cancel]}
                yield Row(f"cancel {cancel} {field} {code}", "pages", press(code), spec)
        yield Row(f"cancel {cancel} insert", "pages", [(INSERT, {"text": "你"})], _area(cancel=[cancel]))
        key = _of("KeyA")
        three = [_event("rawKeyDown", **key), _event("char", **key, text="a"), _event("keyUp", **key)]
        yield Row(f"cancel {cancel} raw and char", "pages", three, _area(cancel=[cancel]))
        yield Row(f"cancel {cancel} capital", "pages", Playwright().type("A!"), _area(cancel=[cancel]))
    for code in ("KeyA", "Enter", "Tab"):
        spec = _area(stop=["keydown", "keypress", "keyup", "input"])
        yield Row(f"stop {code}", "pages", press(code), spec)
    for target in ("line", "rich", "button", "same", "cross", "last"):
        for kind in ("keydown", "keypress", "keyup", "input"):
            spec = _area(focusOn={"type": kind, "id": target}, deep=True)
            yield Row(f"focus {target} on {kind}", "pages", press("KeyA"), spec, patient=True)
    for kind in ("keydown", "keypress"):
        spec = {"field": "editor", "focusOn": {"type": kind, "id": "line"}}
        yield Row(f"focus on {kind} from the editor", "pages", press("KeyA"), spec)
    word = Playwright().type("Busy, page!")
    for field in FIELDS:
        yield Row(f"busy {field}", "pages", word, {"field": field, "busyMs": 300})
    mixed = [
        *Playwright().type("a"),
        *Playwright().press("Tab"),
        *Playwright().type("b"),
        (INSERT, {"text": "你"}),
    ]
    yield Row("busy and Tab", "pages", mixed, _area(busyMs=300))


def tabs() -> Iterator[Row]:
    """Tab from field to field."""
    for field in ("first", "area", "line", "rich", "button", "check", "choice", "link", "name"):
        for modifiers in ((), ("Shift",)):
            if field == "first" and modifiers:
                continue
            spec = {"field": field, "deep": True}
            name = f"tab {'+'.join((*modifiers, field))}"
            yield Row(name, "tabs", Playwright().press("Tab", modifiers), spec)
    steps = [command for _ in range(3) for command in Playwright().press("Tab")]
    yield Row("three tabs and a letter", "tabs", [*steps, *Playwright().type("x")], {"field": "first"})


def frames() -> Iterator[Row]:
    """Fields in frames: of the page's own site, of another, and of a third inside that."""
    for frame in ("same", "cross", "nested"):
        for field in ("line", "rich"):
            spec = {"field": field, "frame": frame}
            for code in (
                "KeyA",
                "Digit1",
                "Enter",
                "Backspace",
                "ArrowLeft",
                "Home",
                "Space",
                "Escape",
                "F5",
            ):
                yield Row(f"{frame} {field} {code}", "frames", Playwright().press(code), spec)
            for code in ("ArrowRight", "KeyA", "Slash"):
                name = f"{frame} {field} Shift+{code}"
                yield Row(name, "frames", Puppeteer().press(code, ("Shift",)), spec)
            for code in ("KeyA", "KeyV", "Backspace"):
                name = f"{frame} {field} Control+{code}"
                yield Row(name, "frames", AgentBrowser().press(code, ("Control",)), spec)
            for code in ("ShiftRight", "Pause", "ContextMenu", "NumpadEnter", "Numpad5", "NumpadAdd"):
                yield Row(f"{frame} {field} {code}", "frames", Playwright().press(code), spec)
            for name in ("word", "cjk", "emoji", "newline", "control"):
                yield Row(f"{frame} {field} insert {name}", "frames", [(INSERT, {"text": TEXTS[name]})], spec)
            yield Row(f"{frame} {field} sentence", "frames", Playwright().type("Hi, 你 There!"), spec)
            # Nothing typed before: the field's `change` then comes from the guard, and is not trusted.
            commands = [*Playwright().press("Tab"), *Playwright().type("b")]
            yield Row(f"{frame} {field} Tab", "frames", commands, spec, patient=True)
            commands = Playwright().press("Tab", ("Shift",))
            yield Row(f"{frame} {field} Shift+Tab", "frames", commands, spec, patient=True)
            for cancel in ("keydown", "beforeinput"):
                commands = Playwright().press("KeyA")
                yield Row(f"{frame} {field} cancel {cancel}", "frames", commands, spec | {"cancel": [cancel]})


def everything() -> list[Row]:
    """All rows, each with a name of its own."""
    parts = (
        *(product, elsewhere, repeats, sides, typing, styles, texts, selections),
        *(commands_of_editors, pages, tabs, frames),
    )
    rows = [row for part in parts for row in part()]
    names = [row.name for row in rows]
    assert len(set(names)) == len(names), sorted({name for name in names if names.count(name) > 1})
    return rows


def corpus() -> list[Row]:
    """The rows that differ in what is asked for: where two libraries send the same, one of them does."""
    kept: dict[str, Row] = {}
    for row in everything():
        kept.setdefault(_meaning(row), row)
    return list(kept.values())


def part(every: int) -> list[Row]:
    """Every so manieth row, and all of pages that interfere: what those see differs most from version to version."""
    return [row for number, row in enumerate(corpus()) if number % every == 0 or row.group == "pages"]


def _meaning(row: Row) -> str:
    """What Chromium makes of a row: a parameter that is left out is one that says nothing."""
    said = [
        (method, {name: value for name, value in params.items() if value or method == INSERT})
        for method, params in row.commands
    ]
    return json.dumps([said, dict(row.spec), row.patient], sort_keys=True)
