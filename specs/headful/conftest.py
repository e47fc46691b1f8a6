"""The app of a module's specs: guarded or raw, one at a time, because two would fight for the display's focus."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from specs.guarded import Stage, stage
from specs.headful.boxes import Boxes


@pytest.fixture(scope="module")
async def staged(
    request: pytest.FixtureRequest, runtime: Runtime, display: Display, janitor: Janitor
) -> AsyncIterator[Stage]:
    """The app by its route (`@guarded`, `@raw`); a module's GUESTS says how many guests it has."""
    guests = getattr(request.module, "GUESTS", 1)
    async with stage(request.param, runtime, display, janitor, guests=guests) as running:
        yield running


@pytest.fixture
async def app(staged: Stage) -> Stage:
    """The same with a new trial begun."""
    await staged.fresh()
    return staged


@pytest.fixture
async def boxes(app: Stage, display: Display) -> AsyncIterator[Boxes]:
    """The windows that have come since; they are gone when the next spec begins."""
    before = {window.id for window in display.windows()}

    def new() -> list[str]:
        return [window.title for window in display.windows() if window.id not in before]

    yield new
    for _ in range(3):
        if not new():
            break
        await app.hands.key("Escape")
        await app.fixture.settle()
