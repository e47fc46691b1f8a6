"""The port that clients connect to. One can stay open over several guards, so that nobody else takes it in between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import SocketAttribute, SocketStream

from focusguard.electron.errors import PortTaken


class Front:
    """Accepts connections and hands each to the guard that is there. Made by `open_front`.

    Attributes:
        port: where it listens, on loopback.
    """

    def __init__(self, port: int, otherwise: Callable[[SocketStream], Awaitable[None]] | None) -> None:
        self.port = port
        self._otherwise = otherwise
        self._taken_by: Callable[[SocketStream], object] | None = None

    def lead(self, to: Callable[[SocketStream], object] | None) -> None:
        """From now on connections go to this function, which does not wait; None: to nobody."""
        self._taken_by = to

    async def take(self, stream: SocketStream) -> None:
        """A connection has been accepted."""
        if self._taken_by is not None:
            self._taken_by(stream)
        elif self._otherwise is not None:
            await self._otherwise(stream)
        else:
            await stream.aclose()


@asynccontextmanager
async def open_front(
    port: int, otherwise: Callable[[SocketStream], Awaitable[None]] | None = None
) -> AsyncIterator[Front]:
    """Listen until the block ends.

    Args:
        port: 0 takes a free one.
        otherwise: has the connections while no guard is there; they are closed where there is none.

    Yields:
        The front.

    Raises:
        PortTaken: somebody else listens there.
    """
    try:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError as fault:
        raise PortTaken(f"port {port} cannot be had: {fault.strerror}. Choose another port") from fault
    async with listener, anyio.create_task_group() as tasks:
        front = Front(listener.extra(SocketAttribute.local_port), otherwise)
        tasks.start_soon(listener.serve, front.take)
        yield front
        tasks.cancel_scope.cancel()
