"""Boxes that a page raises while agents drive it: they are the clients' to answer, not the person's.

Measured on Electron 22.3 and 33.2 (webview): `alert` and `confirm` open a box that takes the person's keys, whether or
not a client has the Page domain enabled, and the box stays when the client has answered; so the bridge keeps it from
opening (Electron 29 and later, where JavaScript does that). `prompt` throws, and a `beforeunload` that objects ends
the navigation with `net::ERR_ABORTED`; neither opens anything. A file chooser opens unless a session intercepts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import Child, Guest, TargetTree
from focusguard.policy.flow import Bridge, Upstream
from focusguard.policy.wire import Wire

ANSWER, CHOOSER = "Page.handleJavaScriptDialog", "Page.setInterceptFileChooserDialog"
#: Seconds that clients with the Page domain enabled have to answer a dialog before the guard does.
CLIENT_SECONDS = 30.0


class Dialogs:
    """Watches the guests that clients are attached to.

    Args:
        wire: the way out.
        tree: the app's targets.
        sessions: everybody's sessions.
        tell: sends an event of the guard's domain to the clients that asked for them.
    """

    def __init__(
        self,
        wire: Wire,
        tree: TargetTree,
        sessions: SessionTable,
        tell: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self._wire = wire
        self._tree = tree
        self._sessions = sessions
        self._tell = tell
        self._watched: set[str] = set()
        #: Guests whose file choosers are kept from opening.
        self._choosers: set[str] = set()
        #: Clients' sessions with the Page domain enabled: they hear of dialogs themselves.
        self._hearing: set[str] = set()
        #: Dialogs that wait for a client: guest -> the timer that bounds it, and what it says.
        self._open: dict[str, tuple[int, dict[str, Any]]] = {}
        self._left: set[str] = set()

    # -- who is there ------------------------------------------------------------------------------------------------
    def session_begun(self, session: Session) -> None:
        """A client has come to a guest."""
        guest = self._tree.guests.get(session.guest_id)
        if guest is None or session.client is None or session.virtual or guest.target_id in self._watched:
            return
        self._watched.add(guest.target_id)
        self._everywhere(guest, "Page.enable", {})
        self._hold(guest, on=True)

    def session_ended(self, session: Session) -> None:
        """A client's session is being ended; `settle` follows when the app has been told."""
        self._hearing.discard(session.id)
        if session.client is not None:
            self._left.add(session.guest_id)

    def settle(self) -> None:
        """Answer what nobody hears of any more; leave the guests that the last client has left."""
        for guest in [self._tree.guests[each] for each in self._open if not self._heard(each)]:
            self._answer(guest)
        left, self._left = self._left, set()
        for guest in [self._tree.guests[each] for each in left & self._watched if each in self._tree.guests]:
            if self._sessions.attended(guest.target_id):
                continue
            self._watched.discard(guest.target_id)
            self.person_acted(guest)
            self._everywhere(guest, "Page.disable", {})
            self._hold(guest, on=False)

    def guest_gone(self, guest: Guest) -> None:
        """Forget a guest."""
        self._watched.discard(guest.target_id)
        self._choosers.discard(guest.target_id)
        self.closed(guest)

    def frame_here(self, guest: Guest, child: Child) -> None:
        """A frame has come to a guest."""
        if guest.target_id in self._watched:
            self._wire.post(Upstream("Page.enable", {}, child.session_id))
        if guest.target_id in self._choosers:
            self._wire.post(Upstream(CHOOSER, {"enabled": True}, child.session_id))

    def bridge_joined(self) -> None:
        """A bridge is there, which knows of nothing yet."""
        for guest in [self._tree.guests[each] for each in self._watched]:
            self._hold(guest, on=True)

    def client_said(self, session: Session, method: str) -> None:
        """A client's command is on its way to its own session."""
        if method == "Page.enable":
            self._hearing.add(session.id)
        elif method == "Page.disable":
            self._hearing.discard(session.id)

    # -- dialogs -----------------------------------------------------------------------------------------------------
    def opened(self, guest: Guest, params: dict[str, Any]) -> None:
        """A page waits for an answer; a client that hears of it gives one, or the guard does."""
        self.closed(guest)
        timer = self._wire.start_timer(CLIENT_SECONDS, lambda: self._answer(guest))
        self._open[guest.target_id] = timer, params

    def closed(self, guest: Guest) -> None:
        """It has been answered."""
        if guest.target_id in self._open:
            timer, _ = self._open.pop(guest.target_id)
            self._wire.cancel_timer(timer)

    def _heard(self, guest_id: str) -> bool:
        return any(each.id in self._hearing for each in self._sessions.of_guest(guest_id))

    def _answer(self, guest: Guest) -> None:
        """Dismiss a dialog; a page that objects to being left is left."""
        _, params = self._open[guest.target_id]
        self.closed(guest)
        accept = params.get("type") == "beforeunload"
        self._wire.post(Upstream(ANSWER, {"accept": accept}, guest.session_id))
        facts = {"targetId": guest.target_id, "type": params.get("type"), "message": params.get("message")}
        self._wire.report("dialog.answered", accept=accept, **facts)
        self._tell("FocusGuard.dialogAnswered", {**facts, "accept": accept})

    # -- file choosers -----------------------------------------------------------------------------------------------
    def agent_acts(self, guest: Guest) -> None:
        """An agent's input may open a file chooser: from now on none opens."""
        if guest.target_id in self._watched and guest.target_id not in self._choosers:
            self._choosers.add(guest.target_id)
            self._everywhere(guest, CHOOSER, {"enabled": True})

    def person_acted(self, guest: Guest | None) -> None:
        """The person has pressed something in a guest: a chooser that this opens is theirs."""
        if guest is not None and guest.target_id in self._choosers:
            self._choosers.discard(guest.target_id)
            self._everywhere(guest, CHOOSER, {"enabled": False})

    def chooser_opened(self, guest: Guest, params: dict[str, Any]) -> None:
        """A file chooser was kept from opening; the agent sets files by `DOM.setFileInputFiles`."""
        facts = {"targetId": guest.target_id, "backendNodeId": params.get("backendNodeId")}
        self._wire.report("chooser.kept", **facts)
        self._tell("FocusGuard.fileChooserKept", facts)

    # -- out ---------------------------------------------------------------------------------------------------------
    def _everywhere(self, guest: Guest, method: str, params: dict[str, Any]) -> None:
        """Tell the page and its frames, on the guard's own sessions."""
        for session_id in [guest.session_id, *(child.session_id for child in guest.frames)]:
            if session_id is not None:
                self._wire.post(Upstream(method, params, session_id))

    def _hold(self, guest: Guest, *, on: bool) -> None:
        if self._wire.bridge_here and guest.web_contents_id is not None:
            self._wire.post(Bridge("dialogs.hold", {"webContentsId": guest.web_contents_id, "on": on}))
