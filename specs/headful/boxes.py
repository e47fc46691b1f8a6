"""Boxes that come up over the person's work."""

from __future__ import annotations

from collections.abc import Callable

from focusguard.electron.display import Display
from specs.guarded import Stage

#: The titles of the windows that have come since the spec began.
Boxes = Callable[[], list[str]]


async def undisturbed(app: Stage, display: Display, boxes: Boxes, front: int | None) -> None:
    await app.fixture.settle()
    await app.hands.type("mine")
    assert boxes() == []
    assert display.active_window() == front
    state = await app.seen()
    assert state.host.values["textarea"] == "mine"
    assert state.host.active == ["textarea"]
