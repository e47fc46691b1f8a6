"""The documentation page of soaks: a line for each Electron, embedding and field."""

from __future__ import annotations

from collections.abc import Sequence

from probes.soak.schema import SoakResult

HEAD = """# Soak

<!-- Written by `focusguard soak doc`; the runs themselves are made with `focusguard soak`. -->

A person types with real keystrokes while two agents press, drag, type, tab, focus, scroll, navigate, reload and take
screenshots as fast as they are answered, and guests come and go. Every keystroke is looked for in the page that it was
meant for, and every action's effect in the guest. The raw control is the same typing beside one agent that presses a
button ten times a second without the guard.

| Electron | embedding | field | keystrokes | presses | other actions | lost | out of order | doubled | misdelivered \
| leaked | effects missing | brought home | borrow p50 / p99 / max, ms | raw control lost |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def render_document(results: Sequence[SoakResult]) -> str:
    """The page, with the newest Electron first."""
    ordered = sorted(results, key=_order)
    return HEAD + "".join(f"| {' | '.join(_cells(result))} |\n" for result in ordered)


def _order(result: SoakResult) -> tuple[list[int], str, str]:
    numbers = [-int(part) for part in result.runtime.electron.split(".") if part.isdigit()]
    return numbers, result.embedding, result.host_field


def _cells(result: SoakResult) -> list[str]:
    times, control = result.borrow_ms, result.raw_control
    faults = (result.lost, result.out_of_order, result.doubled, result.misdelivered, result.leaked)
    return [
        result.runtime.electron,
        result.embedding,
        result.host_field,
        f"{result.keystrokes:,}",
        f"{result.presses:,}",
        f"{result.other_actions:,}",
        *[f"**{count}**" if count else "0" for count in (*faults, result.effects_missing)],
        str(result.brought_home),
        f"{times.p50:g} / {times.p99:g} / {times.max:g}" if times.max else "nothing is borrowed",
        f"{control.lost:,} of {control.keystrokes:,}" if control else "not run",
    ]
