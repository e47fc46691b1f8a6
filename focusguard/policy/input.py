"""The order of input: each guest has a lane, and what is sent to it takes effect in the order in which it was sent.

What a command does is in `keyboard` and `pointer`, what they share in `delivery`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from focusguard.cdp.targets import Child, Embedding, Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.borrow import Borrower
from focusguard.policy.delivery import Delivery, Job
from focusguard.policy.drags import Drags
from focusguard.policy.emulation import FocusEmulation
from focusguard.policy.evidence import Worlds
from focusguard.policy.flow import Await, Flow, FlowFault, Handle, TimedOut, Upstream, call
from focusguard.policy.held import DRAG, KEY, Held, Press
from focusguard.policy.keyboard import Keyboard
from focusguard.policy.paint import PaintWatch
from focusguard.policy.pointer import Pointer
from focusguard.policy.receipts import Receipts
from focusguard.policy.table import INPUT_BOUND, ON_GUEST, Treatment, borrows
from focusguard.policy.touches import TOUCH
from focusguard.policy.wire import DEAD, GONE, Wire

#: Seconds for which a key or press waits for the moves and wheels before it; an unpainted guest may never answer them.
DRAIN_SECONDS = 1.0


@dataclass(slots=True)
class Release:
    """What the guard owes for a client that left: all that it held down in one guest is let go."""

    client: int


@dataclass(slots=True)
class Rest:
    """The last client has left a guest: the guard leaves it too, when all that waits has been done."""


@dataclass(slots=True)
class Lane:
    """The queue of one guest: input takes effect in the order in which it was sent.

    Attributes:
        passing: callers whose commands were sent on as they are and are not answered yet.
        drained: settled when none of them is left.
    """

    guest: Guest
    waiting: deque[Job | Release | Rest] = field(default_factory=deque)
    busy: bool = False
    passing: set[int] = field(default_factory=set)
    drained: Handle | None = None


class InputDesk:
    """Carries out input, one guest at a time in order."""

    def __init__(
        self,
        wire: Wire,
        worlds: Worlds,
        borrower: Borrower,
        paint: PaintWatch,
        receipts: Receipts,
        emulation: FocusEmulation,
    ) -> None:
        self._wire = wire
        self._borrower = borrower
        self._paint = paint
        self._receipts = receipts
        self._emulation = emulation
        self._lanes: dict[str, Lane] = {}
        self._delivery = Delivery(wire, borrower, paint)
        self._keyboard = Keyboard(wire, worlds, self._delivery, emulation)
        self._pointer = Pointer(borrower, self._delivery, emulation)
        self.drags = Drags(wire, self._delivery)
        #: Guests that are no webviews and have had a frame since they were told that they have the focus.
        self._shown: set[str] = set()

    # -- in order ----------------------------------------------------------------------------------------------------
    def submit(self, guest: Guest, job: Job) -> None:
        """Take a command into the guest's queue."""
        if guest.crashed:
            self._end(job, GuardError(Code.ERROR, DEAD))
            return
        if job.caller is not None:
            self._delivery.held.setdefault((job.caller.client, guest.target_id), Held())
        self._enqueue(guest, job)

    def _enqueue(self, guest: Guest, item: Job | Release | Rest) -> None:
        lane = self._lanes.setdefault(guest.target_id, Lane(guest))
        lane.waiting.append(item)
        self._pump(lane)

    def left_alone(self, guest: Guest) -> None:
        """The last client has left a guest."""
        self._enqueue(guest, Rest())

    def guest_crashed(self, guest: Guest) -> None:
        """Answer everything that waits for a guest whose renderer has died: nothing is held down in it any more."""
        self._forget(guest)
        lane = self._lanes.get(guest.target_id)
        if lane is not None:
            waiting, lane.waiting = (
                lane.waiting,
                deque(each for each in lane.waiting if isinstance(each, Rest)),
            )
            for item in waiting:
                self._end(item, GuardError(Code.ERROR, DEAD))

    def guest_gone(self, guest: Guest) -> None:
        """Answer everything that waits for a guest that is gone."""
        self._forget(guest)
        self._shown.discard(guest.target_id)
        lane = self._lanes.pop(guest.target_id, None)
        if lane is None:
            return
        waiting, lane.waiting = lane.waiting, deque()
        for item in waiting:
            self._end(item, GuardError(Code.ERROR, GONE))

    def _forget(self, guest: Guest) -> None:
        self._delivery.forget(guest)
        self._keyboard.forget_composition(guest)
        self.drags.forget(guest)

    def _loss(self, lane: Lane) -> GuardError | None:
        """What has become of a guest that is not there any more: this, not what came of it, is what to tell."""
        if self._lanes.get(lane.guest.target_id) is not lane or lane.guest.session_id is None:
            return GuardError(Code.ERROR, GONE)
        return GuardError(Code.ERROR, DEAD) if lane.guest.crashed else None

    def _pump(self, lane: Lane) -> None:
        while lane.waiting and not lane.busy:
            item = lane.waiting.popleft()
            if isinstance(item, Job) and self._passes(lane.guest, item) and self._at_once(lane.guest, item):
                self._pass(lane, item)
            else:
                self._carry_out(lane, item)

    def _carry_out(self, lane: Lane, item: Job | Release | Rest) -> None:
        lane.busy = True

        def ended(outcome: dict[str, Any] | Exception) -> None:
            if isinstance(outcome, Exception):
                outcome = self._loss(lane) or outcome
            self._end(item, outcome)
            lane.busy = False
            self._pump(lane)

        self._wire.flows.start(self._run(lane, item), ended, ended)

    def _passes(self, guest: Guest, job: Job) -> bool:
        """Whether the command can be sent on as it is: it moves no focus and goes where it was sent."""
        if job.caller is None or job.session is None:
            return False
        treatment = job.rule.treatment
        if treatment is Treatment.POINTER:
            if job.method == TOUCH:
                return False
            return not (borrows(job.method, job.params) and self._borrower.needed(guest))
        if treatment is Treatment.FOCUSING:
            return not self._borrower.needed(guest)
        if treatment is Treatment.GESTURE or guest.embedding is Embedding.OFFSCREEN:
            return False
        return not job.session.main and (treatment is Treatment.KEY or not guest.inner)

    def _at_once(self, guest: Guest, job: Job) -> bool:
        """Whether there is nothing to wait for first."""
        changes = self._delivery.disturbs(job) or self._delivery.drags(guest, job)
        if self.drags.ends(guest, job) or self.drags.carries(guest, job):
            return False
        return self._awake(guest, job) and not (changes and self._borrower.composes(guest))

    def _awake(self, guest: Guest, job: Job) -> bool:
        """Whether a guest takes input that is simply sent on.

        Chromium holds a view or window that was never shown to be hidden and drops input to it, with success; focus
        emulation makes it visible (probe cases of browser-view, web-contents-view and window, hidden).
        """
        if guest.inner:
            return True
        told = all(owner.emulated for owner in _believers(guest))
        return told and guest.target_id in self._shown and not self._delivery.may_drop(guest, job)

    def _show(self, guest: Guest) -> Flow[None]:
        """Have a guest that is no webview take input: until the frame after it was shown its renderer drops it."""
        if not guest.emulated:
            self._shown.discard(guest.target_id)
        yield from self._emulation.drive(guest)
        if guest.target_id not in self._shown:
            yield from self._paint.painted(guest)
            self._shown.add(guest.target_id)

    def _pass(self, lane: Lane, job: Job) -> None:
        assert job.caller is not None and job.message is not None
        caller, late = job.caller, None
        number = id(caller)
        lane.passing.add(number)

        def answered() -> None:
            self._receipts.tell(caller, job.receipt, caller.fault, job.params.get("type"))
            self._delivery.heal(lane.guest, job)
            lane.passing.discard(number)
            if not lane.passing and lane.drained is not None:
                lane.drained.settle()

        job.caller.answered = answered
        try:
            self._delivery.check_way(lane.guest, job)
            session_id = self._delivery.session_id(lane.guest, job)
        except GuardError as fault:
            self._wire.fail(job.caller, fault)
            return
        self._delivery.note(lane.guest, job)
        self.drags.moves(lane.guest, job)
        if job.rule.frame:
            late = lambda: self._paint.look_into(lane.guest, caller)  # noqa: E731
        self._wire.forward(caller, job.message, session_id, job.rule.bound or INPUT_BOUND, late)

    def _end(self, item: Job | Release | Rest, outcome: dict[str, Any] | Exception) -> None:
        if not isinstance(item, Job) or item.caller is None:
            return
        fault = outcome if isinstance(outcome, Exception) else None
        if isinstance(outcome, Exception):
            self._wire.fail(item.caller, outcome)
        else:
            self._wire.answer(item.caller, outcome)
        self._receipts.tell(item.caller, item.receipt, fault, item.params.get("type"))

    def _run(self, lane: Lane, item: Job | Release | Rest) -> Flow[dict[str, Any]]:
        if lane.passing:
            lane.drained = Handle()
            try:
                yield Await(lane.drained, DRAIN_SECONDS)
            except TimedOut:
                lane.passing.clear()
            lane.drained = None
        guest = lane.guest
        if isinstance(item, Release):
            return (yield from self._release(guest, item.client))
        if isinstance(item, Rest):
            self._shown.discard(guest.target_id)
            yield from self._emulation.rest(guest)
            return {}
        treatment = item.rule.treatment
        if treatment not in (Treatment.COMPOSE, Treatment.TEXT) and self._delivery.disturbs(item):
            self._keyboard.forget_composition(guest)
        if not guest.inner:
            yield from self._show(guest)
        if self._passes(guest, item):
            yield from self._delivery.room(guest, item)
            try:
                return (yield from self._send_on(guest, item))
            finally:
                self._delivery.heal(guest, item)
        if not guest.inner and treatment is not Treatment.GESTURE and item.method != TOUCH:
            return (yield from self._keyboard.own_tree(guest, item))
        if treatment is Treatment.KEY:
            return (yield from self._keyboard.key(guest, item))
        if treatment is Treatment.TEXT:
            return (yield from self._keyboard.text(guest, item))
        if treatment is Treatment.COMPOSE:
            return (yield from self._keyboard.compose(guest, item))
        if treatment is Treatment.GESTURE:
            return (yield from self._pointer.gesture(guest, item))
        if treatment is Treatment.FOCUSING:
            return (yield from self._pointer.watched(guest, item))
        return (yield from self._pointer.point(guest, item))

    def _send_on(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """Send a command as it is, or as what takes a drag along."""
        ends = self.drags.ends(guest, job)
        try:
            if not self.drags.carries(guest, job):
                self.drags.moves(guest, job)
                result = yield from self._delivery.sent_on(guest, job)
                if not (
                    ends and self.drags.carries(guest, job)
                ):  # it may begin by moves that were on their way
                    return result
            for params in self.drags.steps(guest, job):
                part = replace(job, method=DRAG, params=params, raw=b"", rule=ON_GUEST[DRAG])
                yield from self._delivery.sent_on(guest, part)
            self._delivery.note(guest, job)
            return {}
        finally:
            if ends:
                self.drags.released(guest, job)

    # -- what is held down -------------------------------------------------------------------------------------------
    def holds(self, client: int) -> bool:
        """Whether a client has anything down, in any guest."""
        return self._delivery.touches.holds(client) or any(
            who == client and bool(held) for (who, _), held in self._delivery.held.items()
        )

    def release_all(self, client: int, guests: dict[str, Guest]) -> None:
        """Drop what waits of a client that left and let go of what it held down."""
        owed = [guest_id for who, guest_id in self._delivery.held if who == client and guest_id in guests]
        for guest_id in owed:
            lane = self._lanes.get(guest_id)
            if lane is not None:
                lane.waiting = deque(item for item in lane.waiting if not _belongs(item, client))
            self._enqueue(guests[guest_id], Release(client))

    def left(self, client: int, guest: Guest) -> None:
        """A client has ended its last session on a guest and stays: what it held down there is let go."""
        if (client, guest.target_id) in self._delivery.held:
            self._enqueue(guest, Release(client))

    def let_go(self, guest: Guest) -> Flow[None]:
        """Let go of what anybody holds down in a guest."""
        for client in [who for who, guest_id in self._delivery.held if guest_id == guest.target_id]:
            yield from self._release(guest, client)

    def _release(self, guest: Guest, client: int) -> Flow[dict[str, Any]]:
        left = self._delivery.held.get((client, guest.target_id), Held())
        if left.pressing:
            self.drags.abandoned(guest)
        if not self._wire.client_here(client):
            self._delivery.held.pop((client, guest.target_id), None)
        others = self._delivery.held_in(guest)
        for press in left.take():
            if any(held.holds(press) for held in others):
                continue  # as on a keyboard that two people hold a key of
            try:
                yield from self._let_go(guest, press)
            except (FlowFault, GuardError) as fault:
                self._wire.report("release.failed", method=press.method, reason=str(fault))
        try:
            yield from self._delivery.touches.let_go(guest, client)
        except TimedOut:
            self._enqueue(guest, Release(client))
        except FlowFault as fault:
            self._wire.report("release.failed", method=TOUCH, reason=str(fault))
        return {}

    def _let_go(self, guest: Guest, press: Press) -> Flow[None]:
        params = press.release()
        if press.target_id is not None:
            child = guest.children.get(press.target_id)
            session_id = child.session_id if child is not None else None
        elif press.method == KEY and guest.inner:
            job = Job(None, None, press.method, params, b"", ON_GUEST[KEY])
            yield from self._keyboard.key(guest, job)
            return
        else:
            session_id = guest.session_id
        if session_id is not None:  # what held it is gone otherwise
            yield from call(Upstream(press.method, params, session_id), INPUT_BOUND)


def _believers(guest: Guest) -> list[Guest | Child]:
    """The guest and the frames in it, as far as the guard has sessions on them."""
    return [*([guest] if guest.session_id is not None else []), *guest.frames]


def _belongs(item: Job | Release | Rest, client: int) -> bool:
    return isinstance(item, Job) and item.caller is not None and item.caller.client == client
