"""Borrowing the person's focus for one agent action, and giving it back."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

from focusguard.cdp.targets import Embedding, Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.flow import (
    Acquire,
    Bridge,
    CallFailed,
    Flow,
    FlowFault,
    Gone,
    Lock,
    TimedOut,
    call,
    call_or_undo,
)
from focusguard.policy.wire import Wire

Pace = Literal["between-keys", "at-once"]

#: Milliseconds that the pane has to answer.
PANE_MS = 150
#: Longest wait for the gap after the person's next key, milliseconds.
PACE_MS = 250
#: Milliseconds after which the returned focus is checked once more: Chromium's own focus move may arrive late.
RECHECK_MS = 50
#: Seconds for the bridge to carry out a request beyond the waits it was asked for.
BRIDGE_SECONDS = 2.0
#: Seconds to wait while another action on the same host has the focus.
TURN_SECONDS = 15.0


@dataclass(slots=True)
class Lease:
    """An open borrow.

    Attributes:
        number: the bridge's name for it; None where there is nothing to give back.
        waited_ms: time spent waiting for a gap between the person's keys.
    """

    host: Lock
    number: int | str | None
    state: str
    waited_ms: float = 0.0


@dataclass(slots=True)
class BorrowMetrics:
    """Counts and times since the guard started."""

    borrows: int = 0
    brought_home: int = 0
    refusals: int = 0
    held_ms: deque[float] = field(default_factory=lambda: deque(maxlen=1000))


class Borrower:
    """One borrow at a time for each host window."""

    def __init__(self, wire: Wire, pace: Pace) -> None:
        self._wire = wire
        self._pace = pace
        self._hosts: dict[int, Lock] = {}
        self.metrics = BorrowMetrics()

    def needed(self, guest: Guest) -> bool:
        """Whether input of this guest can take the person's focus at all.

        A plain or offscreen window has no host in its frame tree: CDP input stays inside it.
        """
        return guest.embedding not in (Embedding.WINDOW, Embedding.OFFSCREEN)

    def begin(self, guest: Guest, *, take: bool) -> Flow[Lease]:
        """Have the person's focus noted, and with `take` moved into the guest.

        Raises:
            GuardError: nothing may be sent now.
        """
        if not self._wire.bridge_here or guest.web_contents_id is None:
            self.metrics.refusals += 1
            raise GuardError(Code.BRIDGE_LOST)
        lock = self._hosts.setdefault(guest.host_id or -guest.web_contents_id, Lock())
        try:
            yield Acquire(lock, TURN_SECONDS)
        except TimedOut:
            raise GuardError(
                Code.FOCUS_GUARD_UNAVAILABLE, "another agent action holds the focus; nothing was sent"
            ) from None
        try:
            held = yield from self._ask(guest, take)
            state = str(held.get("state"))
            if state == "composing":
                raise GuardError(Code.USER_COMPOSING)
        except BaseException:
            lock.release()
            self.metrics.refusals += 1
            raise
        return Lease(lock, held.get("lease"), state, float(held.get("waitedMs", 0)))

    def _ask(self, guest: Guest, take: bool) -> Flow[dict[str, Any]]:
        pace_ms = PACE_MS if self._pace == "between-keys" else 0
        params = {"webContentsId": guest.web_contents_id, "paceMs": pace_ms, "readyMs": PANE_MS, "take": take}
        try:
            return (
                yield from call_or_undo(
                    Bridge("borrow.begin", params),
                    BRIDGE_SECONDS + (pace_ms + PANE_MS) / 1000,
                    self._give_back,
                )
            )
        except CallFailed as fault:
            raise GuardError(Code.FOCUS_GUARD_UNAVAILABLE, f"{fault}; nothing was sent") from None
        except TimedOut:
            raise GuardError(Code.FOCUS_GUARD_UNAVAILABLE) from None
        except Gone:
            raise GuardError(Code.BRIDGE_LOST) from None

    def _give_back(self, held: dict[str, Any]) -> None:
        """A borrow that was granted when nobody waited for it any more."""
        if held.get("lease") is not None:
            self._wire.post(Bridge("borrow.end", {"lease": held["lease"], "recheckMs": RECHECK_MS}))

    def end(self, lease: Lease) -> Flow[dict[str, Any]]:
        """Give the focus back. A lost bridge gives it back by itself, so nothing is raised here."""
        try:
            if lease.number is None:
                return {"returned": False, "reason": lease.state}
            params = {"lease": lease.number, "recheckMs": RECHECK_MS}
            ended = yield from call(Bridge("borrow.end", params), BRIDGE_SECONDS)
        except FlowFault as fault:
            self._wire.report("borrow.unreturned", reason=str(fault))
            return {"returned": False, "reason": str(fault)}
        finally:
            lease.host.release()
        self.metrics.borrows += 1
        self.metrics.held_ms.append(float(ended.get("heldMs", 0)))
        self.metrics.brought_home += int(ended.get("broughtHome", 0))
        return ended
