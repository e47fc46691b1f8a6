"""The guard's own CDP domain, `FocusGuard`."""

from __future__ import annotations

from statistics import quantiles
from typing import Any

from focusguard.cdp.sessions import SessionTable
from focusguard.cdp.targets import TargetTree
from focusguard.errors import METHOD_NOT_FOUND, ProtocolError
from focusguard.policy.borrow import Borrower
from focusguard.policy.receipts import Receipts
from focusguard.policy.wire import Wire

WEAKER = (
    "without a bridge keys borrow the focus too, and a person's keys during a borrow cannot be brought home",
    "without a bridge what a page raises opens over the person's work, and Electron asks them where to save a download",
)


class GuardDomain:
    """Status, metrics and reports, for any client on any session."""

    def __init__(
        self,
        wire: Wire,
        tree: TargetTree,
        sessions: SessionTable,
        borrower: Borrower,
        receipts: Receipts,
        version: str,
    ) -> None:
        self._wire = wire
        self._tree = tree
        self._sessions = sessions
        self._borrower = borrower
        self._receipts = receipts
        self._version = version
        self._watching: set[int] = set()
        self.bridge: dict[str, Any] | None = None

    def handle(self, method: str, client: int, params: dict[str, Any] | None = None) -> dict[str, Any]:
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
        if method == "FocusGuard.getReports":
            self._watching.add(client)
            return self._wire.reports.after((params or {}).get("after", 0))
        raise ProtocolError(METHOD_NOT_FOUND, f"'{method}' wasn't found")

    def client_left(self, client: int) -> None:
        """It watches nothing any more."""
        self._watching.discard(client)

    def status(self) -> dict[str, Any]:
        """Mode, bridge, guests and clients."""
        return {
            "version": self._version,
            "mode": "bridge" if self.bridge is not None else "no-bridge",
            "limits": [] if self.bridge is not None else list(WEAKER),
            "bridge": self.bridge,
            "guests": [
                {
                    "targetId": g.target_id,
                    "embedding": str(g.embedding),
                    "url": g.info.get("url", ""),
                    "crashed": g.crashed,
                }
                for g in self._tree.ready()
            ],
            "clients": [
                {"client": client, "guests": self._guests_of(client), "watches": client in self._watching}
                for client in self._wire.clients
            ],
        }

    def _guests_of(self, client: int) -> list[str]:
        """The guests that a client has a session on."""
        return list(dict.fromkeys(s.guest_id for s in self._sessions.of_client(client) if not s.virtual))

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
