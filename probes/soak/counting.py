"""What became of a person's keystrokes: pure counting over what was typed and what the pages saw."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class Count:
    """Keystrokes by what became of them.

    Attributes:
        lost: typed, and not seen in the person's field.
        doubled: seen there more often than typed.
        out_of_order: seen there, but not in the order in which they were typed.
    """

    lost: int
    doubled: int
    out_of_order: int

    @property
    def clean(self) -> bool:
        """Whether every keystroke arrived once and in order."""
        return self.lost == self.doubled == self.out_of_order == 0


def count(typed: Sequence[str], seen: Sequence[str]) -> Count:
    """Compare what was typed with what the person's field saw."""
    if list(typed) == list(seen):
        return Count(0, 0, 0)
    wanted, got = Counter(typed), Counter(seen)
    lost = sum((wanted - got).values())
    doubled = sum((got - wanted).values())
    in_order = longest_common(typed, seen)
    return Count(lost, doubled, len(typed) - lost - in_order)


def missing(typed: Sequence[str], seen: Sequence[str]) -> list[int]:
    """Which keystrokes are not there, by their places among those that were typed."""
    matched = SequenceMatcher(None, typed, seen, autojunk=False).get_matching_blocks()
    there = {block.a + offset for block in matched for offset in range(block.size)}
    return [place for place in range(len(typed)) if place not in there]


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence (Hunt and Szymanski: fast where the two are nearly the same)."""
    places: dict[str, list[int]] = {}
    for place, item in enumerate(other):
        places.setdefault(item, []).append(place)
    ends: list[int] = []
    for item in one:
        for place in reversed(places.get(item, ())):
            at = bisect_left(ends, place)
            if at == len(ends):
                ends.append(place)
            else:
                ends[at] = place
    return len(ends)


def spread(values: Sequence[float]) -> dict[str, float]:
    """p50, p99 and the largest of some times in milliseconds; zeros where there are none."""
    if not values:
        return {"p50": 0.0, "p99": 0.0, "max": 0.0}
    ordered = sorted(values)
    last = len(ordered) - 1
    return {
        "p50": round(ordered[round(last * 0.50)], 2),
        "p99": round(ordered[round(last * 0.99)], 2),
        "max": round(ordered[-1], 2),
    }
