"""What of a CDP key event Electron can express. That a page then sees the same is shown by the fidelity corpus."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.policy import keys
from focusguard.policy.keys import ALT, CTRL, META, SHIFT, US_LAYOUT, insertable, to_electron

NEWEST, OLDEST = 33, 9


def press(code: str, *, bits: int = 0, text: str = "", kind: str = "", **more: Any) -> dict[str, Any]:
    one = US_LAYOUT[code]
    return {
        "type": kind or ("keyDown" if text else "rawKeyDown"),
        "code": code,
        "key": one.shifted if bits & SHIFT else one.plain,
        "windowsVirtualKeyCode": one.virtual,
        "modifiers": bits,
        "text": text,
        "unmodifiedText": text,
        **more,
    }


def event(kind: str, name: str, *modifiers: str) -> dict[str, Any]:
    return {"type": kind, "keyCode": name, "modifiers": list(modifiers)}


class TestKeys:
    def test_a_letter_is_a_press_and_a_character(self) -> None:
        assert to_electron(press("KeyA", text="a"), OLDEST) == [event("keyDown", "a"), event("char", "a")]
        assert to_electron(press("KeyA", kind="keyUp"), OLDEST) == [event("keyUp", "a")]

    def test_the_press_has_the_type_that_every_version_knows(self) -> None:
        assert to_electron(press("ArrowLeft"), OLDEST) == [event("keyDown", "Left")]

    def test_with_shift_the_shifted_level(self) -> None:
        assert to_electron(press("Digit1", bits=SHIFT, text="!"), OLDEST) == [
            event("keyDown", "1", "shift"),
            event("char", "!", "shift"),
        ]

    @pytest.mark.parametrize(("code", "key"), [("KeyA", "A"), ("Digit1", "!"), ("Semicolon", ":")])
    def test_the_shifted_level_without_shift_borrows(self, code: str, key: str) -> None:
        assert to_electron(press(code, text=key, key=key), NEWEST) is None

    @pytest.mark.parametrize("bits", range(16))
    def test_modifiers(self, bits: int) -> None:
        names = [
            name
            for bit, name in ((ALT, "alt"), (CTRL, "control"), (META, "meta"), (SHIFT, "shift"))
            if bits & bit
        ]
        assert to_electron(press("F5", bits=bits), OLDEST) == [event("keyDown", "F5", *names)]

    @pytest.mark.parametrize(
        ("more", "modifiers"),
        [
            ({"autoRepeat": True}, ["isautorepeat"]),
            ({"isKeypad": True}, ["iskeypad"]),
            ({"location": 1}, ["left"]),
            ({"location": 2}, ["right"]),
            ({"location": 3, "isKeypad": True}, ["iskeypad", "left", "right"]),
            ({"location": 0, "isKeypad": False, "autoRepeat": False}, []),
        ],
    )
    def test_repeat_and_location(self, more: dict[str, Any], modifiers: list[str]) -> None:
        assert to_electron(press("Enter", **more), OLDEST) == [event("keyDown", "Enter", *modifiers)]

    @pytest.mark.parametrize(
        "more",
        [
            {"windowsVirtualKeyCode": 0},
            {"key": "b"},
            {"code": "KeyB"},
            {"code": ""},
            {"commands": ["selectAll"]},
            {"isSystemKey": True},
            {"timestamp": 1.0},
            {"text": 7},
            {"modifiers": "8"},
            {"type": "keydown"},
        ],
    )
    def test_what_electron_would_change_borrows(self, more: dict[str, Any]) -> None:
        assert to_electron(press("KeyA") | more, NEWEST) is None

    @pytest.mark.parametrize(
        "key",
        [
            {"code": "ShiftRight", "key": "Shift", "windowsVirtualKeyCode": 16, "location": 2},
            {
                "code": "Numpad4",
                "key": "ArrowLeft",
                "windowsVirtualKeyCode": 37,
                "location": 3,
                "isKeypad": True,
            },
            {"code": "Pause", "key": "Pause", "windowsVirtualKeyCode": 19},
            {"code": "ContextMenu", "key": "ContextMenu", "windowsVirtualKeyCode": 93},
        ],
    )
    def test_keys_that_electron_does_not_know_borrow(self, key: dict[str, Any]) -> None:
        assert to_electron({"type": "rawKeyDown", **key}, NEWEST) is None

    def test_tab_may_leave_the_guest(self) -> None:
        tab = {"type": "rawKeyDown", "code": "Tab", "key": "Tab", "windowsVirtualKeyCode": 9}
        assert keys.leaves_guest(tab)
        assert to_electron(tab, NEWEST) is None

    def test_an_access_key_is_looked_for_before_the_press(self) -> None:
        assert to_electron(press("KeyK", bits=ALT, text="k"), NEWEST) is None
        assert to_electron(press("KeyK", bits=ALT), NEWEST) is not None
        assert to_electron(press("KeyK", bits=ALT | CTRL, text="k"), NEWEST) is not None

    @pytest.mark.parametrize("code", ["KeyA", "Enter", "Space"])
    def test_a_press_without_text_that_would_type_borrows(self, code: str) -> None:
        assert to_electron(press(code, kind="keyDown"), NEWEST) is None
        assert to_electron(press(code, kind="keyDown", bits=CTRL), NEWEST) is not None
        assert to_electron(press(code, kind="rawKeyDown"), NEWEST) is not None

    def test_a_press_without_text_that_types_nothing_does_not(self) -> None:
        assert to_electron(press("ArrowUp", kind="keyDown"), OLDEST) == [event("keyDown", "Up")]

    def test_the_native_key_code_is_for_the_app(self) -> None:
        assert keys.for_the_page({"key": "a", "nativeVirtualKeyCode": 65}) == {"key": "a"}


class TestCharacters:
    @pytest.mark.parametrize("text", ["a", "!", "é", "你", "abc", "up", "\u0001", "\r"])
    def test_alone_it_has_neither_key_nor_code(self, text: str) -> None:
        assert to_electron({"type": "char", "text": text}, OLDEST) == [event("char", text + "\0")]

    @pytest.mark.parametrize("text", ["", "abcd", "\ud83d", "a\0b"])
    def test_what_does_not_fit_borrows(self, text: str) -> None:
        assert to_electron({"type": "char", "text": text}, NEWEST) is None

    def test_outside_the_basic_plane_only_new_versions_take_it_whole(self) -> None:
        assert to_electron({"type": "char", "text": "😀"}, 33) == [event("char", "😀\0")]
        assert to_electron({"type": "char", "text": "😀"}, 25) is None

    def test_the_keypad_types_in_new_versions(self) -> None:
        plus = press("NumpadAdd", text="+", location=3, isKeypad=True)
        named = ["iskeypad", "left", "right"]
        assert to_electron(plus, 33) == [event("keyDown", "numadd", *named), event("char", "numadd", *named)]
        assert to_electron(plus, 25) is None
        assert to_electron(plus | {"type": "keyUp"}, 25) == [event("keyUp", "numadd", *named)]

    def test_with_key_and_code_it_is_that_keys(self) -> None:
        assert to_electron(press("KeyA", kind="char", text="a"), OLDEST) == [event("char", "a")]
        assert to_electron(press("KeyA", kind="char", text="x"), OLDEST) is None
        assert to_electron(press("Enter", kind="char", text="\r"), OLDEST) == [event("char", "\r")]
        assert to_electron(press("Enter", kind="char", text="\n"), OLDEST) is None

    def test_a_key_without_code_borrows(self) -> None:
        assert to_electron({"type": "char", "text": "a", "key": "a"}, NEWEST) is None


class TestText:
    @pytest.mark.parametrize("text", ["word", "你好", "👨‍👩‍👧", "a\u00a0b"])
    def test_plain_text_is_inserted_by_the_app(self, text: str) -> None:
        assert insertable(text)

    @pytest.mark.parametrize("text", ["", "one\ntwo", "\t", "\u0001", "\u007f", "\ud83d"])
    def test_control_characters_and_halves_are_not(self, text: str) -> None:
        assert not insertable(text)
