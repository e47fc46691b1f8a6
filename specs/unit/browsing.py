"""What start-ups of client libraries and hidden targets look like in specs."""

from __future__ import annotations

from typing import Any

from specs.unit.transcript import Client, GuestPage, Transcript, target

HIDDEN = ("HOST", "WINDOW", "DEVTOOLS", "invented", "")
PLAYWRIGHT_AUTO = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
PUPPETEER_AUTO = {**PLAYWRIGHT_AUTO, "filter": [{"type": "page", "exclude": True}, {}]}
TAB_1 = "F0C05" + "0" * 26 + "1"


def visit() -> tuple[Transcript, GuestPage, Client]:
    """A webview guest and a client that is not attached to it yet."""
    t = Transcript()
    return t, t.guest("G1"), t.client()


def app_with_hidden_targets(t: Transcript) -> None:
    """A host, another window and DevTools: the bridge says that none of them is a guest."""
    for target_id, type_ in (("HOST", "page"), ("WINDOW", "page"), ("DEVTOOLS", "other")):
        t.app.says("Target.targetCreated", {"targetInfo": target(target_id, type_)})
        found = {"found": True, "guest": False, "kind": "window", "webContentsId": 1}
        t.bridge.gets("target.describe", targetId=target_id).answers(found)


def attached(session: str, target_id: str, type_: str = "iframe") -> dict[str, Any]:
    """Parameters of Target.attachedToTarget as the app gives them."""
    return {"sessionId": session, "targetInfo": target(target_id, type_), "waitingForDebugger": False}
