"""Guests that are not painted: what waits for a frame is answered by name."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from specs.unit.strokes import (
    KEY,
    MOUSE,
    MOVE,
    begin,
    key,
    key_arrives,
)


class TestUnpaintedGuests:
    """What waits for a frame in a guest that gives none is answered by name, and holds nothing up."""

    WHEEL: ClassVar[dict[str, Any]] = {"type": "mouseWheel", "x": 1, "y": 1, "deltaX": 0, "deltaY": 10}

    @pytest.mark.parametrize(
        ("method", "params"), [(MOUSE, WHEEL), (MOUSE, MOVE), ("Page.captureScreenshot", {"format": "png"})]
    )
    def test_it_is_named(self, method: str, params: dict[str, Any]) -> None:
        t, guest, agent = begin()
        agent.says(1, method, params, session="S1")
        late = t.app.gets(method, params, session="S1")
        t.rings(0.7)
        t.page_is_painted(guest.session, False)
        error = agent.hears_error(1, "browser_target_hidden: the guest is not painted", session="S1")
        assert error["data"]["retryable"] is True
        late.answers()
        t.silence()

    def test_a_key_behind_it_goes_on(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        t.app.gets(MOUSE, session="S1")
        agent.says(2, KEY, key("a"), session="S1")
        t.rings(0.7)
        t.page_is_painted(guest.session, False)
        agent.hears_error(1, "browser_target_hidden", session="S1")
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize("how", ["painted", "cannot be asked"])
    def test_a_page_that_is_only_slow_is_waited_for(self, how: str) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        wheel = t.app.gets(MOUSE, session="S1")
        t.rings(0.7)
        if how == "painted":
            t.page_is_painted(guest.session, True)
        else:
            t.page_is_asked(guest.session).fails("no such context")
            t.page_is_asked(guest.session).fails("no such context")
        wheel.answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_scroll_gesture_stops(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Input.synthesizeScrollGesture", {"x": 1, "y": 2, "yDistance": -200}, session="S1")
        t.app.gets(MOUSE, {"type": "mouseWheel"}, session="S1")
        t.rings(0.7)
        t.page_is_painted(guest.session, False)
        agent.hears_error(1, "browser_target_hidden", session="S1")
        t.silence()

    def test_a_guest_that_goes_while_it_is_asked(self) -> None:
        t, guest, agent = begin()
        agent.says(1, MOUSE, self.WHEEL, session="S1")
        t.app.gets(MOUSE, session="S1")
        t.rings(0.7)
        t.page_is_asked(guest.session)
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_error(1, "browser_error: the target closed", session="S1")
        agent.hears_event("Target.detachedFromTarget")
        t.silence()
