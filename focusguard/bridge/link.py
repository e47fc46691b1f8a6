"""The guard's end of the link: listens in a private folder, lets one bridge in, passes messages both ways."""

import hmac
import json
import logging
import math
import secrets
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from pydantic import BaseModel, ValidationError

from focusguard.bridge import BRIDGE_SCRIPT
from focusguard.bridge.messages import (
    PROTOCOL_VERSION,
    Answer,
    AnswerLine,
    BridgeEvent,
    Connected,
    ErrorBody,
    EventLine,
    Hello,
    Lost,
    Notice,
    Refused,
    Request,
    Welcome,
)
from focusguard.electron.errors import LaunchFailed
from focusguard.electron.janitor import Janitor

HELLO_SECONDS = 5.0
"""How long a peer may take to prove itself."""
WRITE_SECONDS = 5.0
"""How long the app may leave the socket full before it is taken for lost."""
MAX_HELLO_BYTES = 16 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_QUEUED_REQUESTS = 1024
MAX_UNPROVEN_PEERS = 8

_log = logging.getLogger(__name__)


class BrokenProtocol(Exception):
    """A peer sent something that no message is."""


class LineTooLong(BrokenProtocol):
    """A peer sent more than the limit without a line end."""


class _Lines:
    """Cuts a byte stream into lines, with a limit that can be raised once the peer is known."""

    def __init__(self, stream: SocketStream, limit: int) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._seen = 0
        self.limit = limit

    async def next(self) -> bytes | None:
        """Return the next line without its end, or None at the end; a last line that was cut is dropped."""
        while True:
            at = self._buffer.find(b"\n", self._seen)
            if at > self.limit or (at < 0 and len(self._buffer) > self.limit):
                raise LineTooLong(f"a line of more than {self.limit} bytes")
            if at >= 0:
                line = bytes(self._buffer[:at])
                del self._buffer[: at + 1]
                self._seen = 0
                return line
            self._seen = len(self._buffer)
            try:
                self._buffer += await self._stream.receive(65536)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return None


class BridgeLink:
    """The guard's side of the bridge protocol. Make one with `open_bridge_link`.

    Attributes:
        path: the socket's path, in a folder that only this user can enter.
    """

    def __init__(self, path: Path, on_message: Callable[[BridgeEvent], None]) -> None:
        self.path = path
        self._token = secrets.token_hex(32)
        self._on_message = on_message
        self._peer: SocketStream | None = None
        self._unproven = 0
        self._waiting: set[int] = set()
        self._outgoing: MemoryObjectSendStream[bytes] | None = None
        self._local_in: MemoryObjectSendStream[Answer]
        self._local_out: MemoryObjectReceiveStream[Answer]
        self._local_in, self._local_out = anyio.create_memory_object_stream(math.inf)

    @property
    def env(self) -> dict[str, str]:
        """What the app needs in its environment; the bridge removes the two secrets from it at once."""
        return {
            "FOCUSGUARD_SOCKET": str(self.path),
            "FOCUSGUARD_TOKEN": self._token,
            "FOCUSGUARD_BRIDGE": str(BRIDGE_SCRIPT),
        }

    @property
    def connected(self) -> bool:
        """Whether a bridge that has proved itself is there."""
        return self._peer is not None

    def send(self, request: Mapping[str, Any]) -> None:
        """Queue a request `{"id", "method", "params"}`; never waits.

        Its answer comes through `on_message`, also when it cannot be sent: error code `bridge-lost` without a
        bridge, `bridge-busy` when too many requests wait to be written.
        """
        checked = Request.model_validate(request)
        if checked.id in self._waiting:
            raise ValueError(f"request id {checked.id} is already in use")
        if self._outgoing is None:
            self._refuse(checked.id, "bridge-lost", "no bridge is connected")
            return
        try:
            self._outgoing.send_nowait(_line(checked))
        except anyio.WouldBlock:
            self._refuse(checked.id, "bridge-busy", f"{MAX_QUEUED_REQUESTS} requests are waiting already")
            return
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._refuse(checked.id, "bridge-lost", "the bridge has just gone")
            return
        self._waiting.add(checked.id)

    def _refuse(self, request_id: int, code: str, message: str) -> None:
        # Later, not from inside `send`: the caller is in the middle of its own step.
        self._local_in.send_nowait(Answer(request_id, error=ErrorBody(code=code, message=message)))

    async def _deliver_local(self) -> None:
        async for answer in self._local_out:
            self._on_message(answer)

    async def _serve_peer(self, stream: SocketStream) -> None:
        async with stream:
            if self._unproven >= MAX_UNPROVEN_PEERS:
                return
            lines = _Lines(stream, MAX_HELLO_BYTES)
            self._unproven += 1
            try:
                hello = await self._admit(stream, lines)
            finally:
                self._unproven -= 1
            if hello is not None:
                lines.limit = MAX_LINE_BYTES
                await self._converse(stream, lines, hello)

    async def _admit(self, stream: SocketStream, lines: _Lines) -> Hello | None:
        """Read the first line; answer it. None: the peer was refused, or said nothing in time."""
        refusal: Refused | None = None
        hello: Hello | None = None
        with anyio.move_on_after(HELLO_SECONDS):
            try:
                line = await lines.next()
                if line is None:
                    return None
                hello = Hello.model_validate_json(line)
            except (ValidationError, BrokenProtocol):
                refusal = Refused(message="the first line is not a hello")
            if hello is not None:
                refusal = self._judge(hello)
            if refusal is None:
                return hello
            _log.warning("bridge refused: %s", refusal.message)
            await self._say(stream, refusal)
        return None

    def _judge(self, hello: Hello) -> Refused | None:
        # The token first: a stranger learns nothing about versions or about who is here.
        if not hmac.compare_digest(hello.token.encode(), self._token.encode()):
            return Refused(message="wrong token")
        if hello.version != PROTOCOL_VERSION:
            return Refused(message=f"version {hello.version}; this guard speaks {PROTOCOL_VERSION}")
        if self._peer is not None:
            return Refused(message="another bridge is connected", retry=True)
        return None

    @staticmethod
    async def _say(stream: SocketStream, message: BaseModel) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stream.send(_line(message))

    async def _converse(self, stream: SocketStream, lines: _Lines, hello: Hello) -> None:
        self._peer = stream
        outgoing, queue = anyio.create_memory_object_stream[bytes](MAX_QUEUED_REQUESTS)
        self._outgoing = outgoing
        reason = "the app closed the connection"
        try:
            await self._say(stream, Welcome())
            self._on_message(Connected(hello))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write, stream, queue)
                try:
                    while (line := await lines.next()) is not None:
                        self._take(line)
                except (ValidationError, BrokenProtocol) as error:
                    reason = f"the bridge broke the protocol: {str(error).splitlines()[0]}"
                self._outgoing = None
                outgoing.close()
                _hang_up(stream)
        finally:
            self._peer = None
            self._outgoing = None
            outgoing.close()
            queue.close()
            self._lose(reason)

    async def _write(self, stream: SocketStream, queue: MemoryObjectReceiveStream[bytes]) -> None:
        async for line in queue:
            try:
                with anyio.fail_after(WRITE_SECONDS):
                    await stream.send(line)
            except (TimeoutError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                _hang_up(stream)
                return

    def _take(self, line: bytes) -> None:
        if not line:
            return
        try:
            message = json.loads(line)
        except ValueError as error:
            raise BrokenProtocol("a line that is not JSON") from error
        if not isinstance(message, dict):
            raise BrokenProtocol("a line that is not an object")
        if "event" in message:
            event = EventLine.model_validate(message)
            self._on_message(Notice(event.event, event.params))
            return
        answer = AnswerLine.model_validate(message)
        if answer.id not in self._waiting:
            _log.warning("the bridge answered a request that was not asked: %s", answer.id)
            return
        self._waiting.discard(answer.id)
        if answer.error is not None:
            self._on_message(Answer(answer.id, error=answer.error))
        else:
            self._on_message(Answer(answer.id, result=answer.result or {}))

    def _lose(self, reason: str) -> None:
        waiting = sorted(self._waiting)
        self._waiting.clear()
        for request_id in waiting:
            error = ErrorBody(code="bridge-lost", message=f"the bridge went before it answered ({reason})")
            self._on_message(Answer(request_id, error=error))
        self._on_message(Lost(reason))


def _hang_up(stream: SocketStream) -> None:
    """End a connection by the socket, so that its reader and writer end by themselves.

    To cancel a wait for a socket in the turn of the loop in which it gets ready is an InvalidStateError in asyncio.
    """
    with suppress(OSError):
        stream.extra(SocketAttribute.raw_socket).shutdown(socket.SHUT_RDWR)


def _line(message: BaseModel) -> bytes:
    return message.model_dump_json().encode() + b"\n"


@asynccontextmanager
async def open_bridge_link(
    on_message: Callable[[BridgeEvent], None], *, janitor: Janitor | None = None
) -> AsyncIterator[BridgeLink]:
    """Listen for the bridge until the block ends.

    Args:
        on_message: told, in order and from this event loop, of everything the bridge says. It must not block
            and must not raise.
        janitor: removes the socket if this process is killed.

    Yields:
        The link. Start the app with `link.env` added to its environment.

    Raises:
        LaunchFailed: no socket can be made in the temporary folder.
    """
    folder = Path(tempfile.mkdtemp(prefix="focusguard-"))
    if janitor is not None:
        janitor.watch_path(folder)
    failed: Exception | None = None
    try:
        folder.chmod(0o700)
        link = BridgeLink(folder / "bridge.sock", on_message)
        try:
            listener = await anyio.create_unix_listener(link.path, mode=0o600)
        except OSError as error:  # a path of more than 107 bytes, above all
            raise LaunchFailed(
                f"no socket for the bridge can be made at {link.path}: {error}; set TMPDIR to another, shorter path"
            ) from error
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(link._deliver_local)
            tasks.start_soon(listener.serve, link._serve_peer)
            try:
                yield link
            except Exception as error:
                # Not from inside the task group: it would wrap the caller's own error in a group.
                failed = error
            tasks.cancel_scope.cancel()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if janitor is not None:
            janitor.release_path(folder)
    if failed is not None:
        raise failed
