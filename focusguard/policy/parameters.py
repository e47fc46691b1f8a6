"""The kinds of the parameters that the guard reads itself, and Chromium's words for one of the wrong kind.

What is forwarded is Chromium's to judge. But what the guard carries out by another way, or reads before it borrows the
person's focus, never reaches Chromium as it was said (the kinds: Electron 33.2.1, which read each of them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from focusguard.cdp.messages import NO_MAP, is_int32
from focusguard.errors import invalid_params


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


#: How to tell each kind, and what Chromium says where it is another.
_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "BINDINGS: string value expected"),
    "boolean": (lambda value: isinstance(value, bool), "BINDINGS: bool value expected"),
    "integer": (is_int32, "BINDINGS: int32 value expected"),
    "number": (_is_number, "BINDINGS: double value expected"),
    "array": (lambda value: isinstance(value, list), "CBOR: array start expected"),
    "object": (lambda value: isinstance(value, dict), NO_MAP),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of one method.

    Attributes:
        kinds: the kind of each.
        needed: those that must be there.
    """

    kinds: Mapping[str, str]
    needed: tuple[str, ...]


def _shape(**named: str) -> Shape:
    """Names by their kind; one with a `!` must be there."""
    pairs = [(name, kind) for kind, names in named.items() for name in names.split()]
    kinds = {name.removesuffix("!"): kind for name, kind in pairs}
    return Shape(kinds, tuple(name.removesuffix("!") for name, _ in pairs if name.endswith("!")))


SHAPES: Mapping[str, Shape] = {
    "Input.dispatchKeyEvent": _shape(
        string="type! text unmodifiedText keyIdentifier code key",
        integer="modifiers windowsVirtualKeyCode nativeVirtualKeyCode location",
        number="timestamp",
        boolean="autoRepeat isKeypad isSystemKey",
        array="commands",
    ),
    "Input.insertText": _shape(string="text!"),
    "Input.imeSetComposition": _shape(
        string="text!", integer="selectionStart! selectionEnd! replacementStart replacementEnd"
    ),
    "Input.dispatchMouseEvent": _shape(
        string="type! button pointerType",
        number="x! y! timestamp force tangentialPressure tiltX tiltY deltaX deltaY",
        integer="modifiers buttons clickCount twist",
    ),
    "Input.dispatchTouchEvent": _shape(
        string="type!", array="touchPoints!", integer="modifiers", number="timestamp"
    ),
    "Input.dispatchDragEvent": _shape(string="type!", number="x! y!", object="data!", integer="modifiers"),
    "Input.emulateTouchFromMouseEvent": _shape(
        string="type! button!", integer="x! y! modifiers clickCount", number="timestamp deltaX deltaY"
    ),
    "Input.synthesizeTapGesture": _shape(
        number="x! y!", integer="duration tapCount", string="gestureSourceType"
    ),
    "Input.synthesizeScrollGesture": _shape(
        number="x! y! xDistance yDistance xOverscroll yOverscroll",
        integer="speed repeatCount repeatDelayMs",
        boolean="preventFling",
        string="gestureSourceType interactionMarkerName",
    ),
    "Input.synthesizePinchGesture": _shape(
        number="x! y! scaleFactor!", integer="relativeSpeed", string="gestureSourceType"
    ),
    "Page.reload": _shape(boolean="ignoreCache", string="scriptToEvaluateOnLoad"),
    "Page.setDownloadBehavior": _shape(string="behavior! downloadPath"),
    "Browser.setDownloadBehavior": _shape(
        string="behavior! browserContextId downloadPath", boolean="eventsEnabled"
    ),
    "Browser.cancelDownload": _shape(string="guid! browserContextId"),
    "Security.setIgnoreCertificateErrors": _shape(boolean="ignore!"),
    "Target.setDiscoverTargets": _shape(boolean="discover!", array="filter"),
    "Target.setAutoAttach": _shape(boolean="autoAttach! waitForDebuggerOnStart! flatten", array="filter"),
    "Target.getTargets": _shape(array="filter"),
    "Target.getTargetInfo": _shape(string="targetId"),
    "Target.attachToTarget": _shape(string="targetId!", boolean="flatten"),
    "Target.detachFromTarget": _shape(string="sessionId targetId"),
    "Target.sendMessageToTarget": _shape(string="message! sessionId targetId"),
    "Target.activateTarget": _shape(string="targetId!"),
    "Target.createTarget": _shape(string="url!"),
    "Target.closeTarget": _shape(string="targetId!"),
    "FocusGuard.getReports": _shape(number="after"),
}


def check(method: str, params: dict[str, Any]) -> None:
    """Refuse a parameter of the wrong kind.

    Raises:
        ProtocolError: with Chromium's words.
    """
    shape = SHAPES.get(method)
    if shape is None:
        return
    for name, value in params.items():
        kind = shape.kinds.get(name)
        if kind is not None:
            fits, fault = _KINDS[kind]
            if not fits(value):
                raise invalid_params(fault, name)
    for name in shape.needed:
        if name not in params:
            raise invalid_params("BINDINGS: mandatory field missing", name)
