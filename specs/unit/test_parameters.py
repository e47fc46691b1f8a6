"""The kinds of parameters: what Chromium would refuse is refused before anything is done, in Chromium's words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focusguard.errors import ProtocolError
from focusguard.policy.parameters import SHAPES, check
from specs.unit.transcript import Transcript

KEY, MOUSE, COMPOSE = "Input.dispatchKeyEvent", "Input.dispatchMouseEvent", "Input.imeSetComposition"
#: A value of each kind, and what Chromium takes for it beside that.
GOOD: dict[str, list[Any]] = {
    "string": ["x", ""],
    "boolean": [True, False],
    "integer": [0, -5, 2**31 - 1, -(2**31), 3.0],
    "number": [0, 1.5, 2**40, -1e300],
    "array": [[]],
    "object": [{}],
}
EVERYTHING = [*(value for values in GOOD.values() for value in values), None, 1.5, 2**31, 1e300]


def full(method: str) -> dict[str, Any]:
    """What must be there."""
    return {name: GOOD[SHAPES[method].kinds[name]][0] for name in SHAPES[method].needed}


def fits(kind: str, value: Any) -> bool:
    """Whether it is of the kind: `True == 1`, but it is none."""
    return any(type(value) is type(good) and value == good for good in GOOD[kind]) or (
        kind == "number" and type(value) in (int, float)
    )


@pytest.mark.parametrize("method", SHAPES)
def test_each_parameter_of_each_kind(method: str) -> None:
    check(method, full(method))
    for name, kind in SHAPES[method].kinds.items():
        for value in EVERYTHING:
            params = {**full(method), name: value}
            if fits(kind, value):
                check(method, params)
                continue
            with pytest.raises(ProtocolError, match="Invalid parameters") as refused:
                check(method, params)
            assert str(refused.value.data).startswith(f"Failed to deserialize params.{name} - ")
    for name in SHAPES[method].needed:
        with pytest.raises(ProtocolError) as refused:
            check(method, {other: value for other, value in full(method).items() if other != name})
        assert (
            refused.value.data == f"Failed to deserialize params.{name} - BINDINGS: mandatory field missing"
        )


def test_what_it_does_not_know_is_let_through() -> None:
    check(KEY, {"type": "keyUp", "nope": object()})
    check("Runtime.evaluate", {"expression": 5})


@pytest.mark.parametrize(
    ("method", "params", "data"),
    [
        (KEY, {"type": "keyUp", "modifiers": True}, "modifiers - BINDINGS: int32 value expected"),
        (KEY, {"type": "keyDown", "autoRepeat": "yes"}, "autoRepeat - BINDINGS: bool value expected"),
        (KEY, {"type": "keyUp", "nativeVirtualKeyCode": "x"}, "nativeVirtualKeyCode - BINDINGS: int32"),
        (KEY, {"type": "keyUp", "commands": ""}, "commands - CBOR: array start expected"),
        (MOUSE, {"type": "mousePressed", "x": "5", "y": 1}, "x - BINDINGS: double value expected"),
        (MOUSE, {"type": "mousePressed", "x": 5}, "y - BINDINGS: mandatory field missing"),
        (COMPOSE, {"text": "k", "selectionStart": "x"}, "selectionStart - BINDINGS: int32 value expected"),
        ("Input.synthesizeTapGesture", {"x": "a", "y": 5}, "x - BINDINGS: double value expected"),
        ("Input.synthesizePinchGesture", {"x": 1, "y": 5}, "scaleFactor - BINDINGS: mandatory"),
        ("Page.reload", {"ignoreCache": "yes"}, "ignoreCache - BINDINGS: bool value expected"),
        ("Browser.setDownloadBehavior", {"behavior": ["deny"]}, "behavior - BINDINGS: string"),
        ("Target.attachToTarget", {"targetId": 5}, "targetId - BINDINGS: string value expected"),
        ("Target.activateTarget", {}, "targetId - BINDINGS: mandatory field missing"),
    ],
)
def test_nothing_is_borrowed_or_sent_for_it(method: str, params: dict[str, Any], data: str) -> None:
    t = Transcript()
    t.guest("G1")
    agent = t.client()
    agent.attaches("G1", "S1")
    agent.says(1, method, params, session="S1")
    error = agent.hears_error(1, "Invalid parameters", session="S1")
    assert error["data"].startswith(f"Failed to deserialize params.{data}")
    t.silence()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.data())
def test_whatever_a_client_says_no_event_fails_and_no_python_is_heard(data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(sorted(SHAPES)))
    names = st.sampled_from(sorted(SHAPES[method].kinds))
    params = {**full(method), **data.draw(st.dictionaries(names, VALUES, max_size=3))}
    t = Transcript()
    t.guest("G1")
    agent = t.client()
    agent.attaches("G1", "S1")
    agent.says_raw(json.dumps({"id": 1, "method": method, "params": params, "sessionId": "S1"}).encode())
    assert t.reported("fault") == []
