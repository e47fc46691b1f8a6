"""How a watched guard looks in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from focusguard.watch.state import BOXES, Guest, Landing, State, Times

#: As much of a target's id as tells them apart for a reader.
SHORT = 6
VERDICTS = {"handled": "green", "cancelled": "cyan", "missed": "bold red", "unverified": "dim"}
STATES = {"ready": "green", "crashed": "bold red", "gone": "dim"}
#: Lines beside the tables' own rows, and the least number of rows for actions.
AROUND, LEAST = 12, 3


def render(state: State, *, where: str, now: float, height: int) -> RenderableType:
    """The whole view.

    Args:
        state: what is known.
        where: the guard's address, without its token.
        now: seconds, of the clock that the state's times are of.
        height: lines that there is room for.
    """
    guests = [*state.guests.values(), *state.gone]
    refused = list(state.refused)
    rows = max(LEAST, height - AROUND - len(guests) - len(refused) - len(state.status.get("limits", [])))
    latest = list(reversed(state.landings.items()))[:rows]
    parts: list[RenderableType] = [
        _head(state, where),
        *(Text(f"  {plain(limit)}", "yellow") for limit in state.status.get("limits", [])),
        _clients(state.status.get("clients", [])),
        _figures(state),
        Text(),
        _guests(guests),
        Text(),
        _landings(latest, now),
        Text(),
    ]
    if state.refusals:
        parts.append(_refusals(state, refused))
    if state.missed:
        parts.append(Text(f"{state.missed} reports went by unseen", "yellow"))
    parts.append(Text("Ctrl-C ends this view, not the guard.", "dim"))
    return Group(*parts)


def plain(value: object) -> str:
    """A text that only shows: what pages and clients choose may not steer the terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(value))


def _head(state: State, where: str) -> Text:
    bridge = state.status.get("bridge")
    with_bridge = state.status.get("mode") == "bridge"
    head = Text(f"focusguard {plain(state.status.get('version', ''))}", "bold")
    head.append(f"  {plain(where)}  ", "default")
    head.append(
        "with the bridge" if with_bridge else "WITHOUT a bridge", "green" if with_bridge else "bold yellow"
    )
    if isinstance(bridge, Mapping):
        head.append(f"  Electron {plain(bridge.get('electron', ''))}", "default")
    return head


def _clients(clients: Iterable[Mapping[str, Any]]) -> Text:
    named: dict[str, list[str]] = {"at guests": [], "at none": [], "watching": []}
    for each in clients:
        what = "at guests" if each["guests"] else "watching" if each["watches"] else "at none"
        named[what].append(f"#{each['client']}")
    said = [f"{what} {' '.join(numbers)}" for what, numbers in named.items() if numbers]
    return Text(f"clients   {'   '.join(said) or 'none'}")


def _figures(state: State) -> Group:
    metrics = state.metrics
    spread = metrics.get("borrowMs", {})
    times = "  ".join(f"{name} {spread.get(name, 0):.1f} ms" for name in ("p50", "p99", "max"))
    borrows = Text(
        f"borrows   {metrics.get('borrows', 0)}   {times}   refused {metrics.get('refusals', 0)}"
        f"   keys brought home {metrics.get('broughtHome', 0)}"
    )
    for count, what in ((state.lost_keys, "keys lost"), (state.broken_words, "words broken")):
        if count:
            borrows.append(f"   {what} {count}", "bold red")
    kept = "   ".join(f"{name} {state.boxes[name]}" for name in BOXES.values())
    return Group(borrows, Text(f"kept      {kept}"))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in columns:
        wide = name in ("address", "action")
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1 if wide else None)
    return table


def _guests(guests: Iterable[Guest]) -> Table:
    table = _table("guest", "state", "embedding", "address", "clients")
    for each in guests:
        table.add_row(
            _short(each.target_id),
            Text(each.state, STATES[each.state]),
            Text(plain(each.embedding)),
            Text(plain(each.url)),
            " ".join(f"#{client}" for client in each.clients),
        )
    return table


def _landings(latest: Iterable[tuple[Landing, Times]], now: float) -> Table:
    table = _table("ago", "times", "client", "guest", "action", "verdict", "way", "frame", "away")
    for landing, times in latest:
        verdict = Text(plain(landing.verdict), VERDICTS.get(landing.verdict, ""))
        ended = Text(plain(landing.code), "red") if landing.code else verdict
        table.add_row(
            f"{max(0, now - times.at):.0f} s" if times.at is not None else "before",
            str(times.count),
            f"#{landing.client}",
            _short(landing.target_id),
            Text(plain(_action(landing))),
            ended,
            Text(plain(landing.way)),
            _short(landing.frame_id),
            f"{times.held_ms:.1f} ms" if times.held_ms is not None else "",
        )
    return table


def _action(landing: Landing) -> str:
    plainly = landing.kind and landing.method.startswith("Input.dispatch")
    return landing.kind if plainly else f"{landing.method} {landing.kind}".strip()


def _refusals(state: State, refused: Iterable[Mapping[str, Any]]) -> Group:
    counts = "   ".join(f"{plain(code)} {count}" for code, count in state.refusals.most_common())
    lines = [Text(f"refused   {counts}", "red")]
    lines += [
        Text(f"  #{each.get('client')} {plain(each.get('method', ''))}: {plain(each.get('code', ''))}", "dim")
        for each in reversed(list(refused))
    ]
    return Group(*lines)


def _short(target_id: str) -> Text:
    return Text(plain(target_id[:SHORT]))
