"""Controls on another app: its observers see a person, an agent, a theft, and nothing where nothing was."""

from __future__ import annotations

from collections.abc import Callable

from probes.landing.cases import Case
from probes.landing.controls import Probe, tell_row
from probes.landing.schema import Control, Row
from probes.landing.steps import AGENT_KEYS, FIELD, App, Cdp, Pause, Step, click, letters
from probes.own_app.observers import TERMINAL
from probes.own_app.stage import OwnStage
from probes.own_app.trial import LEAVE, run_own_trial


def _without_guard(steps: tuple[Step, ...], to: str) -> tuple[Step, ...]:
    """The same commands on the observers' own connection, which no guard is near."""
    return tuple(
        App(step.method, {**step.params, "to": to}) if isinstance(step, Cdp) else step for step in steps
    )


def _row_says(landing: list[str], leaked: int, stolen: int, *, kept: bool) -> Callable[[Row], bool]:
    def holds(row: Row) -> bool:
        typed = row.evidence.typed
        return (
            (row.landing, row.leaked, row.stolen, row.focus_kept) == (landing, leaked, stolen, kept)
            and typed is not None
            and len(typed.arrived) == len(typed.after) - stolen
        )

    return holds


def _in_the_guest(row: Row) -> bool:
    typed = row.evidence.typed
    return (
        _row_says(["guest"], 0, 10, kept=False)(row)
        and typed is not None
        and typed.elsewhere == {"guest": typed.after}
    )


IDLE = Probe(
    Case("idle", "Nothing happens for a while, then the person types", (Pause(250),)),
    "no input, leaked 0, stolen 0, kept: the person's keys are seen in their field",
    _row_says([], 0, 0, kept=True),
)
LEAK = Probe(
    Case(
        "leak",
        "The agent's letters, sent to the host itself",
        _without_guard(letters(), "host"),
        "keys",
        AGENT_KEYS,
    ),
    f"host, leaked {len(AGENT_KEYS)}, stolen 0, kept",
    _row_says(["host"], len(AGENT_KEYS), 0, kept=True),
)
_IN_GUEST = _without_guard((*click(FIELD, moved=True), *letters()), "guest")
#: A webview is part of its host's focus, so that a press takes that away; a view is not.
OF_WEBVIEWS = (
    IDLE,
    LEAK,
    Probe(
        Case(
            "theft",
            "A press on the guest past the guard, then letters",
            _IN_GUEST,
            "keys",
            AGENT_KEYS,
        ),
        "guest, leaked 0, stolen 10, moved: the agent's keys and the person's are seen in the guest",
        _in_the_guest,
    ),
)
OF_VIEWS = (
    IDLE,
    LEAK,
    Probe(
        Case(
            "agent",
            "A press on the guest past the guard, then letters",
            _IN_GUEST,
            "keys",
            AGENT_KEYS,
        ),
        "guest, leaked 0, stolen 0, kept: the agent's keys are seen in the guest",
        _row_says(["guest"], 0, 0, kept=True),
    ),
    Probe(
        Case("theft", "The host's field is left without the focus", (App(LEAVE, {"to": "host"}),)),
        "no input, leaked 0, stolen 10, moved",
        _row_says([], 0, 10, kept=False),
    ),
)


async def run_own_controls(stage: OwnStage) -> list[Control]:
    """Runs the controls of a stage; its cases run only if all passed."""
    controls = []
    for probe in OF_WEBVIEWS if stage.lane.embedding == "webview" else OF_VIEWS:
        row = await run_own_trial(stage, probe.case)
        if probe is IDLE and _lets_no_text_in(row):
            stage.observers.label = TERMINAL
            row = await run_own_trial(stage, probe.case)
        controls.append(
            Control(
                name=probe.case.name,
                passed=row.status == "observed" and probe.holds(row),
                embedding=stage.lane.embedding,
                window=stage.lane.window,
                route=stage.lane.route,
                expected=probe.expected,
                seen=tell_row(row),
            )
        )
    return controls


def _lets_no_text_in(row: Row) -> bool:
    """Whether the person's keys reach their field and no text comes of it, as in a terminal."""
    typed = row.evidence.typed
    return typed is not None and not typed.arrived and not typed.elsewhere and row.focus_kept is True
