"""Clients' scripts while the person composes: one that focuses a field would end the word in the middle."""

from __future__ import annotations

from contextlib import suppress

from focusguard.cdp.targets import Guest
from focusguard.errors import GuardError
from focusguard.policy.borrow import TURN_SECONDS, Borrower
from focusguard.policy.flow import Acquire, Flow, FlowFault, Lock

#: What can run anything in a page.
SCRIPTS = ("Runtime.evaluate", "Runtime.callFunctionOn", "Runtime.runScript")

#: They may begin so long after the end of a word, milliseconds: most focus nothing, and none takes a borrow.
SCRIPT_ROOM_MS = 50


class ScriptTurns:
    """Holds scripts back until the person who composes leaves room after a word, in order.

    None is refused, and a word that stays open for longer than the bridge waits for room is not waited for.
    """

    def __init__(self, borrower: Borrower) -> None:
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
                with suppress(GuardError):
                    yield from self._borrower.room(guest, SCRIPT_ROOM_MS)
            finally:
                turn.release()

    def forget(self, guest: Guest) -> None:
        """A guest is gone."""
        self._turns.pop(guest.target_id, None)
