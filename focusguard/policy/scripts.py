"""Clients' scripts while the person composes: one that focuses a field would end the word in the middle."""

from __future__ import annotations

from contextlib import suppress

from focusguard.cdp.targets import Guest
from focusguard.errors import GuardError
from focusguard.policy.borrow import TURN_SECONDS, Borrower
from focusguard.policy.flow import Acquire, Flow, FlowFault, Lock
from focusguard.policy.wire import Wire

#: What can run anything in a page.
SCRIPTS = ("Runtime.evaluate", "Runtime.callFunctionOn", "Runtime.runScript")


class ScriptTurns:
    """Holds scripts back while a composition is open in their guest's host, in order.

    None is refused: nobody knows which of them focuses something, and most do not. A word that stays open for longer
    than the bridge waits for room is not waited for.
    """

    def __init__(self, wire: Wire, borrower: Borrower) -> None:
        self._wire = wire
        self._borrower = borrower
        self._turns: dict[str, Lock] = {}

    def must_wait(self, guest: Guest, method: str) -> bool:
        """Whether a command waits: for the end of a word, or behind another one that does."""
        if method not in SCRIPTS:
            return False
        turn = self._turns.get(guest.target_id)
        return (turn is not None and turn.held) or guest.host_id in self._wire.composing

    def wait(self, guest: Guest) -> Flow[None]:
        """Wait for its turn; what is sent in the same step keeps the order."""
        turn = self._turns.setdefault(guest.target_id, Lock())
        with suppress(FlowFault):
            yield Acquire(turn, TURN_SECONDS)
            try:
                with suppress(GuardError):
                    yield from self._borrower.room(guest)
            finally:
                turn.release()

    def forget(self, guest: Guest) -> None:
        """A guest is gone."""
        self._turns.pop(guest.target_id, None)
