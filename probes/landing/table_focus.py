"""What moves focus without being input, and input that the app itself sends in its main process."""

from __future__ import annotations

from probes.landing.cases import RAW_ONLY, Case
from probes.landing.steps import (
    AGENT_KEYS,
    AGENT_TEXT,
    FIELD,
    QUERY,
    App,
    Cdp,
    Handle,
    Pause,
    app_letters,
    app_press,
    emulate,
    evaluate,
)

_INSERT = (App("web_contents_insert_text", {"text": AGENT_TEXT}),)
_SLOW = 3.0  # seconds to wait for replies that need a page load or a frame

APP_SIDE = (
    Case(
        "send-input-event.key",
        "webContents.sendInputEvent of letter keys",
        app_letters(),
        "keys",
        AGENT_KEYS,
        routes=RAW_ONLY,
        quick=True,
    ),
    Case(
        "send-input-event.key.same-site-frame",
        "webContents.sendInputEvent of letter keys, guest's focus in its same-site frame",
        app_letters(),
        "keys",
        AGENT_KEYS,
        guest_focus="same-site",
        routes=RAW_ONLY,
        quick=True,
    ),
    Case(
        "send-input-event.key.cross-site-frame",
        "webContents.sendInputEvent of letter keys, guest's focus in its cross-site frame",
        app_letters(),
        "keys",
        AGENT_KEYS,
        guest_focus="cross-site",
        routes=RAW_ONLY,
    ),
    Case(
        "send-input-event.mouse-press",
        "webContents.sendInputEvent of a press",
        app_press(FIELD),
        "press",
        routes=RAW_ONLY,
        quick=True,
    ),
    Case(
        "web-contents.insert-text", "webContents.insertText", _INSERT, "text", (AGENT_TEXT,), routes=RAW_ONLY
    ),
    Case(
        "web-contents.insert-text.cross-site-frame",
        "webContents.insertText, guest's focus in its cross-site frame",
        _INSERT,
        "text",
        (AGENT_TEXT,),
        guest_focus="cross-site",
        routes=RAW_ONLY,
        destructive=True,
        quick=True,
    ),
)

FOCUS = (
    Case(
        "dom-focus",
        "DOM.focus of a field",
        (Cdp("DOM.focus", {"objectId": Handle(QUERY)}),),
        guest_focus="none",
        quick=True,
    ),
    Case(
        "evaluate.element-focus",
        "A script calls focus() on a field",
        (evaluate(f"{QUERY}.focus()"),),
        guest_focus="none",
    ),
    Case("evaluate.window-focus", "A script calls window.focus()", (evaluate("window.focus()"),)),
    Case(
        "evaluate.user-gesture",
        "A script calls window.focus() and focus() on a field, as a user gesture",
        (Cdp("Runtime.evaluate", {"expression": f"window.focus(); {QUERY}.focus()", "userGesture": True}),),
        guest_focus="none",
    ),
    Case(
        "frame-session.dom-focus",
        "DOM.focus of a field on the cross-site frame's own session",
        (Cdp("DOM.focus", {"objectId": Handle(QUERY)}, "frame"),),
    ),
    Case(
        "frame-session.element-focus",
        "A script in the cross-site frame calls window.focus() and focus() on a field",
        (evaluate(f"window.focus(); {QUERY}.focus()", "frame"),),
    ),
    Case("bring-to-front", "Page.bringToFront", (Cdp("Page.bringToFront"),), any_app=True, quick=True),
    Case(
        "frame-session.bring-to-front",
        "Page.bringToFront on the cross-site frame's own session",
        (Cdp("Page.bringToFront", {}, "frame"),),
    ),
    Case(
        "activate-target",
        "Target.activateTarget",
        (Cdp("Target.activateTarget", {"targetId": "@guest"}, "browser"),),
        any_app=True,
        quick=True,
    ),
    Case(
        "create-target",
        "Target.createTarget",
        (Cdp("Target.createTarget", {"url": "about:blank"}, "browser"),),
    ),
    Case(
        "capture-screenshot",
        "Page.captureScreenshot",
        (Cdp("Page.captureScreenshot", {"format": "png"}, patience=13.0),),
    ),
    Case("focus-emulation", "Focus emulation on, then off", (emulate(), Pause(30), emulate(False))),
    Case(
        "frame-session.focus-emulation",
        "Focus emulation on, then off, on the cross-site frame's own session",
        (emulate(session="frame"), Pause(30), emulate(False, "frame")),
        guest_focus="cross-site",
    ),
    Case(
        "window-bounds",
        "Browser.setWindowBounds of the guest's window",
        (
            Cdp(
                "Browser.setWindowBounds",
                {"windowId": "@window", "bounds": {"width": 900, "height": 640}},
                "browser",
            ),
        ),
    ),
    Case(
        "lifecycle-state",
        "Page.setWebLifecycleState frozen, then active",
        (
            Cdp("Page.setWebLifecycleState", {"state": "frozen"}),
            Pause(30),
            Cdp("Page.setWebLifecycleState", {"state": "active"}),
        ),
    ),
    Case(
        "navigate",
        "Page.navigate",
        (Cdp("Page.navigate", {"url": "@guest-url"}, patience=_SLOW),),
        loads=True,
    ),
    Case(
        "navigate.autofocus",
        "Page.navigate to a page with an autofocus field",
        (Cdp("Page.navigate", {"url": "@autofocus-url"}, patience=_SLOW),),
        loads=True,
    ),
    Case("reload", "Page.reload", (Cdp("Page.reload", patience=_SLOW),), loads=True),
    Case(
        "history-back",
        "Back in history",
        (evaluate("history.back()"),),
        setup=(Cdp("Page.navigate", {"url": "@other-url"}, patience=_SLOW), Pause(200)),
        loads=True,
    ),
    Case(
        "frame-session.reload",
        "A script in the cross-site frame reloads it",
        (evaluate("location.reload()", "frame"),),
        loads=True,
        guest_focus="cross-site",
    ),
)
