"""Presses, touches, gestures, and focus by command."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from focusguard.cdp.targets import Guest
from focusguard.errors import GuardError
from focusguard.policy import gestures
from focusguard.policy.borrow import Borrower
from focusguard.policy.delivery import LINGER_SECONDS, Delivery, Job
from focusguard.policy.emulation import FocusEmulation
from focusguard.policy.flow import Flow, Post, Sleep, Upstream
from focusguard.policy.held import MOUSE, TOUCH
from focusguard.policy.presses import Question
from focusguard.policy.table import ON_GUEST, borrows
from focusguard.policy.touches import TouchTurns


class Pointer:
    """Carries out what has a position, and what moves the focus inside a guest."""

    def __init__(self, borrower: Borrower, delivery: Delivery, emulation: FocusEmulation) -> None:
        self._borrower = borrower
        self._delivery = delivery
        self._emulation = emulation
        self._touches = TouchTurns()

    def point(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """A press or a touch that borrows the person's focus; in a webview every touch waits for its turn."""
        if not TouchTurns.apply(guest, job.method):
            return (yield from self._press(guest, job))
        yield from self._touches.take(guest, job.params)
        try:
            if borrows(job.method, job.params):
                return (yield from self._press(guest, job))
            return (yield from self._delivery.sent_on(guest, job))
        finally:
            self.end_touch(guest)

    def end_touch(self, guest: Guest) -> None:
        """With the last finger up, another guest of the window may be touched."""
        if not any(held.touching for held in self._delivery.held_in(guest)):
            self._touches.drop(guest)

    def _press(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulation.drive(guest)
        return (yield from self._delivery.borrowed(guest, job, presses=self._presses_before(guest, job)))

    def _presses_before(self, guest: Guest, job: Job) -> Question | None:
        """Begin to ask what the page has seen of presses; with a button down already it does not see each of them."""
        held = self._delivery.held_in(guest)
        on_guest = job.session is None or job.session.main
        if job.method != MOUSE or not on_guest or any(one.pressing for one in held):
            return None
        return self._delivery.witness.ask(guest)

    def gesture(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """A gesture, as the touches and wheels that make it up."""
        sequence = gestures.steps(job.method, job.params)
        for step in sequence:
            if step.wait:
                yield Sleep(step.wait)
            part = replace(job, method=step.method, params=step.params, raw=b"", rule=ON_GUEST[step.method])
            try:
                yield from self._gesture_step(guest, part)
            except Exception:
                if step.method == TOUCH and step is not sequence[0]:
                    yield from self._lift_finger(guest, part)
                raise
        return {}

    def _gesture_step(self, guest: Guest, part: Job) -> Flow[None]:
        if borrows(part.method, part.params) and self._borrower.needed(guest):
            yield from self.point(guest, part)
        else:
            yield from self._delivery.sent_on(guest, part)

    def _lift_finger(self, guest: Guest, part: Job) -> Flow[None]:
        cancel = replace(part, params={"type": "touchCancel", "touchPoints": []})
        with suppress(GuardError):
            yield Post(Upstream(cancel.method, cancel.params, self._delivery.session_id(guest, cancel)))
            self._delivery.note(guest, cancel)
            self.end_touch(guest)

    def watched(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """Focus inside the guest, by a command: nobody is told when it takes the input method from the person."""
        self._delivery.check_wanted(job)
        lease = yield from self._borrower.begin(guest, take=False)
        try:
            handle = yield Post(
                Upstream(job.method, job.params, self._delivery.session_id(guest, job), job.raw or None)
            )
            lease.pass_turn()
            return (yield from self._delivery.answered(guest, job, handle))
        finally:
            self._borrower.end_later(lease, guest, LINGER_SECONDS)
