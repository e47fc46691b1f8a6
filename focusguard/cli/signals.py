"""SIGTERM, as one asks a service to end: what was begun is cleaned up, as for Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import anyio

from focusguard.groups import single_error


async def until_terminated(work: Callable[[], Awaitable[None]]) -> bool:
    """Do something until it has ended, or until SIGTERM.

    Args:
        work: what to do; it is cancelled by the signal.

    Returns:
        Whether the signal has ended it.
    """
    terminated = False
    with single_error(), anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                nonlocal terminated
                async for _ in signals:
                    terminated = True
                    tasks.cancel_scope.cancel()

            tasks.start_soon(listen)
            await work()
            tasks.cancel_scope.cancel()
    return terminated
