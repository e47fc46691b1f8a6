"""The table of cases.

Nothing here says what a case is expected to show. Verdicts come from `observe` and the fixture's logs alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from probes.landing.cases import Case
from probes.landing.table_focus import APP_SIDE, FOCUS
from probes.landing.table_keys import FRAMES, KEYS, TEXT
from probes.landing.table_pointer import POINTER


def all_cases() -> tuple[Case, ...]:
    """Every case, in the order of the matrix."""
    cases = (*KEYS, *TEXT, *FRAMES, *POINTER, *APP_SIDE, *FOCUS)
    names = [case.name for case in cases]
    if len(set(names)) != len(names):  # a typing error in the table above, not a user's
        raise AssertionError("two cases have one name")
    return cases


def select_cases(
    patterns: Iterable[str] = (), *, quick: bool = False, any_app: bool = False
) -> tuple[Case, ...]:
    """The cases that a run is asked for.

    Args:
        patterns: Shell patterns for names; none means all.
        quick: Only the short list, unless patterns name cases of their own.
        any_app: Only those that need nothing of the fixture's pages.

    Raises:
        LookupError: If a pattern matches no case.
    """
    cases = tuple(case for case in all_cases() if case.any_app or not any_app)
    wanted = list(patterns)
    for pattern in wanted:
        if not any(fnmatchcase(case.name, pattern) for case in cases):
            raise LookupError(f"no case matches {pattern!r}")
    if wanted:
        return tuple(case for case in cases if any(fnmatchcase(case.name, pattern) for pattern in wanted))
    return tuple(case for case in cases if case.quick) if quick else cases
