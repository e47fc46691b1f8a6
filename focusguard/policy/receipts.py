"""Receipts: what became of each input, for clients that ask for it (`FocusGuard.enable`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from focusguard.policy.wire import Caller, Wire, cdp_error


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

    def tell(self, caller: Caller, receipt: Receipt, fault: Exception | None) -> None:
        """Tell the client about one of its commands, on the session that it used, right after the answer."""
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
