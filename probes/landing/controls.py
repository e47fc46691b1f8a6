"""Controls: deliberate faults, and a deliberate nothing, which the observers must tell apart first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from probes.landing.cases import Case
from probes.landing.cells import words_of
from probes.landing.schema import Control, Row
from probes.landing.stage import Stage
from probes.landing.steps import AGENT_KEYS, App, Pause
from probes.landing.trial import run_trial

Break = Literal["observer-off", "leak-suppressed", "theft-suppressed", "raise-suppressed", "idle-disturbed"]
BREAKS: tuple[Break, ...] = (
    "observer-off",
    "leak-suppressed",
    "theft-suppressed",
    "raise-suppressed",
    "idle-disturbed",
)

_FOCUS_GUEST = "document.getElementById('guest-0').focus()"
_LOSE_FOCUS = "document.activeElement.blur()"


@dataclass(frozen=True)
class Probe:
    """A control: what is done, and what a row about it has to say."""

    case: Case
    expected: str
    holds: Callable[[Row], bool]


def controls_for(stage: Stage) -> list[Probe]:
    """The controls that a stage can show; a hidden window has nothing to raise."""
    typed = 10 if stage.headful else 0
    lost = 10 if stage.headful else 1
    theft = _FOCUS_GUEST if stage.lane.embedding == "webview" else _LOSE_FOCUS
    probes = [
        Probe(
            _case("leak", "The app itself types the agent's letters into the host", _leak(), "keys"),
            f"host, leaked {len(AGENT_KEYS)}, stolen 0, kept, nothing raised",
            lambda row: (
                row.landing == ["host"]
                and (row.leaked, row.stolen, row.focus_kept) == (len(AGENT_KEYS), 0, True)
                and not _raised(row)
                and _arrived(row) == typed
            ),
        ),
        Probe(
            _case("theft", "The app takes the focus from the host's field", (_script(theft),)),
            f"no input, leaked 0, stolen {lost}, moved, nothing raised",
            lambda row: (
                (row.landing, row.leaked, row.stolen, row.focus_kept) == ([], 0, lost, False)
                and not _raised(row)
            ),
        ),
        Probe(
            _case("idle", "Nothing happens for a while", (Pause(250),)),
            "no input, leaked 0, stolen 0, kept, nothing raised",
            lambda row: (
                (row.landing, row.leaked, row.stolen, row.focus_kept) == ([], 0, 0, True)
                and not _raised(row)
                and _arrived(row) == typed
            ),
        ),
    ]
    if stage.headful:
        probes.append(
            Probe(
                _case("raise", "Another window of the app comes to the front", (_RAISE,)),
                "no input, leaked 0, stolen 10, a window raised",
                lambda row: (row.landing, row.leaked, row.stolen) == ([], 0, 10) and _raised(row),
            )
        )
    return probes


async def run_controls(stage: Stage, broken: Break | None = None) -> list[Control]:
    """Runs the controls of a stage.

    Args:
        stage: A fresh one.
        broken: Breaks one on purpose.

    Returns:
        One entry each; the lane's cases run only if all passed.
    """
    controls = []
    stage.blind = broken == "observer-off"
    for probe in controls_for(stage):
        case = probe.case
        if broken == f"{case.name}-suppressed":
            case = replace(case, steps=())
        if broken == "idle-disturbed" and case.name == "idle":
            case = replace(case, steps=_leak(), kind="keys")
        row = await run_trial(stage, case)
        controls.append(
            Control(
                name=case.name,
                passed=row.status == "observed" and probe.holds(row),
                embedding=stage.lane.embedding,
                window=stage.lane.window,
                route=stage.lane.route,
                expected=probe.expected,
                seen=tell_row(row),
            )
        )
    return controls


def _case(
    name: str, what: str, steps: tuple[App | Pause, ...], kind: Literal["keys", "none"] = "none"
) -> Case:
    return Case(name, what, steps, kind, AGENT_KEYS)


def _leak() -> tuple[App, ...]:
    return tuple(
        App(
            "send_input_event",
            {
                "to": "host",
                "events": [{"type": kind, "keyCode": key} for kind in ("keyDown", "char", "keyUp")],
            },
        )
        for key in AGENT_KEYS
    )


def _script(code: str) -> App:
    return App("execute", {"document": "host", "code": code})


_RAISE = App("sentinel", {"open": True, "focus": True})


def _raised(row: Row) -> bool:
    return bool(row.evidence.focus.raised)


def _arrived(row: Row) -> int:
    return len(row.evidence.typed.arrived) if row.evidence.typed is not None else 0


def tell_row(row: Row) -> str:
    """What a control's row says, in words."""
    if row.status != "observed":
        return f"{row.status}: {row.evidence.reason}"
    raised = f"raised {', '.join(row.evidence.focus.raised)}" if _raised(row) else "nothing raised"
    failed = f" ({row.reply})" if row.reply != "ok" else ""
    return f"{words_of(row)}, {raised}{failed}"
