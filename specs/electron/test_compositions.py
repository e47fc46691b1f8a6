"""An agent composes text in several steps, in a guest that does not have the person's focus."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import get_args

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from specs.guarded import Route, Stage, stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

STEPS = ("k", "ka", "か")
BETWEEN = """{ const field = document.activeElement;
if (field.setSelectionRange) field.setSelectionRange(1, 1);
else getSelection().collapse(field.firstChild, 1); }"""


@pytest.fixture(scope="module", params=get_args(Route))
async def staged(
    request: pytest.FixtureRequest, runtime: Runtime, display: Display, janitor: Janitor
) -> AsyncIterator[Stage]:
    async with stage(request.param, runtime, display, janitor, window="hidden") as running:
        yield running


@pytest.fixture(params=["textarea", "contenteditable"])
async def field(request: pytest.FixtureRequest, staged: Stage) -> str:
    """A field of the guest with text on both sides of the caret; without the guard the guest has the person's focus."""
    await staged.fresh()
    await staged.fixture.focus_guest(request.param, text="ab")
    await staged.fixture.execute("guest:0", BETWEEN)
    if not staged.guarded:
        await staged.fixture.execute("host", "document.querySelector('webview').focus()")
    await staged.fixture.settle()
    return str(request.param)


async def compose(app: Stage, text: str, caret: int | None = None) -> None:
    at = len(text) if caret is None else caret
    assert (
        await app.try_send(
            "Input.imeSetComposition", {"text": text, "selectionStart": at, "selectionEnd": at}
        )
        is None
    )


async def value(app: Stage, field: str) -> str:
    return (await app.seen()).guest().values[field]


class TestSteps:
    async def test_the_last_one_stays(self, staged: Stage, field: str) -> None:
        for step in STEPS:
            await compose(staged, step)
        assert await value(staged, field) == "aかb"

    async def test_text_takes_its_place(self, staged: Stage, field: str) -> None:
        for step in STEPS:
            await compose(staged, step)
        assert await staged.insert("漢字") is None
        assert await value(staged, field) == "a漢字b"

    async def test_with_the_caret_inside(self, staged: Stage, field: str) -> None:
        await compose(staged, "kana", 2)
        await compose(staged, "かな", 1)
        assert await value(staged, field) == "aかなb"

    async def test_none_is_left_of_one_that_is_cancelled(self, staged: Stage, field: str) -> None:
        for step in (*STEPS, ""):
            await compose(staged, step)
        assert await value(staged, field) == "ab"

    async def test_a_press_ends_it(self, staged: Stage, field: str) -> None:
        """As with an input method; for CDP alone it goes on where it was."""
        await compose(staged, "か")
        await staged.click(field)  # to the right of all text
        await compose(staged, "に")
        assert await value(staged, field) == ("aかbに" if staged.guarded else "aにb")
