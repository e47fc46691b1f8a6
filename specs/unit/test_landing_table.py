"""The table of cases is data: complete, unambiguous, and without any expectation in it."""

from __future__ import annotations

import dataclasses
import re

import pytest

from probes.landing.cases import Case, exists_in, repeated
from probes.landing.observe import PERSON_KEYS
from probes.landing.schema import EMBEDDINGS
from probes.landing.steps import FIELD, At, Cdp, Pause
from probes.landing.table import all_cases, select_cases

#: What can carry input or move focus, by the protocol's method names.
METHODS = {
    "Input.dispatchKeyEvent",
    "Input.insertText",
    "Input.imeSetComposition",
    "Input.dispatchMouseEvent",
    "Input.dispatchTouchEvent",
    "Input.dispatchDragEvent",
    "Input.emulateTouchFromMouseEvent",
    "Input.synthesizeTapGesture",
    "Input.synthesizeScrollGesture",
    "Input.synthesizePinchGesture",
    "Input.setInterceptDrags",
    "Input.setIgnoreInputEvents",
    "Input.cancelDragging",
    "DOM.focus",
    "Runtime.evaluate",
    "Page.navigate",
    "Page.reload",
    "Page.bringToFront",
    "Page.captureScreenshot",
    "Page.setWebLifecycleState",
    "Target.activateTarget",
    "Target.createTarget",
    "Emulation.setFocusEmulationEnabled",
    "Browser.setWindowBounds",
}


def test_every_method_that_carries_input_or_moves_focus_is_in_the_table() -> None:
    used = {step.method for case in all_cases() for step in case.steps if isinstance(step, Cdp)}
    assert used == METHODS


def test_names_are_unique() -> None:
    names = [case.name for case in all_cases()]
    assert len(set(names)) == len(names)


def test_no_case_says_what_it_is_expected_to_show() -> None:
    fields = {field.name for field in dataclasses.fields(Case)}
    assert not fields & {"expected", "landing", "leaked", "stolen"}


def test_agent_and_person_have_no_key_in_common() -> None:
    for case in all_cases():
        assert not set("".join(case.tokens)) & set(PERSON_KEYS) or any(
            len(token) > 5 for token in case.tokens
        )


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_input_can_be_recognised(case: Case) -> None:
    assert case.what
    if case.kind in ("keys", "text"):
        assert case.tokens


def test_what_the_app_sends_itself_has_only_the_raw_route() -> None:
    for case in select_cases(["send-input-event*", "web-contents*", "mouse-press.restore*"]):
        assert case.routes == ("raw",)


def test_a_while_typing_case_needs_real_keys() -> None:
    for case in all_cases():
        if case.during:
            assert case.windows == ("headful",)
            assert len(repeated(case, 3).steps) > 2 * len(case.steps)


def test_patterns_select_and_an_unknown_one_is_an_error() -> None:
    assert [case.name for case in select_cases(["key"])] == ["key"]
    assert {case.name for case in select_cases(["insert-text.*"])} < {case.name for case in all_cases()}
    with pytest.raises(LookupError, match="no case matches 'nothing-like-it'"):
        select_cases(["nothing-like-it"])


def test_quick_is_a_part_of_all() -> None:
    quick = select_cases(quick=True)
    assert 15 <= len(quick) < len(all_cases()) / 2


def test_a_webviews_attribute_is_no_case_elsewhere() -> None:
    (inert,) = select_cases(["mouse-press.inert-webview"])
    assert [name for name in EMBEDDINGS if exists_in(inert, name, "hidden", "raw")] == ["webview"]


@pytest.mark.parametrize("case", select_cases(any_app=True), ids=lambda case: case.name)
def test_what_is_done_in_any_app_needs_one_field_and_types_letters(case: Case) -> None:
    assert not (case.loads or case.destructive) and case.host_field == "textarea"
    assert case.guest_focus in ("main", "cross-site")
    for step in (*case.setup, *case.steps, *case.cleanup):
        assert isinstance(step, Cdp | Pause)
        if isinstance(step, Cdp):
            values = [*step.params.values(), *step.params.get("touchPoints", [{}])[:1]]
            used = {value.element for value in values if isinstance(value, At)}
            assert used <= {FIELD, f"cross-site.{FIELD}"}
            assert step.session in ("root", "frame", "browser")
            assert re.fullmatch("[a-z]?", step.params.get("key", ""))
            assert re.fullmatch("[a-z]*", step.params.get("text", ""))
