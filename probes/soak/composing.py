"""A person who composes words with a real input method: what they type, what it should give, what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from focusguard.electron.input_method import Engine

#: Keys, and the text that they give. A space or Return ends each word: pinyin takes the one for the choice of the first
#: candidate, anthy converts at a space and takes Return for the end.
WORDS: dict[Engine, tuple[tuple[str, str], ...]] = {
    "pinyin": (
        ("nihao ", "你好"),
        ("zhongguo ", "中国"),
        ("xiexie ", "谢谢"),
        ("women ", "我们"),
        ("pengyou ", "朋友"),
        ("xuexi ", "学习"),
    ),
    "hangul": (
        ("gksrmf ", "한글 "),
        ("dkssud ", "안녕 "),
        ("tkfka ", "사람 "),
        ("skfk ", "나라 "),
        ("tjdnf ", "서울 "),
        ("clsrn ", "친구 "),
    ),
    "anthy": (
        ("watashi\n", "わたし"),
        ("nihongo \n", "日本語"),
        ("arigatou\n", "ありがとう"),
        ("gakkou \n", "学校"),
        ("sakura\n", "さくら"),
        ("tomodachi\n", "ともだち"),
    ),
}


@dataclass(frozen=True, slots=True)
class Composed:
    """Words by what became of them.

    Attributes:
        words: typed.
        compositions: of which they are made.
        swallowed: of which no composition ever began: the input method was dead.
        broken: that began, and did not arrive as they were meant.
    """

    words: int
    compositions: int
    swallowed: int
    broken: int


def judge(words: Sequence[str], got: str, began: int, due: int) -> Composed:
    """Compare the words that were meant with what stands in the field.

    Args:
        words: in order.
        got: the field's text.
        began: compositions that the page saw begin.
        due: compositions that these words are made of.
    """
    meant = "".join(words)
    blocks = SequenceMatcher(None, meant, got, autojunk=False).get_matching_blocks()
    at, missing = 0, 0
    for word in words:
        end = at + len(word)
        missing += not any(block.a <= at and end <= block.a + block.size for block in blocks)
        at = end
    if got != meant:
        missing = max(missing, 1)
    swallowed = min(missing, max(0, due - began))
    return Composed(len(words), due, swallowed, missing - swallowed)


def compositions(engine: Engine, word: str) -> int:
    """How many compositions a word is made of: hangul closes one with every syllable."""
    return len(word.strip()) if engine == "hangul" else 1
