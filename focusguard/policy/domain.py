"""The guard's own CDP domain, `FocusGuard`."""

from __future__ import annotations

from statistics import quantiles
from typing import Any

from focusguard.cdp.targets import TargetTree
from focusguard.errors import METHOD_NOT_FOUND, ProtocolError
from focusguard.policy.borrow import Borrower
from focusguard.policy.receipts import Receipts

WEAKER = (
    "without a bridge keys borrow the focus too, and a person's keys during a borrow cannot be brought home",
    "without a bridge what a page raises opens over the person's work, and Electron asks them where to save a download",
)


class GuardDomain:
    """Status and metrics, for any client on any session."""

    def __init__(self, tree: TargetTree, borrower: Borrower, receipts: Receipts, version: str) -> None:
        self._tree = tree
        self._borrower = borrower
        self._receipts = receipts
        self._version = version
        self.bridge: dict[str, Any] | None = None

    def handle(self, method: str, client: int) -> dict[str, Any]:
        """Answer a method of the domain."""
        if method == "FocusGuard.enable":
            self._receipts.enable(client)
            return {}
        if method == "FocusGuard.disable":
            self._receipts.disable(client)
            return {}
        if method == "FocusGuard.getStatus":
            return self.status()
        if method == "FocusGuard.getMetrics":
            return self.metrics()
        raise ProtocolError(METHOD_NOT_FOUND, f"'{method}' wasn't found")

    def status(self) -> dict[str, Any]:
        """Mode, bridge and guests."""
        return {
            "version": self._version,
            "mode": "bridge" if self.bridge is not None else "no-bridge",
            "limits": [] if self.bridge is not None else list(WEAKER),
            "bridge": self.bridge,
            "guests": [
                {"targetId": g.target_id, "embedding": str(g.embedding), "url": g.info.get("url", "")}
                for g in self._tree.ready()
            ],
        }

    def metrics(self) -> dict[str, Any]:
        """Counts since the start; times in milliseconds over the last 1,000 borrows."""
        metrics = self._borrower.metrics
        return {
            "borrows": metrics.borrows,
            "refusals": metrics.refusals,
            "broughtHome": metrics.brought_home,
            "borrowMs": _spread(list(metrics.held_ms)),
        }


def _spread(values: list[float]) -> dict[str, float]:
    if len(values) < 2:
        only = values[0] if values else 0.0
        return {"p50": only, "p99": only, "max": only}
    cuts = quantiles(values, n=100, method="inclusive")
    return {"p50": cuts[49], "p99": cuts[98], "max": max(values)}
