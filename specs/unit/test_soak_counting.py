"""Counting what became of keystrokes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.soak.composing import Composed, compositions, judge
from probes.soak.counting import Count, count, longest_common, missing, spread

TEXT = st.text("abc", max_size=12)


@pytest.mark.parametrize(
    ("typed", "seen", "expected"),
    [
        ("abc", "abc", Count(0, 0, 0)),
        ("abc", "ac", Count(1, 0, 0)),
        ("abc", "abbc", Count(0, 1, 0)),
        ("abc", "acb", Count(0, 0, 1)),
        ("abc", "", Count(3, 0, 0)),
        ("abcd", "dcba", Count(0, 0, 3)),
        ("abcd", "bda", Count(1, 0, 1)),
        ("", "x", Count(0, 1, 0)),
    ],
)
def test_each_fault_is_counted_as_itself(typed: str, seen: str, expected: Count) -> None:
    assert count(typed, seen) == expected
    assert expected.clean == (typed == seen)


@given(TEXT, TEXT)
def test_longest_common_is_that_of_the_textbook(one: str, other: str) -> None:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    assert longest_common(one, other) == table[-1][-1]


def test_spread() -> None:
    assert spread([]) == {"p50": 0.0, "p99": 0.0, "max": 0.0}
    assert spread([5, 1, 3]) == {"p50": 3, "p99": 5, "max": 5}


class TestComposing:
    WORDS = ("你好", "中国", "你好", "谢谢")

    @pytest.mark.parametrize(
        ("got", "began", "expected"),
        [
            ("你好中国你好谢谢", 4, Composed(4, 4, 0, 0)),
            ("你好中国谢谢", 3, Composed(4, 4, 1, 0)),
            ("你好中国i好谢谢", 4, Composed(4, 4, 0, 1)),
            ("你好中你好谢谢", 4, Composed(4, 4, 0, 1)),
            ("", 0, Composed(4, 4, 4, 0)),
            ("你好中国你好谢谢x", 4, Composed(4, 4, 0, 1)),
        ],
    )
    def test_words_by_what_became_of_them(self, got: str, began: int, expected: Composed) -> None:
        assert judge(self.WORDS, got, began, 4) == expected

    def test_hangul_composes_each_syllable(self) -> None:
        assert compositions("hangul", "한글 ") == 2
        assert compositions("pinyin", "你好") == 1


def test_which_are_missing() -> None:
    assert missing("abcabc", "abcabc") == []
    assert missing("abcabc", "abcac") == [4]
    assert missing("abc", "xbcc") == [0]
    assert missing("ab", "") == [0, 1]
