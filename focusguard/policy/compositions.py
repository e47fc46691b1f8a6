"""An agent's composition, from step to step.

Chromium ends a composition when its page loses the focus, and keeps its text; a borrow does that after each step. So
the next step, or the text that ends it, first selects what the last one left, and replaces it.
"""

from __future__ import annotations

import json
from typing import Any

from focusguard.cdp.targets import Guest
from focusguard.policy.evidence import Place, in_worlds
from focusguard.policy.flow import Flow


class Compositions:
    """What the last step of a composition has left in each guest."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[str, int, str, int]] = {}

    def left(self, guest: Guest, place: Place, params: dict[str, Any]) -> None:
        """A step was carried out there, and the focus has gone home since."""
        text, caret = params.get("text"), params.get("selectionStart")
        if isinstance(text, str) and text and isinstance(caret, int):
            self._left[guest.target_id] = (place.session_id, place.context_id, text, caret)

    def forget(self, guest: Guest) -> None:
        """What comes next is no part of it."""
        self._left.pop(guest.target_id, None)

    def pick_up(self, guest: Guest, place: Place) -> Flow[None]:
        """Select what is left, if it still stands around the caret."""
        left = self._left.pop(guest.target_id, None)
        if left is None or left[:2] != (place.session_id, place.context_id):
            return
        yield from in_worlds((left[:2],), f"focusguard.pick({json.dumps(left[2])}, {left[3]})")
