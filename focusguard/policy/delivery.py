"""Sending one input command, whatever it is: what every way into a guest has in common."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from focusguard.cdp.messages import Envelope
from focusguard.cdp.sessions import Session
from focusguard.cdp.targets import Embedding, Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.borrow import Borrower, Lease
from focusguard.policy.evidence import (
    ANSWER_SECONDS,
    MISS_SECONDS,
    Place,
    drop_focus,
    hold_focus,
    resume_focus,
    wait_expression,
)
from focusguard.policy.flow import Await, CallFailed, Flow, FlowFault, Gone, Handle, Post, TimedOut, Upstream
from focusguard.policy.held import MOUSE, Held
from focusguard.policy.paint import PaintWatch
from focusguard.policy.presses import PressWitness, Question
from focusguard.policy.receipts import Receipt
from focusguard.policy.table import INPUT_BOUND, Rule, Treatment, borrows, lingers
from focusguard.policy.touches import CANCEL, TOUCH, Hand, Touches
from focusguard.policy.wire import Caller, Wire

#: Seconds for which a press is waited for with the pane watching: the focus goes home as soon as Chromium moves it,
#: so a busy page that answers late costs the person nothing.
HOLD_SECONDS = 2.0
#: Seconds for the app to answer the fence behind a command that was sent with the focus in the guest.
FENCE_SECONDS = 2.0
#: Seconds for which the focus is watched after a touch has ended, and after a focus by command: a tap is recognised
#: after the reply, and a page's own handlers may come after it.
LINGER_SECONDS = 0.4
#: What a button holds down may be moved and let go of so long after the end of a word, milliseconds: it began in time.
DRAG_ROOM_MS = 50
#: Electron's first version that may give touches to an offscreen page: 9.4, 22.3 and 25.1 answer them and give them to
#: nobody, 33.2 does (probe case touch-start). What lies between has not been measured, and is tried.
OFFSCREEN_TOUCHES_SINCE = 26
#: Electron's first version in which focus emulation is known to make a hidden view visible: not 9.4.
EMULATION_SHOWS_SINCE = 22
#: Seconds in which there is a verdict on a press, for the parts of it are bounded themselves.
VERDICT_SECONDS = 10.0


@dataclass(slots=True)
class Job:
    """One input command of a client; without one, a key that the guard lets go for a client that left."""

    caller: Caller | None
    session: Session | None
    method: str
    params: dict[str, Any]
    raw: bytes
    rule: Rule
    message: Envelope | None = None
    receipt: Receipt = field(default_factory=Receipt)


class Delivery:
    """Sends commands, and knows what clients hold down with them.

    Attributes:
        held: what each client holds down in each guest.
        touches: the fingers among it.
        pressed_on: the session on which a mouse button was last pressed in each guest.
        witness: asks pages what they have seen of presses.
    """

    def __init__(self, wire: Wire, borrower: Borrower, paint: PaintWatch) -> None:
        self._wire = wire
        self._borrower = borrower
        self._paint = paint
        self.held: dict[tuple[int, str], Held] = {}
        self.touches = Touches()
        self.pressed_on: dict[str, Session] = {}
        self.witness = PressWitness(wire)

    # -- may it be sent ----------------------------------------------------------------------------------------------
    def check_way(self, guest: Guest, job: Job) -> None:
        """Whether what is sent without a borrow would arrive, and do no harm."""
        offscreen = guest.embedding is Embedding.OFFSCREEN
        if job.method == TOUCH and offscreen and self._wire.electron < OFFSCREEN_TOUCHES_SINCE:
            raise GuardError(
                Code.REFUSED,
                f"Electron {self._wire.electron} gives no touches to an offscreen page",
                advice="use the mouse",
            )
        if self.disturbs(job):
            self._borrower.check_composing(guest)

    def disturbs(self, job: Job) -> bool:
        """Whether the command may change a page's text input state."""
        treatment = job.rule.treatment
        if treatment is Treatment.POINTER:
            return borrows(job.method, job.params)
        if treatment is Treatment.KEY:
            return job.params.get("type") != "keyUp"
        return treatment is not Treatment.GESTURE  # each step of one is looked at

    def drags(self, guest: Guest, job: Job) -> bool:
        """Whether the command moves or lets go of what a button holds: a page may change its text state by that."""
        held = job.method == MOUSE and any(one.pressing for one in self.held_in(guest))
        return held and job.params.get("type") in ("mouseMoved", "mouseReleased")

    def heal(self, guest: Guest, job: Job) -> None:
        """Look after the person's input method where a frame of another process may have changed something.

        The guest's own documents tell of what they change (sentry.js); such frames have nobody who does, and Chromium
        reports their state once more when a button or a finger goes up.
        """
        pointer = job.rule.treatment is Treatment.POINTER
        up = pointer and job.params.get("type") in ("mouseReleased", "touchEnd")
        if (up or self.disturbs(job)) and (guest.frames or not pointer):
            self._borrower.repair_later(guest)

    def room(self, guest: Guest, job: Job) -> Flow[None]:
        """Wait for a moment at which the command does a person who composes no harm; a release is never refused."""
        if self.disturbs(job):
            yield from self._borrower.room(guest)
        elif self.drags(guest, job):
            with suppress(GuardError):
                yield from self._borrower.room(guest, DRAG_ROOM_MS)
        self.check_wanted(job)

    def may_drop(self, guest: Guest, job: Job) -> bool:
        """Whether the page has to be asked first: on 9.4 a hidden one stays so, and drops its touches and wheels."""
        dropped = job.params.get("type") in ("touchStart", "mouseWheel")
        return dropped and not guest.inner and self._wire.electron < EMULATION_SHOWS_SINCE

    def check_wanted(self, job: Job) -> None:
        """The client may have left while its command waited for the page or the pane."""
        if job.caller is not None and not self._wire.client_here(job.caller.client):
            raise GuardError(Code.ERROR, "the connection closed meanwhile; nothing was sent")

    # -- what is held down -------------------------------------------------------------------------------------------
    def held_in(self, guest: Guest) -> list[Held]:
        """What clients hold down in a guest."""
        return [held for (_, guest_id), held in self.held.items() if guest_id == guest.target_id]

    def forget(self, guest: Guest) -> None:
        """Nothing is held down in a guest that is gone."""
        for key in [key for key in self.held if key[1] == guest.target_id]:
            del self.held[key]
        stale = self.touches.forget(guest)
        if stale is not None:  # Chromium would take a finger of the same number for one that moves
            self._wire.post(Upstream(TOUCH, CANCEL, stale))
        self.pressed_on.pop(guest.target_id, None)
        self.witness.forget(guest)

    def note(self, guest: Guest, job: Job) -> None:
        """A command has been sent: what it holds down, and, of a press without a borrow, whose it is."""
        if job.rule.treatment is Treatment.POINTER and borrows(job.method, job.params):
            self._borrower.announce(guest)
        if job.caller is None or job.session is None:
            return
        if job.method == MOUSE and job.params.get("type") == "mousePressed":
            self.pressed_on[guest.target_id] = job.session
        held = self.held.get((job.caller.client, guest.target_id))
        if held is not None:
            held.note(job.method, job.params, None if job.session.main else job.session.target_id)
        hand = self.hand(guest, job)
        if hand is not None:
            hand.note(job.params)

    def hand(self, guest: Guest, job: Job) -> Hand | None:
        """The fingers that the client of a touch has down where it goes."""
        if job.method != TOUCH or job.caller is None or job.session is None:
            return None
        frame = None if job.session.main else job.session.target_id
        return self.touches.hand(guest, job.caller.client, frame)

    def refused(self, guest: Guest, job: Job) -> None:
        """The app has refused a command that was noted when it was sent: nobody has anything down because of it."""
        if job.caller is not None and job.session is not None:
            held = self.held.get((job.caller.client, guest.target_id))
            if held is not None:
                held.refused(job.method, job.params, None if job.session.main else job.session.target_id)
        hand = self.hand(guest, job)
        if hand is not None:
            hand.undo()

    # -- sent --------------------------------------------------------------------------------------------------------
    def session_id(self, guest: Guest, job: Job) -> str:
        """Where the command goes: on its own session, or on the guard's where that was detached while it waited.

        Touches always go on the guard's: Chromium forgets, and does not lift, the fingers of a session that ends.
        """
        session = job.session
        here = session.id if session is not None and self._wire.session_here(session) else None
        if here is not None and job.method != TOUCH:
            return here
        own = guest.session_id
        if session is not None and not session.main:
            child = guest.children.get(session.target_id)
            own = child.session_id if child is not None else None
        found = own or here
        if found is None:
            raise GuardError(Code.ERROR, "the target is gone; nothing was sent")
        return found

    def answered(self, guest: Guest, job: Job, handle: Handle) -> Flow[dict[str, Any]]:
        """The app's answer, or an error that says that there is none."""
        try:
            if job.rule.frame:
                return (yield from self._paint.answered(guest, handle, INPUT_BOUND))
            result: dict[str, Any] = yield Await(handle, INPUT_BOUND)
        except CallFailed:
            self.refused(guest, job)
            raise
        except TimedOut:
            raise GuardError(Code.TIMEOUT, f"the guest did not answer within {INPUT_BOUND:g} s") from None
        return result

    def sent_on(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """Send a command that moves no focus and goes where it was sent."""
        if self.may_drop(guest, job):
            self.check_way(guest, job)
            yield from self._paint.check_visible(guest)
        self.check_wanted(job)
        self.check_way(guest, job)
        handle = yield Post(Upstream(job.method, job.params, self.session_id(guest, job), job.raw or None))
        self.note(guest, job)
        return (yield from self.answered(guest, job, handle))

    # -- seen --------------------------------------------------------------------------------------------------------
    def watch(self, place: Place, types: list[str], *, character: bool) -> Upstream:
        """The question to the frame whether it has handled the input that comes."""
        params = {
            "expression": wait_expression(types, place.seen, character=character),
            "contextId": place.context_id,
            "awaitPromise": True,
            "returnByValue": True,
        }
        return Upstream("Runtime.evaluate", params, place.session_id)

    def seen(self, job: Job, watch: Handle) -> Flow[None]:
        """Wait until the page has handled the input.

        Raises:
            GuardError: no document saw it, or none says so in time.
        """
        try:
            seen = yield Await(watch, MISS_SECONDS + ANSWER_SECONDS)
        except (CallFailed, Gone):
            return  # the document went away because of the input: a submit or a link
        except TimedOut:
            raise GuardError(
                Code.TIMEOUT, "the page has not handled the input yet; it may still do so"
            ) from None
        job.receipt.verdict = str(seen.get("result", {}).get("value", "unverified"))
        if job.receipt.verdict == "missed":
            raise GuardError(Code.INPUT_NOT_DELIVERED)

    # -- with the person's focus -------------------------------------------------------------------------------------
    def borrowed(
        self,
        guest: Guest,
        job: Job,
        taken: Place | None = None,
        watch: Upstream | None = None,
        presses: Question | None = None,
        prepare: Callable[[Lease], Flow[None]] | None = None,
    ) -> Flow[dict[str, Any]]:
        """Send with the person's focus noted and brought home after.

        Args:
            guest: where to.
            job: what.
            taken: the frame that has the focus inside the guest, where the guest must have the person's for this to
                reach it; None where the command takes it by itself.
            watch: the question to the frame whether it has handled it.
            presses: the question to the page what it has seen of presses.
            prepare: what has to be done in the guest right before it is sent.
        """
        self.check_wanted(job)
        job.receipt.way = "borrow"
        lease = yield from self._taken(guest, taken)
        fault: Exception | None = None
        handle, watching, looking = Handle(), None, None
        try:
            self.check_wanted(job)
            session_id = self.session_id(guest, job)
            if taken is not None and taken.child is not None:
                session_id = taken.child.session_id
            if prepare is not None:
                yield from prepare(lease)
                self.check_wanted(job)
            watching = (yield Post(watch)) if watch is not None else None
            if presses is not None:
                yield from self.witness.ready(presses)
                self.check_wanted(job)
            handle = yield Post(Upstream(job.method, job.params, session_id, job.raw or None))
            self.note(guest, job)
            yield from self._until_sent(handle, take=taken is not None)
            if presses is not None and handle.settled:
                looking = self.witness.look(guest, presses)
        except GuardError as error:
            fault = error
        if lingers(job.method, job.params):
            self._borrower.end_later(lease, guest, LINGER_SECONDS)
        else:
            ended = yield from self._borrower.end(lease)
            self._wire.report("borrow", method=job.method, waitedMs=lease.waited_ms, **ended)
            facts = ("heldMs", "broughtHome")
            job.receipt.borrow = {name: ended[name] for name in facts if name in ended}
            job.receipt.borrow["waitedMs"] = lease.waited_ms
            if job.rule.treatment is Treatment.POINTER:
                self.heal(guest, job)
        if fault is not None:
            raise fault
        result = yield from self.answered(guest, job, handle)
        if watching is not None:
            yield from self.seen(job, watching)
        if looking is not None:
            job.receipt.verdict = yield Await(looking, VERDICT_SECONDS)
            if job.receipt.verdict == "missed":
                self.note(guest, replace(job, params={**job.params, "type": "mouseReleased"}))
                raise GuardError(Code.INPUT_NOT_DELIVERED)
        return result

    def _taken(self, guest: Guest, place: Place | None) -> Flow[Lease]:
        if place is None:
            return (yield from self._borrower.begin(guest, take=False))
        if not place.above:
            return (yield from self._borrower.begin(guest, take=True))
        yield from hold_focus(place)
        try:
            lease = yield from self._borrower.begin(guest, take=True)
        except GuardError:
            yield from drop_focus(place)
            raise
        yield from (resume_focus(place) if lease.state == "held" else drop_focus(place))
        return lease

    def _until_sent(self, handle: Handle, *, take: bool) -> Flow[None]:
        """Wait until the command can no longer go astray when the focus goes home.

        With the focus in the guest, a key is routed when the browser process takes it; it takes commands in order, so
        the answer to a second one that needs no renderer proves that. A press moves the focus itself, by its reply.
        """
        with suppress(FlowFault):  # what became of the command is read afterwards
            if take:
                fence = yield Post(Upstream("Browser.getVersion"))
                yield Await(fence, FENCE_SECONDS)
            else:
                yield Await(handle, HOLD_SECONDS)
