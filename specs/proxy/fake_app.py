"""An app's CDP endpoint in this process, and a guard before it: real sockets towards clients, no Electron."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream
from websockets.asyncio.client import ClientConnection, connect

from focusguard.bridge.link import open_bridge_link
from focusguard.cdp.limits import DEFAULT_LIMITS, Limits
from focusguard.guard import _running
from focusguard.policy.guard import Guard, Options
from focusguard.proxy.front import Front
from focusguard.proxy.hub import Hub

Message = dict[str, Any]
TOKEN = "t0ken-of-the-spec"
GUEST = "GUEST0000000000000000000000000001"
VERSION = {
    "protocolVersion": "1.3",
    "product": "Chrome/130.0.0.0",
    "userAgent": "Mozilla/5.0 Electron/33",
    "jsVersion": "13.0",
    "revision": "@abc",
}


def open_files() -> set[str]:
    """The open descriptors of this process."""
    return {path.name for path in Path("/proc/self/fd").iterdir()}


class FakeApp:
    """Answers at once: one webview guest, and `Runtime.evaluate` gives its expression back.

    It is an `Upstream` as the pipe and the WebSocket are.
    """

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.sessions = 0
        self.silent: set[str] = set()
        self.url: str | None = None
        self._tell: Callable[[bytes], None] | None = None
        self._gone = anyio.Event()
        self.reason = "the app closed its debugging pipe"

    def send(self, data: bytes) -> None:
        """A message of the guard."""
        message = json.loads(data)
        self.sent.append(message)
        method = message["method"]
        if method in self.silent:
            return
        if method == "Target.setDiscoverTargets":
            self.event("Target.targetCreated", {"targetInfo": self.info(GUEST)})
        result: Message = {}
        if method == "Browser.getVersion":
            result = VERSION
        elif method == "Target.attachToTarget":
            self.sessions += 1
            result = {"sessionId": f"SESSION{self.sessions:025d}"}
        elif method == "Runtime.evaluate":
            result = {"result": {"value": message["params"].get("expression", "")}}
        self.say({"id": message["id"], "result": result, "sessionId": message.get("sessionId")})

    async def run(self, on_message: Callable[[bytes], None]) -> str:
        """Carry messages until the app is gone."""
        self._tell = on_message
        await self._gone.wait()
        return self.reason

    def go(self) -> None:
        """The app is gone."""
        self._gone.set()

    def event(self, method: str, params: Message, session: str | None = None) -> None:
        """An event of the app."""
        self.say({"method": method, "params": params, "sessionId": session})

    def say(self, message: Message) -> None:
        """A message to the guard, after what goes on now."""
        data = json.dumps({name: value for name, value in message.items() if value is not None}).encode()
        asyncio.get_running_loop().call_soon(self._deliver, data)

    def _deliver(self, data: bytes) -> None:
        if self._tell is not None and not self._gone.is_set():
            self._tell(data)

    @staticmethod
    def info(target_id: str) -> Message:
        """A guest as the app tells of it."""
        return {
            "targetId": target_id,
            "type": "webview",
            "title": "a guest",
            "url": "http://guest.test/",
            "attached": False,
            "canAccessOpener": False,
        }

    def got(self, method: str) -> list[Message]:
        """What the guard has sent of a method."""
        return [message for message in self.sent if message["method"] == method]


@dataclass
class Running:
    """A guard that accepts clients, and the app behind it."""

    hub: Hub
    app: FakeApp

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.hub.server.access.port

    @property
    def url(self) -> str:
        """The WebSocket of the whole guard."""
        return self.hub.browser_url

    @property
    def page_url(self) -> str:
        """The WebSocket of the guest."""
        return f"ws://{self.hub.server.access.base}/devtools/page/{GUEST}"

    async def get(self, path: str, *, method: str = "GET", headers: tuple[str, ...] | None = None) -> Reply:
        """One HTTP request, as it is written here; by default with the right Host."""
        lines = headers if headers is not None else (f"Host: 127.0.0.1:{self.port}",)
        request = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1")
        return await self.raw(request)

    async def raw(self, request: bytes, *, end: bool = False) -> Reply:
        """Bytes, and all that comes back until the guard closes."""
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            await stream.send(request)
            if end:
                await stream.send_eof()
            answer = b""
            with anyio.fail_after(5):
                while True:
                    try:
                        answer += await stream.receive()
                    except (anyio.EndOfStream, anyio.BrokenResourceError):
                        return Reply.read(answer)

    @asynccontextmanager
    async def client(self, url: str | None = None, **more: Any) -> AsyncIterator[Client]:
        """A WebSocket client."""
        options: dict[str, Any] = {
            "proxy": None,
            "compression": None,
            "max_size": None,
            "ping_interval": None,
            **more,
        }
        async with connect(url or self.url, **options) as connection:
            yield Client(connection)

    def slow_socket(self, receive_buffer: int = 4096) -> socket.socket:
        """A plain socket that takes next to nothing by itself."""
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.connect(("127.0.0.1", self.port))
        return plain


@dataclass
class Reply:
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @classmethod
    def read(cls, data: bytes) -> Reply:
        """Read one from all bytes of a connection; status 0: there was none."""
        if not data:
            return cls(0, {}, b"")
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return cls(int(first.split()[1]), headers, body)

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


class Client:
    """A WebSocket client that asks one thing after the other."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.events: list[Message] = []
        self._last = 0

    async def say(self, method: str, params: Message | None = None, session: str | None = None) -> int:
        """A command, not waited for."""
        self._last += 1
        message: Message = {"id": self._last, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        await self.connection.send(json.dumps(message))
        return self._last

    async def hear(self) -> Message:
        """The next message."""
        with anyio.fail_after(5):
            message: Message = json.loads(await self.connection.recv())
        return message

    async def ask(self, method: str, params: Message | None = None, session: str | None = None) -> Message:
        """A command and its answer; events on the way are kept."""
        number = await self.say(method, params, session)
        while True:
            message = await self.hear()
            if message.get("id") == number:
                return message
            self.events.append(message)

    async def attach(self) -> str:
        """A session on the guest."""
        answer = await self.ask("Target.attachToTarget", {"targetId": GUEST, "flatten": True})
        session: str = answer["result"]["sessionId"]
        return session


@asynccontextmanager
async def running(
    *,
    limits: Limits = DEFAULT_LIMITS,
    token: str | None = TOKEN,
    app: FakeApp | None = None,
    port: int | Front = 0,
) -> AsyncIterator[Running]:
    """A guard around a fake app, until the block ends."""
    hub = Hub(Guard(Options("1.0", pace="at-once", bridge_expected=False, limits=limits)), limits)
    fake = app or FakeApp()
    async with _running(hub, fake, port, token, wait_for_bridge=False):
        with anyio.fail_after(5):
            while not hub.guard.tree.ready():
                await anyio.sleep(0.005)
        yield Running(hub, fake)


@asynccontextmanager
async def bridge(guard: Running) -> AsyncIterator[SocketStream]:
    """A bridge that has joined the guard, for the block: what the guard says to it, and what it says."""
    async with open_bridge_link(guard.hub.bridge_said) as link:
        guard.hub.link = link
        async with await anyio.connect_unix(link.path) as stream:
            hello = {"type": "hello", "version": 1, "token": link.env["FOCUSGUARD_TOKEN"], "pid": 1}
            versions = {"electron": "33.2.1", "chromium": "130", "node": "20"}
            await stream.send(json.dumps({**hello, **versions}).encode() + b"\n")
            with anyio.fail_after(5):
                await guard.hub.bridge_joined.wait()
            yield stream
        with anyio.fail_after(5):
            while link.connected:
                await anyio.sleep(0.005)
