"""Borrowing the person's focus for one agent action, and giving it back."""

from __future__ import annotations

from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from focusguard.cdp.targets import Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.flow import (
    Acquire,
    Bridge,
    CallFailed,
    Flow,
    FlowFault,
    Gone,
    Lock,
    Sleep,
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
#: Longest wait for room between the words that the person composes, milliseconds.
WORD_MS = 1500
#: Input may begin so long after the end of a word, milliseconds: it is repaired about 60 ms later.
INPUT_ROOM_MS = 20
#: Seconds to wait while another action on the same host has the focus.
TURN_SECONDS = 15.0
#: What the pane may say before a command is sent; anything else means that the person's focus is not safe.
SAFE_STATES = ("held", "guest-focused", "nothing-to-hold")


class Hands(Protocol):
    """Who notes and moves the person's focus in the host page: the bridge, or the guard itself over CDP."""

    def begin(self, guest: Guest, *, take: bool, pace_ms: int, ready_ms: int) -> Flow[dict[str, Any]]:
        """Note the person's focus; with `take` move it into the guest. Gives `state`, `lease`, `waitedMs`."""

    def end(self, lease: str, *, recheck_ms: int) -> Flow[dict[str, Any]]:
        """Give it back. Gives `returned`, `reason`, `heldMs`, `broughtHome`."""

    def repair(self, guest: Guest) -> Flow[dict[str, Any]]:
        """Have the person's input method look at their field again."""


class BridgeHands:
    """The bridge does it, in the app's main process.

    A bridge that is lost gives back what it holds, and the next one begins to number its leases anew: so each lease
    gets a name of the guard's, and is ended with the bridge that granted it or not at all.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._open: dict[str, tuple[int, Any]] = {}
        self._named = 0

    def begin(self, guest: Guest, *, take: bool, pace_ms: int, ready_ms: int) -> Flow[dict[str, Any]]:
        """See `Hands`."""
        params = {
            "webContentsId": guest.web_contents_id,
            "paceMs": pace_ms,
            "readyMs": ready_ms,
            "take": take,
        }
        seconds = BRIDGE_SECONDS + (pace_ms + ready_ms) / 1000
        held = yield from call_or_undo(Bridge("borrow.begin", params), seconds, self._give_back)
        if held.get("lease") is None:
            return held
        self._named += 1
        name = f"B{self._named}"
        self._open[name] = (self._wire.bridge_number, held["lease"])
        return {**held, "lease": name}

    def _give_back(self, held: dict[str, Any]) -> None:
        """A borrow that was granted when nobody waited for it any more."""
        if held.get("lease") is not None:
            self._wire.post(Bridge("borrow.end", {"lease": held["lease"], "recheckMs": RECHECK_MS}))

    def end(self, lease: str, *, recheck_ms: int) -> Flow[dict[str, Any]]:
        """See `Hands`."""
        bridge_number, number = self._open.pop(lease)
        if bridge_number != self._wire.bridge_number:
            raise Gone("the bridge was lost meanwhile, and has given the focus back")
        result = yield from call(
            Bridge("borrow.end", {"lease": number, "recheckMs": recheck_ms}), BRIDGE_SECONDS
        )
        return result

    def repair(self, guest: Guest) -> Flow[dict[str, Any]]:
        """See `Hands`."""
        return call(Bridge("host.repair", {"webContentsId": guest.web_contents_id}), BRIDGE_SECONDS)


@dataclass(slots=True)
class Lease:
    """An open borrow.

    Attributes:
        name: the name that the hands gave it; None where there is nothing to give back.
        waited_ms: time spent waiting for a gap between the person's keys.
    """

    hands: Hands
    guest: Guest
    turn: Lock | None
    name: str | None
    state: str
    waited_ms: float = 0.0

    def pass_turn(self) -> None:
        """Let the next action on this host begin; this borrow may stay open beside it."""
        turn, self.turn = self.turn, None
        if turn is not None:
            turn.release()


@dataclass(slots=True)
class BorrowMetrics:
    """Counts and times since the guard started."""

    borrows: int = 0
    brought_home: int = 0
    refusals: int = 0
    held_ms: deque[float] = field(default_factory=lambda: deque(maxlen=1000))


class Borrower:
    """Begins one borrow at a time for each host window.

    Args:
        wire: the outgoing side.
        pace: when a borrow starts while the person types.
        without_bridge: who does it where there is no bridge; None where the guard waits for one.
    """

    def __init__(self, wire: Wire, pace: Pace, without_bridge: Hands | None = None) -> None:
        self._wire = wire
        self._pace = pace
        self._bridge = BridgeHands(wire)
        self._without_bridge = without_bridge
        self._hosts: dict[int, Lock] = {}
        #: Guest -> presses of agents that the bridge has not confirmed to know of.
        self._announced: Counter[str] = Counter()
        self.metrics = BorrowMetrics()

    def needed(self, guest: Guest) -> bool:
        """Whether input of this guest can take the person's focus at all.

        Only a webview is part of the host's tree. Views and windows are trees of their own: no press or key leaves
        them (docs/landing-matrix.md). What takes the focus into a view is its navigation, and the bridge undoes that.
        """
        return guest.inner

    def check_composing(self, guest: Guest) -> None:
        """Whether the person's composition would survive what is sent without a borrow.

        Any change of the text input state in a view ends it, though views take nothing else from the host (measured
        on 9.4 to 33.2 with fcitx5); plain and offscreen windows do not touch it. A borrow finds out by itself.

        Raises:
            GuardError: the person is composing in the window that the guest is a view of.
        """
        if guest.host_id in self._wire.composing and not guest.inner:
            raise self._refusal(Code.USER_COMPOSING)

    def composes(self, guest: Guest) -> bool:
        """Whether the person composes word after word in the window that the guest is part of."""
        return (
            guest.host_id in self._wire.composers
            and self._wire.bridge_here
            and guest.web_contents_id is not None
        )

    def room(self, guest: Guest, until_ms: int = INPUT_ROOM_MS) -> Flow[None]:
        """Wait until what changes in a guest does no harm to a person who composes: between two of their words.

        Pages that were kept from taking the focus may take it again then.

        Args:
            guest: where something will change.
            until_ms: how long after the end of a word it may begin, milliseconds.

        Raises:
            GuardError: they leave no room.
        """
        if not self.composes(guest):
            return
        try:
            params = {"webContentsId": guest.web_contents_id, "longestMs": WORD_MS, "untilMs": until_ms}
            yield from call(Bridge("host.room", params), BRIDGE_SECONDS + WORD_MS / 1000)
        except CallFailed as fault:
            if fault.error.get("code") == "composing":
                raise self._refusal(Code.USER_COMPOSING) from None
            raise GuardError(Code.ERROR, "the guest is gone; nothing was sent") from None
        except TimedOut:
            raise self._refusal(Code.FOCUS_GUARD_UNAVAILABLE) from None
        except Gone:
            raise self._refusal(Code.BRIDGE_LOST) from None

    def announce(self, guest: Guest) -> None:
        """Tell the bridge of a press that needs no borrow.

        A view that takes the focus while it navigates keeps it if the person has just pressed into it, and a press of
        an agent looks the same there.
        """
        if guest.inner or not self._wire.bridge_here:
            return

        def heard(_: object) -> None:
            self._announced[guest.target_id] -= 1
            if not self._announced[guest.target_id]:
                del self._announced[guest.target_id]

        self._announced[guest.target_id] += 1
        expect = Bridge("press.expect", {"webContentsId": guest.web_contents_id})
        self._wire.flows.start(call(expect, BRIDGE_SECONDS), heard, heard)

    def announcing(self, guest: Guest) -> bool:
        """Whether the bridge may not have heard of a press yet, which may be quicker than its announcement."""
        return self._announced[guest.target_id] > 0

    def begin(self, guest: Guest, *, take: bool) -> Flow[Lease]:
        """Have the person's focus noted, and with `take` moved into the guest.

        Raises:
            GuardError: nothing may be sent now.
        """
        hands = self._hands(guest)
        turn = self._hosts.setdefault(guest.host_id or -(guest.web_contents_id or 1), Lock())
        try:
            yield Acquire(turn, TURN_SECONDS)
        except TimedOut:
            raise self._refusal(
                Code.FOCUS_GUARD_UNAVAILABLE, "another agent action holds the focus; nothing was sent"
            ) from None
        longest = WORD_MS if self.composes(guest) else PACE_MS
        pace_ms = longest if self._pace == "between-keys" else 0
        try:
            held = yield from hands.begin(guest, take=take, pace_ms=pace_ms, ready_ms=PANE_MS)
            state = str(held.get("state"))
            if state == "composing":
                raise self._refusal(Code.USER_COMPOSING)
            if state not in SAFE_STATES:
                detail = f"the host page could not keep the person's focus ({state}); nothing was sent"
                raise self._refusal(Code.FOCUS_GUARD_UNAVAILABLE, detail)
            return Lease(hands, guest, turn, held.get("lease"), state, float(held.get("waitedMs", 0)))
        except CallFailed as fault:
            turn.release()
            if fault.error.get("code") == "no-such-target":
                raise GuardError(Code.ERROR, "the guest is gone; nothing was sent") from None
            raise self._refusal(Code.FOCUS_GUARD_UNAVAILABLE, f"{fault}; nothing was sent") from None
        except TimedOut:
            turn.release()
            raise self._refusal(Code.FOCUS_GUARD_UNAVAILABLE) from None
        except Gone:
            turn.release()
            raise self._refusal(Code.BRIDGE_LOST) from None
        except BaseException:
            turn.release()
            raise

    def _hands(self, guest: Guest) -> Hands:
        if self._wire.bridge_here and guest.web_contents_id is not None:
            return self._bridge
        if self._without_bridge is None:
            raise self._refusal(Code.BRIDGE_LOST)
        return self._without_bridge

    def _refusal(self, code: Code, detail: str = "") -> GuardError:
        self.metrics.refusals += 1
        return GuardError(code, detail)

    def end(self, lease: Lease) -> Flow[dict[str, Any]]:
        """Give the focus back. A lost bridge gives it back by itself, so nothing is raised here."""
        try:
            if lease.name is None:
                return {"returned": False, "reason": lease.state}
            ended = yield from lease.hands.end(lease.name, recheck_ms=RECHECK_MS)
        except FlowFault as fault:
            self._wire.report("borrow.unreturned", reason=str(fault))
            return {"returned": False, "reason": str(fault)}
        finally:
            lease.pass_turn()
        self.metrics.borrows += 1
        self.metrics.held_ms.append(float(ended.get("heldMs", 0)))
        self.metrics.brought_home += int(ended.get("broughtHome", 0))
        lease.guest.deaf = lease.guest.deaf or bool(ended.get("broughtHome"))
        return ended

    def end_later(self, lease: Lease, guest: Guest, seconds: float) -> None:
        """Keep watching the person's focus for a while, then give it back; others may begin meanwhile."""
        lease.pass_turn()
        self._wire.flows.start(self._end_later(lease, guest, seconds), failed=lambda _: None)

    def _end_later(self, lease: Lease, guest: Guest, seconds: float) -> Flow[None]:
        yield Sleep(seconds)
        yield from self.end(lease)
        yield from self.repair(guest)

    def repair_later(self, guest: Guest) -> None:
        """As `repair`, beside whatever comes next: no sentry sees what changes in a frame of another process."""
        if guest.inner and self._wire.bridge_here:
            self._wire.flows.start(self.repair(guest))

    def repair(self, guest: Guest) -> Flow[None]:
        """Focus inside a guest may have taken the input method from the person's field: have it look there again."""
        with suppress(FlowFault, GuardError):
            yield from self._hands(guest).repair(guest)
