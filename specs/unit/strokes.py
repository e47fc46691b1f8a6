"""Keys, presses and borrows as specs say them: what goes out, and what the bridge and the app answer."""

from __future__ import annotations

from typing import Any

from focusguard.policy.keys import ROUSING_EVENT
from specs.unit.transcript import VERSION, Call, Client, GuestPage, Transcript

KEY = "Input.dispatchKeyEvent"
MOUSE = "Input.dispatchMouseEvent"
PRESS = {"type": "mousePressed", "x": 10, "y": 20, "button": "left", "clickCount": 1}
TOUCH = "Input.dispatchTouchEvent"
FINGER: dict[str, Any] = {"type": "touchStart", "touchPoints": [{"x": 1.0, "y": 2.0, "id": 0}]}
LIFT: dict[str, Any] = {"type": "touchEnd", "touchPoints": []}
RELEASE = {"type": "mouseReleased", "x": 10, "y": 20, "button": "left", "clickCount": 1}
MOVE = {"type": "mouseMoved", "x": 11, "y": 21}
TAB = {"type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
HELD: dict[str, Any] = {"state": "held", "lease": 1, "waitedMs": 0}
RETURNED: dict[str, Any] = {"returned": True, "reason": "returned", "heldMs": 7.5, "broughtHome": 1}


def key(letter: str, type_: str = "keyDown") -> dict[str, Any]:
    """A letter as Playwright sends it."""
    params = {
        "type": type_,
        "key": letter,
        "code": f"Key{letter.upper()}",
        "windowsVirtualKeyCode": ord(letter.upper()),
    }
    return params if type_ == "keyUp" else {**params, "text": letter}


def begin(**more: Any) -> tuple[Transcript, GuestPage, Client]:
    """A webview guest and a client with the session S1 on it."""
    t = Transcript(**more)
    guest = t.guest("G1")
    agent = t.client()
    agent.attaches("G1", "S1")
    return t, guest, agent


def types(t: Transcript, guest: GuestPage, agent: Client, id_: int, letter: str = "a") -> None:
    """A key of the client, all the way."""
    agent.says(id_, KEY, key(letter), session="S1")
    key_arrives(t, guest)
    agent.hears(id_, {}, session="S1")


def key_arrives(t: Transcript, guest: GuestPage, stroke: tuple[str, str] | None = None) -> None:
    """The page is asked, the bridge sends, and the page has handled it; `stroke`: the first event's type and key."""
    t.page_says(guest.session)
    key_is_sent(t, guest, stroke)


def roused(t: Transcript, guest: GuestPage) -> None:
    """A guest at which a person's press was stopped is made to listen again."""
    sending = t.bridge.gets("keys.send", webContentsId=guest.web_contents_id)
    assert sending.params["events"] == [ROUSING_EVENT]
    sending.answers({"sent": 1})


def key_is_sent(
    t: Transcript, guest: GuestPage, stroke: tuple[str, str] | None = None, verdict: str = "handled"
) -> None:
    """The bridge sends, and the page says what became of it."""
    watch = t.app.gets("Runtime.evaluate", session=guest.session)
    sending = t.bridge.gets("keys.send", webContentsId=guest.web_contents_id)
    first = sending.params["events"][0]
    assert stroke is None or (first["type"], first["keyCode"]) == stroke
    sending.answers({"sent": len(sending.params["events"])})
    watch.answers({"result": {"type": "string", "value": verdict}})


def arrives_by_cdp(t: Transcript, guest: GuestPage, method: str, params: dict[str, Any]) -> None:
    """The page is asked, the command goes out on the client's session, and the page has handled it."""
    t.page_says(guest.session)
    watch = t.app.gets("Runtime.evaluate", {"awaitPromise": True}, session=guest.session)
    t.app.gets(method, params, session="S1").answers()
    watch.answers({"result": {"type": "string", "value": "handled"}})


def emulates(t: Transcript, session: str) -> None:
    """The guard turns focus emulation on, on its own session."""
    t.app.gets("Emulation.setFocusEmulationEnabled", {"enabled": True}, session=session).answers()


def shows(t: Transcript, guest: GuestPage) -> None:
    """The guest is told that it has the focus, and gives a frame."""
    emulates(t, guest.session)
    t.page_is_painted(guest.session, True)


def with_focus(t: Transcript, method: str, params: dict[str, Any], session: str = "S1") -> None:
    """The pane puts the focus into the guest, the command goes out, and the focus goes home behind a fence."""
    t.bridge.gets("borrow.begin", take=True).answers(HELD)
    command = t.app.gets(method, params, session=session)
    fence = t.app.gets("Browser.getVersion")
    assert not t.bridge.calls, "the focus goes home when the app has taken the command"
    fence.answers(VERSION)
    t.bridge.gets("borrow.end", lease=1, recheckMs=50).answers(RETURNED)
    command.answers()


def with_focus_and_witness(t: Transcript, guest: GuestPage, params: dict[str, Any]) -> Call:
    """As `with_focus` for a key, with the page asked beforehand whether it sees it; gives that question."""
    t.bridge.gets("borrow.begin", take=True).answers(HELD)
    watch = t.app.gets("Runtime.evaluate", {"awaitPromise": True}, session=guest.session)
    command = t.app.gets(KEY, params, session="S1")
    t.app.gets("Browser.getVersion").answers(VERSION)
    t.bridge.gets("borrow.end", lease=1, recheckMs=50).answers(RETURNED)
    command.answers()
    return watch


def lingers(t: Transcript, guest: GuestPage, lease: int = 1) -> None:
    """The focus is watched a little longer, then goes home, and the person's input method is looked after."""
    t.rings(0.4)
    t.bridge.gets("borrow.end", lease=lease).answers(RETURNED)
    t.bridge.gets("host.repair", webContentsId=guest.web_contents_id).answers({"nudged": True})


def pressed(t: Transcript, session: str = "S1", params: dict[str, Any] | None = None) -> Call:
    """The pane holds the person's focus, and the press goes out."""
    t.bridge.gets("borrow.begin").answers(HELD)
    return t.app.gets(MOUSE, params or PRESS, session=session)


def repaired(t: Transcript) -> None:
    """Nothing in the guest's page tells of what changes in a frame of another process."""
    t.bridge.gets("host.repair").answers({"nudged": True})
