"""Everything with a position: mouse, wheel, touch, gestures, and drags."""

from __future__ import annotations

from probes.landing.cases import HEADFUL_ONLY, RAW_ONLY, WEBVIEW_ONLY, Case
from probes.landing.steps import (
    BUTTON,
    COMBOBOX,
    DRAGGABLE,
    FIELD,
    SELECT,
    App,
    At,
    Cdp,
    click,
    drag_event,
    emulate,
    mouse,
    touch,
)


def _press(name: str, what: str, **more: object) -> Case:
    given = {"steps": click(FIELD), **more}
    return Case(name, what, kind="press", **given)  # type: ignore[arg-type]


def _webview(name: str, what: str, *setup: App | Cdp, **more: object) -> Case:
    """A press that the app tries to make harmless by itself."""
    return _press(name, what, setup=setup, routes=RAW_ONLY, embeddings=WEBVIEW_ONLY, **more)


_GESTURE = 8.0  # seconds: a hidden window makes a frame a second, and a gesture takes several
_AT_FIELD = {"x": At(FIELD, "x"), "y": At(FIELD, "y")}

POINTER = (
    _press(
        "mouse-press",
        "Move, press and release on a field",
        steps=click(FIELD, moved=True),
        any_app=True,
        quick=True,
    ),
    _press(
        "mouse-press.emulated-focus",
        "The press, focus emulation on",
        setup=(emulate(),),
        any_app=True,
        quick=True,
    ),
    _press(
        "mouse-press.no-release",
        "A press that is not released",
        steps=click(FIELD)[:1],
        cleanup=click(FIELD)[1:],
    ),
    _press(
        "mouse-press.double", "A double click", steps=(*click(FIELD), *click(FIELD, count=2)), any_app=True
    ),
    _press("mouse-press.right", "A press of the right button", steps=click(BUTTON, button="right")),
    _press("mouse-press.button", "A press on a button", steps=click(BUTTON)),
    _press("mouse-press.select", "A press on a native select", steps=click(SELECT)),
    _press("mouse-press.combobox", "A press on a combobox that closes on blur", steps=click(COMBOBOX)),
    _press(
        "mouse-press.same-site-frame",
        "A press in the same-site frame, through the root session",
        steps=click(f"same-site.{FIELD}"),
        guest_focus="same-site",
    ),
    _press(
        "mouse-press.cross-site-frame",
        "A press in the cross-site frame, through the root session",
        steps=click(f"cross-site.{FIELD}"),
        guest_focus="cross-site",
        any_app=True,
        quick=True,
    ),
    _press(
        "mouse-press.nested-frame",
        "A press in the nested frame, through the root session",
        steps=click(f"nested.{FIELD}"),
        guest_focus="nested",
    ),
    _press(
        "frame-session.mouse-press",
        "A press on the cross-site frame's own session",
        steps=click(f"cross-site.{FIELD}", session="frame"),
        guest_focus="cross-site",
        any_app=True,
        quick=True,
    ),
    _press(
        "nested-session.mouse-press",
        "A press on the nested frame's own session",
        steps=click(f"nested.{FIELD}", session="nested"),
        guest_focus="nested",
    ),
    _press(
        "mouse-press.while-typing",
        "Presses while the person types",
        steps=click(FIELD, moved=True),
        during=True,
        windows=HEADFUL_ONLY,
        any_app=True,
        quick=True,
    ),
    _webview(
        "mouse-press.inert-webview",
        "The press while the webview is inert",
        App("webview_attribute", {"name": "inert", "value": ""}),
    ),
    _webview(
        "mouse-press.tabindex-webview",
        "The press while the webview has tabindex -1",
        App("webview_attribute", {"name": "tabindex", "value": "-1"}),
    ),
    _webview(
        "mouse-press.restore-on-focus",
        "The host takes the focus back in the webview's focus event",
        App("restore_on_focus", {"mode": "on-focus"}),
        quick=True,
    ),
    _webview(
        "mouse-press.restore-on-focus.emulated",
        "The host takes the focus back in the webview's focus event, focus emulation on",
        emulate(),
        App("restore_on_focus", {"mode": "on-focus"}),
    ),
    _webview(
        "mouse-press.restore-at-end.emulated",
        "The host takes the focus back when the press has ended, focus emulation on",
        emulate(),
        App("restore_on_focus", {"mode": "at-end"}),
    ),
    _press(
        "mouse-release",
        "A release without a press",
        steps=(mouse("mouseReleased", FIELD, button="left", clickCount=1),),
    ),
    Case(
        "mouse-moved",
        "The mouse moves over the page",
        (mouse("mouseMoved", FIELD), mouse("mouseMoved", BUTTON)),
        "move",
    ),
    Case(
        "mouse-wheel",
        "The wheel turns over the page",
        (mouse("mouseWheel", FIELD, deltaX=0, deltaY=60),),
        "wheel",
    ),
    _press(
        "mouse-drag",
        "Press, move and release on something draggable",
        steps=(
            mouse("mouseMoved", DRAGGABLE),
            mouse("mousePressed", DRAGGABLE, button="left", buttons=1, clickCount=1),
            mouse("mouseMoved", DRAGGABLE, dx=12, dy=4, button="left", buttons=1),
            mouse("mouseMoved", DRAGGABLE, dx=30, dy=8, button="left", buttons=1),
            mouse("mouseReleased", DRAGGABLE, dx=30, dy=8, button="left", clickCount=1),
        ),
    ),
    Case(
        "touch-start",
        "A touch starts and ends",
        (touch("touchStart", FIELD), touch("touchEnd", FIELD, points=False)),
        "touch",
        any_app=True,
        quick=True,
    ),
    Case(
        "touch-start.no-end",
        "A touch that does not end",
        (touch("touchStart", FIELD),),
        "touch",
        cleanup=(touch("touchEnd", FIELD, points=False),),
    ),
    Case(
        "touch-from-mouse",
        "Input.emulateTouchFromMouseEvent",
        tuple(
            Cdp(
                "Input.emulateTouchFromMouseEvent",
                {"type": kind, **_AT_FIELD, "button": "left", "clickCount": 1},
            )
            for kind in ("mousePressed", "mouseReleased")
        ),
        "touch",
    ),
    Case(
        "tap-gesture",
        "Input.synthesizeTapGesture",
        (Cdp("Input.synthesizeTapGesture", _AT_FIELD, patience=_GESTURE),),
        "gesture",
        any_app=True,
    ),
    Case(
        "scroll-gesture",
        "Input.synthesizeScrollGesture",
        (
            Cdp(
                "Input.synthesizeScrollGesture",
                {**_AT_FIELD, "yDistance": -60, "speed": 4000},
                patience=_GESTURE,
            ),
        ),
        "wheel",
    ),
    Case(
        "pinch-gesture",
        "Input.synthesizePinchGesture",
        (
            Cdp(
                "Input.synthesizePinchGesture",
                {**_AT_FIELD, "scaleFactor": 1.2, "relativeSpeed": 4000},
                patience=_GESTURE,
            ),
        ),
        "gesture",
    ),
    Case(
        "drag-event",
        "Input.dispatchDragEvent: enter, over and drop",
        tuple(drag_event(kind, FIELD) for kind in ("dragEnter", "dragOver", "drop")),
        "drag",
    ),
    Case(
        "input-settings",
        "Input.setInterceptDrags, setIgnoreInputEvents and cancelDragging",
        (
            Cdp("Input.setInterceptDrags", {"enabled": True}),
            Cdp("Input.setInterceptDrags", {"enabled": False}),
            Cdp("Input.setIgnoreInputEvents", {"ignore": True}),
            Cdp("Input.setIgnoreInputEvents", {"ignore": False}),
            Cdp("Input.cancelDragging"),
        ),
    ),
)
