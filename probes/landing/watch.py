"""Watches which window is in front, from the display's own notifications: no change is too short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from Xlib import X

from focusguard.electron.display import Display


class FrontWatch:
    """The windows that became active, in order."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._connection: Any = display.connect()
        self._root = self._connection.screen().root
        self._atom = self._connection.intern_atom("_NET_ACTIVE_WINDOW")
        self._seen: list[int] = []
        self._titles: dict[int, str] = {}

    async def run(self) -> None:
        """Listens until it is cancelled."""
        self._root.change_attributes(event_mask=X.PropertyChangeMask)
        self._connection.flush()
        self._seen.append(self._read())
        while True:
            self._drain()
            await anyio.wait_readable(self._connection.fileno())

    def mark(self) -> int:
        """A position to give `changes` later."""
        self._drain()
        return len(self._seen)

    def changes(self, mark: int) -> list[str]:
        """Titles of the windows that came to the front since a mark, the one before them not counted."""
        self._drain()
        before = self._seen[mark - 1] if mark else 0
        changed = []
        for window in self._seen[mark:]:
            if window != before:
                changed.append(self._title(window))
            before = window
        return changed

    def close(self) -> None:
        """Closes its connection."""
        with suppress(OSError):
            self._connection.close()

    def _drain(self) -> None:
        while self._connection.pending_events():
            event = self._connection.next_event()
            if event.type == X.PropertyNotify and event.atom == self._atom:
                self._seen.append(self._read())

    def _read(self) -> int:
        value = self._root.get_full_property(self._atom, X.AnyPropertyType)
        return int(value.value[0]) if value is not None and len(value.value) else 0

    def _title(self, window: int) -> str:
        if window and window not in self._titles:
            self._titles.update({item.id: item.title for item in self._display.windows()})
        return self._titles.get(window, "none" if not window else f"window {window:#x}")


@asynccontextmanager
async def watch_front(display: Display) -> AsyncIterator[FrontWatch]:
    """Watches a display for as long as the context lasts."""
    watch = FrontWatch(display)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.run)
            await anyio.lowlevel.checkpoint()
            yield watch
            tasks.cancel_scope.cancel()
    finally:
        watch.close()
