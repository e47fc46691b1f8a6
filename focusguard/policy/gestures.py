"""Gestures as the touches and wheel events that make them up.

Chromium queues a synthetic gesture on the root view of the window, which for a webview is the host's: a tap lands in
the host (probe cases tap-gesture, scroll-gesture, pinch-gesture). The events below land in the guest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, hypot
from typing import Any

from focusguard.errors import INVALID_PARAMS, ProtocolError

TOUCH, MOUSE = "Input.dispatchTouchEvent", "Input.dispatchMouseEvent"
#: Seconds between two steps of a movement, about one frame.
STEP_SECONDS = 0.016
#: Chromium's defaults (CDP Input.synthesizeTapGesture, synthesizeScrollGesture, synthesizePinchGesture).
TAP_MS = 50
SPEED = 800
REPEAT_DELAY_MS = 250
#: Other input of the guest waits for a gesture.
LONGEST_SECONDS = 60.0
#: What the mouse event behind an emulated touch takes over; Chromium injects it as a mouse event too, but answers
#: before it is handled (probe case touch-from-mouse).
_OF_MOUSE = ("type", "x", "y", "button", "clickCount", "modifiers", "deltaX", "deltaY")
MOST_TAPS, MOST_REPEATS, MOST_STEPS = 10, 100, 600
#: No page is zoomed further, and a finger's place stays a number.
LARGEST_SCALE = 1e6
#: Half the distance of the two fingers at the start of a pinch, CSS pixels.
SPREAD = 60


@dataclass(frozen=True, slots=True)
class Step:
    """One input command, sent so many seconds after the one before was answered."""

    wait: float
    method: str
    params: dict[str, Any]


def steps(method: str, params: dict[str, Any]) -> list[Step]:
    """The commands that make up a gesture.

    Args:
        method: which gesture.
        params: of the kinds that they must be (`policy.parameters`).

    Raises:
        ProtocolError: no gesture has these numbers, or it would take too long. Most of them Chromium never answers.
    """
    source = params.get("gestureSourceType", "default")
    if source not in ("default", "touch", "mouse"):
        raise ProtocolError(INVALID_PARAMS, "Unknown gestureSourceType")
    made = _MAKERS[method](params)
    if not sum(step.wait for step in made) <= LONGEST_SECONDS:
        raise _refused(f"a gesture takes {LONGEST_SECONDS:g} s at most")
    return made


def _refused(why: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, "Invalid parameters", why)


def _emulated_touch(params: dict[str, Any]) -> list[Step]:
    return [Step(0.0, MOUSE, {name: params[name] for name in _OF_MOUSE if name in params})]


def _tap(params: dict[str, Any]) -> list[Step]:
    points = [_point(params["x"], params["y"], 0)]
    count = min(int(params.get("tapCount", 1)), MOST_TAPS)
    if count < 0:
        raise _refused("params.tapCount: 0 or more expected")
    held = max(0.0, float(params.get("duration", TAP_MS))) / 1000
    tap = [Step(0.0, TOUCH, {"type": "touchStart", "touchPoints": points}), Step(held, TOUCH, _lift())]
    return tap * count


def _scroll(params: dict[str, Any]) -> list[Step]:
    x, y = float(params["x"]), float(params["y"])
    right, down = -float(params.get("xDistance", 0)), -float(params.get("yDistance", 0))
    count = _count(hypot(right, down), params, "speed")
    moves = [
        Step(
            STEP_SECONDS if number else 0.0,
            MOUSE,
            {"type": "mouseWheel", "x": x, "y": y, "deltaX": right / count, "deltaY": down / count},
        )
        for number in range(count)
    ]
    pause = max(0.0, float(params.get("repeatDelayMs", REPEAT_DELAY_MS))) / 1000
    repeats = min(int(params.get("repeatCount", 0)), MOST_REPEATS)
    if repeats < 0:
        raise _refused("params.repeatCount: 0 or more expected")
    again = [Step(pause, MOUSE, moves[0].params), *moves[1:]]
    return moves + again * repeats


def _pinch(params: dict[str, Any]) -> list[Step]:
    x, y, scale = float(params["x"]), float(params["y"]), float(params["scaleFactor"])
    if not 0 < scale <= LARGEST_SCALE:
        raise _refused(f"params.scaleFactor: more than 0 and {LARGEST_SCALE:g} at most expected")
    count = _count(abs(scale - 1) * SPREAD, params, "relativeSpeed")

    def fingers(spread: float) -> list[dict[str, Any]]:
        return [_point(x - spread, y, 0), _point(x + spread, y, 1)]

    moves = [
        Step(
            STEP_SECONDS,
            TOUCH,
            {"type": "touchMove", "touchPoints": fingers(SPREAD * (1 + (scale - 1) * number / count))},
        )
        for number in range(1, count + 1)
    ]
    start = Step(0.0, TOUCH, {"type": "touchStart", "touchPoints": fingers(SPREAD)})
    return [start, *moves, Step(STEP_SECONDS, TOUCH, _lift())]


def _count(distance: float, params: dict[str, Any], name: str) -> int:
    """In how many steps a movement is made."""
    speed = abs(float(params.get(name, SPEED)))
    if speed == 0:
        raise _refused(f"params.{name}: a number other than 0 expected")
    return max(1, ceil(min(distance / (speed * STEP_SECONDS), MOST_STEPS)))


def _point(x: Any, y: Any, number: int) -> dict[str, Any]:
    return {"x": float(x), "y": float(y), "id": number}


def _lift() -> dict[str, Any]:
    return {"type": "touchEnd", "touchPoints": []}


_MAKERS: dict[str, Callable[[dict[str, Any]], list[Step]]] = {
    "Input.emulateTouchFromMouseEvent": _emulated_touch,
    "Input.synthesizeTapGesture": _tap,
    "Input.synthesizeScrollGesture": _scroll,
    "Input.synthesizePinchGesture": _pinch,
}
