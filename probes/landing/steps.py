"""What an agent sends, as pure description: commands on its sessions, in the styles of client libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Session = Literal["root", "frame", "nested", "browser"]

AGENT_KEYS = ("q", "w", "e")
AGENT_TEXT = "agent"

# Element names of the fixture's guest page.
FIELD = "text"
BUTTON = "button"
SELECT = "select"
COMBOBOX = "combobox"
DRAGGABLE = "draggable"
QUERY = f"document.getElementById('{FIELD}')"


@dataclass(frozen=True)
class At:
    """A coordinate of an element's middle, in the viewport of the session that the command goes to."""

    element: str
    axis: Literal["x", "y"]
    offset: float = 0.0


@dataclass(frozen=True)
class Handle:
    """The object id of what an expression gives in the page."""

    expression: str


@dataclass(frozen=True)
class Cdp:
    """A command on one of the client's sessions."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    session: Session = "root"
    patience: float = 6.0


@dataclass(frozen=True)
class App:
    """Something done by the app itself, in its main process, in place of a CDP command."""

    op: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pause:
    """A gap between two steps, as an agent leaves it."""

    ms: int


Step = Cdp | App | Pause


def _code(key: str) -> str:
    return f"Key{key.upper()}"


def press_key(key: str, *, session: Session = "root", style: str = "playwright") -> tuple[Step, ...]:
    """One letter key in the event style of a client library."""
    base: dict[str, Any] = {
        "key": key,
        "code": _code(key),
        "windowsVirtualKeyCode": ord(key.upper()),
    }

    def send(**params: Any) -> Cdp:
        return Cdp("Input.dispatchKeyEvent", params, session)

    if style == "char":
        return (send(type="char", text=key, key=key),)
    if style == "raw-char":
        return (
            send(type="rawKeyDown", **base),
            send(type="char", text=key, unmodifiedText=key, key=key),
            send(type="keyUp", **base),
        )
    return (send(type="keyDown", text=key, unmodifiedText=key, **base), send(type="keyUp", **base))


def press_named(
    key: str, code: str, vk: int, *, text: str = "", modifiers: int = 0, native: bool = False, **extra: Any
) -> tuple[Step, ...]:
    """One key that is not a plain letter, on the root session."""
    base: dict[str, Any] = {
        "key": key,
        "code": code,
        "windowsVirtualKeyCode": vk,
        "modifiers": modifiers,
        **extra,
    }
    if native:
        base["nativeVirtualKeyCode"] = vk
    down = {"type": "keyDown", "text": text, "unmodifiedText": text} if text else {"type": "rawKeyDown"}
    return (
        Cdp("Input.dispatchKeyEvent", {**down, **base}),
        Cdp("Input.dispatchKeyEvent", {"type": "keyUp", **base}),
    )


def letters(*, session: Session = "root", style: str = "playwright") -> tuple[Step, ...]:
    """All the agent's letters, one key after the other."""
    return tuple(step for key in AGENT_KEYS for step in press_key(key, session=session, style=style))


def insert_text(session: Session = "root") -> tuple[Step, ...]:
    """`Input.insertText` of the agent's text."""
    return (Cdp("Input.insertText", {"text": AGENT_TEXT}, session),)


def compose(session: Session = "root") -> tuple[Step, ...]:
    """A composition of two steps that is then committed."""
    return (
        Cdp("Input.imeSetComposition", {"text": "ag", "selectionStart": 2, "selectionEnd": 2}, session),
        Cdp("Input.imeSetComposition", {"text": AGENT_TEXT, "selectionStart": 5, "selectionEnd": 5}, session),
        Cdp("Input.insertText", {"text": AGENT_TEXT}, session),
    )


def emulate(enabled: bool = True, session: Session = "root") -> Cdp:
    """Focus emulation on a session."""
    return Cdp("Emulation.setFocusEmulationEnabled", {"enabled": enabled}, session)


def mouse(
    kind: str, element: str, *, session: Session = "root", dx: float = 0, dy: float = 0, **params: Any
) -> Cdp:
    """One `Input.dispatchMouseEvent` at the middle of an element."""
    where: dict[str, Any] = {"x": At(element, "x", dx), "y": At(element, "y", dy)}
    return Cdp("Input.dispatchMouseEvent", {"type": kind, **where, **params}, session)


def click(
    element: str, *, session: Session = "root", button: str = "left", count: int = 1, moved: bool = False
) -> tuple[Step, ...]:
    """Press and release; with `moved`, the move before it that client libraries send."""
    mask = {"left": 1, "right": 2, "middle": 4}[button]
    press: dict[str, Any] = {"button": button, "clickCount": count}
    return (
        *((mouse("mouseMoved", element, session=session),) if moved else ()),
        mouse("mousePressed", element, session=session, buttons=mask, **press),
        mouse("mouseReleased", element, session=session, buttons=0, **press),
    )


def evaluate(expression: str, session: Session = "root") -> Cdp:
    """A script in the page, not marked as a user gesture."""
    return Cdp("Runtime.evaluate", {"expression": expression, "returnByValue": True}, session)


def touch(kind: str, element: str, session: Session = "root", *, points: bool = True) -> Cdp:
    touches = [{"x": At(element, "x"), "y": At(element, "y")}] if points else []
    return Cdp("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches}, session)


def drag_event(kind: str, element: str) -> Cdp:
    data = {
        "items": [{"mimeType": "text/plain", "data": AGENT_TEXT}],
        "dragOperationsMask": 1,
    }
    return Cdp(
        "Input.dispatchDragEvent", {"type": kind, "x": At(element, "x"), "y": At(element, "y"), "data": data}
    )


def app_letters() -> tuple[Step, ...]:
    return tuple(
        App(
            "send_input_event",
            {"events": [{"type": kind, "keyCode": key} for kind in ("keyDown", "char", "keyUp")]},
        )
        for key in AGENT_KEYS
    )


def app_press(element: str) -> tuple[Step, ...]:
    where = {"x": At(element, "x"), "y": At(element, "y"), "button": "left", "clickCount": 1}
    return (
        App("send_input_event", {"events": [{"type": "mouseDown", **where}]}),
        App("send_input_event", {"events": [{"type": "mouseUp", **where}]}),
    )
