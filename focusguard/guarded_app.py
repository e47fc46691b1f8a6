"""An app behind the guard for the length of a block, in whatever kind of test or fixture that block stands."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import anyio

from focusguard import sync
from focusguard.electron.errors import RigError
from focusguard.guard import RunningGuard, launch


class GuardedApp:
    """Starts an app behind the guard on entering, and ends both on leaving.

    `async with` gives a `RunningGuard` on the running event loop, `with` a `focusguard.sync.Guard` in a thread of its
    own.

    Args:
        arguments: those of `focusguard.launch`.
        options: those of `focusguard.launch`.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._arguments = arguments
        self._options = options
        self._blocking: AbstractContextManager[sync.Guard]
        self._holder: asyncio.Task[None]
        self._started: asyncio.Event
        self._leave: asyncio.Event
        self._guard: RunningGuard

    def __enter__(self) -> sync.Guard:
        self._blocking = sync.launch(*self._arguments, **self._options)
        return self._blocking.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._blocking.__exit__(kind, error, trace)

    async def __aenter__(self) -> RunningGuard:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RigError(
                "the guard runs on asyncio: have the fixture anyio_backend return 'asyncio', "
                "or use `with` instead of `async with`"
            ) from None
        self._started, self._leave = asyncio.Event(), asyncio.Event()
        # In a task of its own, because pytest-asyncio begins and ends an async fixture in two different ones, and a
        # task group must end in the task in which it has begun.
        self._holder = loop.create_task(self._hold())
        try:
            await self._started.wait()
        except BaseException:
            self._holder.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([self._holder])
            raise
        if self._holder.done():
            self._holder.result()  # raises why it could not be started
        return self._guard

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave.set()
        with anyio.CancelScope(shield=True):
            await self._holder

    async def _hold(self) -> None:
        try:
            async with launch(*self._arguments, **self._options) as self._guard:
                self._started.set()
                await self._leave.wait()
        except BaseException:
            # Whoever waits for the start sees the error as soon as this task has ended.
            asyncio.get_running_loop().call_soon(self._started.set)
            raise
