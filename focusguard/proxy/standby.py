"""What clients hear at a port that stays open while there is no guard behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
from anyio.abc import SocketAttribute, SocketStream
from websockets.server import ServerProtocol

from focusguard.cdp.limits import DEFAULT_LIMITS, Limits
from focusguard.proxy.access import Access, Refusal
from focusguard.proxy.server import answer, read_request

NOBODY_HERE = "no app is guarded here just now; connect again when it runs, with the same endpoint"


def standby(token: str, limits: Limits = DEFAULT_LIMITS) -> Callable[[SocketStream], Awaitable[None]]:
    """A function that answers each connection with 503, or with what is wrong with its request.

    Args:
        token: what clients must show, as to the guard.
        limits: bounds on the time for a request and on how many are read at once.
    """
    room = anyio.CapacityLimiter(limits.clients)

    async def turn_away(stream: SocketStream) -> None:
        async with stream:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.WouldBlock):
                room.acquire_on_behalf_of_nowait(stream)
                try:
                    with anyio.move_on_after(limits.handshake_seconds):
                        await _turn_away(stream, token, limits)
                finally:
                    room.release_on_behalf_of(stream)

    return turn_away


async def _turn_away(stream: SocketStream, token: str, limits: Limits) -> None:
    request = await read_request(stream, ServerProtocol(max_size=limits.message_bytes))
    if request is None:
        return
    access = Access(stream.extra(SocketAttribute.local_port), token)
    path = access.check(request.path, list(request.headers.raw_items()))
    refusal = path if isinstance(path, Refusal) else Refusal(503, NOBODY_HERE)
    await answer(stream, refusal.status, "text/plain", refusal.text.encode())
