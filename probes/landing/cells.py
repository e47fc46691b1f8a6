"""How one row is told in a few words, the same in the terminal, in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from probes.landing.schema import LandingResult, Row, Subject

Tone = Literal["good", "fault", "moved", "quiet", "invalid", "unsupported", "crashed", "refused"]

TONES: dict[Tone, str] = {
    "good": "in the guest, the person untouched",
    "fault": "leaked, or the person's keystrokes were stolen",
    "moved": "the person's focus was taken",
    "quiet": "nothing arrived anywhere, nothing harmed",
    "refused": "refused with a code, nothing harmed",
    "crashed": "a renderer crashed",
    "unsupported": "not in this version or embedding",
    "invalid": "the preparation failed: no result",
}


@dataclass(frozen=True)
class Column:
    """One column of the matrix."""

    embedding: str
    window: str
    route: str

    @property
    def title(self) -> str:
        """For a heading."""
        return f"{self.embedding} {self.window} {self.route}"


def columns_of(result: LandingResult) -> list[Column]:
    """The columns of a result: raw and guarded side by side."""
    plan = result.plan
    return [
        Column(embedding, window, route)
        for embedding in plan.embeddings
        for window in plan.windows
        for route in plan.routes
    ]


def tone_of(row: Row) -> Tone:
    """What a row amounts to."""
    if row.status == "invalid":
        return "invalid"
    if row.status == "unsupported":
        return "unsupported"
    if "crashed" in row.landing:
        return "crashed"
    if row.leaked or row.stolen:
        return "fault"
    if row.focus_kept is False:
        return "moved"
    if row.landing and row.landing != ["nowhere"]:
        return "good"
    return "refused" if row.reply.startswith("error") and row.route == "guarded" else "quiet"


def words_of(row: Row) -> str:
    """A row in a few words: where, then what happened to the person."""
    if row.status != "observed":
        return row.status
    words = [" + ".join(row.landing) or "no input"]
    if row.leaked:
        words.append(f"leaked {row.leaked}")
    if row.stolen:
        words.append(f"stolen {row.stolen}" if row.window == "headful" else "next key lost")
    if row.focus_kept is not None:
        words.append(row.evidence.focus.story)
    return ", ".join(words)


def words_of_subject(subject: Subject) -> str:
    """The app that was measured, and where in it."""
    return (
        f"The app {' '.join((subject.app, *subject.args))}: the person is in {subject.host_field} of {subject.host}, "
        f"the agent in {subject.guest_field} of {subject.guest}"
    )


def mark_of(row: Row) -> str:
    """A mark for a guarded row whose raw twin shows no fault, or has none."""
    return {"no-fault": "°", "absent": "?", "fault": "", None: ""}[row.evidence.twin]


MARKS = (
    "° the same case without the guard showed no fault in this run, so the guarded cell proves nothing by "
    "itself; ? it was not measured in this run."
)


def case_order(result: LandingResult) -> list[tuple[str, str]]:
    """Cases with the guest's focus, in the order of the plan."""
    focus: dict[str, str] = {}
    for row in result.rows:
        focus.setdefault(row.case, row.guest_focus)
    return [(case, focus[case]) for case in result.plan.cases if case in focus]


def totals_of(rows: Sequence[Row]) -> str:
    """Counts for a summary line."""
    parts = []
    for route in ("raw", "guarded"):
        here = [row for row in rows if row.route == route]
        if not here:
            continue
        seen = [row for row in here if row.status == "observed"]
        parts.append(
            f"{route}: {len(seen)} observed, {sum(bool(row.leaked) for row in seen)} leak, "
            f"{sum(bool(row.stolen) for row in seen)} steal, "
            f"{sum(row.focus_kept is False for row in seen)} move the focus, "
            f"{sum('crashed' in row.landing for row in seen)} crash; "
            f"{sum(row.status == 'unsupported' for row in here)} unsupported, "
            f"{sum(row.status == 'invalid' for row in here)} invalid"
        )
    return " | ".join(parts)
