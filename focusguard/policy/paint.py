"""Commands that wait for a frame, in a guest that is not painted: a named error instead of no answer.

Measured on Electron 33.2.1 (webview): while it is `visibility: hidden`, `display: none`, or its window is minimised or
hidden, screenshots are never answered; in the last two, wheel events neither. Presses and keys are.
"""

from __future__ import annotations

from typing import Any

from focusguard.cdp.targets import Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.evidence import Worlds
from focusguard.policy.flow import Await, Flow, FlowFault, Handle, TimedOut
from focusguard.policy.wire import LATE_SECONDS, Caller, Wire

#: Milliseconds in which a guest that is painted gets a frame: in a window that was never shown it is one in a second.
FRAME_MS = 1500
ANSWER_SECONDS = 3.0

DETAIL = "the guest is not painted, so this does not complete now; it may take effect when the guest is shown again"


class PaintWatch:
    """Asks a guest for a frame when a command that needs one is late."""

    def __init__(self, wire: Wire, worlds: Worlds) -> None:
        self._wire = wire
        self._worlds = worlds
        self._looking: set[int] = set()

    def look_into(self, guest: Guest, caller: Caller) -> None:
        """Answer the command with `browser_target_hidden` if the guest gives no frame."""
        number = id(caller)
        if number in self._looking:
            return
        self._looking.add(number)

        def looked(painted: bool) -> None:
            self._looking.discard(number)
            if not painted:
                self._wire.fail(caller, GuardError(Code.TARGET_HIDDEN, DETAIL))

        self._wire.flows.start(self.painted(guest), looked, lambda _: looked(True))

    def answered(self, guest: Guest, handle: Handle, seconds: float) -> Flow[dict[str, Any]]:
        """Wait for a command of the guard's own that needs a frame.

        Raises:
            GuardError: the guest is not painted.
            FlowFault: as `Await`.
        """
        left = seconds
        while left > 0:
            try:
                result: dict[str, Any] = yield Await(handle, min(left, LATE_SECONDS))
                return result
            except TimedOut:
                left -= LATE_SECONDS
            painted = yield from self._look(guest)
            if painted is None:
                left -= ANSWER_SECONDS
            elif not painted and not handle.settled:
                raise GuardError(Code.TARGET_HIDDEN, DETAIL)
        raise TimedOut(f"no answer within {seconds:g} s")

    def check_visible(self, guest: Guest) -> Flow[None]:
        """Ask the page itself.

        Raises:
            GuardError: it is hidden.
        """
        if guest.session_id is None:
            return
        try:
            _, answer = yield from self._worlds.evaluate(
                guest.session_id, guest.target_id, "document.visibilityState === 'visible'"
            )
        except (FlowFault, GuardError):
            return
        if not answer.get("value", True):
            raise GuardError(Code.TARGET_HIDDEN, "the guest is hidden and would drop this; nothing was sent")

    def painted(self, guest: Guest) -> Flow[bool]:
        """Whether the guest gets a frame; True where it cannot be asked, so that nothing is said that was not seen."""
        return (yield from self._look(guest)) is not False

    def _look(self, guest: Guest) -> Flow[bool | None]:
        """Whether the guest gets a frame; None where it does not say."""
        if guest.session_id is None:
            return None
        try:
            _, answer = yield from self._worlds.evaluate(
                guest.session_id,
                guest.target_id,
                f"focusguard.painted({FRAME_MS})",
                wait=True,
                seconds=ANSWER_SECONDS,
            )
        except (FlowFault, GuardError):
            return None
        return bool(answer.get("value", True))
