"""What a watcher knows of a guard, from its answers alone."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from focusguard.policy.reports import address

#: How much is remembered of what is over, and of what clients do.
GONE, ACTIONS, REFUSALS = 4, 40, 5
#: Reports that something was kept from opening over the person's work.
BOXES: Mapping[str, str] = {
    "dialog.answered": "dialogs",
    "download.kept": "downloads",
    "chooser.kept": "file choosers",
}


@dataclass(slots=True)
class Guest:
    """A guest, as it was last.

    Attributes:
        state: `ready`, `crashed` or `gone`.
        clients: those who are at it.
    """

    target_id: str
    embedding: str = ""
    url: str = ""
    state: str = "ready"
    clients: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Landing:
    """An agent's action and where it went; equal ones are counted together."""

    client: int
    target_id: str
    method: str
    kind: str
    verdict: str
    way: str
    frame_id: str
    code: str


@dataclass(slots=True)
class Times:
    """How often something landed there.

    Attributes:
        at: when last, in seconds of whatever clock the watcher has; None: before it came.
        held_ms: for how long the focus was away for the last one; None: it needed no borrow.
    """

    count: int = 0
    at: float | None = None
    held_ms: float | None = None


@dataclass(slots=True)
class State:
    """All that is shown.

    Attributes:
        status: the last answer to `FocusGuard.getStatus`.
        metrics: that to `FocusGuard.getMetrics`.
        guests: by target id; those that have gone last.
        landings: the last one last.
        refusals: how many by code, and the last ones.
        boxes: how many dialogs, downloads and file choosers were kept from opening.
        lost_keys: the person's keys that could not be brought home.
        broken_words: of the person's compositions.
        missed: reports that came and went unseen.
    """

    status: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    guests: dict[str, Guest] = field(default_factory=dict)
    gone: deque[Guest] = field(default_factory=lambda: deque(maxlen=GONE))
    landings: OrderedDict[Landing, Times] = field(default_factory=OrderedDict)
    refusals: Counter[str] = field(default_factory=Counter)
    refused: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=REFUSALS))
    boxes: Counter[str] = field(default_factory=Counter)
    lost_keys: int = 0
    broken_words: int = 0
    missed: int = 0

    def know(self, status: Mapping[str, Any]) -> bool:
        """Take the guard's status; whether it is another one than before."""
        cleaned = {**status, "guests": [{**g, "url": address(g["url"])} for g in status.get("guests", [])]}
        if cleaned == self.status:
            return False
        self.status = cleaned
        at: dict[str, list[int]] = {}
        for client in cleaned.get("clients", []):
            for guest_id in client["guests"]:
                at.setdefault(guest_id, []).append(client["client"])
        before, self.guests = (
            self.guests,
            {
                g["targetId"]: Guest(
                    g["targetId"],
                    g["embedding"],
                    g["url"],
                    "crashed" if g.get("crashed") else "ready",
                    tuple(at.get(g["targetId"], ())),
                )
                for g in cleaned["guests"]
            },
        )
        for guest in before.values():
            if guest.target_id not in self.guests:
                self._gone(guest)
        return True

    def measure(self, metrics: Mapping[str, Any]) -> bool:
        """Take the guard's figures; whether they are others than before."""
        changed = dict(metrics) != self.metrics
        self.metrics = dict(metrics)
        return changed

    def take(self, report: Mapping[str, Any], now: float | None) -> None:
        """Take one report.

        Args:
            report: as `FocusGuard.getReports` gives it.
            now: seconds; None: it went on before the watcher came.
        """
        kind, facts = report["kind"], report["facts"]
        if kind == "action":
            self._landed(facts, now)
        elif kind == "refusal":
            self.refusals[str(facts.get("code"))] += 1
            self.refused.append(facts)
        elif kind in BOXES:
            self.boxes[BOXES[kind]] += 1
        elif kind == "guest.ready":
            guest = Guest(facts["targetId"], facts.get("embedding", ""), facts.get("url", ""))
            self.guests.setdefault(guest.target_id, guest)
        elif kind == "guest.gone":
            known = self.guests.pop(facts["targetId"], None)
            self._gone(known or Guest(facts["targetId"]))
        elif kind == "bridge.key.lost":
            self.lost_keys += 1
        elif kind == "bridge.composition.broken":
            self.broken_words += 1

    def _gone(self, guest: Guest) -> None:
        """A guest has gone, as a report or the status says; whichever comes first knows it best."""
        if all(each.target_id != guest.target_id for each in self.gone):
            guest.state, guest.clients = "gone", ()
            self.gone.append(guest)

    def _landed(self, facts: Mapping[str, Any], now: float | None) -> None:
        names = ("targetId", "method", "type", "verdict", "way", "frameId", "code")
        landing = Landing(int(facts.get("client", 0)), *(str(facts.get(name, "")) for name in names))
        times = self.landings.setdefault(landing, Times())
        times.count += 1
        times.at = now
        times.held_ms = facts.get("heldMs")
        self.landings.move_to_end(landing)
        while len(self.landings) > ACTIONS:
            self.landings.popitem(last=False)
