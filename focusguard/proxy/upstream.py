"""Ways to the app's CDP endpoint."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from focusguard.electron.errors import UpstreamFailed

#: Largest read at once, bytes.
CHUNK = 1 << 20
CONNECT_SECONDS = 10.0


class Upstream(Protocol):
    """A way to the app. `run` reads until the app is gone; `send` never waits.

    Attributes:
        url: the app's browser WebSocket; None where it has no port.
    """

    url: str | None

    def send(self, data: bytes) -> None:
        """Queue one message."""

    async def run(self, on_message: Callable[[bytes], None]) -> str:
        """Pass on messages until the app is gone; gives the reason."""


class PipeUpstream:
    """CDP over `--remote-debugging-pipe`: JSON that ends with a NUL byte.

    Args:
        read_fd: where the app writes; closed at the end.
        write_fd: where the app reads; closed at the end.
    """

    url: str | None = None

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self._backlog: deque[memoryview] = deque()
        self._more = anyio.Event()
        self._closed = False

    def send(self, data: bytes) -> None:
        """Write at once what the pipe takes, queue the rest."""
        if self._closed:
            return
        rest = memoryview(data + b"\0")
        if not self._backlog:
            rest = self._write(rest)
        if rest:
            self._backlog.append(rest)
            self._more.set()

    def _write(self, data: memoryview) -> memoryview:
        try:
            while data:
                data = data[os.write(self._write_fd, data) :]
        except BlockingIOError:
            pass
        except OSError:
            self._closed = True
            return data[:0]
        return data

    async def run(self, on_message: Callable[[bytes], None]) -> str:
        """Read until the app closes its end."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._flush)
                reason = await self._read(on_message)
                tasks.cancel_scope.cancel()
        finally:
            self._closed = True
            for descriptor in (self._read_fd, self._write_fd):
                with suppress(OSError):
                    os.close(descriptor)
        return reason

    async def _read(self, on_message: Callable[[bytes], None]) -> str:
        parts: list[bytes] = []
        while True:
            try:
                chunk = os.read(self._read_fd, CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._read_fd)
                continue
            except OSError as fault:
                return f"the debugging pipe broke: {fault}"
            if not chunk:
                return "the app closed its debugging pipe"
            first, *others = chunk.split(b"\0")
            parts.append(first)
            if others:
                on_message(b"".join(parts))
                for whole in others[:-1]:
                    on_message(whole)
                parts = [others[-1]]
            # A flood of events must not keep clients from being heard.
            await anyio.lowlevel.checkpoint()

    async def _flush(self) -> None:
        while True:
            await self._more.wait()
            while self._backlog:
                rest = self._write(self._backlog[0])
                if rest:
                    self._backlog[0] = rest
                    await anyio.wait_writable(self._write_fd)
                else:
                    self._backlog.popleft()
            self._more = anyio.Event()


class WebSocketUpstream:
    """CDP over the app's own debugging port."""

    def __init__(self, connection: ClientConnection, url: str) -> None:
        self.url: str | None = url
        self._connection = connection
        self._backlog: deque[bytes] = deque()
        self._more = anyio.Event()

    @classmethod
    async def open(cls, url: str) -> WebSocketUpstream:
        """Connect to `ws://…/devtools/browser/…`.

        Raises:
            UpstreamFailed: nothing answers there.
        """
        try:
            connection = await connect(
                url,
                max_size=None,
                compression=None,
                ping_interval=None,
                open_timeout=CONNECT_SECONDS,
                proxy=None,  # the app is on this machine, whatever proxy the environment names
            )
        except (OSError, TimeoutError, InvalidHandshake) as fault:
            raise UpstreamFailed(
                f"no CDP endpoint answers at {url} ({fault}). Start the app with --remote-debugging-port"
            ) from fault
        return cls(connection, url)

    def send(self, data: bytes) -> None:
        """Queue one message."""
        self._backlog.append(data)
        self._more.set()

    async def run(self, on_message: Callable[[bytes], None]) -> str:
        """Read until the connection ends."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._flush)
                reason = await self._read(on_message)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await self._connection.close()
        return reason

    async def _read(self, on_message: Callable[[bytes], None]) -> str:
        try:
            while True:
                on_message(await self._connection.recv(decode=False))
        except ConnectionClosed as fault:
            return f"the app closed its debugging connection ({fault})"

    async def _flush(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                await self._more.wait()
                while self._backlog:
                    await self._connection.send(self._backlog.popleft(), text=True)
                self._more = anyio.Event()
