"""Whose fingers are down: in one window, one guest at a time.

Chromium routes the touches of a window by one table for all the pages in it: a touch that starts while another page is
being touched goes to that other page (content/browser/renderer_host/render_widget_host_input_event_router.cc; measured
in specs/electron/test_two_guests.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from focusguard.cdp.targets import Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.flow import Acquire, Flow, Lock, TimedOut
from focusguard.policy.held import TOUCH

#: Seconds to wait for the fingers in another guest of the same window to be lifted.
TURN_SECONDS = 5.0


@dataclass(slots=True)
class _Window:
    lock: Lock = field(default_factory=Lock)
    holder: Guest | None = None


class TouchTurns:
    """Lets one guest of each window be touched at a time."""

    def __init__(self) -> None:
        self._windows: dict[int, _Window] = {}

    @staticmethod
    def apply(guest: Guest, method: str) -> bool:
        """Whether a command is a touch in a guest that shares its window's table."""
        return method == TOUCH and guest.inner and guest.host_id is not None

    def take(self, guest: Guest, params: dict[str, Any]) -> Flow[None]:
        """Wait until a touch can start; everything else goes on at once.

        Raises:
            GuardError: another guest is still being touched.
        """
        if params.get("type") != "touchStart" or guest.host_id is None:
            return
        window = self._windows.setdefault(guest.host_id, _Window())
        if window.holder is guest:
            return
        try:
            yield Acquire(window.lock, TURN_SECONDS)
        except TimedOut:
            raise GuardError(
                Code.FOCUS_GUARD_UNAVAILABLE,
                f"another page of the window was still being touched after {TURN_SECONDS:g} s; nothing was sent",
            ) from None
        window.holder = guest

    def drop(self, guest: Guest) -> None:
        """Nothing is touched in a guest any more."""
        window = self._windows.get(guest.host_id) if guest.host_id is not None else None
        if window is not None and window.holder is guest:
            window.holder = None
            window.lock.release()
