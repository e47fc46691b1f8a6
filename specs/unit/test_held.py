"""What is held down, and what lets go of it."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.policy.held import DRAG, KEY, MOUSE, TOUCH_FROM_MOUSE, Held


def after(
    *events: tuple[str, dict[str, Any]], target_id: str | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """What has to be sent after these events to let go of everything."""
    held = Held()
    for method, params in events:
        held.note(method, params, target_id)
    return [(press.method, press.release()) for press in held.take()]


A = {"type": "keyDown", "key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65, "text": "a", "modifiers": 8}
LEFT = {"type": "mousePressed", "x": 1, "y": 2, "button": "left", "clickCount": 1, "buttons": 1}


class TestKeys:
    def test_a_release_names_the_key_and_makes_no_character(self) -> None:
        up = {"type": "keyUp", "key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65}
        assert after((KEY, A)) == [(KEY, up)]

    def test_up_is_up(self) -> None:
        assert after((KEY, A), (KEY, {**A, "type": "keyUp"})) == []

    def test_a_repeat_is_the_same_key(self) -> None:
        assert len(after((KEY, A), (KEY, {**A, "autoRepeat": True}))) == 1

    def test_a_character_alone_holds_nothing(self) -> None:
        assert after((KEY, {"type": "char", "text": "a"})) == []

    def test_the_newest_goes_first(self) -> None:
        shift = {"type": "rawKeyDown", "key": "Shift", "code": "ShiftLeft", "location": 1}
        assert [params["code"] for _, params in after((KEY, shift), (KEY, A))] == ["KeyA", "ShiftLeft"]

    @pytest.mark.parametrize("name", ["code", "key", "windowsVirtualKeyCode"])
    def test_whatever_names_it(self, name: str) -> None:
        down = {"type": "keyDown", name: A[name]}
        assert after((KEY, down)) == [(KEY, {"type": "keyUp", name: A[name]})]
        assert after((KEY, down), (KEY, {"type": "keyUp", name: A[name]})) == []


class TestPointers:
    @pytest.mark.parametrize("method", [MOUSE, TOUCH_FROM_MOUSE])
    def test_each_button_of_its_own(self, method: str) -> None:
        right = {**LEFT, "button": "right"}
        released = after((method, LEFT), (method, right), (method, {**LEFT, "type": "mouseReleased"}))
        assert [(params["type"], params["button"]) for _, params in released] == [("mouseReleased", "right")]

    def test_a_release_happens_where_the_press_did(self) -> None:
        ((_, released),) = after((MOUSE, LEFT), (MOUSE, {"type": "mouseMoved", "x": 9, "y": 9}))
        assert released == {"type": "mouseReleased", "x": 1, "y": 2, "button": "left", "clickCount": 1}

    def test_a_drag_is_called_off(self) -> None:
        over = {"type": "dragOver", "x": 1, "y": 2, "data": {"items": []}, "modifiers": 0}
        assert after((DRAG, over)) == [(DRAG, {"type": "dragCancel", "x": 1, "y": 2, "data": {"items": []}})]
        assert after((DRAG, over), (DRAG, {**over, "type": "drop"})) == []


class TestBooks:
    def test_a_frame_keeps_its_own(self) -> None:
        held = Held()
        held.note(KEY, A, None)
        held.note(KEY, A, "F1")
        held.note(KEY, {**A, "type": "keyUp"}, None)
        assert [press.target_id for press in held.take()] == ["F1"]

    def test_what_was_taken_is_not_held_any_more(self) -> None:
        held = Held()
        held.note(KEY, A, None)
        assert len(held.take()) == 1
        assert held.take() == []

    @pytest.mark.parametrize("method", ["DOM.focus", "Input.insertText", "Input.imeSetComposition"])
    def test_what_holds_nothing(self, method: str) -> None:
        assert after((method, A)) == []
