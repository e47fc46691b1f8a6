"""The landing probe with real keystrokes: what raw input steals, and that the guard does not."""

from __future__ import annotations

import anyio
import pytest

from focusguard.electron.runtimes import Runtime
from probes.landing.runner import Request, Run
from probes.landing.schema import LandingResult
from probes.landing.table import select_cases

pytestmark = [pytest.mark.electron, pytest.mark.headful]

CASES = (
    "key",
    "key.while-typing",
    "insert-text",
    "key.cross-site-frame",
    "frame-session.key",
    "mouse-press",
    "mouse-press.while-typing",
    "mouse-press.cross-site-frame",
    "mouse-press.restore-on-focus",
    "bring-to-front",
)


@pytest.fixture(scope="module")
def result(runtime: Runtime) -> LandingResult:
    """One run for all."""
    request = Request(
        runtime=runtime,
        embeddings=("webview",),
        windows=("headful",),
        routes=("raw", "guarded"),
        cases=select_cases(CASES),
    )
    run = Run(request, lambda _event: None)
    anyio.run(run.perform)
    found = run.result()
    assert found.complete, found.incomplete_because
    assert set(run.screenshots) >= {row.evidence.screenshot for row in found.rows}
    return found


def test_the_controls_tell_leak_theft_raise_and_nothing_apart(result: LandingResult) -> None:
    names = [(control.route, control.name) for control in result.controls if control.passed]
    assert sorted(names) == sorted(
        (route, name) for route in ("raw", "guarded") for name in ("leak", "theft", "raise", "idle")
    )


@pytest.mark.parametrize("case", ["key", "insert-text", "key.cross-site-frame"])
def test_raw_keys_land_in_the_host(result: LandingResult, case: str) -> None:
    row = result.row(case, "webview", "headful", "raw")
    assert row is not None
    assert (row.landing, row.stolen, row.focus_kept) == (["host"], 0, True)
    assert row.leaked == (1 if case == "insert-text" else 3)


def test_a_raw_press_steals_all_the_keys_that_follow(result: LandingResult) -> None:
    row = result.row("mouse-press", "webview", "headful", "raw")
    assert row is not None
    assert (row.landing, row.stolen, row.focus_kept) == (["guest"], 10, False)
    assert row.evidence.typed is not None
    assert "1234567890" in row.evidence.typed.elsewhere.values(), "the person typed into the page"


def test_raw_presses_steal_while_the_person_types(result: LandingResult) -> None:
    row = result.row("mouse-press.while-typing", "webview", "headful", "raw")
    assert row is not None
    assert row.stolen >= 15


def test_the_guard_keeps_everything_in_its_place(result: LandingResult) -> None:
    for row in result.rows:
        if row.route != "guarded":
            continue
        assert (row.case, row.leaked, row.stolen, row.focus_kept) == (row.case, 0, 0, True)
        if row.case != "bring-to-front":
            assert row.landing in (["guest"], ["cross-site-frame"])
        assert row.evidence.focus.raised == []


def test_every_guarded_row_names_its_twin(result: LandingResult) -> None:
    twins = {row.case: row.evidence.twin for row in result.rows if row.route == "guarded"}
    assert twins["key"] == twins["mouse-press"] == "fault"
    assert twins["frame-session.key"] == twins["bring-to-front"] == "no-fault"
