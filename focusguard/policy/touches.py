"""Whose fingers are down: in one window, one hand at a time.

Chromium routes the touches of a window by one table for all the pages in it: a touch that starts while another page is
being touched goes to that other page (content/browser/renderer_host/render_widget_host_input_event_router.cc; measured
in specs/electron/test_two_guests.py). Three things follow:

- A hand waits until the one in another guest of the window is gone.
- The table counts each finger of CDP after the first twice (ForwardEmulatedTouchEvent, then DispatchTouchEvent) and
  each lift once, so after two fingers it would point at their page for ever. The guard lifts as many fingers more,
  ones that never came down: the table counts them, and the page is not told of them, because it does not know them.
- Chromium keeps the fingers of each CDP session apart and forgets them with it, without lifting one. So all touches
  go out on the guard's own sessions, which stay when a client leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from focusguard.cdp.targets import Guest
from focusguard.errors import INVALID_PARAMS, Code, GuardError, ProtocolError
from focusguard.policy.flow import (
    Acquire,
    Await,
    CallFailed,
    Flow,
    Gone,
    Handle,
    Lock,
    Post,
    TimedOut,
    Upstream,
)
from focusguard.policy.table import INPUT_BOUND

TOUCH = "Input.dispatchTouchEvent"
CANCEL: dict[str, Any] = {"type": "touchCancel", "touchPoints": []}
#: Seconds to wait for the fingers in another guest of the same window to be lifted.
TURN_SECONDS = 5.0
#: Chromium takes 16 points in an event (blink::WebTouchEvent::kTouchesLengthCap), and one is for the lifts in excess.
MOST_FINGERS = 15
#: Numbers for fingers that never came down; older Chromiums keep a bit for each of 32.
_NUMBERS = range(31, -1, -1)


@dataclass(slots=True, eq=False)
class Hand:
    """The fingers that one client has down on one session.

    Attributes:
        target_id: the frame whose own session they came on, None for the guest's root.
        session_id: the guard's session that they went out on.
        fingers: where each came down.
        excess: how many more Chromium has counted than came down.
        before: the two as they were before the last command.
        leaving: settled when they have been lifted for a client that left.
    """

    guest: Guest
    client: int
    target_id: str | None
    session_id: str
    fingers: dict[float, dict[str, Any]] = field(default_factory=dict)
    excess: int = 0
    before: tuple[dict[float, dict[str, Any]], int] = field(default_factory=lambda: ({}, 0))
    leaving: Handle | None = None

    def check(self, params: dict[str, Any]) -> None:
        """Refuse what would make the count a guess.

        Raises:
            ProtocolError: a finger is lifted that is not down.
            GuardError: there are more fingers than Chromium has room for.
        """
        named = dict(_points(params))
        if params.get("type") == "touchEnd":
            for number in named:
                if number not in self.fingers:
                    raise ProtocolError(INVALID_PARAMS, f"No finger {number} is down")
        elif len(self.fingers | named) > MOST_FINGERS:
            raise GuardError(
                Code.REFUSED,
                f"more than {MOST_FINGERS} fingers; nothing was sent",
                advice=f"touch with {MOST_FINGERS} at most",
            )

    def note(self, params: dict[str, Any]) -> None:
        """A command was sent."""
        self.before = (dict(self.fingers), self.excess)
        kind = params.get("type")
        if kind in ("touchStart", "touchMove"):
            for number, point in _points(params):
                if number not in self.fingers:
                    self.excess += bool(self.fingers)
                    self.fingers[number] = point
        elif kind in ("touchEnd", "touchCancel"):
            for number in dict(_points(params)) or list(self.fingers):
                self.fingers.pop(number, None)

    def undo(self) -> None:
        """The last command came to nothing."""
        self.fingers, self.excess = dict(self.before[0]), self.before[1]

    def even_out(self) -> Flow[None]:
        """Before fingers go up, have Chromium count as many as are down; the page does not hear of it."""
        if not self.excess:
            return
        place = next(iter(self.fingers.values()))
        spare = [number for number in _NUMBERS if number not in self.fingers][: self.excess]
        points = [{"x": place["x"], "y": place["y"], "id": number} for number in spare]
        yield Post(Upstream(TOUCH, {"type": "touchEnd", "touchPoints": points}, self.session_id))
        self.excess = 0


@dataclass(slots=True)
class _Window:
    lock: Lock = field(default_factory=Lock)
    hand: Hand | None = None


class Touches:
    """Knows the fingers that are down, and lets one hand touch each window at a time."""

    def __init__(self) -> None:
        self._windows: dict[int | str | None, _Window] = {}

    def take(self, guest: Guest, client: int, target_id: str | None, session_id: str) -> Flow[None]:
        """Wait until a touch can start.

        Raises:
            GuardError: somebody else is still touching.
        """
        window = self._windows.setdefault(_window(guest), _Window())
        hand = window.hand
        if hand is not None and hand.guest is guest:
            if (hand.client, hand.target_id) == (client, target_id):
                return
            raise GuardError(
                Code.FOCUS_GUARD_UNAVAILABLE,
                "the page is being touched by another client, or in another frame; nothing was sent",
            )
        try:
            yield Acquire(window.lock, TURN_SECONDS)
        except TimedOut:
            raise GuardError(
                Code.FOCUS_GUARD_UNAVAILABLE,
                f"another page of the window was still being touched after {TURN_SECONDS:g} s; nothing was sent",
            ) from None
        window.hand = Hand(guest, client, target_id, session_id)

    def hand(self, guest: Guest, client: int, target_id: str | None) -> Hand | None:
        """The hand of a client on a session."""
        hand = self._in(guest)
        return hand if hand is not None and (hand.client, hand.target_id) == (client, target_id) else None

    def holds(self, client: int) -> bool:
        """Whether a client has a finger down, in any guest."""
        return any(each.hand is not None and each.hand.client == client for each in self._windows.values())

    def settle(self, guest: Guest) -> None:
        """With the last finger up, another guest of the window may be touched."""
        hand = self._in(guest)
        if hand is not None and not hand.fingers:
            self._drop(guest)

    def let_go(self, guest: Guest, client: int) -> Flow[None]:
        """Lift the fingers of a client that left.

        Raises:
            TimedOut: the page has not taken it yet; until then nobody else can touch the window.
        """
        hand = self._in(guest)
        if hand is None or hand.client != client:
            return
        try:
            if hand.leaving is None:
                yield from hand.even_out()
                hand.leaving = yield Post(Upstream(TOUCH, CANCEL, hand.session_id))
            yield Await(hand.leaving, INPUT_BOUND)
        except (CallFailed, Gone):
            self._drop(guest)
            raise
        self._drop(guest)

    def forget(self, guest: Guest) -> str | None:
        """A guest's page is gone, and Chromium's count with it; gives the session that still has its fingers."""
        hand = self._in(guest)
        self._drop(guest)
        return hand.session_id if hand is not None and hand.fingers else None

    def _in(self, guest: Guest) -> Hand | None:
        window = self._windows.get(_window(guest))
        hand = window.hand if window is not None else None
        return hand if hand is not None and hand.guest is guest else None

    def _drop(self, guest: Guest) -> None:
        if self._in(guest) is not None:
            window = self._windows[_window(guest)]
            window.hand = None
            window.lock.release()


def _window(guest: Guest) -> int | str | None:
    """What shares a table: the webviews of a host, all of them where nobody tells whose they are; else the guest."""
    return guest.host_id if guest.inner else guest.target_id


def _points(params: dict[str, Any]) -> Iterator[tuple[float, dict[str, Any]]]:
    """The points of a command by their number, which is their place where they have none; the app refuses the rest."""
    points = params.get("touchPoints")
    for place, point in enumerate(points if isinstance(points, list) else []):
        number = point.get("id", place) if isinstance(point, dict) else None
        if isinstance(number, int | float):
            yield number, point
