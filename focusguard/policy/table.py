"""The policy: what becomes of every CDP method that can carry input, move focus or reach past a guest.

One table for all routes. A method that is not in it has a written default: forwarded on a guest's session, refused at
browser level (`DEFAULT_ON_GUEST`, `DEFAULT_AT_BROWSER`). docs/policy-table.md is generated from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Treatment(StrEnum):
    """What the guard does with a command."""

    FORWARD = "forward"
    KEY = "key"
    TEXT = "text"
    COMPOSE = "compose"
    POINTER = "pointer"
    GESTURE = "gesture"
    RELOAD = "reload"
    FOCUSING = "focusing"
    NAVIGATION = "navigation"
    EMULATION = "emulation"
    VIRTUAL = "virtual"
    ANSWER = "answer"
    WAKE = "wake"
    OFFER = "offer"
    REFUSE = "refuse"
    GUARD = "guard"


MEANING: dict[Treatment, str] = {
    Treatment.FORWARD: "Sent on unchanged, on the client's own session.",
    Treatment.KEY: (
        "Sent to the frame that has the focus inside the guest; the focus is borrowed where only CDP can express it."
    ),
    Treatment.TEXT: (
        "Inserted in the frame that has the focus inside the guest; refused where nothing there takes text."
    ),
    Treatment.COMPOSE: "Sent through CDP while the focus is borrowed.",
    Treatment.POINTER: (
        "Sent through CDP in order; a press, a touch or a tap borrows the focus, the rest does not need it."
    ),
    Treatment.GESTURE: "Done as the touch, mouse and wheel events that make it up, in order.",
    Treatment.RELOAD: "The guest is reloaded through the bridge, or from inside where there is none.",
    Treatment.FOCUSING: "Sent on in order, while the person's focus and input method are watched.",
    Treatment.NAVIGATION: "Sent on while the person's focus and input method are watched; input does not wait for it.",
    Treatment.EMULATION: "Set by the guard for all clients: on while one wants it or an agent drives the guest.",
    Treatment.VIRTUAL: "Answered by the guard, which keeps this domain's state for each connection.",
    Treatment.ANSWER: "Answered with success and without effect.",
    Treatment.WAKE: "Answered with success; a guest that was frozen is woken, nothing is focused or raised.",
    Treatment.OFFER: "Handed to the embedding app; a clear error where the app does not offer it.",
    Treatment.REFUSE: "Refused with `browser_refused`.",
    Treatment.GUARD: "The guard's own domain.",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of one method.

    Attributes:
        why: the reason, for the reader of the table.
        bound: seconds after which a forwarded command is answered with `browser_timeout`; None: no bound here.
        frame: whether it waits for a frame, which a guest that is not painted never gives.
        advice: what to do where it is refused; empty: what the error code says.
    """

    treatment: Treatment
    why: str
    bound: float | None = None
    frame: bool = False
    advice: str = ""


_T = Treatment


def _refused(why: str, advice: str = "leave it out") -> Rule:
    return Rule(_T.REFUSE, why, advice=advice)


#: On a guest's session too: sending it there instead would be no better.
_PERSONS: Mapping[str, Rule] = {
    "Browser.close": _refused("the app belongs to the person", "close the connection instead"),
    "Browser.crash": _refused("the app belongs to the person"),
    "Browser.crashGpuProcess": _refused("the app belongs to the person"),
    "Browser.setWindowBounds": _refused("the window is the person's"),
    "Browser.grantPermissions": _refused("browser-wide; the app decides about permissions"),
    "Browser.setPermission": _refused("browser-wide; the app decides about permissions"),
    "Browser.resetPermissions": _refused("browser-wide; the app decides about permissions"),
}

#: Seconds in which a guest that is painted answers an input or a screenshot many times over.
INPUT_BOUND = 10.0
FRAME_BOUND = 12.0
#: Seconds in which a renderer that runs answers what asks for no work of the page.
START_BOUND = 5.0

_START = Rule(
    _T.FORWARD,
    "clients wait for it as they attach, some in all guests: one that hangs holds nobody up",
    START_BOUND,
)

ON_GUEST: Mapping[str, Rule] = {
    "Input.dispatchKeyEvent": Rule(
        _T.KEY, "a root session's keys go to the focused widget of the whole window"
    ),
    "Input.insertText": Rule(_T.TEXT, "a root session's text goes to the focused widget of the whole window"),
    "Input.imeSetComposition": Rule(_T.COMPOSE, "always asks for the focused widget of the whole window"),
    "Input.dispatchMouseEvent": Rule(
        _T.POINTER,
        "a press focuses the owning WebContents; move, release and wheel do not",
        INPUT_BOUND,
        frame=True,
    ),
    "Input.dispatchTouchEvent": Rule(
        _T.POINTER, "touchStart focuses the owning WebContents", INPUT_BOUND, frame=True
    ),
    "Input.emulateTouchFromMouseEvent": Rule(_T.GESTURE, "is answered before it is handled"),
    "Input.synthesizeTapGesture": Rule(_T.GESTURE, "is queued on the root view, which is the host's"),
    "Input.synthesizeScrollGesture": Rule(_T.GESTURE, "is queued on the root view, which is the host's"),
    "Input.synthesizePinchGesture": Rule(_T.GESTURE, "is queued on the root view, which is the host's"),
    "Input.dispatchDragEvent": Rule(
        _T.POINTER, "goes to the widget under the point; kept in order with presses", INPUT_BOUND
    ),
    "DOM.focus": Rule(
        _T.FOCUSING, "focus in an unfocused guest takes the input method from the person's field"
    ),
    "Page.navigate": Rule(_T.NAVIGATION, "a new page may focus itself"),
    "Page.reload": Rule(
        _T.RELOAD, "on a webview's session Chromium reloads the outermost page, which is the host"
    ),
    "Page.navigateToHistoryEntry": Rule(_T.NAVIGATION, "a new page may focus itself"),
    "Page.setDocumentContent": Rule(_T.FOCUSING, "new content may focus itself"),
    "Emulation.setFocusEmulationEnabled": Rule(
        _T.EMULATION, "Chromium keeps one flag for the page, and another client's session would turn it off"
    ),
    "Page.bringToFront": Rule(_T.WAKE, "would raise and focus the person's window"),
    "Page.captureScreenshot": Rule(_T.FORWARD, "waits for a frame", FRAME_BOUND, frame=True),
    "Page.close": Rule(_T.OFFER, "the page belongs to the app's window"),
    "Page.setDownloadBehavior": Rule(_T.VIRTUAL, "would act on the whole partition; kept for this guest"),
    "Browser.setDownloadBehavior": Rule(_T.VIRTUAL, "browser-wide; kept for the guests of this connection"),
    "Browser.cancelDownload": Rule(_T.VIRTUAL, "only a download that the client is told of"),
    "Browser.getVersion": Rule(_T.VIRTUAL, "names the guard beside the browser"),
    "Browser.getWindowForTarget": Rule(
        _T.VIRTUAL, "the window is the person's; its number would only serve to move it"
    ),
    **_PERSONS,
    "Target.setAutoAttach": Rule(_T.FORWARD, "children of a guest; flat sessions only", START_BOUND),
    **dict.fromkeys(
        (
            "DOM.enable",
            "Log.enable",
            "Network.enable",
            "Page.addScriptToEvaluateOnNewDocument",
            "Page.createIsolatedWorld",
            "Page.enable",
            "Page.getFrameTree",
            "Page.setLifecycleEventsEnabled",
            "Performance.enable",
            "Runtime.enable",
            "Runtime.runIfWaitingForDebugger",
        ),
        _START,
    ),
}

AT_BROWSER: Mapping[str, Rule] = {
    "Browser.getVersion": Rule(_T.VIRTUAL, "names the guard beside the browser"),
    "Browser.getWindowForTarget": Rule(
        _T.VIRTUAL, "the window is the person's; its number would only serve to move it"
    ),
    "Browser.getWindowBounds": Rule(_T.VIRTUAL, "the window is the person's"),
    "Browser.setDownloadBehavior": Rule(_T.VIRTUAL, "browser-wide; kept for the guests of this connection"),
    "Browser.cancelDownload": Rule(_T.VIRTUAL, "only a download that the client is told of"),
    **_PERSONS,
    "Schema.getDomains": Rule(_T.VIRTUAL, "the same for every target"),
    "Security.setIgnoreCertificateErrors": Rule(
        _T.VIRTUAL, "browser-wide; turning it off is answered, it is never on"
    ),
}

TARGET_DOMAIN: Mapping[str, Rule] = {
    "Target.setDiscoverTargets": Rule(_T.VIRTUAL, "guests and what is below them, nothing else"),
    "Target.setAutoAttach": Rule(_T.VIRTUAL, "guests only"),
    "Target.getTargets": Rule(_T.VIRTUAL, "guests and what is below them, nothing else"),
    "Target.getTargetInfo": Rule(_T.VIRTUAL, "a hidden target is an unknown one"),
    "Target.attachToTarget": Rule(_T.VIRTUAL, "a hidden target is an unknown one"),
    "Target.attachToBrowserTarget": Rule(_T.VIRTUAL, "gives another virtual browser"),
    "Target.detachFromTarget": Rule(_T.VIRTUAL, "the client's own sessions only"),
    "Target.sendMessageToTarget": Rule(_T.VIRTUAL, "the message inside goes through this same table"),
    "Target.getBrowserContexts": Rule(_T.VIRTUAL, "one context, the app's"),
    "Target.setRemoteLocations": Rule(_T.ANSWER, "nothing to do"),
    "Target.activateTarget": Rule(_T.WAKE, "would raise and focus the person's window"),
    "Target.createTarget": Rule(_T.OFFER, "only the app can open a guest"),
    "Target.closeTarget": Rule(_T.OFFER, "only the app can close a guest"),
    "Target.createBrowserContext": _refused("partitions belong to the app", "use the context that is there"),
    "Target.disposeBrowserContext": _refused("partitions belong to the app"),
    "Target.exposeDevToolsProtocol": _refused("would hand a page the whole browser"),
    "Target.autoAttachRelated": _refused("attaches to whatever opens whatever", "use Target.setAutoAttach"),
    "Target.openDevTools": _refused("would open a window in front of the person"),
}

#: With these on, a client can keep a page waiting. Not among them is auto-attach that waits for the debugger: every
#: client library turns it on, and a developer's program may stand at a breakpoint of its own.
STOPPING = frozenset(
    {
        "Debugger.enable",
        "Emulation.setVirtualTimePolicy",
        "Fetch.enable",
        "Network.setRequestInterception",
    }
)

DEFAULT_ON_GUEST = Rule(_T.FORWARD, "default on a guest's session")
DEFAULT_AT_BROWSER = Rule(_T.REFUSE, "default at browser level: it would act on the whole app")
_BROWSER_DEFAULT = _refused("default of the Browser domain: it would act on the whole app")
_TARGET_DEFAULT = _refused("default of the Target domain: it may reach past the guest")
_GUARD_DOMAIN = Rule(_T.GUARD, "the guard's own domain")


def rule_for(method: str, *, on_guest: bool) -> Rule:
    """The rule for a method, on a guest's session or at browser level."""
    if method.startswith("FocusGuard."):
        return _GUARD_DOMAIN
    own = ON_GUEST.get(method) if on_guest else AT_BROWSER.get(method)
    if own is not None:
        return own
    if method.startswith("Target."):
        return TARGET_DOMAIN.get(method, _TARGET_DEFAULT)
    if method.startswith("Browser."):
        return _BROWSER_DEFAULT
    return DEFAULT_ON_GUEST if on_guest else DEFAULT_AT_BROWSER


def borrows(method: str, params: dict[str, Any]) -> bool:
    """Whether a pointer command moves the focus.

    content/browser/devtools/protocol/input_handler.cc focuses the owning WebContents for mousePressed and touchStart;
    the tap that a touchEnd completes does it once more (probe cases mouse-press, touch-start).
    """
    kind = params.get("type")
    if method == "Input.dispatchMouseEvent":
        return bool(kind == "mousePressed")
    return method == "Input.dispatchTouchEvent" and kind in ("touchStart", "touchEnd")


def lingers(method: str, params: dict[str, Any]) -> bool:
    """Whether a pointer command may move the focus after its reply: a tap is recognised later than its touchEnd."""
    return method == "Input.dispatchTouchEvent" and borrows(method, params)
