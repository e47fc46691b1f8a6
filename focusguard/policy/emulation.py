"""Focus emulation: a guest's page believes that it has the focus while an agent drives it or a client asks for it.

Chromium keeps one flag for a page, and whichever session spoke last has set it. Measured on Electron 9.4, 22.3, 25.1
and 33.2: another session's `false`, or its end, turns it off for everybody; before 33.2 any session's end does, also of
one that never turned it on; and on 33.2 a session that had it on cannot turn it on again. So no client's session
ever says it. The guard's own does, for all of them, and says it again when a client's session has ended.

A webview that was frozen stays hidden to Chromium when it is active again, until its window is shown anew: it is not
painted, for the person neither (measured on 22.3 and 33.2). Emulation makes it visible, so it stays on there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import Child, Guest, TargetTree
from focusguard.errors import Code, GuardError
from focusguard.policy.borrow import Borrower
from focusguard.policy.evidence import ANSWER_SECONDS
from focusguard.policy.flow import Await, Flow, FlowFault, Handle, TimedOut, Upstream
from focusguard.policy.wire import Wire

METHOD, LIFECYCLE = "Emulation.setFocusEmulationEnabled", "Page.setWebLifecycleState"

Owner = Guest | Child


class FocusEmulation:
    """Who wants emulation where, and whether it is on.

    Args:
        wire: the way out.
        tree: the app's targets.
        sessions: everybody's sessions.
        borrower: knows whether the person composes.
        alone: told of a guest that the last client has left, where the guard has something to undo.
    """

    def __init__(
        self,
        wire: Wire,
        tree: TargetTree,
        sessions: SessionTable,
        borrower: Borrower,
        alone: Callable[[Guest], None],
    ) -> None:
        self._wire = wire
        self._borrower = borrower
        self._tree = tree
        self._sessions = sessions
        self._alone = alone
        #: A client's session that asked for it -> the target it is attached to.
        self._asked: dict[str, str] = {}
        #: Guests that agents have driven since a client came to them.
        self._driven: set[str] = set()
        self._left: set[str] = set()
        self._frozen: set[str] = set()
        self._thawed: set[str] = set()

    # -- wanted ------------------------------------------------------------------------------------------------------
    def drive(self, guest: Guest) -> Flow[None]:
        """An agent is about to act: the page and its frames are told, by the guard's own sessions.

        A frame that was told later would see the focus arrive with its first key.
        """
        self._driven.add(guest.target_id)
        for owner, handle in self._apply(guest):
            try:
                yield Await(handle, ANSWER_SECONDS)
            except FlowFault:
                owner.emulated = False  # told again with the next input

    def ask(self, guest: Guest, session: Session, *, enabled: bool) -> Flow[dict[str, object]]:
        """A client turns it on or off for its own session.

        Raises:
            GuardError: the guest does not answer.
        """
        if enabled:
            self._asked[session.id] = session.target_id
        else:
            self._asked.pop(session.id, None)
        for owner, handle in self._apply(guest):
            try:
                yield Await(handle, ANSWER_SECONDS)
            except TimedOut:
                raise GuardError(Code.TIMEOUT, "the guest's renderer does not answer") from None
            except FlowFault:
                owner.emulated = False
                raise
        return {}

    def lifecycle(self, guest: Guest, state: object) -> None:
        """A client freezes a guest, or wakes it."""
        if state == "frozen":
            self._frozen.add(guest.target_id)
        elif state == "active" and guest.target_id in self._frozen:
            self._frozen.discard(guest.target_id)
            self._thawed.add(guest.target_id)
            self._apply(guest)

    def frame_here(self, guest: Guest, child: Child) -> None:
        """A frame has come to a guest."""
        if guest.target_id not in self._driven:
            return
        if self._borrower.composes(guest):
            self._wire.flows.start(self._between_words(guest, child))
        else:
            self._apply(guest, only=child)

    def _between_words(self, guest: Guest, child: Child) -> Flow[None]:
        """What a frame does when it believes that it has the focus can take the person's input method from them."""
        with suppress(FlowFault, GuardError):
            yield from self._borrower.room(guest)
        if child in guest.frames and guest.target_id in self._driven:
            self._apply(guest, only=child)
            self._borrower.repair_later(guest)

    # -- not wanted any more -----------------------------------------------------------------------------------------
    def session_ended(self, session: Session) -> None:
        """A client's session is being ended; `settle` follows when the app has been told."""
        self._asked.pop(session.id, None)
        if session.client is not None and not session.virtual:
            self._left.add(session.guest_id)

    def settle(self) -> None:
        """Put right what sessions that ended have changed."""
        left, self._left = self._left, set()
        for guest in [self._tree.guests[each] for each in left if each in self._tree.guests]:
            if guest.target_id in self._driven | self._frozen and not self._sessions.attended(
                guest.target_id
            ):
                self._alone(guest)
            else:
                self._apply(guest, again=True)

    def rest(self, guest: Guest) -> Flow[None]:
        """What agents have left on is turned off, unless a client has come meanwhile."""
        if not self._sessions.attended(guest.target_id):
            self._driven.discard(guest.target_id)
            if guest.target_id in self._frozen:
                self._wire.post(Upstream(LIFECYCLE, {"state": "active"}, guest.session_id))
                self.lifecycle(guest, "active")
            for _, handle in self._apply(guest):
                with suppress(FlowFault):
                    yield Await(handle, ANSWER_SECONDS)

    def guest_gone(self, guest: Guest) -> None:
        """Forget a guest."""
        for guests in (self._driven, self._frozen, self._thawed):
            guests.discard(guest.target_id)

    # -- told --------------------------------------------------------------------------------------------------------
    def _apply(
        self, guest: Guest, *, again: bool = False, only: Child | None = None
    ) -> list[tuple[Owner, Handle]]:
        """Tell the documents that have it wrong; with `again` also those that may have lost it."""
        everyone: list[Owner] = [guest, *guest.frames]
        kept = guest.target_id in self._driven | self._thawed
        told: list[tuple[Owner, Handle]] = []
        for owner in [each for each in everyone if only is None or each is only]:
            wanted = kept or owner.info["targetId"] in self._asked.values()
            if owner.session_id is None or (wanted == owner.emulated and not (again and wanted)):
                continue
            owner.emulated = wanted
            told.append((owner, self._wire.post(Upstream(METHOD, {"enabled": wanted}, owner.session_id))))
        return told
