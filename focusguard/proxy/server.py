"""The server that clients connect to: HTTP discovery and WebSockets on one loopback port.

Framing is the websockets library's protocol core; this shell reads, writes, and counts what a client leaves unread.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Protocol

import anyio
from anyio.abc import SocketStream
from websockets.datastructures import Headers
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol

from focusguard.cdp.limits import Limits
from focusguard.proxy.access import Access, Refusal
from focusguard.proxy.front import Front, open_front

CHUNK = 1 << 18
#: Seconds for a client to take its last bytes when its connection is ended.
CLOSE_SECONDS = 2.0
#: A line of a request's head beyond which the protocol decides, and the largest body that is passed over, bytes.
LONGEST_LINE = 1 << 14
LARGEST_BODY = 1 << 16
#: Sockets beyond the clients, for discovery and for requests that are still being read.
SPARE_SOCKETS = 64

_log = logging.getLogger("focusguard.server")


class Peer(Protocol):
    """Who is behind the server: the hub."""

    def joined(self, client: int, target_id: str | None) -> None:
        """A client's WebSocket is open."""

    def said(self, client: int, data: bytes) -> None:
        """A client's message."""

    def left(self, client: int) -> None:
        """A client is gone."""

    def holds(self, client: int) -> bool:
        """Whether a client holds something down in a guest, or can keep a page waiting."""

    def refuse_upgrade(self, path: str) -> Refusal | str | None:
        """Where a WebSocket path leads: None the browser, a target id, or a refusal."""

    async def http(self, method: str, path: str) -> tuple[int, str, bytes]:
        """Answer an HTTP request: status, content type, body."""


class Connection:
    """One client's WebSocket."""

    def __init__(self, client: int, stream: SocketStream, protocol: ServerProtocol, limits: Limits) -> None:
        self.client = client
        self._stream = stream
        self._protocol = protocol
        self._limits = limits
        self._outgoing: list[bytes] = []
        self._unsent = 0
        self._more = anyio.Event()
        self._ended = False
        self.scope = anyio.CancelScope()
        self.heard_at = anyio.current_time()

    def send(self, data: bytes) -> None:
        """Queue one text message; a client that leaves too much unread is ended."""
        if self._ended or self._protocol.state is not State.OPEN:
            return
        self._protocol.send_text(data)
        self.flush()

    def ping(self) -> None:
        """Ask for a sign of life."""
        if not self._ended and self._protocol.state is State.OPEN:
            self._protocol.send_ping(b"")
            self.flush()

    def close(self, code: int, reason: str) -> None:
        """Begin to end the connection; a client that does not take its last bytes is cut off."""
        if not self._ended and self._protocol.state is State.OPEN:
            self._protocol.send_close(code, reason)
            self._gather()
        self._ended = True
        self.scope.deadline = min(self.scope.deadline, anyio.current_time() + CLOSE_SECONDS)
        self._more.set()

    def flush(self) -> None:
        """Take what the protocol wants written: messages, and answers to pings that a client may send without end."""
        self._gather()
        if self._unsent > self._limits.outgoing_bytes and not self._ended:
            _log.warning(
                "client %d leaves %d bytes unread: its connection is ended", self.client, self._unsent
            )
            self._outgoing.clear()
            self._unsent = 0
            self.close(CloseCode.TRY_AGAIN_LATER, f"more than {self._limits.outgoing_bytes} bytes unread")

    def _gather(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._outgoing.append(data)
                self._unsent += len(data)
        if self._outgoing:
            self._more.set()

    async def write(self) -> None:
        """Write until the connection ends; one write for everything that has gathered."""
        while True:
            await self._more.wait()
            self._more = anyio.Event()
            while self._outgoing:
                batch, self._outgoing = self._outgoing, []
                data = batch[0] if len(batch) == 1 else b"".join(batch)
                await self._stream.send(data)
                self._unsent = sum(map(len, self._outgoing))
            if self._ended:
                return


class Server:
    """Accepts clients and carries their messages to the peer."""

    def __init__(self, peer: Peer, limits: Limits) -> None:
        self._peer = peer
        self._limits = limits
        self._connections: dict[int, Connection] = {}
        self._sockets = 0
        self._next = 1
        self.access: Access

    @asynccontextmanager
    async def listen(self, port: int | Front, token: str | None) -> AsyncIterator[None]:
        """Take clients until the block ends: on loopback, where port 0 takes a free one, or those of an open front."""
        async with AsyncExitStack() as stack:
            front = port if isinstance(port, Front) else await stack.enter_async_context(open_front(port))
            self.access = Access(front.port, token)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            front.lead(lambda stream: tasks.start_soon(self._serve, stream))
            try:
                yield
            finally:
                front.lead(None)
                for connection in list(self._connections.values()):
                    connection.close(CloseCode.GOING_AWAY, "the guard is stopping")
                with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_SECONDS):
                    while self._connections:
                        await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()

    def send(self, client: int, data: bytes) -> None:
        """Send a message to a client, if it is still there."""
        connection = self._connections.get(client)
        if connection is not None:
            connection.send(data)

    def close(self, client: int, code: int, reason: str) -> None:
        """End a client's connection."""
        connection = self._connections.get(client)
        if connection is not None:
            connection.close(code, reason)

    # -- one connection ----------------------------------------------------------------------------------------------
    async def _serve(self, stream: SocketStream) -> None:
        async with stream:
            if self._sockets >= self._limits.clients + SPARE_SOCKETS:
                _log.warning("%d connections are open: one more was ended", self._sockets)
                return
            self._sockets += 1
            try:
                await self._converse(stream)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                return
            except Exception:  # a fault met by one connection must not end the others
                _log.exception("the server failed on a connection")
            finally:
                self._sockets -= 1

    async def _converse(self, stream: SocketStream) -> None:
        protocol = ServerProtocol(max_size=self._limits.message_bytes)
        request: Request | None = None
        with anyio.move_on_after(self._limits.handshake_seconds):
            request = await read_request(stream, protocol)
        if request is None:
            return
        path = self.access.check(request.path, list(request.headers.raw_items()))
        if isinstance(path, Refusal):
            await answer(stream, path.status, "text/plain", path.text.encode())
        elif not any("websocket" in value.lower() for value in request.headers.get_all("Upgrade")):
            status, content_type, body = await self._peer.http(request.method, path)
            await answer(stream, status, content_type, body)
        else:
            await self._upgrade(stream, protocol, request, path)

    async def _upgrade(
        self, stream: SocketStream, protocol: ServerProtocol, request: Request, path: str
    ) -> None:
        where = self._peer.refuse_upgrade(path)
        if len(self._connections) >= self._limits.clients:
            where = Refusal(503, f"{self._limits.clients} clients are connected already")
        if isinstance(where, Refusal):
            await answer(stream, where.status, "text/plain", where.text.encode())
            return
        response = protocol.accept(request)
        protocol.send_response(response)
        client = self._next
        self._next += 1
        connection = Connection(client, stream, protocol, self._limits)
        connection.flush()
        if response.status_code != 101:
            connection.close(CloseCode.PROTOCOL_ERROR, "")
            await connection.write()
            return
        self._connections[client] = connection
        self._peer.joined(client, where)
        try:
            with connection.scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._write, connection)
                    tasks.start_soon(self._watch_life, connection)
                    await self._read(stream, protocol, connection)
                    connection.close(CloseCode.NORMAL_CLOSURE, "")
        finally:
            del self._connections[client]
            self._peer.left(client)

    async def _write(self, connection: Connection) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await connection.write()
        # What was said is written, or nobody takes it: there is nothing more to read either.
        connection.scope.cancel()

    async def _watch_life(self, connection: Connection) -> None:
        """A stopped process keeps its connection: it must not keep a key down or a page paused for ever."""
        bound = self._limits.silent_seconds
        while True:
            await anyio.sleep(bound / 3)
            if anyio.current_time() - connection.heard_at > bound and self._peer.holds(connection.client):
                _log.warning(
                    "client %d gave no sign of life for %g s: its connection is ended",
                    connection.client,
                    bound,
                )
                why = f"no sign of life for {bound:g} s while you hold a page: answer pings"
                connection.close(CloseCode.POLICY_VIOLATION, why)
                return
            connection.ping()

    async def _read(self, stream: SocketStream, protocol: ServerProtocol, connection: Connection) -> None:
        fragments: list[bytes] = []
        while True:
            for event in protocol.events_received():
                if isinstance(event, Frame) and not self._take(connection, event, fragments):
                    protocol.fail(CloseCode.UNSUPPORTED_DATA, "CDP messages are text")
                    break
            connection.flush()
            if protocol.state is not State.OPEN or protocol.close_expected():
                return
            try:
                data = await stream.receive(CHUNK)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            connection.heard_at = anyio.current_time()
            protocol.receive_data(data)

    def _take(self, connection: Connection, frame: Frame, fragments: list[bytes]) -> bool:
        """Take a frame; whether it is one that a client may send."""
        if frame.opcode is Opcode.BINARY:
            return False
        if frame.opcode is Opcode.TEXT and frame.fin:
            self._peer.said(connection.client, bytes(frame.data))
        elif frame.opcode in (Opcode.TEXT, Opcode.CONT):
            fragments.append(bytes(frame.data))
            if frame.fin:
                whole = b"".join(fragments)
                fragments.clear()
                self._peer.said(connection.client, whole)
        return True


async def read_request(stream: SocketStream, protocol: ServerProtocol) -> Request | None:
    """Read a request, and pass over its body: nothing here depends on one, but pychrome sends one with every GET."""
    waiting, body = b"", 0
    try:
        while True:
            line, end, rest = waiting.partition(b"\r\n")
            if not end and len(waiting) <= LONGEST_LINE:
                waiting += await stream.receive(CHUNK)
                continue
            waiting = rest
            if (length := _body_length(line)) is not None:
                body = length  # the protocol refuses a request that has one
                continue
            protocol.receive_data(line + end)
            if not line:
                while len(waiting) < body:
                    waiting += await stream.receive(CHUNK)
                if len(waiting) > body:
                    protocol.receive_data(waiting[body:])
            for event in protocol.events_received():
                if isinstance(event, Request):
                    return event
            for data in protocol.data_to_send():
                if not data:
                    return None
                await stream.send(data)
    except anyio.EndOfStream:
        return None


def _body_length(line: bytes) -> int | None:
    """What a line of a request's head says of the length of its body, where that is a length to be waited for."""
    name, _, value = line.partition(b":")
    if name.lower() != b"content-length" or not value.strip().isdigit():
        return None
    length = int(value)
    return length if length <= LARGEST_BODY else None


async def answer(stream: SocketStream, status: int, content_type: str, body: bytes) -> None:
    """Answer a request with all that its connection gets."""
    headers = Headers(
        [
            ("Content-Type", f"{content_type}; charset=UTF-8"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Connection", "close"),
        ]
    )
    await stream.send(Response(status, HTTPStatus(status).phrase, headers, body).serialize())
