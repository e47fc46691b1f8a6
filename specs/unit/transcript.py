"""Specs of the guard as transcripts: who says what, what follows from it, and nothing else.

The spec plays everybody around the guard, one step at a time: the app's CDP endpoint (`app`), the bridge inside the
app (`bridge`), any number of clients, and the clock (`rings`). What the guard sends waits in one queue for each of
them until the spec takes it, so a line of a spec is a line of the conversation:

    agent.says(1, "Input.insertText", {"text": "hi"}, session=page)
    t.bridge.gets("text.insert", webContentsId=5, text="hi").answers({})
    agent.hears(1, {}, session=page)
    t.silence()
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from focusguard.cdp.limits import DEFAULT_LIMITS, Limits
from focusguard.cdp.targets import CONTEXT_ID
from focusguard.policy import effects
from focusguard.policy.borrow import Pace
from focusguard.policy.evidence import SCRIPT
from focusguard.policy.guard import Guard, Options
from focusguard.policy.presses import TREE
from focusguard.policy.presses import WORLD as PRESS_WORLD

Message = dict[str, Any]

EMULATION = "Emulation.setFocusEmulationEnabled"
#: The context of the world in which documents are asked about presses.
PRESS_CONTEXT = 90

ELECTRON = "33.2.1"
HELLO = {"version": 1, "pid": 77, "electron": ELECTRON, "chromium": "130.0.6723.137", "node": "20.18.0"}
VERSION = {"protocolVersion": "1.3", "product": "Chrome/130.0.6723.137", "userAgent": "Mozilla/5.0 Electron"}
CHOOSER, HOLD = "Page.setInterceptFileChooserDialog", "dialogs.hold"
QUIET = ("Page.enable", "Page.disable", CHOOSER)
RULE = "downloads.rule"


def target(target_id: str, type_: str = "webview", **more: Any) -> Message:
    """A target info as the app gives it."""
    return {
        "targetId": target_id,
        "type": type_,
        "title": f"title of {target_id}",
        "url": f"http://guest.test/{target_id}",
        "attached": False,
        "canAccessOpener": False,
        **more,
    }


def page(target_id: str, *, attached: bool = True, type_: str = "page", **more: Any) -> Message:
    """A target info as clients see it."""
    info = {**target(target_id, type_), "attached": attached, "browserContextId": CONTEXT_ID}
    if type_ == "tab":
        info["targetId"] = f"tab-{target_id}"
    return {**info, **more}


def _json(message: Message) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


@dataclass
class Call:
    """One command or request of the guard, waiting for its answer."""

    number: int
    method: str
    params: Message
    session: str | None
    _transcript: Transcript
    _to_bridge: bool = False

    def answers(self, result: Message | None = None) -> None:
        """The other side did it."""
        self._reply({"result": result or {}})

    def fails(self, message: str, code: int | str = -32000) -> None:
        """The other side did not do it."""
        self._reply({"error": {"code": code, "message": message}})

    def _reply(self, body: Message) -> None:
        if self._to_bridge:
            self._transcript.feed(effects.BridgeAnswered(self.number, body.get("result"), body.get("error")))
            return
        if self.session is not None:
            body = {**body, "sessionId": self.session}
        self._transcript.feed(effects.UpstreamSaid(_json({"id": self.number, **body})))


def _call(message: Message, transcript: Transcript) -> Call:
    return Call(
        message["id"], message["method"], message.get("params", {}), message.get("sessionId"), transcript
    )


def _asks_about_presses(call: Call) -> bool:
    return call.params.get("worldName") == PRESS_WORLD or call.params.get("contextId") == PRESS_CONTEXT


class App:
    """The app's CDP endpoint, played by the spec."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.calls: deque[Call] = deque()

    def gets(self, method: str, params: Message | None = None, *, session: str | None = None) -> Call:
        """The next command that the guard sends is this one; `params` names those that matter."""
        self.takes_quietly(until=(method, session))
        assert self.calls, f"the app got nothing, not {method}"
        call = self.calls.popleft()
        assert (call.method, call.session) == (method, session), f"the app got {call}"
        assert (params or {}).items() <= call.params.items(), f"the app got {call}"
        return call

    def takes_quietly(self, until: tuple[str, str | None] | None = None) -> None:
        """Orders about emulation and dialogs that no spec asks for are carried out; their own specs ask."""
        while self.calls and self._quiet(self.calls[0]):
            if (self.calls[0].method, self.calls[0].session) == until:
                return
            self.calls.popleft().answers()

    @staticmethod
    def _quiet(call: Call) -> bool:
        own = call.session is not None and call.session.startswith("OWN-")
        return call.method == EMULATION or (own and call.method in QUIET)

    def says(self, method: str, params: Message, *, session: str | None = None) -> None:
        """An event."""
        message: Message = {"method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self._transcript.feed(effects.UpstreamSaid(_json(message)))

    def goes(self) -> None:
        """The endpoint is gone."""
        self._transcript.feed(effects.UpstreamLost("the app closed its debugging pipe"))


class Bridge:
    """The bridge, played by the spec."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.calls: deque[Call] = deque()

    def gets(self, method: str, **params: Any) -> Call:
        """The next request that the guard sends is this one; `params` names those that matter."""
        self.takes_quietly(until=method)
        assert self.calls, f"the bridge got nothing, not {method}"
        call = self.calls.popleft()
        assert call.method == method, f"the bridge got {call}"
        assert params.items() <= call.params.items(), f"the bridge got {call}"
        return call

    def takes_quietly(self, until: str | None = None) -> None:
        """Boxes are kept from opening, and downloads from asking, where no spec asks for that."""
        while self.calls and self.calls[0].method in (HOLD, RULE) and self.calls[0].method != until:
            self.calls.popleft().answers({"held": True})

    def joins(self, electron: str = ELECTRON) -> None:
        """A bridge has proved itself, in an app of this Electron."""
        self._transcript.feed(effects.BridgeJoined({**HELLO, "electron": electron}))

    def leaves(self) -> None:
        """The bridge is gone."""
        self._transcript.feed(effects.BridgeLeft())

    def tells(self, event: str, /, **params: Any) -> None:
        """An event of the bridge."""
        self._transcript.feed(effects.BridgeTold(event, params))


class Client:
    """A client, played by the spec."""

    def __init__(self, transcript: Transcript, number: int) -> None:
        self._transcript = transcript
        self.number = number
        self.inbox: deque[Message] = deque()
        self.closed: tuple[int, str] | None = None

    def says(
        self, id_: int, method: str, params: Message | None = None, *, session: str | None = None
    ) -> None:
        """A command."""
        message: Message = {"id": id_, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        self.says_raw(_json(message))

    def says_raw(self, data: bytes) -> None:
        """Bytes that need not be a command."""
        self._transcript.feed(effects.ClientSaid(self.number, data))

    def hears(self, id_: int, result: Message | None = None, *, session: str | None = None) -> Message:
        """The next message is the success of this command; without `result` any result will do. Gives the result."""
        message = self._next(session, id=id_)
        assert "result" in message, f"client {self.number} heard {message}"
        assert result is None or message["result"] == result, f"client {self.number} heard {message}"
        answer: Message = message["result"]
        return answer

    def hears_error(self, id_: int | None, says: str, *, session: str | None = None) -> Message:
        """The next message is the failure of this command, and its text begins so. Gives the error, its data read."""
        message = self._next(session, id=id_)
        assert "error" in message, f"client {self.number} heard {message}"
        error: Message = message["error"]
        assert error["message"].startswith(says), f"client {self.number} heard {error}"
        data = error.get("data", "")
        assert isinstance(data, str), "CDP has a string there"
        return {**error, "data": json.loads(data)} if data.startswith("{") else error

    def hears_event(
        self, method: str, params: Message | None = None, *, session: str | None = None
    ) -> Message:
        """The next message is this event; `params` names those that matter. Gives all of them."""
        message = self._next(session, method=method)
        heard: Message = message["params"]
        assert (params or {}).items() <= heard.items(), f"client {self.number} heard {message}"
        return heard

    def hears_nothing(self) -> None:
        """Nothing waits for the client."""
        assert not self.inbox, f"client {self.number} heard {list(self.inbox)}"

    def is_closed(self, code: int) -> str:
        """The guard has ended the connection. Gives the reason."""
        assert self.closed is not None and self.closed[0] == code, f"client {self.number}: {self.closed}"
        return self.closed[1]

    def leaves(self) -> None:
        """The connection is gone."""
        self._transcript.feed(effects.ClientLeft(self.number))

    def attaches(self, target_id: str, session: str, *, id_: int = 900) -> str:
        """The whole conversation of a flat attachment."""
        self.says(id_, "Target.attachToTarget", {"targetId": target_id, "flatten": True})
        self._transcript.app.gets("Target.attachToTarget", {"targetId": target_id}).answers(
            {"sessionId": session}
        )
        self.hears_event("Target.attachedToTarget", {"sessionId": session})
        self.hears(id_, {"sessionId": session})
        return session

    def _next(self, session: str | None, **members: Any) -> Message:
        assert self.inbox, f"client {self.number} heard nothing, not {members}"
        message = self.inbox.popleft()
        heard = {name: message.get(name) for name in members}
        assert heard == members, f"client {self.number} heard {message}"
        assert message.get("sessionId") == session, f"client {self.number} heard {message}"
        return message


@dataclass
class GuestPage:
    """What the spec knows of a guest that it has brought up."""

    target_id: str
    web_contents_id: int
    host_id: int | None
    session: str
    children: list[str] = field(default_factory=list)


class Transcript:
    """A guard and everybody around it.

    Attributes:
        sees_presses: documents say at once that they have seen each press; specs/unit/test_presses.py plays them.
    """

    def __init__(
        self,
        *,
        bridge: bool = True,
        pace: Pace = "at-once",
        limits: Limits = DEFAULT_LIMITS,
        start: bool = True,
        electron: str = ELECTRON,
    ) -> None:
        self.guard = Guard(Options("1.0", pace=pace, bridge_expected=bridge, limits=limits))
        self.app = App(self)
        self.bridge = Bridge(self)
        self.clients: dict[int, Client] = {}
        self.timers: dict[int, float] = {}
        self.reports: list[effects.Report] = []
        self.announced: list[int] = []  # presses that the bridge was told of; it only takes note of them
        self.sees_presses = True
        self.hears_at_once = True  # the bridge confirms announced presses; else they wait in `unheard`
        self.unheard: list[int] = []
        self._serial = 0
        self.take(self.guard.start())
        if start:
            self.app.gets("Browser.getVersion").answers(VERSION)
            self.app.gets("Target.setDiscoverTargets", {"discover": True}).answers()
            if bridge:
                self.bridge.joins(electron)

    def feed(self, event: effects.Event) -> None:
        """Give the guard an event and sort what follows."""
        self.take(self.guard.handle(event))

    def take(self, commands: list[effects.Command]) -> None:
        """Sort the guard's commands by whom they are for."""
        about_presses: list[Call] = []
        announcements: list[int] = []
        for command in commands:
            match command:
                case effects.SendClient(client, data):
                    self.clients[client].inbox.append(json.loads(data))
                case effects.CloseClient(client, code, reason):
                    self.clients[client].closed = (code, reason)
                case effects.SendUpstream(data):
                    call = _call(json.loads(data), self)
                    about = self.sees_presses and _asks_about_presses(call)
                    if about and self.app.calls and self.app.calls[-1].method == TREE:
                        about_presses.append(self.app.calls.pop())  # asked in one breath
                    (about_presses if about else self.app.calls).append(call)
                case effects.AskBridge(request, "press.expect", params):
                    self.announced.append(params["webContentsId"])
                    (announcements if self.hears_at_once else self.unheard).append(request)
                case effects.AskBridge(request, method, params):
                    self.bridge.calls.append(Call(request, method, params, None, self, _to_bridge=True))
                case effects.StartTimer(timer, seconds):
                    self.timers[timer] = seconds
                case effects.CancelTimer(timer):
                    del self.timers[timer]
                case effects.Report():
                    self.reports.append(command)
        for request in announcements:
            self.feed(effects.BridgeAnswered(request, {}, None))
        for call in about_presses:
            says = "handled" if "verdict(" in call.params.get("expression", "") else "{}"
            call.answers({"executionContextId": PRESS_CONTEXT, "result": {"value": says}})

    # -- the clock -----------------------------------------------------------------------------------------------------
    def rings(self, seconds: float) -> None:
        """The oldest timer of so many seconds runs out."""
        due = next((timer for timer, bound in self.timers.items() if abs(bound - seconds) < 1e-9), None)
        assert due is not None, f"no timer of {seconds:g} s runs, but {self.timers}"
        del self.timers[due]
        self.feed(effects.TimerRang(due))

    # -- endings -------------------------------------------------------------------------------------------------------
    def silence(self) -> None:
        """Nobody has anything to hear, nothing is waited for, and no timer runs."""
        self.app.takes_quietly()
        self.bridge.takes_quietly()
        assert not self.app.calls, f"the app got {list(self.app.calls)}"
        assert not self.bridge.calls, f"the bridge got {list(self.bridge.calls)}"
        for client in self.clients.values():
            client.hears_nothing()
        assert self.guard.idle, "a flow still waits"
        assert not self.timers, f"timers run: {self.timers}"

    def reported(self, kind: str) -> list[Message]:
        """The facts of every report of a kind, oldest first."""
        return [report.facts for report in self.reports if report.kind == kind]

    # -- beginnings ----------------------------------------------------------------------------------------------------
    def client(self, target_id: str | None = None) -> Client:
        """A client connects: to the whole guard, or to one guest."""
        number = len(self.clients) + 1
        client = self.clients[number] = Client(self, number)
        self.feed(effects.ClientJoined(number, target_id))
        return client

    def client_on(self, target_id: str, session: str) -> Client:
        """A client connects to one guest, and the app attaches it."""
        client = self.client(target_id)
        self.app.gets("Target.attachToTarget", {"targetId": target_id}).answers({"sessionId": session})
        return client

    def guest(
        self,
        target_id: str,
        *,
        kind: str = "webview",
        host_id: int | None = 1,
        announced: bool = False,
        **more: Any,
    ) -> GuestPage:
        """A guest appears, is described by the bridge, and is attached; with `announced` clients have yet to attach."""
        self._serial += 1
        web_contents_id, session = 100 + self._serial, f"OWN-{target_id}"
        type_ = "webview" if kind == "webview" else "page"
        self.app.says("Target.targetCreated", {"targetInfo": target(target_id, type_, **more)})
        self.bridge.gets("target.describe", targetId=target_id).answers(
            {
                "found": True,
                "guest": True,
                "kind": kind,
                "webContentsId": web_contents_id,
                "hostWebContentsId": host_id,
            }
        )
        self.app.gets("Target.attachToTarget", {"targetId": target_id}).answers({"sessionId": session})
        self.app.gets("Target.setAutoAttach", session=session).answers()
        if not announced:
            assert not self.app.calls, f"the app got {list(self.app.calls)}"
        return GuestPage(target_id, web_contents_id, host_id, session)

    def frame(
        self, guest: GuestPage, frame_id: str, *, under: str | None = None, inside: str | None = None
    ) -> str:
        """A cross-site frame appears below a guest; gives the guard's own session on it.

        Its page says `inside` which frame it is.
        """
        session = f"OWN-{frame_id}"
        self.app.says(
            "Target.attachedToTarget",
            {"sessionId": session, "targetInfo": target(frame_id, "iframe"), "waitingForDebugger": False},
            session=under or guest.session,
        )
        self.app.gets("Target.setAutoAttach", session=session).answers()
        around = {"parentId": inside} if inside is not None else {}
        tree = {"frame": {"id": frame_id, **around}}
        self.app.gets("Page.getFrameTree", session=session).answers({"frameTree": tree})
        guest.children.append(session)
        return session

    # -- the page, asked where its focus is ----------------------------------------------------------------------------
    def page_is_asked(self, session: str, context: int = 7) -> Call:
        """The next question to a document; what comes before it when it is the first one is answered on the way."""
        while True:
            self.app.takes_quietly()  # its frames are told too
            assert self.app.calls, f"nobody asks {session}"
            call = self.app.calls.popleft()
            assert call.session == session, f"the app got {call}"
            expression = call.params.get("expression", "")
            if call.method == "Page.createIsolatedWorld":
                call.answers({"executionContextId": context})
            elif expression == SCRIPT:
                call.answers({"result": {"type": "undefined"}})
            else:
                assert call.method == "Runtime.evaluate", f"the app got {call}"
                return call

    def page_is_painted(self, session: str, painted: bool) -> None:
        """Answers whether a document gets a frame."""
        asked = self.page_is_asked(session)
        assert "painted(" in asked.params["expression"], f"the app got {asked}"
        asked.answers({"result": {"type": "boolean", "value": painted}})

    def page_says(
        self,
        session: str,
        *,
        frame: str | None = None,
        editable: bool = True,
        seen: dict[str, list[int]] | None = None,
        context: int = 7,
    ) -> None:
        """Answers one look into a document: it holds the focus itself, or a frame in it does."""
        call = self.page_is_asked(session, context)
        expression = call.params["expression"]
        assert "look(" in expression, f"the app got {call}"
        if frame is None:
            types = json.loads(expression[expression.index("look(") + 5 : expression.rindex("]") + 1])
            value = {
                "editable": editable,
                "visible": True,
                "seen": {type_: [0, 0] for type_ in types} | (seen or {}),
            }
            call.answers({"result": {"type": "string", "value": json.dumps(value)}})
            return
        call.answers({"result": {"type": "object", "subtype": "node", "objectId": f"node-{frame}"}})
        asked = self.app.gets("DOM.describeNode", {"objectId": f"node-{frame}"}, session=session)
        asked.answers({"node": {"nodeName": "IFRAME", "frameId": frame}})
        self.app.gets("Runtime.releaseObject", {"objectId": f"node-{frame}"}, session=session).answers()
