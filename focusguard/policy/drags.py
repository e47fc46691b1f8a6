"""Drags that an agent's mouse begins: the guard carries them on, so that the desktop does not.

Chromium hands a drag to the desktop, which waits for the person's mouse to end it. By an agent's mouse it ends at the
next event, if at all: on 25.1 and 9.4, and on 33.2 where the events come close together, the page was left dragging and
took no mouse from anybody any more, and now and then 33.2 ended (specs/headful/test_drags.py, whose raw runs show it).
So while an agent moves with a button down the guard has drags intercepted (Input.setInterceptDrags), and sends what
follows as drag events. A client that has them intercepted itself gets them itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from focusguard.cdp.sessions import Session
from focusguard.cdp.targets import Guest
from focusguard.errors import GuardError
from focusguard.policy.delivery import Delivery, Job
from focusguard.policy.flow import Flow, Sleep, Upstream, call
from focusguard.policy.held import DRAG, MOUSE
from focusguard.policy.table import INPUT_BOUND
from focusguard.policy.wire import Wire

INTERCEPT = "Input.setInterceptDrags"
INTERCEPTED = "Input.dragIntercepted"
#: Tells the app, and no page, that the mouse is up.
LIFTED: dict[str, Any] = {"type": "mouseReleased", "button": "none"}

#: Seconds after a release in which a drag may still begin by the moves before it; the person's would be taken for one.
LATE_SECONDS = 0.25


@dataclass(slots=True)
class Drag:
    """What a button that is down in a guest may be dragging.

    Attributes:
        session_id: where drags are intercepted.
        last: what the mouse did last; where, and on which session.
        data: what is dragged, as the app tells; None as long as nothing is.
        entered: whether the page has been told that it comes.
        released: whether the button is up.
        carried: whether the drop took the place of the release.
    """

    session_id: str
    last: Job
    data: dict[str, Any] | None = None
    entered: bool = False
    released: bool = False
    carried: bool = False

    def steps(self, *, drop: bool) -> list[dict[str, Any]]:
        """The drag events that bring it to its place, and let go of it there."""
        kinds = ["dragOver"] if self.entered else ["dragEnter", "dragOver"]
        self.entered = True
        return [self.event(kind) for kind in [*kinds, *(["drop"] if drop else [])]]

    def event(self, kind: str) -> dict[str, Any]:
        """A drag event where the mouse was last."""
        place = {name: value for name, value in self.last.params.items() if name in ("x", "y", "modifiers")}
        return {"type": kind, **place, "data": self.data}


class Drags:
    """Knows what agents drag."""

    def __init__(self, wire: Wire, delivery: Delivery) -> None:
        self._wire = wire
        self._delivery = delivery
        self._drags: dict[str, Drag] = {}
        #: Sessions of clients that carry drags on themselves, and their guests.
        self._clients: dict[str, str] = {}

    # -- whose they are ----------------------------------------------------------------------------------------------
    def client_said(self, session: Session, params: Mapping[str, Any]) -> None:
        """A client has them intercepted for itself, or does not any more."""
        if params.get("enabled") is True:
            self._clients[session.id] = session.guest_id
        else:
            self._clients.pop(session.id, None)

    def is_clients(self, session: Session) -> bool:
        """Whether an event on the session is the client's."""
        return session.id in self._clients

    def session_ended(self, session: Session) -> None:
        """Chromium forgets it with the session."""
        self._clients.pop(session.id, None)

    def forget(self, guest: Guest) -> None:
        """The page is gone, and what was dragged in it."""
        self._drags.pop(guest.target_id, None)

    # -- from the press to the release -------------------------------------------------------------------------------
    def moves(self, guest: Guest, job: Job) -> None:
        """A command is about to be sent: of a move with a button down, a drag may come."""
        if job.method != MOUSE or job.params.get("type") != "mouseMoved":
            return
        if not any(held.pressing for held in self._delivery.held_in(guest)):
            return
        drag = self._drags.get(guest.target_id)
        if drag is not None and not drag.released:
            drag.last = job
            return
        # The session that has pressed, where it has a say: Chromium 130 would let it carry the drag on (DragController
        # in content/browser/devtools/protocol/input_handler.cc), which only works, and survives, at an even pace.
        presser = self._delivery.pressed_on.get(guest.target_id)
        own = presser is not None and presser.main and self._wire.session_here(presser)
        session_id = presser.id if presser is not None and own else guest.session_id
        if session_id is not None and guest.target_id not in self._clients.values():
            self._drags[guest.target_id] = Drag(session_id, job)
            self._wire.post(Upstream(INTERCEPT, {"enabled": True}, session_id))

    def ends(self, guest: Guest, job: Job) -> bool:
        """Whether it lets go of what may be dragged: the moves before it have to be answered first."""
        drag = self._drags.get(guest.target_id)
        held = drag is not None and not drag.released
        return held and job.method == MOUSE and job.params.get("type") == "mouseReleased"

    def carries(self, guest: Guest, job: Job) -> bool:
        """Whether something is dragged, which the mouse takes along or lets go of."""
        drag = self._drags.get(guest.target_id)
        dragging = drag is not None and drag.data is not None and not drag.released
        return dragging and job.method == MOUSE and job.params.get("type") in ("mouseMoved", "mouseReleased")

    def steps(self, guest: Guest, job: Job) -> list[dict[str, Any]]:
        """What the page is sent in place of the mouse."""
        drag = self._drags[guest.target_id]
        drag.last = job
        drag.carried = job.params["type"] == "mouseReleased"
        return drag.steps(drop=drag.carried)

    def released(self, guest: Guest, job: Job | None = None) -> None:
        """The button is up: drags are the person's again, who may begin one in the same page."""
        drag = self._drags.get(guest.target_id)
        if drag is None or drag.released:
            return
        drag.released = True
        if job is not None:
            drag.last = job

        self._wire.flows.start(self._stop(guest, drag), lambda _: None, lambda _: None)

    def _stop(self, guest: Guest, drag: Drag) -> Flow[None]:
        if drag.data is None:
            yield Sleep(LATE_SECONDS)
        if self._drags.get(guest.target_id) is not drag:  # a new one has taken over
            return
        del self._drags[guest.target_id]
        if (
            drag.carried
        ):  # Chromium 130 holds the button of the session to be down, and the person's drags for its own
            up = {**LIFTED, "x": drag.last.params["x"], "y": drag.last.params["y"]}
            yield from call(Upstream(MOUSE, up, drag.session_id), INPUT_BOUND)
        if drag.session_id not in self._clients:
            yield from call(Upstream(INTERCEPT, {"enabled": False}, drag.session_id), INPUT_BOUND)

    def abandoned(self, guest: Guest) -> None:
        """The client that dragged has left; what the page knows of is let go of with all that is held."""
        drag = self._drags.get(guest.target_id)
        if drag is not None and drag.data is not None and not drag.entered:
            self._cancel(guest, drag)
        self.released(guest)

    def intercepted(self, guest: Guest, params: Mapping[str, Any]) -> None:
        """The page has begun a drag."""
        drag = self._drags.get(guest.target_id)
        if drag is None or drag.data is not None:
            return
        drag.data = params.get("data")
        if drag.released:
            self._wire.flows.start(self._drop(guest, drag), lambda _: None, lambda _: None)

    def _drop(self, guest: Guest, drag: Drag) -> Flow[None]:
        """It began too late for the release, which the mouse has told of."""
        for params in drag.steps(drop=True):
            yield from call(Upstream(DRAG, params, self._delivery.session_id(guest, drag.last)), INPUT_BOUND)

    def _cancel(self, guest: Guest, drag: Drag) -> None:
        with suppress(GuardError):  # the frame is gone, and the drag with it
            self._wire.post(
                Upstream(DRAG, drag.event("dragCancel"), self._delivery.session_id(guest, drag.last))
            )
