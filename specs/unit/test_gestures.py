"""Gestures as the touches, mouse and wheel events that they are made of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focusguard.policy.gestures import LONGEST_SECONDS, MOUSE, TOUCH, Step, steps

TAP, SCROLL, PINCH = (f"Input.synthesize{name}Gesture" for name in ("Tap", "Scroll", "Pinch"))
FINGER = {"x": 1.0, "y": 2.0, "id": 0}


class TestTap:
    def test_a_finger_down_and_up(self) -> None:
        assert steps(TAP, {"x": 1, "y": 2}) == [
            Step(0.0, TOUCH, {"type": "touchStart", "touchPoints": [FINGER]}),
            Step(0.05, TOUCH, {"type": "touchEnd", "touchPoints": []}),
        ]

    def test_twice_and_held(self) -> None:
        made = steps(TAP, {"x": 1, "y": 2, "tapCount": 2, "duration": 300})
        assert [step.params["type"] for step in made] == ["touchStart", "touchEnd"] * 2
        assert made[1].wait == 0.3

    @pytest.mark.parametrize(("asked", "done"), [(0, 1), (-3, 1), (10, 10), (10_000, 10)])
    def test_a_count_within_reason(self, asked: int, done: int) -> None:
        assert len(steps(TAP, {"x": 1, "y": 2, "tapCount": asked})) == 2 * done


class TestScroll:
    def test_wheel_events_add_up_to_the_distance(self) -> None:
        made = steps(SCROLL, {"x": 1, "y": 2, "yDistance": -500, "xDistance": 30})
        assert {step.method for step in made} == {MOUSE}
        assert sum(step.params["deltaY"] for step in made) == pytest.approx(500)
        assert sum(step.params["deltaX"] for step in made) == pytest.approx(-30)
        assert sum(step.wait for step in made) == pytest.approx(500 / 800, abs=0.05)

    def test_repeated_after_a_pause(self) -> None:
        once = steps(SCROLL, {"x": 1, "y": 2, "yDistance": -10})
        made = steps(SCROLL, {"x": 1, "y": 2, "yDistance": -10, "repeatCount": 2, "repeatDelayMs": 100})
        assert len(made) == 3 * len(once)
        assert [step.wait for step in made].count(0.1) == 2


class TestPinch:
    @pytest.mark.parametrize("scale", [0.5, 1, 3])
    def test_two_fingers_go_apart_or_together(self, scale: float) -> None:
        first, *moves, last = steps(PINCH, {"x": 100, "y": 50, "scaleFactor": scale})

        def apart(step: Step) -> float:
            left, right = step.params["touchPoints"]
            return float(right["x"] - left["x"])

        assert (first.params["type"], last.params) == ("touchStart", {"type": "touchEnd", "touchPoints": []})
        assert {step.params["type"] for step in moves} == {"touchMove"}
        assert apart(moves[-1]) / apart(first) == pytest.approx(scale)


class TestEmulatedTouch:
    def test_it_is_the_mouse_event_that_it_is(self) -> None:
        params = {"type": "mousePressed", "x": 1, "y": 2, "button": "left", "clickCount": 1, "timestamp": 7.5}
        (step,) = steps("Input.emulateTouchFromMouseEvent", params)
        del params["timestamp"]
        assert step == Step(0.0, MOUSE, params)


class TestBounds:
    @pytest.mark.parametrize("method", [TAP, SCROLL, PINCH])
    @pytest.mark.parametrize("x", [None, "left", [], {}])
    def test_what_is_no_number(self, method: str, x: Any) -> None:
        with pytest.raises(ValueError):
            steps(method, {"x": x, "y": 1, "scaleFactor": 2})

    @given(
        st.sampled_from([TAP, SCROLL, PINCH]),
        st.fixed_dictionaries(
            {"x": st.floats(), "y": st.floats(), "scaleFactor": st.floats()},
            optional={
                name: st.floats() | st.integers()
                for name in (
                    *("duration", "tapCount", "xDistance", "yDistance", "speed"),
                    *("repeatCount", "repeatDelayMs", "relativeSpeed"),
                )
            },
        ),
    )
    def test_any_numbers_make_a_gesture_that_ends_or_none(self, method: str, params: dict[str, Any]) -> None:
        try:
            made = steps(method, params)
        except ValueError:
            return
        assert sum(step.wait for step in made) <= LONGEST_SECONDS
        assert len(made) <= 61_000
