"""Everybody around the guard, played by chance: the app, its guests and frames, the bridge, the clients, the clock.

It keeps the books that the properties are about, and checks them as each command of the guard comes out: who waits for
which reply, which sessions the app has, which borrows are open.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from focusguard.cdp.limits import Limits
from focusguard.policy import effects
from focusguard.policy.guard import Guard, Options
from specs.unit.transcript import HELLO, VERSION, target

Message = dict[str, Any]
HOST, WINDOW = "HOST", "WINDOW"
HIDDEN = (HOST, WINDOW)


@dataclass
class AppSession:
    """A session as the app knows it."""

    target_id: str
    held_by: str | None


@dataclass
class AppCall:
    """A command that the app has not answered."""

    number: int
    method: str
    params: Message
    session: str | None


@dataclass
class Peer:
    """A client, and what it may still expect."""

    number: int
    page: str | None
    waits: dict[int, tuple[str | None, str]] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)
    here: bool = True
    last_id: int = 0


class Outside:
    """The guard and the books of everybody around it."""

    def __init__(self, *, weaker: bool = False) -> None:
        limits = Limits(sessions=12, pending=40)
        self.guard = Guard(Options("1.0", pace="at-once", bridge_expected=not weaker, limits=limits))
        self.weaker = weaker
        self.now = 0.0
        self.timers: dict[int, float] = {}
        self.calls: list[AppCall] = []
        self.asked: list[effects.AskBridge] = []
        self.clients: dict[int, Peer] = {}
        self.targets: dict[str, Message] = {}
        self.frames: dict[str, str] = {}
        self.sessions: dict[str, AppSession] = {}
        self.leases: set[int | str] = set()
        self.bridge = False
        self.composing = False
        self.app = True
        self.broken = True
        self._serial = 0
        self.take(self.guard.start())
        for method in ("Browser.getVersion", "Target.setDiscoverTargets"):
            call = self.calls.pop()
            assert call.method == method
            self.reply(call, VERSION)
        if not weaker:
            self.join_bridge()
        self.appear(HOST, "page")
        self.appear(WINDOW, "page")

    def serial(self) -> int:
        """A number that nobody has."""
        self._serial += 1
        return self._serial

    def guests(self) -> list[str]:
        """The guests that are there."""
        return [target_id for target_id in self.targets if target_id.startswith("G")]

    def new_guest(self) -> str:
        """A name that no guest has had."""
        return f"G{self.serial()}"

    # -- in and out ----------------------------------------------------------------------------------------------------
    def feed(self, event: effects.Event) -> None:
        """Give the guard an event and check what follows."""
        self.broken = True
        self.take(self.guard.handle(event))
        self.broken = False

    def take(self, commands: list[effects.Command]) -> None:
        """Carry out the guard's commands, and check each."""
        for command in commands:
            match command:
                case effects.SendClient(client, data):
                    self._to_client(self.clients[client], json.loads(data))
                case effects.CloseClient(client, _, _):
                    peer = self.clients[client]
                    assert peer.here, "a connection is ended twice"
                    peer.here = False
                case effects.SendUpstream(data):
                    self._to_app(json.loads(data))
                case effects.AskBridge():
                    self._to_bridge(command)
                case effects.StartTimer(timer, seconds):
                    assert timer not in self.timers
                    self.timers[timer] = self.now + seconds
                case effects.CancelTimer(timer):
                    del self.timers[timer]

    def _to_client(self, peer: Peer, message: Message) -> None:
        assert peer.here, f"{message} is sent to a client that left"
        session = message.get("sessionId")
        if "id" in message:
            assert message["id"] in peer.waits, f"{message} answers nothing, or for the second time"
            expected, token = peer.waits.pop(message["id"])
            assert session == expected, f"{message} answers on another session than {expected}"
            said = message.get("result", {}).get("token")
            assert said in (None, token), f"{message} is somebody else's, not {token}"
            made = message.get("result", {}).get("sessionId")
            if isinstance(made, str):
                assert made not in self.sessions or self.sessions[made].target_id not in HIDDEN
                peer.sessions.append(made)
        elif message["method"] == "Target.attachedToTarget":
            peer.sessions.append(message["params"]["sessionId"])
            assert message["params"]["targetInfo"]["targetId"] not in HIDDEN
        else:
            shown = json.dumps(message["params"])
            assert f'"{HOST}"' not in shown and f'"{WINDOW}"' not in shown, (
                f"{message} tells of a hidden target"
            )

    def _to_app(self, message: Message) -> None:
        call = AppCall(message["id"], message["method"], message.get("params", {}), message.get("sessionId"))
        if call.method.startswith("Input."):
            assert call.session is not None, f"{call} is input for the whole window"
            session = self.sessions.get(call.session)
            assert session is None or session.target_id not in HIDDEN, f"{call} is input for a host"
            if self.composing and session is not None and self._kind(session.target_id) == "browser-view":
                assert not disturbs(call), f"{call} ends the person's composition"
        if call.method == "Target.attachToTarget" and not self.weaker:
            assert call.params["targetId"] not in HIDDEN, f"{call} reaches a hidden target"
        if self.app:
            self.calls.append(call)

    def _to_bridge(self, asked: effects.AskBridge) -> None:
        assert self.bridge, f"{asked} is sent to a bridge that left"
        self.asked.append(asked)
        if asked.method == "borrow.end":
            assert asked.params["lease"] in self.leases, f"{asked} returns what is not borrowed"
            self.leases.discard(asked.params["lease"])

    # -- the clock -----------------------------------------------------------------------------------------------------
    def ring(self) -> None:
        """The timer that is due first runs out."""
        timer = min(self.timers, key=lambda number: (self.timers[number], number))
        self.now = max(self.now, self.timers.pop(timer))
        self.feed(effects.TimerRang(timer))

    # -- clients -------------------------------------------------------------------------------------------------------
    def join(self, page: str | None) -> Peer:
        """A client connects."""
        number = self.serial()
        peer = self.clients[number] = Peer(number, page)
        self.feed(effects.ClientJoined(number, page))
        return peer

    def leave(self, peer: Peer) -> None:
        """A client's connection is gone; where the guard has ended it, the shell says so all the same."""
        peer.here = False
        peer.waits.clear()
        self.feed(effects.ClientLeft(peer.number))

    def say(self, peer: Peer, method: str, params: Message, session: str | None) -> None:
        """A client's command; a token in it tells whose the answer is."""
        peer.last_id += 1
        token = f"{peer.number}/{peer.last_id}"
        peer.waits[peer.last_id] = (session, token)
        message: Message = {"id": peer.last_id, "method": method, "params": {**params, "token": token}}
        if session is not None:
            message["sessionId"] = session
        self.feed(effects.ClientSaid(peer.number, json.dumps(message).encode()))

    def living(self) -> list[Peer]:
        """The clients that are connected."""
        return [peer for peer in self.clients.values() if peer.here]

    # -- the app -------------------------------------------------------------------------------------------------------
    def tell(self, method: str, params: Message, session: str | None = None) -> None:
        """An event of the app."""
        message: Message = {"method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self.feed(effects.UpstreamSaid(json.dumps(message).encode()))

    def reply(self, call: AppCall, result: Message | None, error: str = "") -> None:
        """An answer of the app."""
        body: Message = {"id": call.number}
        if result is not None:
            body["result"] = result
        else:
            body["error"] = {"code": -32000, "message": error}
        if call.session is not None:
            body["sessionId"] = call.session
        self.feed(effects.UpstreamSaid(json.dumps(body).encode()))

    def appear(self, target_id: str, type_: str) -> None:
        """A target appears."""
        self.targets[target_id] = target(target_id, type_)
        self.tell("Target.targetCreated", {"targetInfo": self.targets[target_id]})

    def attach(self, target_id: str, held_by: str | None) -> str:
        """The app makes a session."""
        session = f"S{self.serial()}"
        self.sessions[session] = AppSession(target_id, held_by)
        return session

    def drop(self, session: str, *, tell: bool) -> None:
        """The app ends a session and what hangs on it."""
        gone = self.sessions.pop(session)
        for child in [each for each, its in self.sessions.items() if its.held_by == session]:
            self.drop(child, tell=False)
        if tell:
            self.tell(
                "Target.detachedFromTarget", {"sessionId": session, "targetId": gone.target_id}, gone.held_by
            )

    def frame_appears(self, guest: str) -> None:
        """A cross-site frame appears; every session on the guest that the guard holds hears of it."""
        frame = f"F{self.serial()}"
        self.frames[frame] = guest
        for session in self.own_sessions(guest):
            self.attach_frame(session, frame)

    def attach_frame(self, session: str, frame: str) -> None:
        """A session on a guest, or on a frame of it, is told of a frame below."""
        child = self.attach(frame, session)
        params = {"sessionId": child, "targetInfo": target(frame, "iframe"), "waitingForDebugger": False}
        self.tell("Target.attachedToTarget", params, session)

    def own_sessions(self, target_id: str) -> list[str]:
        """The guard's own sessions on a target, where the app still has them."""
        known = [each for each in self.sessions if self.sessions[each].target_id == target_id]
        return [each for each in known if (s := self.guard.sessions.get(each)) and s.client is None]

    def frame_goes(self, frame: str, *, tell: bool = True) -> None:
        """A frame goes, with the sessions on it."""
        del self.frames[frame]
        for session in [each for each, its in self.sessions.items() if its.target_id == frame]:
            if session in self.sessions:
                self.drop(session, tell=tell)

    def guest_goes(self, guest: str, *, tell: bool) -> None:
        """A guest goes; with `tell` its sessions are told of one by one before."""
        for frame in [each for each, its in self.frames.items() if its == guest]:
            self.frame_goes(frame, tell=tell)
        for session in [each for each, its in self.sessions.items() if its.target_id == guest]:
            if session in self.sessions:
                self.drop(session, tell=tell)
        del self.targets[guest]
        self.tell("Target.targetDestroyed", {"targetId": guest})

    def answer(self, call: AppCall, choose: Callable[[list[Any]], Any]) -> None:
        """The app answers a command as it would, or fails."""
        self.calls.remove(call)
        if call.session is not None and call.session not in self.sessions:
            if choose([True, False]):
                self.reply(call, None, "Session with given id not found.")
            return
        if call.method == "Target.attachToTarget":
            target_id = call.params["targetId"]
            if target_id not in self.targets and target_id not in self.frames:
                self.reply(call, None, "No target with given id found")
            else:
                self.reply(call, {"sessionId": self.attach(target_id, None)})
        elif call.method == "Target.detachFromTarget":
            session = call.params["sessionId"]
            held = self.sessions.get(session)
            if held is None or held.held_by != call.session:
                self.reply(call, None, "No session with given id")
            else:
                self.drop(session, tell=True)
                self.reply(call, {})
        elif choose([True, True, True, False]):
            hidden = call.session is not None and self.sessions[call.session].target_id in HIDDEN
            self.reply(call, self._pane(call, choose) if hidden else self._result(call, choose))
        else:
            if call.session is not None and self.sessions[call.session].target_id == HOST:
                self.leases.clear()  # the host page was loaded anew, and its pane with it
            self.reply(call, None, "it did not work")

    def _pane(self, call: AppCall, choose: Callable[[list[Any]], Any]) -> Message:
        """The host page, where the guard asks the pane itself."""
        expression = call.params.get("expression", "")
        asked = expression.removeprefix("globalThis.__focusguardPane.")
        value: Any = {}
        if call.method == "Page.createIsolatedWorld":
            return {"executionContextId": self.serial()}
        if asked.startswith("begin("):
            value = choose([self._held, self._held, self._refused])(choose)
            if value["state"] == "held":
                self.leases.add(json.loads(asked[6:-1])["lease"])
        elif asked.startswith("end("):
            self.leases.discard(json.loads(asked[4:-1])["lease"])
            value = {"returned": True, "reason": "returned", "heldMs": 3}
        elif asked.startswith("drop("):
            self.leases.discard(json.loads(asked[5:-1]))
        elif "executeJavaScript" in expression and call.session is not None:
            here = self.guests() if self.sessions[call.session].target_id == HOST else []
            value = json.dumps([[int(guest[1:]), int(guest[1:])] for guest in here])
        return {"result": {"type": "object", "value": value}}

    def _result(self, call: AppCall, choose: Callable[[list[Any]], Any]) -> Message:
        expression = call.params.get("expression", "")
        if call.method == "Page.createIsolatedWorld":
            return {"executionContextId": self.serial()}
        if "look(" in expression:
            if choose([False, False, True]):
                return {"result": {"type": "object", "objectId": "node"}}
            seen = {name: [0, 0] for name in ("keydown", "keyup", "keypress", "input", "beforeinput")}
            place = {"editable": choose([True, True, False]), "visible": True, "seen": seen}
            return {"result": {"type": "string", "value": json.dumps(place)}}
        if "wait(" in expression:
            return {"result": {"type": "string", "value": choose(["handled", "cancelled", "missed"])}}
        if expression == "performance.timeOrigin" and call.session is not None:
            return {"result": {"type": "number", "value": int(self.sessions[call.session].target_id[1:])}}
        if call.method == "DOM.describeNode":
            return {"node": {"nodeName": "IFRAME", "frameId": choose([*self.frames, "SAME-SITE"])}}
        return {"token": call.params["token"]} if "token" in call.params else {}

    # -- the bridge ----------------------------------------------------------------------------------------------------
    def join_bridge(self) -> None:
        """A bridge has proved itself."""
        self.bridge = True
        self.feed(effects.BridgeJoined(HELLO))

    def lose_bridge(self) -> None:
        """The bridge is gone: it gives back by itself what was borrowed."""
        self.bridge = False
        self.composing = False
        self.asked.clear()
        self.leases.clear()
        self.feed(effects.BridgeLeft())

    def answer_bridge(self, asked: effects.AskBridge, choose: Callable[[list[Any]], Any]) -> None:
        """The bridge answers, well or not."""
        self.asked.remove(asked)
        result: Message | None
        if asked.method == "target.describe":
            result = self._description(asked.params["targetId"])
        elif asked.method == "borrow.begin":
            result = choose([self._held, self._held, self._refused, lambda _: None])(choose)
        else:
            result = choose([{}, {}, None])
        error = None
        if result is None:
            code = choose(["pane-unavailable", "composing"])
            error = {"code": code, "message": "the host page is busy"}
        if result is not None and result.get("state") == "held":
            self.leases.add(result["lease"])
        self.feed(effects.BridgeAnswered(asked.request, result, error))

    def _description(self, target_id: str) -> Message:
        if target_id not in self.targets:
            return {"found": False}
        if target_id in HIDDEN:
            return {"found": True, "guest": False, "kind": "window", "webContentsId": 1}
        number, kind = int(target_id[1:]), self._kind(target_id)
        ids = {"webContentsId": 1000 + number, "hostWebContentsId": None if kind == "offscreen" else 1}
        return {"found": True, "guest": True, "kind": kind, **ids}

    def _kind(self, target_id: str) -> str:
        """How the app shows a guest, and with it the frames in it."""
        guest = self.frames.get(target_id, target_id)
        return ("webview", "webview", "browser-view", "offscreen")[int(guest[1:]) % 4]

    def compose(self, open_: bool) -> None:
        """The person begins to compose in the host, ends a word, or having ended one stops."""
        active = open_ or self.composing
        self.composing = open_
        facts = {"hostWebContentsId": 1, "open": open_, "active": active}
        self.feed(effects.BridgeTold("composition", facts))

    def _held(self, _: object) -> Message:
        return {"state": "held", "lease": self.serial(), "waitedMs": 0}

    def _refused(self, choose: Callable[[list[Any]], Any]) -> Message:
        return {"state": choose(["composing", "guest-focused", "nothing-to-hold"]), "lease": None}


def disturbs(call: AppCall) -> bool:
    """Whether an input changes the state that an input method goes by."""
    kind = str(call.params.get("type"))
    return call.method in ("Input.insertText", "Input.imeSetComposition", "DOM.focus") or kind in (
        *("keyDown", "rawKeyDown", "char", "mousePressed", "touchStart", "touchEnd"),
    )
