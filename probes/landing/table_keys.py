"""Keys and text: on the guest's root session, and on its cross-site frames' own sessions."""

from __future__ import annotations

from probes.landing.cases import HEADFUL_ONLY, Case
from probes.landing.steps import AGENT_KEYS, AGENT_TEXT, compose, emulate, insert_text, letters, press_named

_TEXT = (AGENT_TEXT,)
_PARTS = (AGENT_TEXT, "ag")


def _keys(name: str, what: str, **more: object) -> Case:
    given = {"steps": letters(), "tokens": AGENT_KEYS, **more}
    return Case(name, what, kind="keys", **given)  # type: ignore[arg-type]


def _text(name: str, what: str, **more: object) -> Case:
    given = {"steps": insert_text(), "tokens": _TEXT, **more}
    return Case(name, what, kind="text", **given)  # type: ignore[arg-type]


KEYS = (
    _keys("key", "Letter keys on the guest's root session", any_app=True, quick=True),
    _keys(
        "key.raw-char", "Letters as rawKeyDown, char, keyUp", steps=letters(style="raw-char"), any_app=True
    ),
    _keys("key.char-only", "Letters as bare char events", steps=letters(style="char"), any_app=True),
    _keys(
        "key.emulated-focus", "Letter keys, focus emulation on", setup=(emulate(),), any_app=True, quick=True
    ),
    _keys(
        "key.same-site-frame", "Letter keys, guest's focus in its same-site frame", guest_focus="same-site"
    ),
    _keys(
        "key.cross-site-frame",
        "Letter keys on the root session, guest's focus in its cross-site frame",
        guest_focus="cross-site",
        any_app=True,
        quick=True,
    ),
    _keys(
        "key.nested-frame",
        "Letter keys on the root session, guest's focus in the frame inside its cross-site frame",
        guest_focus="nested",
    ),
    _keys("key.body", "Letter keys while nothing in the guest has its focus", guest_focus="none"),
    _keys(
        "key.enter",
        "Enter, while the person has a draft in a form",
        steps=press_named("Enter", "Enter", 13, text="\r"),
        tokens=("Enter",),
        host_field="form",
    ),
    _keys(
        "key.escape",
        "Escape, while the person has a draft in a form",
        steps=press_named("Escape", "Escape", 27),
        tokens=("Escape",),
        host_field="form",
    ),
    _keys(
        "key.backspace",
        "Backspace, while the person has a draft in a form",
        steps=press_named("Backspace", "Backspace", 8),
        tokens=("Backspace",),
        host_field="form",
    ),
    _keys(
        "key.space",
        "Space, while the person has a draft in a form",
        steps=press_named(" ", "Space", 32, text=" "),
        tokens=(" ",),
        host_field="form",
    ),
    _keys("key.tab", "Tab", steps=press_named("Tab", "Tab", 9), tokens=("Tab",)),
    _keys("key.arrow", "ArrowLeft", steps=press_named("ArrowLeft", "ArrowLeft", 37), tokens=("ArrowLeft",)),
    _keys(
        "key.select-all",
        "Ctrl+A with its edit command",
        steps=press_named("a", "KeyA", 65, modifiers=2, commands=["selectAll"]),
        tokens=("a",),
    ),
    _keys(
        "key.accelerator",
        "Ctrl+R, an accelerator of the app's menu, with nativeVirtualKeyCode 0",
        steps=press_named("r", "KeyR", 82, modifiers=2),
        tokens=("r",),
    ),
    _keys(
        "key.accelerator.native-code",
        "Ctrl+R with a nativeVirtualKeyCode",
        steps=press_named("r", "KeyR", 82, modifiers=2, native=True),
        tokens=("r",),
    ),
    _keys(
        "key.host-contenteditable",
        "Letter keys, the person in the host's contenteditable",
        host_field="contenteditable",
    ),
    _keys("key.host-shadow", "Letter keys, the person in a field in shadow DOM", host_field="shadow"),
    _keys("key.host-terminal", "Letter keys, the person in a terminal", host_field="terminal"),
    _keys(
        "key.while-typing",
        "Letter keys while the person types",
        during=True,
        windows=HEADFUL_ONLY,
        any_app=True,
        quick=True,
    ),
)

TEXT = (
    _text("insert-text", "Input.insertText on the guest's root session", any_app=True, quick=True),
    _text(
        "insert-text.emulated-focus",
        "Input.insertText, focus emulation on",
        setup=(emulate(),),
        any_app=True,
        quick=True,
    ),
    _text(
        "insert-text.same-site-frame",
        "Input.insertText, guest's focus in its same-site frame",
        guest_focus="same-site",
    ),
    _text(
        "insert-text.cross-site-frame",
        "Input.insertText on the root session, guest's focus in its cross-site frame",
        guest_focus="cross-site",
        any_app=True,
    ),
    _text(
        "insert-text.nested-frame",
        "Input.insertText on the root session, guest's focus in the frame inside its cross-site frame",
        guest_focus="nested",
    ),
    _text(
        "insert-text.body", "Input.insertText while nothing in the guest has its focus", guest_focus="none"
    ),
    _text(
        "insert-text.while-typing",
        "Input.insertText while the person types",
        during=True,
        windows=HEADFUL_ONLY,
        any_app=True,
    ),
    _text(
        "ime-composition",
        "Input.imeSetComposition twice, then a commit, on the root session",
        steps=compose(),
        tokens=_PARTS,
        any_app=True,
    ),
)

FRAMES = (
    _keys(
        "frame-session.key",
        "Letter keys on the cross-site frame's own session, focus emulation on there",
        steps=letters(session="frame"),
        setup=(emulate(session="frame"),),
        guest_focus="cross-site",
        any_app=True,
        quick=True,
    ),
    _keys(
        "frame-session.key.no-emulation",
        "Letter keys on the cross-site frame's own session, without focus emulation",
        steps=letters(session="frame"),
        guest_focus="cross-site",
    ),
    _text(
        "frame-session.insert-text",
        "Input.insertText on the cross-site frame's own session, focus emulation on there",
        steps=insert_text("frame"),
        setup=(emulate(session="frame"),),
        guest_focus="cross-site",
        any_app=True,
        quick=True,
    ),
    _text(
        "frame-session.ime-composition",
        "Input.imeSetComposition twice, then a commit, on the cross-site frame's own session",
        steps=compose("frame"),
        tokens=_PARTS,
        setup=(emulate(session="frame"),),
        guest_focus="cross-site",
    ),
    _keys(
        "nested-session.key",
        "Letter keys on the nested frame's own session, focus emulation on there",
        steps=letters(session="nested"),
        setup=(emulate(session="nested"),),
        guest_focus="nested",
    ),
    _text(
        "nested-session.insert-text",
        "Input.insertText on the nested frame's own session, focus emulation on there",
        steps=insert_text("nested"),
        setup=(emulate(session="nested"),),
        guest_focus="nested",
    ),
    _keys(
        "frame-session.key.while-typing",
        "Letter keys on the cross-site frame's own session while the person types",
        steps=letters(session="frame"),
        setup=(emulate(session="frame"),),
        guest_focus="cross-site",
        during=True,
        windows=HEADFUL_ONLY,
    ),
)
