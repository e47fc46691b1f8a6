"""What clients hold down in guests: keys, buttons, drags. Chromium lets go of none when a session ends.

Fingers are in `touches`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KEY, MOUSE = "Input.dispatchKeyEvent", "Input.dispatchMouseEvent"
TOUCH_FROM_MOUSE = "Input.emulateTouchFromMouseEvent"
DRAG = "Input.dispatchDragEvent"


@dataclass(frozen=True, slots=True)
class Grip:
    """How one method holds and lets go.

    Attributes:
        down: values of `type` after which something is down.
        up: values of `type` after which it is not.
        release: the `type` that the guard sends to let go.
        names: parameters that tell what is held, the first that is there.
        kept: parameters of the press that the release repeats.
    """

    down: tuple[str, ...]
    up: tuple[str, ...]
    release: str
    names: tuple[str, ...]
    kept: tuple[str, ...]


GRIPS: dict[str, Grip] = {
    KEY: Grip(
        ("keyDown", "rawKeyDown"),
        ("keyUp",),
        "keyUp",
        ("code", "key", "windowsVirtualKeyCode"),
        ("key", "code", "windowsVirtualKeyCode", "nativeVirtualKeyCode", "location", "isKeypad"),
    ),
    MOUSE: Grip(
        ("mousePressed",),
        ("mouseReleased",),
        "mouseReleased",
        ("button",),
        ("x", "y", "button", "modifiers", "clickCount", "pointerType"),
    ),
    TOUCH_FROM_MOUSE: Grip(
        ("mousePressed",),
        ("mouseReleased",),
        "mouseReleased",
        ("button",),
        ("x", "y", "button", "timestamp", "clickCount"),
    ),
    DRAG: Grip(("dragEnter", "dragOver"), ("drop", "dragCancel"), "dragCancel", (), ("x", "y", "data")),
}


@dataclass(frozen=True, slots=True)
class Press:
    """Something that is down.

    Attributes:
        target_id: the frame whose own session it went to, None for the guest's root.
    """

    method: str
    params: dict[str, Any]
    target_id: str | None

    def release(self) -> dict[str, Any]:
        """The parameters that let go of it."""
        grip = GRIPS[self.method]
        kept = {name: self.params[name] for name in grip.kept if name in self.params}
        return {"type": grip.release, **kept}


class Held:
    """What one client holds down in one guest."""

    def __init__(self) -> None:
        self._presses: dict[tuple[str, str, str | None], Press] = {}

    def __bool__(self) -> bool:
        return bool(self._presses)

    @property
    def pressing(self) -> bool:
        """Whether a mouse button is down."""
        return any(press.method == MOUSE for press in self._presses.values())

    def note(self, method: str, params: dict[str, Any], target_id: str | None) -> None:
        """An input was sent."""
        grip = GRIPS.get(method)
        if grip is None:
            return
        key = _key(method, params, target_id)
        kind = params.get("type")
        if kind in grip.up:
            self._presses.pop(key, None)
        elif kind in grip.down:
            self._presses[key] = Press(method, params, target_id)

    def refused(self, method: str, params: dict[str, Any], target_id: str | None) -> None:
        """An input that was noted has been refused: nothing is down because of it."""
        grip = GRIPS.get(method)
        if grip is not None and params.get("type") in grip.down:
            key = _key(method, params, target_id)
            press = self._presses.get(key)
            if press is not None and press.params is params:
                del self._presses[key]

    def holds(self, press: Press) -> bool:
        """Whether it has the same thing down."""
        return _key(press.method, press.params, press.target_id) in self._presses

    def take(self) -> list[Press]:
        """What is down, the newest first; from now on nothing is."""
        presses, self._presses = list(reversed(self._presses.values())), {}
        return presses


def _key(method: str, params: dict[str, Any], target_id: str | None) -> tuple[str, str, str | None]:
    name = next((str(params[each]) for each in GRIPS[method].names if params.get(each)), "")
    return method, name, target_id
