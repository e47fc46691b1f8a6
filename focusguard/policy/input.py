"""How agent input gets into a guest: in order, to the frame that has the guest's focus, and past the person."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from focusguard.cdp.messages import Envelope
from focusguard.cdp.sessions import Session
from focusguard.cdp.targets import FRAME_TYPES, Child, Embedding, Guest
from focusguard.errors import INVALID_PARAMS, Code, GuardError, ProtocolError
from focusguard.policy import gestures, keys
from focusguard.policy.borrow import BRIDGE_SECONDS, Borrower, Lease
from focusguard.policy.emulation import FocusEmulation
from focusguard.policy.evidence import (
    ANSWER_SECONDS,
    MISS_SECONDS,
    Place,
    Worlds,
    drop_focus,
    hold_focus,
    locate,
    resume_focus,
    wait_expression,
)
from focusguard.policy.flow import (
    Await,
    Bridge,
    CallFailed,
    Flow,
    FlowFault,
    Gone,
    Handle,
    Post,
    Sleep,
    TimedOut,
    Upstream,
    call,
)
from focusguard.policy.held import KEY, MOUSE, Held, Press
from focusguard.policy.paint import PaintWatch
from focusguard.policy.presses import PressWitness, Question
from focusguard.policy.receipts import Receipt, Receipts
from focusguard.policy.table import INPUT_BOUND, ON_GUEST, Rule, Treatment, borrows, lingers
from focusguard.policy.touches import TouchTurns
from focusguard.policy.wire import DEAD, GONE, Caller, Wire

#: Seconds for which a press is waited for with the pane watching: the focus goes home as soon as Chromium moves it,
#: so a busy page that answers late costs the person nothing.
HOLD_SECONDS = 2.0
#: Seconds for the app to answer the fence behind a command that was sent with the focus in the guest.
FENCE_SECONDS = 2.0
#: Seconds for which the focus is watched after a touch has ended, and after a focus by command: a tap is recognised
#: after the reply, and a page's own handlers may come after it.
LINGER_SECONDS = 0.4
#: Seconds for which a key or press waits for the moves and wheels before it; an unpainted guest may never answer them.
DRAIN_SECONDS = 1.0
#: Electron's first version that may give touches to an offscreen page: 9.4, 22.3 and 25.1 answer them and give them to
#: nobody, 33.2 does (probe case touch-start). What lies between has not been measured, and is tried.
OFFSCREEN_TOUCHES_SINCE = 26
#: Electron's first version in which focus emulation is known to make a hidden view visible: not 9.4.
EMULATION_SHOWS_SINCE = 22
#: Seconds in which there is a verdict on a press, for the parts of it are bounded themselves.
VERDICT_SECONDS = 10.0
_TEXT_TYPES = ["beforeinput", "input"]
_NOTHING_TAKES_TEXT = "nothing that takes text has the guest's focus; nothing was sent"


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
        self._worlds = worlds
        self._borrower = borrower
        self._paint = paint
        self._receipts = receipts
        self._emulation = emulation
        self._lanes: dict[str, Lane] = {}
        self._held: dict[tuple[int, str], Held] = {}
        self._touches = TouchTurns()
        #: Guests that are no webviews and have had a frame since they were told that they have the focus.
        self._shown: set[str] = set()
        self._witness = PressWitness(wire)

    # -- in order ----------------------------------------------------------------------------------------------------
    def submit(self, guest: Guest, job: Job) -> None:
        """Take a command into the guest's queue."""
        if guest.crashed:
            self._end(job, GuardError(Code.ERROR, DEAD))
            return
        if job.caller is not None:
            self._held.setdefault((job.caller.client, guest.target_id), Held())
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
        for key in [key for key in self._held if key[1] == guest.target_id]:
            del self._held[key]
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
        for key in [key for key in self._held if key[1] == guest.target_id]:
            del self._held[key]
        self._touches.drop(guest)
        self._shown.discard(guest.target_id)
        lane = self._lanes.pop(guest.target_id, None)
        if lane is None:
            return
        waiting, lane.waiting = lane.waiting, deque()
        for item in waiting:
            self._end(item, GuardError(Code.ERROR, GONE))

    def _loss(self, lane: Lane) -> GuardError | None:
        """What has become of a guest that is not there any more: this, not what came of it, is what to tell."""
        if self._lanes.get(lane.guest.target_id) is not lane or lane.guest.session_id is None:
            return GuardError(Code.ERROR, GONE)
        return GuardError(Code.ERROR, DEAD) if lane.guest.crashed else None

    def _pump(self, lane: Lane) -> None:
        while lane.waiting and not lane.busy:
            item = lane.waiting.popleft()
            if isinstance(item, Job) and self._passes(lane.guest, item) and self._awake(lane.guest, item):
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
            if TouchTurns.apply(guest, job.method):
                return False
            return not (borrows(job.method, job.params) and self._borrower.needed(guest))
        if treatment is Treatment.FOCUSING:
            return not self._borrower.needed(guest)
        if treatment is Treatment.GESTURE or guest.embedding is Embedding.OFFSCREEN:
            return False
        return not job.session.main and (treatment is Treatment.KEY or not guest.inner)

    def _awake(self, guest: Guest, job: Job) -> bool:
        """Whether a guest takes input that is simply sent on.

        Chromium holds a view or window that was never shown to be hidden and drops input to it, with success; focus
        emulation makes it visible (probe cases of browser-view, web-contents-view and window, hidden).
        """
        if guest.inner:
            return True
        told = all(owner.emulated for owner in _believers(guest))
        return told and guest.target_id in self._shown and not self._may_drop(guest, job)

    def _show(self, guest: Guest) -> Flow[None]:
        """Have a guest that is no webview take input: until the frame after it was shown its renderer drops it."""
        if not guest.emulated:
            self._shown.discard(guest.target_id)
        yield from self._emulation.drive(guest)
        if guest.target_id not in self._shown:
            yield from self._paint.painted(guest)
            self._shown.add(guest.target_id)

    def _may_drop(self, guest: Guest, job: Job) -> bool:
        """Whether the page has to be asked first: on 9.4 a hidden one stays so, and drops its touches and wheels."""
        dropped = job.params.get("type") in ("touchStart", "mouseWheel")
        return dropped and not guest.inner and self._wire.electron < EMULATION_SHOWS_SINCE

    def _pass(self, lane: Lane, job: Job) -> None:
        assert job.caller is not None and job.message is not None
        caller, late = job.caller, None
        number = id(caller)
        lane.passing.add(number)

        def answered() -> None:
            self._receipts.tell(caller, job.receipt, None)
            lane.passing.discard(number)
            if not lane.passing and lane.drained is not None:
                lane.drained.settle()

        job.caller.answered = answered
        try:
            self._check_way(lane.guest, job)
            session_id = self._session_id(lane.guest, job)
        except GuardError as fault:
            self._wire.fail(job.caller, fault)
            return
        self._note(lane.guest, job)
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
        self._receipts.tell(item.caller, item.receipt, fault)

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
        if not guest.inner:
            yield from self._show(guest)
            self._check_way(guest, item)
            if self._passes(guest, item):
                return (yield from self._sent_on(guest, item))
            if treatment is not Treatment.GESTURE:
                return (yield from self._own_tree(guest, item))
        if treatment is Treatment.KEY:
            return (yield from self._key(guest, item))
        if treatment is Treatment.TEXT:
            return (yield from self._text(guest, item))
        if treatment is Treatment.COMPOSE:
            return (yield from self._compose(guest, item))
        if treatment is Treatment.GESTURE:
            return (yield from self._gesture(guest, item))
        if treatment is Treatment.FOCUSING:
            return (yield from self._watched(guest, item))
        return (yield from self._point(guest, item))

    def _sent_on(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """Send a command that moves no focus and goes where it was sent."""
        if self._may_drop(guest, job):
            self._check_way(guest, job)
            yield from self._paint.check_visible(guest)
        self._check_wanted(job)
        self._check_way(guest, job)
        handle = yield Post(Upstream(job.method, job.params, self._session_id(guest, job), job.raw or None))
        self._note(guest, job)
        if not job.rule.frame:
            return (yield from self._answered(handle))
        try:
            return (yield from self._paint.answered(guest, handle, INPUT_BOUND))
        except TimedOut:
            raise GuardError(Code.TIMEOUT, f"the guest did not answer within {INPUT_BOUND:g} s") from None

    def _check_way(self, guest: Guest, job: Job) -> None:
        """Whether what is sent without a borrow would arrive, and do no harm."""
        offscreen = guest.embedding is Embedding.OFFSCREEN
        if job.method == gestures.TOUCH and offscreen and self._wire.electron < OFFSCREEN_TOUCHES_SINCE:
            raise GuardError(
                Code.REFUSED,
                f"Electron {self._wire.electron} gives no touches to an offscreen page; use the mouse",
            )
        treatment = job.rule.treatment
        if treatment is Treatment.POINTER:
            disturbs = borrows(job.method, job.params)
        elif treatment is Treatment.KEY:
            disturbs = job.params.get("type") != "keyUp"
        else:
            disturbs = treatment is not Treatment.GESTURE  # each step of one is looked at
        if disturbs:
            self._borrower.check_composing(guest)

    def _check_wanted(self, job: Job) -> None:
        """The client may have left while its command waited for the page or the pane."""
        if job.caller is not None and not self._wire.client_here(job.caller.client):
            raise GuardError(Code.ERROR, "the connection closed meanwhile; nothing was sent")

    def _note(self, guest: Guest, job: Job) -> None:
        if job.rule.treatment is Treatment.POINTER and borrows(job.method, job.params):
            self._borrower.announce(guest)
        if job.caller is None or job.session is None:
            return
        held = self._held.get((job.caller.client, guest.target_id))
        if held is not None:
            held.note(job.method, job.params, None if job.session.main else job.session.target_id)

    # -- keys and text -----------------------------------------------------------------------------------------------
    def _key(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulation.drive(guest)
        place = yield from self._locate(guest, job)
        if place.child is not None and not keys.leaves_guest(job.params):
            if guest.deaf and not keys.presses(job.params):
                yield from self._rouse(guest, place)
            return (yield from self._to_frame(guest, place.child, job))
        if keys.presses(job.params):
            guest.deaf = False
            return (yield from self._send_key(guest, job, place))
        if guest.deaf:
            yield from self._rouse(guest, place)
        try:
            return (yield from self._send_key(guest, job, place))
        except GuardError as miss:
            if miss.code is not Code.INPUT_NOT_DELIVERED or not self._wire.bridge_here:
                raise
        # Nobody saw it: a person's press was stopped at the guest just before. It is sent to open ears once more.
        yield from self._rouse(guest, place)
        return (yield from self._send_key(guest, job, place))

    def _send_key(self, guest: Guest, job: Job, place: Place) -> Flow[dict[str, Any]]:
        events = keys.to_electron(job.params, self._wire.electron)
        types = keys.event_types(job.params)
        character = job.params.get("type") == "keyDown" and keys.makes_character(job.params)
        if events is None or not self._wire.bridge_here:
            watch = self._watch(place, types, character=character)
            return (yield from self._borrowed(guest, job, place, watch))
        send = Bridge("keys.send", {"webContentsId": guest.web_contents_id, "events": events})
        return (yield from self._witnessed(guest, job, place, send, types, character=character))

    def _rouse(self, guest: Guest, place: Place) -> Flow[None]:
        """Have a widget listen again that drops releases (see `keys.ROUSING`)."""
        guest.deaf = False
        with suppress(FlowFault):
            if place.child is not None:
                yield from call(Upstream(KEY, keys.ROUSING, place.session_id), ANSWER_SECONDS)
            elif self._wire.bridge_here:
                params = {"webContentsId": guest.web_contents_id, "events": [keys.ROUSING_EVENT]}
                yield from call(Bridge("keys.send", params), BRIDGE_SECONDS)

    def _text(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulation.drive(guest)
        place = yield from self._writable(guest, job)
        if place.child is not None:
            return (yield from self._to_frame(guest, place.child, job))
        text = job.params.get("text")
        if not isinstance(text, str) or not keys.insertable(text) or not self._wire.bridge_here:
            return (yield from self._borrowed(guest, job, place))
        insert = Bridge("text.insert", {"webContentsId": guest.web_contents_id, "text": text})
        return (yield from self._witnessed(guest, job, place, insert, _TEXT_TYPES, character=False))

    def _compose(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulation.drive(guest)
        place = yield from self._writable(guest, job)
        if place.child is not None:
            return (yield from self._to_frame(guest, place.child, job))
        return (yield from self._borrowed(guest, job, place))

    def _writable(self, guest: Guest, job: Job) -> Flow[Place]:
        """Where text goes; Chromium answers with success where it goes nowhere.

        On a frame's own session it stays in that frame's process, whatever has the guest's focus.
        """
        own = None
        if job.session is not None and not job.session.main:
            own = guest.children.get(job.session.target_id)
            if own is None:
                raise GuardError(Code.ERROR, "the frame is gone; nothing was sent")
        place = yield from locate(self._worlds, guest, _TEXT_TYPES, own)
        ends_one = job.rule.treatment is Treatment.COMPOSE and not job.params.get("text")
        if not ends_one and (not place.editable or (own is not None and place.child is not own)):
            raise GuardError(Code.INPUT_NOT_DELIVERED, _NOTHING_TAKES_TEXT)
        return place

    def _own_tree(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """A guest that is no inner WebContents: CDP reaches its focused frame, and the page tells whether it did.

        Electron ends, app and all, when a key or text meets a field in a cross-site frame of an offscreen page
        (measured on 9.4, 22.3, 25.1 and 33.2), so it is not sent.
        """
        typed = job.rule.treatment is Treatment.KEY
        types = keys.event_types(job.params) if typed else _TEXT_TYPES
        place = yield from locate(self._worlds, guest, [*types, "keypress"])
        in_frame = place.child is not None or (job.session is not None and not job.session.main)
        if guest.embedding is Embedding.OFFSCREEN and in_frame:
            raise GuardError(
                Code.REFUSED,
                "Electron would crash: keys and text for a cross-site frame of an offscreen page",
            )
        if job.rule.treatment is Treatment.TEXT and not place.editable:
            raise GuardError(Code.INPUT_NOT_DELIVERED, _NOTHING_TAKES_TEXT)
        self._check_wanted(job)
        self._check_way(guest, job)  # the person may have begun to compose while the page was asked
        watch = None
        if job.rule.treatment is not Treatment.COMPOSE and job.params.get("text") != "":
            character = job.params.get("type") == "keyDown" and keys.makes_character(job.params)
            watch = yield Post(self._watch(place, types, character=character))
        call = Upstream(job.method, job.params, self._session_id(guest, job), job.raw or None)
        handle = yield Post(call)
        self._note(guest, job)
        result = yield from self._answered(handle)
        if watch is not None:
            yield from self._seen(job, watch)
        return result

    def _locate(self, guest: Guest, job: Job) -> Flow[Place]:
        place = yield from locate(self._worlds, guest, [*keys.event_types(job.params), "keypress"])
        return place

    def _witnessed(
        self, guest: Guest, job: Job, place: Place, send: Bridge, types: list[str], *, character: bool
    ) -> Flow[dict[str, Any]]:
        """Send through the bridge and answer when the page has handled it."""
        self._check_wanted(job)
        watch = yield Post(self._watch(place, types, character=character))
        sent = yield Post(send)
        self._note(guest, job)
        job.receipt.way = "insert-text" if send.method == "text.insert" else "send-input-event"
        try:
            yield Await(sent, BRIDGE_SECONDS)
        except Gone:
            raise GuardError(Code.BRIDGE_LOST, "the bridge went away while the input was sent") from None
        except (CallFailed, TimedOut) as fault:
            raise GuardError(Code.ERROR, f"the app did not take the input: {fault}") from None
        yield from self._seen(job, watch)
        return {}

    def _watch(self, place: Place, types: list[str], *, character: bool) -> Upstream:
        """The question to the frame whether it has handled the input that comes."""
        params = {
            "expression": wait_expression(types, place.seen, character=character),
            "contextId": place.context_id,
            "awaitPromise": True,
            "returnByValue": True,
        }
        return Upstream("Runtime.evaluate", params, place.session_id)

    def _seen(self, job: Job, watch: Handle) -> Flow[None]:
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

    def _to_frame(self, guest: Guest, child: Child, job: Job) -> Flow[dict[str, Any]]:
        """To a frame with a process of its own: its session routes exactly (input_handler.cc)."""
        self._check_wanted(job)
        job.receipt.way, job.receipt.frame_id = "frame-session", child.info["targetId"]
        handle = yield Post(Upstream(job.method, job.params, child.session_id, job.raw or None))
        self._note(guest, job)
        return (yield from self._answered(handle))

    # -- what needs the focus ----------------------------------------------------------------------------------------
    def _borrowed(
        self,
        guest: Guest,
        job: Job,
        taken: Place | None = None,
        watch: Upstream | None = None,
        presses: Question | None = None,
    ) -> Flow[dict[str, Any]]:
        """Send with the person's focus noted and brought home after.

        Args:
            guest: where to.
            job: what.
            taken: the frame that has the focus inside the guest, where the guest must have the person's for this to
                reach it; None where the command takes it by itself.
            watch: the question to the frame whether it has handled it.
            presses: the question to the page what it has seen of presses.
        """
        self._check_wanted(job)
        job.receipt.way = "borrow"
        lease = yield from self._taken(guest, taken)
        fault: Exception | None = None
        handle, watching, looking = Handle(), None, None
        try:
            self._check_wanted(job)
            session_id = self._session_id(guest, job)
            if taken is not None and taken.child is not None:
                session_id = taken.child.session_id
            watching = (yield Post(watch)) if watch is not None else None
            if presses is not None:
                yield from self._witness.ready(presses)
                self._check_wanted(job)
            handle = yield Post(Upstream(job.method, job.params, session_id, job.raw or None))
            self._note(guest, job)
            yield from self._until_sent(handle, take=taken is not None)
            if presses is not None and handle.settled:
                looking = self._witness.look(guest, presses)
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
        if fault is not None:
            raise fault
        result = yield from self._answered(handle)
        if watching is not None:
            yield from self._seen(job, watching)
        if looking is not None:
            job.receipt.verdict = yield Await(looking, VERDICT_SECONDS)
            if job.receipt.verdict == "missed":
                self._note(guest, replace(job, params={**job.params, "type": "mouseReleased"}))
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

    def _point(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        if not TouchTurns.apply(guest, job.method):
            return (yield from self._press(guest, job))
        yield from self._touches.take(guest, job.params)
        try:
            if borrows(job.method, job.params):
                return (yield from self._press(guest, job))
            return (yield from self._sent_on(guest, job))
        finally:
            self._end_touch(guest)

    def _end_touch(self, guest: Guest) -> None:
        if not any(
            held.touching for (_, guest_id), held in self._held.items() if guest_id == guest.target_id
        ):
            self._touches.drop(guest)

    def _press(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulation.drive(guest)
        return (yield from self._borrowed(guest, job, presses=self._presses_before(guest, job)))

    def _presses_before(self, guest: Guest, job: Job) -> Question | None:
        """Begin to ask what the page has seen of presses; with a button down already it does not see each of them."""
        held = [held for (_, guest_id), held in self._held.items() if guest_id == guest.target_id]
        on_guest = job.session is None or job.session.main
        if job.method != MOUSE or not on_guest or any(one.pressing for one in held):
            return None
        return self._witness.ask(guest)

    def _gesture(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        try:
            sequence = gestures.steps(job.method, job.params)
        except ValueError as fault:
            raise ProtocolError(INVALID_PARAMS, str(fault)) from None
        for step in sequence:
            if step.wait:
                yield Sleep(step.wait)
            part = replace(job, method=step.method, params=step.params, raw=b"", rule=ON_GUEST[step.method])
            try:
                yield from self._gesture_step(guest, part)
            except Exception:
                if step.method == gestures.TOUCH and step is not sequence[0]:
                    yield from self._lift_finger(guest, part)
                raise
        return {}

    def _gesture_step(self, guest: Guest, part: Job) -> Flow[None]:
        if borrows(part.method, part.params) and self._borrower.needed(guest):
            yield from self._point(guest, part)
        else:
            yield from self._sent_on(guest, part)

    def _lift_finger(self, guest: Guest, part: Job) -> Flow[None]:
        cancel = replace(part, params={"type": "touchCancel", "touchPoints": []})
        with suppress(GuardError):
            yield Post(Upstream(cancel.method, cancel.params, self._session_id(guest, cancel)))
            self._note(guest, cancel)
            self._end_touch(guest)

    def _watched(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """Focus inside the guest, by a command: nobody is told when it takes the input method from the person."""
        self._check_wanted(job)
        lease = yield from self._borrower.begin(guest, take=False)
        try:
            handle = yield Post(
                Upstream(job.method, job.params, self._session_id(guest, job), job.raw or None)
            )
            lease.pass_turn()
            return (yield from self._answered(handle))
        finally:
            self._borrower.end_later(lease, guest, LINGER_SECONDS)

    def _answered(self, handle: Handle, seconds: float = INPUT_BOUND) -> Flow[dict[str, Any]]:
        try:
            result: dict[str, Any] = yield Await(handle, seconds)
        except TimedOut:
            raise GuardError(Code.TIMEOUT, f"the guest did not answer within {seconds:g} s") from None
        return result

    def _session_id(self, guest: Guest, job: Job) -> str:
        """Where the command goes: on its own session, or on the guard's where that was detached while it waited."""
        session = job.session
        if session is not None and self._wire.session_here(session):
            return session.id
        own = guest.session_id
        if session is not None and not session.main:
            child = guest.children.get(session.target_id)
            own = child.session_id if child is not None else None
        if own is None:
            raise GuardError(Code.ERROR, "the target is gone; nothing was sent")
        return own

    # -- what is held down -------------------------------------------------------------------------------------------
    def holds(self, client: int) -> bool:
        """Whether a client has anything down, in any guest."""
        return any(who == client and bool(held) for (who, _), held in self._held.items())

    def release_all(self, client: int, guests: dict[str, Guest]) -> None:
        """Drop what waits of a client that left and let go of what it held down."""
        owed = [guest_id for who, guest_id in self._held if who == client and guest_id in guests]
        for guest_id in owed:
            lane = self._lanes.get(guest_id)
            if lane is not None:
                lane.waiting = deque(item for item in lane.waiting if not _belongs(item, client))
            self._enqueue(guests[guest_id], Release(client))

    def _release(self, guest: Guest, client: int) -> Flow[dict[str, Any]]:
        left = self._held.pop((client, guest.target_id), Held())
        others = [held for (_, guest_id), held in self._held.items() if guest_id == guest.target_id]
        for press in left.take():
            if any(held.holds(press) for held in others):
                continue  # as on a keyboard that two people hold a key of
            try:
                yield from self._let_go(guest, press)
            except (FlowFault, GuardError) as fault:
                self._wire.report("release.failed", method=press.method, reason=str(fault))
        self._end_touch(guest)
        return {}

    def _let_go(self, guest: Guest, press: Press) -> Flow[None]:
        params = press.release()
        if press.target_id is not None:
            child = guest.children.get(press.target_id)
            session_id = child.session_id if child is not None else None
        elif press.method == KEY and guest.inner:
            job = Job(None, None, press.method, params, b"", ON_GUEST[KEY])
            yield from self._key(guest, job)
            return
        else:
            session_id = guest.session_id
        if session_id is not None:  # what held it is gone otherwise
            yield from self._answered((yield Post(Upstream(press.method, params, session_id))))


def _believers(guest: Guest) -> list[Guest | Child]:
    """The guest and the frames in it, as far as the guard has sessions on them."""
    frames = [child for child in guest.children.values() if child.info["type"] in FRAME_TYPES]
    return [*([guest] if guest.session_id is not None else []), *frames]


def _belongs(item: Job | Release | Rest, client: int) -> bool:
    return isinstance(item, Job) and item.caller is not None and item.caller.client == client
