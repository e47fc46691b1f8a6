"""Presses, touches, gestures, and focus by command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from focusguard.cdp.targets import Guest
from focusguard.errors import INVALID_PARAMS, Code, GuardError, ProtocolError
from focusguard.policy import gestures
from focusguard.policy.borrow import Borrower
from focusguard.policy.delivery import LINGER_SECONDS, Delivery, Job
from focusguard.policy.emulation import FocusEmulation
from focusguard.policy.flow import Flow, Post, Sleep, Upstream
from focusguard.policy.held import MOUSE
from focusguard.policy.presses import Question
from focusguard.policy.table import ON_GUEST, borrows
from focusguard.policy.touches import CANCEL, TOUCH


class Pointer:
    """Carries out what has a position, and what moves the focus inside a guest."""

    def __init__(self, borrower: Borrower, delivery: Delivery, emulation: FocusEmulation) -> None:
        self._borrower = borrower
        self._delivery = delivery
        self._emulation = emulation

    def point(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """A press that borrows the person's focus, or a touch."""
        if job.method == TOUCH:
            if not self._borrower.needed(guest):
                yield from self._delivery.room(guest, job)
            return (yield from self._touch(guest, job))
        return (yield from self._press(guest, job))

    def _touch(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """A touch waits for its turn and goes where its page is; with the last finger up, another may be touched."""
        touches, kind = self._delivery.touches, job.params.get("type")
        self._delivery.check_way(guest, job)
        if kind == "touchStart" and job.caller is not None and job.session is not None:
            frame = None if job.session.main else job.session.target_id
            way = self._delivery.session_id(guest, job)
            yield from touches.take(guest, job.caller.client, frame, way)
        hand = self._delivery.hand(guest, job)
        lifts = kind in ("touchEnd", "touchCancel")
        if hand is None and (lifts or kind == "touchMove"):
            raise ProtocolError(INVALID_PARAMS, "Must send a TouchStart first to start a new touch.")
        try:
            if hand is not None:
                hand.check(job.params)
                if lifts:
                    yield from hand.even_out()
            if borrows(job.method, job.params) and self._borrower.needed(guest):
                return (yield from self._press(guest, job))
            return (yield from self._delivery.sent_on(guest, job))
        except GuardError as fault:
            if hand is not None and lifts and fault.code in (Code.TIMEOUT, Code.TARGET_HIDDEN):
                hand.undo()  # until the page has taken it, the window's touches go there
            raise
        finally:
            touches.settle(guest)

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
        if part.method == TOUCH:
            yield from self._touch(guest, part)
        elif borrows(part.method, part.params) and self._borrower.needed(guest):
            yield from self._press(guest, part)
        else:
            yield from self._delivery.sent_on(guest, part)

    def _lift_finger(self, guest: Guest, part: Job) -> Flow[None]:
        hand = self._delivery.hand(guest, part)
        if hand is not None:
            yield from hand.even_out()
            yield Post(Upstream(TOUCH, CANCEL, hand.session_id))
            hand.note(CANCEL)
            self._delivery.touches.settle(guest)

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
