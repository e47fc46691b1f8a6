"""Clients' scripts while the person composes: one that focuses a field would end the word in the middle."""

from __future__ import annotations

from contextlib import suppress

from focusguard.cdp.targets import Guest
from focusguard.errors import GuardError
from focusguard.policy.borrow import TURN_SECONDS, WORD_MS, Borrower
from focusguard.policy.flow import Acquire, Flow, FlowFault, Lock
from focusguard.policy.wire import Wire

#: What can run anything in a page.
SCRIPTS = ("Runtime.evaluate", "Runtime.callFunctionOn", "Runtime.runScript")


class ScriptTurns:
    """Holds scripts back while a composition is open in their guest's host, in order.

    Between two words they go at once, for most of them focus nothing. None is refused, and a word that stays open for
    longer than the bridge waits for room is not waited for.
    """

    def __init__(self, wire: Wire, borrower: Borrower) -> None:
        self._wire = wire
        self._borrower = borrower
        self._turns: dict[str, Lock] = {}

    def must_wait(self, guest: Guest, method: str) -> bool:
        """Whether something has to be done before a command is sent."""
        if method not in SCRIPTS:
            return False
        turn = self._turns.get(guest.target_id)
        return (turn is not None and turn.held) or self._borrower.composes(guest)

    def wait(self, guest: Guest) -> Flow[None]:
        """Wait for its turn, and for the end of the word; what is sent in the same step keeps the order."""
        turn = self._turns.setdefault(guest.target_id, Lock())
        with suppress(FlowFault):
            yield Acquire(turn, TURN_SECONDS)
            try:
                longest_ms = WORD_MS if guest.host_id in self._wire.composing else 0
                with suppress(GuardError):
                    yield from self._borrower.room(guest, longest_ms)
            finally:
                turn.release()

    def forget(self, guest: Guest) -> None:
        """A guest is gone."""
        self._turns.pop(guest.target_id, None)
