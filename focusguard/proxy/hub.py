"""The hub: carries events to the pure guard and its commands to the sockets. One owner for timers and clients."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import anyio

from focusguard.bridge.link import BridgeLink
from focusguard.bridge.messages import Answer, BridgeEvent, Connected, Lost, Notice
from focusguard.cdp import messages
from focusguard.cdp.limits import Limits
from focusguard.cdp.targets import shown_page
from focusguard.policy import effects
from focusguard.policy.domain import WEAKER
from focusguard.policy.guard import Guard
from focusguard.proxy import description
from focusguard.proxy.access import Refusal
from focusguard.proxy.server import Server
from focusguard.proxy.upstream import Upstream

#: Seconds for a discovery request that needs the app (`/json/new`, `/json/close`).
HTTP_SECONDS = 35.0
#: Clients of the HTTP endpoints, and the hub's own questions to the bridge, are numbered below zero.
JSON = "application/json"

_log = logging.getLogger("focusguard")


class Hub:
    """Everything that happens goes through `feed`, one event after the other."""

    def __init__(self, guard: Guard, limits: Limits) -> None:
        self.guard = guard
        self.server = Server(self, limits)
        self.upstream: Upstream | None = None
        self.link: BridgeLink | None = None
        self.watchers: list[Callable[[effects.Report], None]] = []
        self.started = anyio.Event()
        self.bridge_joined = anyio.Event()
        self.lost: str | None = None
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._events: deque[effects.Event] = deque()
        self._feeding = False
        self._internal: dict[int, Callable[[bytes], None]] = {}
        self._next_internal = -1
        self._questions: dict[int, tuple[anyio.Event, list[Answer]]] = {}
        self._described: bytes | None = None

    # -- events in, commands out -------------------------------------------------------------------------------------
    def feed(self, event: effects.Event) -> None:
        """Give the guard an event and carry out what follows."""
        self._events.append(event)
        if self._feeding:
            return
        self._feeding = True
        try:
            while self._events:
                event = self._events.popleft()
                try:
                    self.carry_out(self.guard.handle(event))
                except Exception:
                    self._contain(event)
        finally:
            self._feeding = False

    def _contain(self, event: effects.Event) -> None:
        """A fault of the guard's own ends the client whose message met it, and nobody else."""
        _log.exception("the guard failed on %s", type(event).__name__)
        self.carry_out(self.guard.salvage(event))
        if isinstance(event, effects.ClientSaid):
            self.server.close(
                event.client, 1011, "the guard failed on this connection's message; see its log"
            )

    def carry_out(self, commands: list[effects.Command]) -> None:
        """Carry out the guard's commands in order."""
        for command in commands:
            match command:
                case effects.SendClient(client, data):
                    if client in self._internal:
                        self._internal[client](data)
                    else:
                        self.server.send(client, data)
                case effects.SendUpstream(data):
                    if self.upstream is not None:
                        self.upstream.send(data)
                case effects.AskBridge(request, method, params):
                    self._ask_bridge(request, method, params)
                case effects.StartTimer(timer, seconds):
                    self._timers[timer] = asyncio.get_running_loop().call_later(seconds, self._rang, timer)
                case effects.CancelTimer(timer):
                    if (handle := self._timers.pop(timer, None)) is not None:
                        handle.cancel()
                case effects.CloseClient(client, code, reason):
                    self.server.close(client, code, reason)
                case effects.Report():
                    self._report(command)

    def close(self) -> None:
        """Stop the timers."""
        for handle in self._timers.values():
            handle.cancel()
        self._timers.clear()

    def _rang(self, timer: int) -> None:
        self._timers.pop(timer, None)
        self.feed(effects.TimerRang(timer))

    def _report(self, report: effects.Report) -> None:
        _log.debug("%s %s", report.kind, report.facts)
        if report.kind == "guard.started":
            self.started.set()
        for watcher in list(self.watchers):
            try:
                watcher(report)
            except Exception:
                # A fault of somebody else's function must not end a client or the app's connection.
                _log.exception("a watcher failed on %s", report.kind)

    # -- the app -----------------------------------------------------------------------------------------------------
    async def run_upstream(self, upstream: Upstream) -> None:
        """Carry the app's messages until it is gone."""
        self.upstream = upstream
        self.carry_out(self.guard.start())
        self.lost = await upstream.run(lambda data: self.feed(effects.UpstreamSaid(data)))
        self.upstream = None
        self.feed(effects.UpstreamLost(self.lost))

    # -- the bridge --------------------------------------------------------------------------------------------------
    def _ask_bridge(self, request: int, method: str, params: dict[str, Any]) -> None:
        if self.link is None:
            error = {"code": "bridge-lost", "message": "there is no bridge"}
            self.feed(effects.BridgeAnswered(request, None, error))
            return
        try:
            self.link.send({"id": request, "method": method, "params": params})
        except ValueError as fault:  # half a surrogate pair, which JSON has and UTF-8 has not
            error = {"code": "failed", "message": f"the request cannot be written: {fault}"}
            self.feed(effects.BridgeAnswered(request, None, error))

    async def _ask(self, method: str) -> Mapping[str, Any]:
        """Ask the bridge for the hub itself; the guard's own questions have numbers above zero."""
        if self.link is None or not self.link.connected:
            raise description.NotDescribed("there is no bridge in it to read one")
        number = self._next_internal
        self._next_internal -= 1
        answered, box = self._questions[number] = (anyio.Event(), [])
        try:
            self.link.send({"id": number, "method": method})
            await answered.wait()
        finally:
            del self._questions[number]
        if box[0].error is not None:
            raise description.NotDescribed(f"the app's bridge failed: {box[0].error.message}")
        return box[0].result or {}

    def bridge_said(self, message: BridgeEvent) -> None:
        """A message of the bridge."""
        match message:
            case Answer(request) if request < 0:
                if (question := self._questions.get(request)) is not None:
                    question[1].append(message)
                    question[0].set()
            case Answer(request, result, error):
                failure = error.model_dump() if error is not None else None
                self.feed(
                    effects.BridgeAnswered(request, dict(result) if result is not None else None, failure)
                )
            case Notice(name, params):
                self.feed(effects.BridgeTold(name, dict(params)))
            case Connected(hello):
                self.feed(effects.BridgeJoined(hello.model_dump(exclude={"token", "type"})))
                self.bridge_joined.set()
            case Lost():
                self.feed(effects.BridgeLeft())

    # -- clients (the server's peer) ---------------------------------------------------------------------------------
    def joined(self, client: int, target_id: str | None) -> None:
        """A client's WebSocket is open."""
        self.feed(effects.ClientJoined(client, target_id))

    def said(self, client: int, data: bytes) -> None:
        """A client's message."""
        self.feed(effects.ClientSaid(client, data))

    def left(self, client: int) -> None:
        """A client is gone."""
        self.feed(effects.ClientLeft(client))

    def holds(self, client: int) -> bool:
        """Whether a client holds something down in a guest, or can keep a page waiting."""
        return self.guard.holds(client)

    def refuse_upgrade(self, path: str) -> Refusal | str | None:
        """Where a WebSocket path leads."""
        match path.split("?")[0].strip("/").split("/"):
            case ["devtools", "browser", *_]:
                return None
            case ["devtools", "page", target_id] if self.guard.tree.guest_of(target_id) is not None:
                return target_id
            case ["devtools", "page", target_id]:
                return Refusal(404, f"No such target id: {target_id}")
        return Refusal(404, "WebSockets are at /devtools/browser/focusguard and /devtools/page/{id}")

    # -- HTTP discovery ----------------------------------------------------------------------------------------------
    async def http(self, method: str, path: str) -> tuple[int, str, bytes]:
        """Answer a discovery request."""
        where, _, query = path.partition("?")
        match where.strip("/").split("/"):
            case ["json", "version"]:
                return 200, JSON, _json(self._version())
            case ["json"] | ["json", "list"]:
                return 200, JSON, _json([self._listed(guest) for guest in self.guard.tree.ready()])
            case ["json", "protocol"]:
                return await self._protocol()
            case ["json", "new"]:
                if method != "PUT":
                    return 405, "text/plain", b"use PUT, as Chromium asks for /json/new"
                return await self._perform("Target.createTarget", {"url": unquote(query) or "about:blank"})
            case ["json", "activate", target_id]:
                return await self._perform("Target.activateTarget", {"targetId": target_id})
            case ["json", "close", target_id]:
                return await self._perform("Target.closeTarget", {"targetId": target_id})
        return 404, "text/plain", b"unknown path; try /json/version or /json/list"

    async def _protocol(self) -> tuple[int, str, bytes]:
        """The app's own description; it is the same as long as the app runs."""
        if self._described is None:
            url = self.upstream.url if self.upstream is not None else None
            try:
                given = await (
                    description.from_port(url) if url is not None else description.from_bridge(self._ask)
                )
            except description.NotDescribed as fault:
                text = f"the app's protocol cannot be described: {fault}. Use your client's own copy."
                return 501, "text/plain", text.encode()
            self._described = _json(description.with_guard(given))
        return 200, JSON, self._described

    def _version(self) -> dict[str, Any]:
        product = self.guard.product
        with_bridge = self.guard.domain.bridge is not None
        return {
            "Browser": product.get("product", ""),
            "Protocol-Version": product.get("protocolVersion", ""),
            "User-Agent": product.get("userAgent", ""),
            "V8-Version": product.get("jsVersion", ""),
            "WebKit-Version": f"537.36 ({product.get('revision', '')})",
            "webSocketDebuggerUrl": self.browser_url,
            "FocusGuard": {
                "version": self.guard.domain.status()["version"],
                "mode": "bridge" if with_bridge else "no-bridge",
                "limits": [] if with_bridge else [WEAKER],
            },
        }

    @property
    def browser_url(self) -> str:
        """The WebSocket of the whole guard."""
        return self.server.access.browser_url

    def _listed(self, guest: Any) -> dict[str, Any]:
        info = shown_page(guest, attached=False)
        return {
            "id": info["targetId"],
            "type": info["type"],
            "title": info.get("title", ""),
            "url": info.get("url", ""),
            "description": "",
            "webSocketDebuggerUrl": f"ws://{self.server.access.base}/devtools/page/{info['targetId']}",
        }

    async def _perform(self, method: str, params: dict[str, Any]) -> tuple[int, str, bytes]:
        """Carry out a command as a client of one command would, through the same policy table."""
        client = self._next_internal
        self._next_internal -= 1
        answered = anyio.Event()
        answers: list[dict[str, Any]] = []

        def take(data: bytes) -> None:
            message = json.loads(data)
            if message.get("id") == 1:
                answers.append(message)
                answered.set()

        self._internal[client] = take
        self.joined(client, None)
        try:
            self.said(client, _json({"id": 1, "method": method, "params": params}))
            with anyio.move_on_after(HTTP_SECONDS):
                await answered.wait()
        finally:
            del self._internal[client]
            self.left(client)
        if not answers:
            return 504, "text/plain", b"the app did not answer in time"
        if "error" in answers[0]:
            message = answers[0]["error"]["message"]
            return (404 if "No target" in message else 403), "text/plain", messages.utf8(message)
        result = answers[0]["result"]
        guest = self.guard.tree.guests.get(result.get("targetId", ""))
        if method == "Target.createTarget" and guest is not None:
            return 200, JSON, _json(self._listed(guest))
        text = b"Target activated" if method == "Target.activateTarget" else b"Target is closing"
        return 200, "text/plain", text


def _json(value: Any) -> bytes:
    return messages.utf8(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
