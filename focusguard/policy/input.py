"""How agent input gets into a guest: in order, to the frame that has the guest's focus, and past the person."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from focusguard.cdp.messages import Envelope
from focusguard.cdp.sessions import Session
from focusguard.cdp.targets import Child, Guest
from focusguard.errors import Code, GuardError
from focusguard.policy import keys
from focusguard.policy.borrow import BRIDGE_SECONDS, Borrower
from focusguard.policy.evidence import ANSWER_SECONDS, MISS_SECONDS, Place, Worlds, locate, wait_expression
from focusguard.policy.flow import (
    Await,
    Bridge,
    CallFailed,
    Flow,
    FlowFault,
    Gone,
    Handle,
    Post,
    TimedOut,
    Upstream,
    call,
)
from focusguard.policy.table import INPUT_BOUND, Rule, Treatment, borrows
from focusguard.policy.wire import Caller, Wire

#: Seconds after the press in which its reply is waited for before the focus goes home all the same: a busy page answers
#: late, and Chromium has moved the focus long before.
RETURN_SECONDS = 0.045
#: Seconds for which a key or press waits for the moves and wheels before it; an unpainted guest may never answer them.
DRAIN_SECONDS = 1.0
_TEXT_TYPES = ["beforeinput", "input"]


@dataclass(slots=True)
class Job:
    """One input command of a client, or one release that the guard owes for a client that left."""

    caller: Caller | None
    session: Session | None
    method: str
    params: dict[str, Any]
    raw: bytes
    rule: Rule
    message: Envelope | None = None
    ended: Callable[[], None] | None = None


@dataclass(slots=True)
class Held:
    """What one client holds down in one guest."""

    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    buttons: dict[str, dict[str, Any]] = field(default_factory=dict)
    touching: bool = False


@dataclass(slots=True)
class Lane:
    """The queue of one guest: input takes effect in the order in which it was sent."""

    guest: Guest
    waiting: deque[Job] = field(default_factory=deque)
    busy: bool = False
    passing: int = 0
    drained: Handle | None = None


class InputDesk:
    """Carries out input, one guest at a time in order."""

    def __init__(self, wire: Wire, worlds: Worlds, borrower: Borrower) -> None:
        self._wire = wire
        self._worlds = worlds
        self._borrower = borrower
        self._lanes: dict[str, Lane] = {}
        self._held: dict[tuple[int, str], Held] = {}

    # -- in order ----------------------------------------------------------------------------------------------------
    def submit(self, guest: Guest, job: Job) -> None:
        """Take a command into the guest's queue."""
        lane = self._lanes.setdefault(guest.target_id, Lane(guest))
        lane.waiting.append(job)
        self._pump(lane)

    def guest_gone(self, guest: Guest) -> None:
        """Answer everything that waits for a guest that is gone."""
        lane = self._lanes.pop(guest.target_id, None)
        if lane is not None:
            for job in lane.waiting:
                self._end(lane, job, GuardError(Code.ERROR, "the guest is gone"))
            lane.waiting.clear()
        for key in [key for key in self._held if key[1] == guest.target_id]:
            del self._held[key]

    def _pump(self, lane: Lane) -> None:
        while lane.waiting and not lane.busy:
            job = lane.waiting[0]
            if self._passes(lane.guest, job):
                lane.waiting.popleft()
                self._pass(lane, job)
                continue
            lane.waiting.popleft()
            lane.busy = True

            def done(result: dict[str, Any], job: Job = job) -> None:
                self._end(lane, job, result)
                lane.busy = False
                self._pump(lane)

            def failed(fault: Exception, job: Job = job) -> None:
                self._end(lane, job, fault)
                lane.busy = False
                self._pump(lane)

            self._wire.flows.start(self._run(lane, job), done, failed)

    def _passes(self, guest: Guest, job: Job) -> bool:
        """Whether the command can be sent on as it is: it moves no focus and goes where it was sent."""
        if job.caller is None or job.session is None:
            return False
        if job.rule.treatment is Treatment.POINTER:
            return not (borrows(job.method, job.params) and self._borrower.needed(guest))
        return not guest.inner or not job.session.main

    def _pass(self, lane: Lane, job: Job) -> None:
        assert job.caller is not None and job.session is not None and job.message is not None
        lane.passing += 1

        def answered() -> None:
            lane.passing -= 1
            if lane.passing == 0 and lane.drained is not None:
                lane.drained.settle(True)

        job.caller.answered = answered
        self._note_held(lane.guest, job)
        self._wire.forward(job.caller, job.message, job.session.id, job.rule.bound or INPUT_BOUND)

    def _end(self, lane: Lane, job: Job, outcome: dict[str, Any] | Exception) -> None:
        if isinstance(outcome, Exception):
            if job.caller is not None and job.caller.client in self._wire.clients:
                self._wire.fail(job.caller, outcome)
        elif job.caller is not None and job.caller.client in self._wire.clients:
            self._wire.answer(job.caller, outcome)
        if job.ended is not None:
            job.ended()

    def _run(self, lane: Lane, job: Job) -> Flow[dict[str, Any]]:
        if lane.passing:
            lane.drained = Handle()
            try:
                yield Await(lane.drained, DRAIN_SECONDS)
            except TimedOut:
                lane.passing = 0
            lane.drained = None
        guest = lane.guest
        self._note_held(guest, job)
        if job.rule.treatment is Treatment.KEY:
            return (yield from self._key(guest, job))
        if job.rule.treatment is Treatment.TEXT:
            return (yield from self._text(guest, job))
        if job.rule.treatment is Treatment.COMPOSE:
            return (yield from self._compose(guest, job))
        return (yield from self._press(guest, job))

    # -- keys and text -----------------------------------------------------------------------------------------------
    def _key(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulate(guest)
        events = keys.to_electron(job.params)
        if events is None or not self._wire.bridge_here:
            place = None if keys.leaves_guest(job.params) else (yield from self._locate(guest, job))
            if place is not None and place.child is not None:
                return (yield from self._to_frame(place.child, job))
            return (yield from self._borrowed(guest, job))
        place = yield from self._locate(guest, job)
        if place.child is not None:
            return (yield from self._to_frame(place.child, job))
        types = keys.event_types(job.params)
        send = Bridge("keys.send", {"webContentsId": guest.web_contents_id, "events": events})
        character = job.params.get("type") == "keyDown" and keys.makes_character(job.params)
        return (yield from self._witnessed(place, send, types, character=character))

    def _text(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulate(guest)
        place = yield from locate(self._worlds, guest, _TEXT_TYPES)
        if not place.editable:
            raise GuardError(
                Code.INPUT_NOT_DELIVERED, "nothing that takes text has the guest's focus; nothing was sent"
            )
        if place.child is not None:
            return (yield from self._to_frame(place.child, job))
        text = job.params.get("text")
        if not isinstance(text, str) or not text or not self._wire.bridge_here:
            return (yield from self._borrowed(guest, job))
        insert = Bridge("text.insert", {"webContentsId": guest.web_contents_id, "text": text})
        return (yield from self._witnessed(place, insert, _TEXT_TYPES, character=False))

    def _compose(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulate(guest)
        place = yield from locate(self._worlds, guest, _TEXT_TYPES)
        if place.child is not None:
            return (yield from self._to_frame(place.child, job))
        return (yield from self._borrowed(guest, job))

    def _locate(self, guest: Guest, job: Job) -> Flow[Place]:
        place = yield from locate(self._worlds, guest, [*keys.event_types(job.params), "keypress"])
        return place

    def _witnessed(
        self, place: Place, send: Bridge, types: list[str], *, character: bool
    ) -> Flow[dict[str, Any]]:
        """Send through the bridge and answer when the page has handled it."""
        expression = wait_expression(types, place.seen, character=character)
        params = {
            "expression": expression,
            "contextId": place.context_id,
            "awaitPromise": True,
            "returnByValue": True,
        }
        watch = yield Post(Upstream("Runtime.evaluate", params, place.session_id))
        try:
            yield from call(send, BRIDGE_SECONDS)
        except Gone:
            raise GuardError(Code.BRIDGE_LOST, "the bridge went away while the input was sent") from None
        except (CallFailed, TimedOut) as fault:
            raise GuardError(Code.ERROR, f"the app did not take the input: {fault}") from None
        try:
            seen = yield Await(watch, MISS_SECONDS + ANSWER_SECONDS)
        except (CallFailed, Gone):
            return {}  # the document went away because of the input: a submit or a link
        except TimedOut:
            raise GuardError(
                Code.TIMEOUT, "the page has not handled the input yet; it may still do so"
            ) from None
        if seen.get("result", {}).get("value") == "missed":
            raise GuardError(Code.INPUT_NOT_DELIVERED)
        return {}

    def _to_frame(self, child: Child, job: Job) -> Flow[dict[str, Any]]:
        """To a frame with a process of its own: its session routes exactly (input_handler.cc)."""
        yield from self._emulate_child(child)
        result = yield from self._answered(
            (yield Post(Upstream(job.method, job.params, child.session_id, job.raw or None)))
        )
        return result

    # -- what needs the focus ----------------------------------------------------------------------------------------
    def _borrowed(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        lease = yield from self._borrower.begin(guest, take=True)
        handle = yield Post(Upstream(job.method, job.params, self._session_id(guest, job), job.raw or None))
        yield from self._return_after(handle, lease_end=self._borrower.end(lease))
        return (yield from self._answered(handle))

    def _press(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        yield from self._emulate(guest)
        if job.caller is None:  # a release that the guard owes moves no focus
            return (
                yield from self._answered((yield Post(Upstream(job.method, job.params, guest.session_id))))
            )
        lease = yield from self._borrower.begin(guest, take=False)
        handle = yield Post(Upstream(job.method, job.params, self._session_id(guest, job), job.raw or None))
        yield from self._return_after(handle, lease_end=self._borrower.end(lease))
        return (yield from self._answered(handle))

    def _return_after(self, handle: Handle, *, lease_end: Flow[dict[str, Any]]) -> Flow[None]:
        try:
            yield Await(handle, RETURN_SECONDS)
        except FlowFault:
            pass  # refused or late: the focus goes home all the same, the outcome is read afterwards
        ended = yield from lease_end
        self._wire.report("borrow", **ended)

    def _answered(self, handle: Handle) -> Flow[dict[str, Any]]:
        try:
            result: dict[str, Any] = yield Await(handle, INPUT_BOUND)
        except TimedOut:
            raise GuardError(Code.TIMEOUT, f"the guest did not answer within {INPUT_BOUND:g} s") from None
        return result

    def _session_id(self, guest: Guest, job: Job) -> str | None:
        return job.session.id if job.session is not None else guest.session_id

    # -- focus emulation ---------------------------------------------------------------------------------------------
    def _emulate(self, guest: Guest) -> Flow[None]:
        """The page believes that it has the focus; it is the guard's own session that says so."""
        if guest.emulated or guest.session_id is None:
            return
        guest.emulated = True
        try:
            yield from call(
                Upstream("Emulation.setFocusEmulationEnabled", {"enabled": True}, guest.session_id),
                ANSWER_SECONDS,
            )
        except FlowFault:
            guest.emulated = False

    def _emulate_child(self, child: Child) -> Flow[None]:
        if child.emulated:
            return
        child.emulated = True
        try:
            yield from call(
                Upstream("Emulation.setFocusEmulationEnabled", {"enabled": True}, child.session_id),
                ANSWER_SECONDS,
            )
        except FlowFault:
            child.emulated = False

    # -- what is held down -------------------------------------------------------------------------------------------
    def _note_held(self, guest: Guest, job: Job) -> None:
        if job.caller is None:
            return
        held = self._held.setdefault((job.caller.client, guest.target_id), Held())
        kind = job.params.get("type")
        if job.method == "Input.dispatchKeyEvent":
            name = str(
                job.params.get("code") or job.params.get("key") or job.params.get("windowsVirtualKeyCode")
            )
            if kind in ("keyDown", "rawKeyDown"):
                held.keys[name] = job.params
            elif kind == "keyUp":
                held.keys.pop(name, None)
        elif job.method == "Input.dispatchMouseEvent":
            button = str(job.params.get("button", "none"))
            if kind == "mousePressed":
                held.buttons[button] = job.params
            elif kind == "mouseReleased":
                held.buttons.pop(button, None)
        elif job.method == "Input.dispatchTouchEvent":
            held.touching = bool(job.params.get("touchPoints")) and kind in ("touchStart", "touchMove")

    def release_all(self, client: int, guests: dict[str, Guest], ended: Callable[[], None]) -> None:
        """Let go of everything that a client held down; `ended` is called when that is done."""
        jobs: list[tuple[Guest, str, dict[str, Any], Treatment]] = []
        for key in [key for key in self._held if key[0] == client]:
            held, guest = self._held.pop(key), guests.get(key[1])
            if guest is None:
                continue
            for params in reversed(held.keys.values()):
                jobs.append((guest, "Input.dispatchKeyEvent", _key_up(params), Treatment.KEY))
            for params in held.buttons.values():
                released: dict[str, Any] = {
                    k: params[k] for k in ("x", "y", "button", "modifiers", "clickCount") if k in params
                }
                jobs.append(
                    (
                        guest,
                        "Input.dispatchMouseEvent",
                        {"type": "mouseReleased", **released},
                        Treatment.POINTER,
                    )
                )
            if held.touching:
                cancel = {"type": "touchCancel", "touchPoints": []}
                jobs.append((guest, "Input.dispatchTouchEvent", cancel, Treatment.POINTER))
        left = len(jobs)
        if not left:
            ended()
            return

        def one_ended() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                ended()

        for guest, method, params, treatment in jobs:
            self.submit(
                guest, Job(None, None, method, params, b"", Rule(treatment, "release"), ended=one_ended)
            )


def _key_up(params: dict[str, Any]) -> dict[str, Any]:
    kept = ("key", "code", "windowsVirtualKeyCode", "nativeVirtualKeyCode", "location", "isKeypad")
    return {"type": "keyUp", **{key: params[key] for key in kept if key in params}}
