"""Comparing what the two routes gave."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from specs.electron.fidelity.stage import Outcome, Row


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that is not equal, and the first thing in which it is not."""

    row: Row
    where: str
    plain: Any
    guarded: Any

    def __str__(self) -> str:
        return (
            f"{self.row.name} [{self.row.group}]: {self.where}\n"
            f"    plain   {_short(self.plain)}\n    guarded {_short(self.guarded)}"
        )


@dataclass
class Comparison:
    """The result of a whole corpus."""

    rows: int = 0
    equal: int = 0
    borrowed: int = 0
    borrows: int = 0
    by_group: Counter[str] = field(default_factory=Counter)
    equal_by_group: Counter[str] = field(default_factory=Counter)
    borrowed_by_group: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def summary(self) -> str:
        groups = ", ".join(
            f"{group} {self.equal_by_group[group]}/{count} ({self.borrowed_by_group[group]} borrowed)"
            for group, count in self.by_group.items()
        )
        return (
            f"{self.rows} rows, {self.equal} equal; {self.borrowed} rows borrowed the focus, "
            f"{self.borrows} times: {groups}"
        )


def compare(rows: Sequence[Row], plain: Sequence[Outcome], guarded: Sequence[Outcome]) -> Comparison:
    """Compares row by row."""
    result = Comparison()
    for row, one, other in zip(rows, plain, guarded, strict=True):
        result.rows += 1
        result.by_group[row.group] += 1
        result.borrows += other.borrows
        if other.borrows:
            result.borrowed += 1
            result.borrowed_by_group[row.group] += 1
        difference = _difference(row, one, other)
        if difference is None:
            result.equal += 1
            result.equal_by_group[row.group] += 1
        else:
            result.differences.append(difference)
    return result


def _difference(row: Row, plain: Outcome, guarded: Outcome) -> Difference | None:
    found = _first(plain.record, guarded.record, "")
    if found is None:
        found = _first(list(plain.replies), list(guarded.replies), "replies")
    return None if found is None else Difference(row, *found)


def _first(one: Any, other: Any, where: str) -> tuple[str, Any, Any] | None:
    """The first place in which two records differ."""
    if one == other and type(one) is type(other):
        return None
    if isinstance(one, dict) and isinstance(other, dict) and "type" not in one:
        for name in [*one, *(name for name in other if name not in one)]:
            found = _first(one.get(name), other.get(name), f"{where}.{name}".lstrip("."))
            if found is not None:
                return found
    if isinstance(one, list) and isinstance(other, list):
        for number in range(max(len(one), len(other))):
            left = one[number] if number < len(one) else None
            right = other[number] if number < len(other) else None
            if left != right:
                if isinstance(left, dict) and isinstance(right, dict):
                    names = [name for name in {**left, **right} if left.get(name) != right.get(name)]
                    at = f"{where}[{number}] {left.get('type')} {', '.join(names)}"
                    if len(names) < 8:
                        return (
                            at,
                            {name: left.get(name) for name in names},
                            {name: right.get(name) for name in names},
                        )
                return f"{where}[{number}]", left, right
    return where, one, other


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else text[:400] + "…"
