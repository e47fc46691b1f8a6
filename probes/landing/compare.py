"""Two results side by side: which cells changed, and which are only in one of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from probes.landing.cells import words_of
from probes.landing.schema import LandingResult, Row

#: Cells that are named where only one of the results has them.
SHOWN = 10


@dataclass(frozen=True)
class Difference:
    """One cell that is not the same in both results."""

    case: str
    where: str
    before: str
    after: str
    worse: bool


@dataclass
class Comparison:
    """What changed between two results.

    Attributes:
        same: Cells with equal verdicts.
        conditions: Differences of what was measured (version, executable, sources), one sentence each.
    """

    same: int = 0
    changed: list[Difference] = field(default_factory=list)
    only_before: list[str] = field(default_factory=list)
    only_after: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether both results say the same about the same cells."""
        return not (self.changed or self.only_before or self.only_after)


def compare_results(before: LandingResult, after: LandingResult) -> Comparison:
    """Compares verdicts cell by cell; evidence such as times and nonces is left out."""
    comparison = Comparison(conditions=_conditions(before, after))
    old = {row.key: row for row in before.rows}
    new = {row.key: row for row in after.rows}
    for key, row in old.items():
        other = new.get(key)
        if other is None:
            comparison.only_before.append(" ".join(key))
        elif _verdict(row) == _verdict(other):
            comparison.same += 1
        else:
            case, *where = key
            worse = other.faulty and not row.faulty
            comparison.changed.append(Difference(case, " ".join(where), _tell(row), _tell(other), worse))
    comparison.only_after = [" ".join(key) for key in new if key not in old]
    return comparison


def render_comparison(comparison: Comparison) -> str:
    """The comparison as plain lines."""
    lines = [
        *comparison.conditions,
        f"{comparison.same} cells are the same, {len(comparison.changed)} changed",
    ]
    lines += [
        f"{'WORSE ' if item.worse else ''}{item.case} [{item.where}]: {item.before} -> {item.after}"
        for item in comparison.changed
    ]
    lines += _missing("first", comparison.only_before) + _missing("second", comparison.only_after)
    return "\n".join(lines)


def _missing(which: str, keys: list[str]) -> list[str]:
    if not keys:
        return []
    shown = keys[:SHOWN]
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return [f"{len(keys)} only in the {which}: {', '.join(shown)}{more}"]


def _verdict(row: Row) -> tuple[object, ...]:
    # Kept or restored is no difference: a short borrow may end before the host's page hears of it.
    return (tuple(row.landing), row.leaked, row.stolen, row.focus_kept, row.status)


def _tell(row: Row) -> str:
    return words_of(row)


def _conditions(before: LandingResult, after: LandingResult) -> list[str]:
    lines = []
    one, other = before.runtime.model_dump(), after.runtime.model_dump()
    lines += [f"{name}: {one[name]} -> {other[name]}" for name in one if one[name] != other[name]]
    if not (before.complete and after.complete):
        which = [name for name, result in (("first", before), ("second", after)) if not result.complete]
        lines.append(f"incomplete: {' and '.join(which)}")
    changed = sorted(
        name
        for name in {*before.sources, *after.sources}
        if before.sources.get(name) != after.sources.get(name)
    )
    if changed:
        lines.append(f"sources changed: {', '.join(changed)}")
    return lines
