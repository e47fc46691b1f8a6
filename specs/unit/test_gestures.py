"""Gestures as the touches, mouse and wheel events that they are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focusguard.errors import ProtocolError
from focusguard.policy import parameters
from focusguard.policy.gestures import LONGEST_SECONDS, MOUSE, TOUCH, Step, steps
from specs.unit.strokes import (
    FINGER,
    HELD,
    LIFT,
    begin,
    emulates,
    lingers,
)
from specs.unit.transcript import Transcript

TAP, SCROLL, PINCH = (f"Input.synthesize{name}Gesture" for name in ("Tap", "Scroll", "Pinch"))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)  # as in JSON
POINT = {"x": 1.0, "y": 2.0, "id": 0}


def made_of(method: str, params: dict[str, Any]) -> list[Step]:
    parameters.check(method, params)
    return steps(method, params)


class TestTap:
    def test_a_finger_down_and_up(self) -> None:
        assert steps(TAP, {"x": 1, "y": 2}) == [
            Step(0.0, TOUCH, {"type": "touchStart", "touchPoints": [POINT]}),
            Step(0.05, TOUCH, {"type": "touchEnd", "touchPoints": []}),
        ]

    def test_twice_and_held(self) -> None:
        made = steps(TAP, {"x": 1, "y": 2, "tapCount": 2, "duration": 300})
        assert [step.params["type"] for step in made] == ["touchStart", "touchEnd"] * 2
        assert made[1].wait == 0.3

    @pytest.mark.parametrize(("asked", "done"), [(0, 0), (1, 1), (10, 10), (10_000, 10)])
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
    @pytest.mark.parametrize(
        ("method", "params", "says"),
        [
            (TAP, {"tapCount": -3}, "tapCount"),
            (SCROLL, {"speed": 0}, "speed"),
            (SCROLL, {"repeatCount": -1}, "repeatCount"),
            (SCROLL, {"repeatCount": 9, "repeatDelayMs": 60_000}, "60 s"),
            (PINCH, {"scaleFactor": 0}, "scaleFactor"),
            (PINCH, {"scaleFactor": -1}, "scaleFactor"),
            (PINCH, {"scaleFactor": 1e308}, "scaleFactor"),
            (PINCH, {"scaleFactor": 2, "relativeSpeed": 0}, "relativeSpeed"),
        ],
    )
    def test_what_chromium_never_answers_is_refused(
        self, method: str, params: dict[str, Any], says: str
    ) -> None:
        with pytest.raises(ProtocolError, match="Invalid parameters") as refused:
            made_of(method, {"x": 1, "y": 1, **params})
        assert says in str(refused.value.data)

    def test_an_unknown_source(self) -> None:
        with pytest.raises(ProtocolError, match="Unknown gestureSourceType"):
            made_of(TAP, {"x": 1, "y": 1, "gestureSourceType": "claw"})

    @given(
        st.sampled_from([TAP, SCROLL, PINCH]),
        st.fixed_dictionaries(
            {"x": NUMBERS, "y": NUMBERS, "scaleFactor": NUMBERS},
            optional={
                name: NUMBERS | st.integers()
                for name in (
                    *("duration", "tapCount", "xDistance", "yDistance", "speed"),
                    *("repeatCount", "repeatDelayMs", "relativeSpeed"),
                )
            },
        ),
    )
    def test_any_numbers_make_a_gesture_that_ends_or_none(self, method: str, params: dict[str, Any]) -> None:
        try:
            made = made_of(method, params)
        except ProtocolError:
            return
        json.dumps([step.params for step in made], allow_nan=False)
        assert sum(step.wait for step in made) <= LONGEST_SECONDS
        assert len(made) <= 61_000


class TestCarriedOut:
    """Synthetic gestures are made of touches and wheels: Chromium would queue them on the host's view."""

    TAP = "Input.synthesizeTapGesture"

    def touched(self, t: Transcript, params: dict[str, Any], lease: int) -> None:
        t.bridge.gets("borrow.begin", take=False).answers({**HELD, "lease": lease})
        t.app.gets(TOUCH, params, session="OWN-G1").answers()

    def test_a_tap(self) -> None:
        t, guest, agent = begin()
        agent.says(1, self.TAP, {"x": 1, "y": 2}, session="S1")
        emulates(t, guest.session)
        self.touched(t, FINGER, 1)
        t.rings(0.05)
        self.touched(t, LIFT, 2)
        agent.hears(1, {}, session="S1")
        lingers(t, guest, lease=1)
        lingers(t, guest, lease=2)
        t.silence()

    def test_a_scroll(self) -> None:
        t, _, agent = begin()
        agent.says(1, "Input.synthesizeScrollGesture", {"x": 1, "y": 2, "yDistance": -20}, session="S1")
        for turn in range(2):
            if turn:
                t.rings(0.016)
            wheel = {"type": "mouseWheel", "x": 1.0, "y": 2.0, "deltaX": 0.0, "deltaY": 10.0}
            t.app.gets(MOUSE, wheel, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_pinch(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Input.synthesizePinchGesture", {"x": 100, "y": 2, "scaleFactor": 1.1}, session="S1")
        emulates(t, guest.session)
        self.touched(t, {"type": "touchStart"}, 1)
        t.rings(0.016)
        t.app.gets(TOUCH, {"type": "touchMove"}, session=guest.session).answers()
        t.rings(0.016)
        t.app.gets(TOUCH, {"type": "touchEnd"}, session="OWN-G1")  # for Chromium's count
        self.touched(t, LIFT, 2)
        agent.hears(1, {}, session="S1")

    def test_no_finger_stays_down_when_the_gesture_cannot_go_on(self) -> None:
        t, guest, agent = begin()
        agent.says(1, self.TAP, {"x": 1, "y": 2}, session="S1")
        emulates(t, guest.session)
        self.touched(t, FINGER, 1)
        t.rings(0.05)
        t.bridge.gets("borrow.begin").answers({"state": "composing"})
        t.app.gets(TOUCH, {"type": "touchCancel", "touchPoints": []}, session=guest.session).answers()
        agent.hears_error(1, "browser_user_composing", session="S1")
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        lingers(t, guest)
        t.silence()

    def test_it_ends_with_its_client(self) -> None:
        t, guest, agent = begin()
        agent.says(1, self.TAP, {"x": 1, "y": 2}, session="S1")
        emulates(t, guest.session)
        self.touched(t, FINGER, 1)
        agent.leaves()
        t.app.gets("Target.detachFromTarget").answers()
        t.rings(0.05)
        t.app.gets(TOUCH, {"type": "touchCancel", "touchPoints": []}, session=guest.session).answers()
        lingers(t, guest)
        t.silence()

    @pytest.mark.parametrize(
        ("method", "params"),
        [
            ("Input.synthesizeTapGesture", {}),
            ("Input.synthesizeTapGesture", {"x": "left", "y": 1}),
            ("Input.synthesizeTapGesture", {"x": 1, "y": 1, "duration": 1e9}),
            ("Input.synthesizeTapGesture", {"x": [], "y": 1}),
            ("Input.synthesizePinchGesture", {"x": 1, "y": 1, "scaleFactor": 0}),
            (
                "Input.synthesizeScrollGesture",
                {"x": 1, "y": 1, "yDistance": 1, "repeatCount": 1000, "repeatDelayMs": 1e6},
            ),
        ],
    )
    def test_a_gesture_that_is_none(self, method: str, params: dict[str, Any]) -> None:
        t, _, agent = begin()
        agent.says(1, method, params, session="S1")
        agent.hears_error(1, "", session="S1")
        t.silence()

    @pytest.mark.parametrize("name", ["Tap", "Scroll", "Pinch"])
    @pytest.mark.parametrize("number", [1e308, 1e-323])
    def test_numbers_beyond_all_measure(self, name: str, number: float) -> None:
        names = ("duration", "yDistance", "scaleFactor", "speed", "relativeSpeed")
        params = {"x": 1, "y": 1, **dict.fromkeys(names, number)}
        try:
            made = made_of(f"Input.synthesize{name}Gesture", params)
        except ProtocolError as fault:
            assert "Invalid parameters" in str(fault)
        else:
            assert len(made) <= 1200
