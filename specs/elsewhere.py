"""Another program's window on the isolated display: it only takes the person's keys, and says which."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from Xlib import X

from focusguard.electron.display import Display

TITLE = "another program"


class Elsewhere:
    """The window.

    Attributes:
        id: Its X window id.
    """

    def __init__(self, display: Display) -> None:
        self._display = display
        self._connection: Any = display.connect()
        screen = self._connection.screen()
        self._window = screen.root.create_window(
            *(20, 760, 300, 100, 0, screen.root_depth),
            background_pixel=screen.white_pixel,
            event_mask=X.KeyPressMask | X.FocusChangeMask,
        )
        self._window.set_wm_name(TITLE)
        self._window.set_wm_hints(flags=1, input=1)
        self._typed: list[str] = []
        self._lost = 0
        self.id = int(self._window.id)

    async def activate(self) -> None:
        """Brings it to the front, as the person's task bar does, and waits until it is there."""
        self._window.map()
        self._connection.flush()
        await self._display.wait_for_window(lambda window: window.id == self.id)
        self._display.activate(self.id)
        await self._display.wait_for_window(lambda window: window.id == self.id, active=True)
        with anyio.fail_after(5):
            while self._connection.get_input_focus().focus != self._window:
                await anyio.sleep(0.01)
        self._read()
        self._lost = 0

    def hide(self) -> None:
        """Takes it off the screen and forgets what was typed."""
        self._read()
        self._typed.clear()
        self._window.unmap()
        self._connection.sync()

    @property
    def typed(self) -> str:
        """The characters that were typed into it."""
        self._read()
        return "".join(self._typed)

    @property
    def times_left(self) -> int:
        """How often it has lost the focus since it was activated."""
        self._read()
        return self._lost

    def close(self) -> None:
        """Destroys it."""
        self._window.destroy()
        self._connection.sync()
        self._connection.close()

    def _read(self) -> None:
        self._connection.sync()
        while self._connection.pending_events():
            event = self._connection.next_event()
            if event.type == X.FocusOut:
                self._lost += 1
            elif event.type == X.KeyPress:
                shifted = bool(event.state & X.ShiftMask)
                keysym = self._connection.keycode_to_keysym(event.detail, int(shifted))
                if 0x20 <= keysym <= 0x7E:
                    self._typed.append(chr(keysym))


@asynccontextmanager
async def elsewhere(display: Display) -> AsyncIterator[Elsewhere]:
    """Opens the window, out of sight until it is activated."""
    window = Elsewhere(display)
    try:
        yield window
    finally:
        window.close()
