"""The documentation page of soaks: a line for each Electron, embedding and field."""

from __future__ import annotations

from collections.abc import Sequence

from probes.soak.schema import Compositions, SoakResult

HEAD = """# Soak

<!-- Written by `focusguard soak doc`; the runs themselves are made with `focusguard soak`. -->

A person types with real keystrokes while two agents press, drag, type, tab, focus, scroll, navigate, reload and take
screenshots as fast as they are answered, and guests come and go. Every keystroke is looked for in the page that it was
meant for, and every action's effect in the guest. The raw control is the same typing beside one agent that presses a
button ten times a second without the guard.

A borrow takes the person's focus for an action, and gives it back. It waits until the person has just pressed a key, so
that it falls between two of them: what that costs the agents is in the column of what was waited, and what it saves in
the column of keys brought home, which are those that fell into a borrow all the same, beside a run in which borrows
wait for nothing.

"""
TYPING = (
    "Electron",
    "embedding",
    "field",
    "keystrokes",
    "presses",
    "other actions",
    "lost",
    "out of order",
    "doubled",
    "misdelivered",
    "leaked",
    "effects missing",
    "brought home",
    "borrows wait",
    "waited p50 / p99, ms",
    "borrow p50 / p99 / max, ms",
    "raw control lost",
)
PACES = {"between-keys": "for the next key", "at-once": "for nothing"}
COMPOSING_HEAD = """
## With a real input method

The person composes words with fcitx5, with uneven gaps and no pause between two words, while the same agents act. A
word is swallowed where no composition began (the input method was dead), broken where one began and the text is
another. What the guard said of it by itself stands in the column after. An action that was
refused while a composition was open was sent again by its agent, and its effect seen.

"""
COMPOSING = (
    "Electron",
    "engine",
    "keys per second",
    "words",
    "compositions",
    "swallowed",
    "broken",
    "reported",
    "refused",
    "presses",
    "other actions",
    "misdelivered",
    "leaked",
    "effects missing",
    "borrow p50 / p99 / max, ms",
)


def render_document(results: Sequence[SoakResult]) -> str:
    """The page, with the newest Electron first."""
    ordered = sorted(results, key=_order)
    typed = [_typed(result) for result in ordered if result.compositions is None]
    composed = [
        _composed(result, result.compositions) for result in ordered if result.compositions is not None
    ]
    page = HEAD + _table(TYPING, typed)
    return page + (COMPOSING_HEAD + _table(COMPOSING, composed) if composed else "")


def _order(result: SoakResult) -> tuple[list[int], str, str]:
    numbers = [-int(part) for part in result.runtime.electron.split(".") if part.isdigit()]
    return numbers, result.embedding, result.host_field


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def _typed(result: SoakResult) -> list[str]:
    control = result.raw_control
    faults = (result.lost, result.out_of_order, result.doubled, result.misdelivered, result.leaked)
    return [
        result.runtime.electron,
        result.embedding,
        result.host_field,
        f"{result.keystrokes:,}",
        f"{result.presses:,}",
        f"{result.other_actions:,}",
        *_faults(*faults, result.effects_missing),
        str(result.brought_home),
        PACES[result.pace],
        f"{result.waited_ms.p50:g} / {result.waited_ms.p99:g}",
        _borrows(result),
        f"{control.lost:,} of {control.keystrokes:,}" if control else "not run",
    ]


def _composed(result: SoakResult, words: Compositions) -> list[str]:
    return [
        result.runtime.electron,
        words.engine,
        f"{result.rate:g}",
        str(words.words),
        str(words.compositions),
        *_faults(words.swallowed, words.broken),
        str(words.reported),
        str(result.refused),
        f"{result.presses:,}",
        f"{result.other_actions:,}",
        *_faults(result.misdelivered, result.leaked, result.effects_missing),
        _borrows(result),
    ]


def _faults(*counts: int) -> list[str]:
    return [f"**{count}**" if count else "0" for count in counts]


def _borrows(result: SoakResult) -> str:
    times = result.borrow_ms
    return f"{times.p50:g} / {times.p99:g} / {times.max:g}" if times.max else "nothing is borrowed"
