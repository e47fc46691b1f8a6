"""Receipts: what became of each input, for clients that ask for it (`FocusGuard.enable`) and for those who watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from focusguard.policy.wire import Caller, Wire, cdp_error, error_code

#: What a command may say of its kind; clients may write anything there.
TYPES = frozenset(
    (
        *("keyDown", "rawKeyDown", "char", "keyUp"),
        *("mousePressed", "mouseReleased", "mouseMoved", "mouseWheel"),
        *("touchStart", "touchMove", "touchEnd", "touchCancel"),
        *("dragEnter", "dragOver", "drop", "dragCancel"),
    )
)


@dataclass(slots=True)
class Receipt:
    """What is known of one input.

    Attributes:
        verdict: `handled` or `cancelled` by a page that was seen to get it, `missed`, or `unverified` where it
            cannot be known (see docs/focusguard-domain.md).
        way: how it went: `cdp`, `send-input-event`, `insert-text`, `frame-session` or `borrow`.
        frame_id: the frame with a process of its own that it went to.
        borrow: `heldMs`, `waitedMs` and `broughtHome` of the borrow that it needed.
    """

    verdict: str = "unverified"
    way: str = "cdp"
    frame_id: str | None = None
    borrow: dict[str, Any] | None = None


class Receipts:
    """Sends `FocusGuard.delivery` to the clients that asked for it."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._clients: set[int] = set()

    def enable(self, client: int) -> None:
        """From now on this client is told."""
        self._clients.add(client)

    def disable(self, client: int) -> None:
        """From now on it is not; also when it leaves."""
        self._clients.discard(client)

    def announce(self, method: str, params: dict[str, Any]) -> None:
        """Tell of something that no command of theirs asked for, at browser level."""
        for client in sorted(self._clients):
            self._wire.event(client, None, method, params)

    def tell(self, caller: Caller, receipt: Receipt, fault: Exception | None, kind: object = None) -> None:
        """Tell the client about one of its commands, on the session that it used, right after the answer.

        Args:
            caller: whose command it was.
            receipt: what became of it.
            fault: the error that it was answered with.
            kind: its `type`.
        """
        if not self._wire.client_here(caller.client):
            return
        self._wire.reports.add("action", _action(caller, receipt, fault, kind))
        if caller.client not in self._clients:
            return
        params: dict[str, Any] = {
            "commandId": caller.command_id,
            "method": caller.method,
            "verdict": receipt.verdict,
            "way": receipt.way,
        }
        if receipt.frame_id is not None:
            params["frameId"] = receipt.frame_id
        if receipt.borrow is not None:
            params["borrow"] = receipt.borrow
        if fault is not None:
            params["error"] = cdp_error(fault)
        self._wire.event(caller.client, caller.session, "FocusGuard.delivery", params)


def _action(caller: Caller, receipt: Receipt, fault: Exception | None, kind: object) -> dict[str, Any]:
    return {
        "client": caller.client,
        "targetId": caller.session.guest_id if caller.session is not None else None,
        "method": caller.method,
        "type": kind if isinstance(kind, str) and kind in TYPES else None,
        "verdict": receipt.verdict,
        "way": receipt.way,
        "frameId": receipt.frame_id,
        "code": error_code(fault) if fault is not None else None,
        **(receipt.borrow or {}),
    }
