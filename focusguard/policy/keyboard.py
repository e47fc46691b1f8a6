"""Keys, text and compositions: to the frame that has the guest's focus, and past the person."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from focusguard.cdp.targets import Child, Embedding, Guest
from focusguard.errors import Code, GuardError
from focusguard.policy import keys
from focusguard.policy.borrow import BRIDGE_SECONDS, Lease
from focusguard.policy.compositions import Compositions
from focusguard.policy.delivery import Delivery, Job
from focusguard.policy.emulation import FocusEmulation
from focusguard.policy.evidence import ANSWER_SECONDS, Place, Worlds, locate
from focusguard.policy.flow import (
    Await,
    Bridge,
    CallFailed,
    Flow,
    FlowFault,
    Gone,
    Post,
    TimedOut,
    Upstream,
    call,
)
from focusguard.policy.held import KEY
from focusguard.policy.table import Treatment
from focusguard.policy.wire import Wire

_TEXT_TYPES = ["beforeinput", "input"]
_NOTHING_TAKES_TEXT = "nothing that takes text has the guest's focus; nothing was sent"


class Keyboard:
    """Carries out keys and text."""

    def __init__(self, wire: Wire, worlds: Worlds, delivery: Delivery, emulation: FocusEmulation) -> None:
        self._wire = wire
        self._worlds = worlds
        self._delivery = delivery
        self._emulation = emulation
        self._compositions = Compositions()

    def key(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """A key: through the bridge to the guest's own process, or to the frame that has the focus."""
        yield from self._ready(guest, job)
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

    def _ready(self, guest: Guest, job: Job) -> Flow[None]:
        """Before the page is asked where its focus is: one that was kept still has it back when there is room."""
        yield from self._emulation.drive(guest)
        yield from self._delivery.room(guest, job)

    def _send_key(self, guest: Guest, job: Job, place: Place) -> Flow[dict[str, Any]]:
        events = keys.to_electron(job.params, self._wire.electron)
        types = keys.event_types(job.params)
        character = job.params.get("type") == "keyDown" and keys.makes_character(job.params)
        if events is None or not self._wire.bridge_here:
            watch = self._delivery.watch(place, types, character=character)
            return (yield from self._delivery.borrowed(guest, job, place, watch))
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

    def text(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """`Input.insertText`: where the guest's focus is, if text goes there at all."""
        yield from self._ready(guest, job)
        place = yield from self._writable(guest, job)
        if place.child is not None:
            return (yield from self._to_frame(guest, place.child, job))
        text = job.params.get("text")
        if not isinstance(text, str) or not keys.insertable(text) or not self._wire.bridge_here:
            pick_up = lambda _: self._compositions.pick_up(guest, place)  # noqa: E731
            return (yield from self._delivery.borrowed(guest, job, place, prepare=pick_up))
        yield from self._compositions.pick_up(guest, place)
        insert = Bridge("text.insert", {"webContentsId": guest.web_contents_id, "text": text})
        return (yield from self._witnessed(guest, job, place, insert, _TEXT_TYPES, character=False))

    def compose(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """`Input.imeSetComposition`: only CDP can express it, so it borrows the person's focus."""
        yield from self._ready(guest, job)
        place = yield from self._writable(guest, job)
        if place.child is not None:
            return (yield from self._to_frame(guest, place.child, job))
        held = False

        def prepare(lease: Lease) -> Flow[None]:
            nonlocal held
            held = lease.name is not None
            yield from self._compositions.pick_up(guest, place)

        result = yield from self._delivery.borrowed(guest, job, place, prepare=prepare)
        if held:
            self._compositions.left(guest, place, job.params)
        return result

    def forget_composition(self, guest: Guest) -> None:
        """An agent's composition in a guest, if there is one, does not go on."""
        self._compositions.forget(guest)

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

    def own_tree(self, guest: Guest, job: Job) -> Flow[dict[str, Any]]:
        """A guest that is no inner WebContents: CDP reaches its focused frame, and the page tells whether it did.

        Electron ends, app and all, when a key or text meets a field in a cross-site frame of an offscreen page
        (measured on 9.4, 22.3, 25.1 and 33.2), so it is not sent.
        """
        yield from self._delivery.room(guest, job)
        typed = job.rule.treatment is Treatment.KEY
        types = keys.event_types(job.params) if typed else _TEXT_TYPES
        place = yield from locate(self._worlds, guest, [*types, "keypress"])
        in_frame = place.child is not None or (job.session is not None and not job.session.main)
        if guest.embedding is Embedding.OFFSCREEN and in_frame:
            raise GuardError(
                Code.REFUSED,
                "Electron would crash: keys and text for a cross-site frame of an offscreen page",
                advice="change the field by a script on the frame's session",
            )
        if job.rule.treatment is Treatment.TEXT and not place.editable:
            raise GuardError(Code.INPUT_NOT_DELIVERED, _NOTHING_TAKES_TEXT)
        self._delivery.check_wanted(job)
        self._delivery.check_way(guest, job)  # the person may have begun to compose while the page was asked
        watch = None
        if job.rule.treatment is not Treatment.COMPOSE and job.params.get("text") != "":
            character = job.params.get("type") == "keyDown" and keys.makes_character(job.params)
            watch = yield Post(self._delivery.watch(place, types, character=character))
        call = Upstream(job.method, job.params, self._delivery.session_id(guest, job), job.raw or None)
        handle = yield Post(call)
        self._delivery.note(guest, job)
        result = yield from self._delivery.answered(guest, job, handle)
        if watch is not None:
            yield from self._delivery.seen(job, watch)
        return result

    def _locate(self, guest: Guest, job: Job) -> Flow[Place]:
        place = yield from locate(self._worlds, guest, [*keys.event_types(job.params), "keypress"])
        return place

    def _witnessed(
        self, guest: Guest, job: Job, place: Place, send: Bridge, types: list[str], *, character: bool
    ) -> Flow[dict[str, Any]]:
        """Send through the bridge and answer when the page has handled it."""
        self._delivery.check_wanted(job)
        watch = yield Post(self._delivery.watch(place, types, character=character))
        sent = yield Post(send)
        self._delivery.note(guest, job)
        job.receipt.way = "insert-text" if send.method == "text.insert" else "send-input-event"
        try:
            yield Await(sent, BRIDGE_SECONDS)
        except Gone:
            raise GuardError(Code.BRIDGE_LOST, "the bridge went away while the input was sent") from None
        except (CallFailed, TimedOut) as fault:
            if isinstance(fault, CallFailed) and fault.error.get("code") == "composing":
                raise GuardError(Code.USER_COMPOSING) from None
            raise GuardError(Code.ERROR, f"the app did not take the input: {fault}") from None
        yield from self._delivery.seen(job, watch)
        return {}

    def _to_frame(self, guest: Guest, child: Child, job: Job) -> Flow[dict[str, Any]]:
        """To a frame with a process of its own: its session routes exactly (input_handler.cc)."""
        self._delivery.check_wanted(job)
        job.receipt.way, job.receipt.frame_id = "frame-session", child.info["targetId"]
        handle = yield Post(Upstream(job.method, job.params, child.session_id, job.raw or None))
        self._delivery.note(guest, job)
        try:
            return (yield from self._delivery.answered(guest, job, handle))
        finally:
            self._delivery.heal(guest, job)
