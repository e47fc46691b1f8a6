"""Downloads that a page begins while agents drive it: saved where a client has said, or cancelled.

Chromium's own setters act on the whole browser context, which a guest may share with the app and the person's other
pages; and Electron asks where to save each download, in a box over the person's work. So the guard keeps what each
client has set, and the bridge carries it out for the guests that this client is at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import Guest, TargetTree
from focusguard.errors import INVALID_PARAMS, Code, GuardError, ProtocolError
from focusguard.policy import keys
from focusguard.policy.flow import Bridge
from focusguard.policy.wire import Wire

SAVING = ("allow", "allowAndName")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
FOR_BROWSER, FOR_PAGE = ("deny", "default", *SAVING), ("deny", "default", "allow")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a client wants done with downloads.

    Attributes:
        session: where it was set, and where its events go; None: the root of a browser connection.
        guest_id: the guest that it is for; None: all that the client is at.
        folder: where to save, on the machine of the app.
        events: whether the client is told of downloads.
    """

    client: int
    session: Session | None
    guest_id: str | None
    behavior: str
    folder: str
    events: bool


class Downloads:
    """Keeps each client's setting, and has the bridge carry out the latest one of those who are at a guest.

    Args:
        wire: the way out.
        tree: the app's targets.
        sessions: everybody's sessions.
        tell: sends an event of the guard's domain to the clients that asked for them.
        bridge_expected: whether there is, or will be, a bridge that can carry it out.
    """

    def __init__(
        self,
        wire: Wire,
        tree: TargetTree,
        sessions: SessionTable,
        tell: Callable[[str, dict[str, Any]], None],
        *,
        bridge_expected: bool,
    ) -> None:
        self._wire = wire
        self._tree = tree
        self._sessions = sessions
        self._tell = tell
        self._bridge_expected = bridge_expected
        self._settings: list[Setting] = []
        self._posted: dict[str, tuple[str, str]] = {}
        self._changed: set[str] = set()

    # -- who is there ------------------------------------------------------------------------------------------------
    def session_begun(self, session: Session) -> None:
        """A client has come to a guest."""
        if session.client is not None and session.guest_id:
            self._changed.add(session.guest_id)

    def session_ended(self, session: Session) -> None:
        """A client is leaving a guest, or a virtual browser: what it had set there is undone."""
        if session.client is not None:
            self._keep([each for each in self._settings if each.session is not session])

    def client_left(self, client: int) -> None:
        """What it had set is undone."""
        self._keep([each for each in self._settings if each.client != client])

    def guest_gone(self, guest: Guest) -> None:
        """Forget a guest."""
        self._posted.pop(guest.target_id, None)
        self._settings = [each for each in self._settings if each.guest_id != guest.target_id]

    def bridge_joined(self) -> None:
        """A bridge is there, which knows of nothing yet."""
        self._posted.clear()
        self._changed.update(self._tree.guests)

    def settle(self) -> None:
        """Tell the bridge what has changed."""
        changed, self._changed = self._changed, set()
        for guest in [self._tree.guests[each] for each in changed if each in self._tree.guests]:
            rule = self._rule(guest)
            known = self._posted.get(guest.target_id, ("", ""))
            if rule == known or not self._wire.bridge_here or guest.web_contents_id is None:
                continue
            self._posted[guest.target_id] = rule
            params = {"webContentsId": guest.web_contents_id, "behavior": rule[0], "folder": rule[1]}
            self._wire.post(Bridge("downloads.rule", params))

    # -- what clients want -------------------------------------------------------------------------------------------
    def set(
        self, client: int, session: Session | None, params: dict[str, Any], *, page: Guest | None
    ) -> None:
        """Take a client's `Browser.setDownloadBehavior`, or its `Page.setDownloadBehavior` for one guest.

        Raises:
            ProtocolError: a parameter is missing or unknown.
            GuardError: there is no bridge to carry it out.
        """
        behavior, folder = str(params.get("behavior")), params.get("downloadPath", "")
        if behavior not in (FOR_BROWSER if page is None else FOR_PAGE):
            raise ProtocolError(INVALID_PARAMS, f"Invalid parameters behavior: {behavior!r}")
        if behavior in SAVING and not (isinstance(folder, str) and folder):
            raise ProtocolError(INVALID_PARAMS, "downloadPath not provided")
        if behavior in SAVING and not (_ABSOLUTE.match(folder) and keys.whole(folder) and "\0" not in folder):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters downloadPath: absolute path expected")
        if behavior != "default" and not self._bridge_expected:
            raise GuardError(
                Code.REFUSED, "without the bridge nothing keeps Electron from asking where to save"
            )
        guest_id = None if page is None else page.target_id
        setting = Setting(client, session, guest_id, behavior, folder, bool(params.get("eventsEnabled")))
        self._keep(
            [
                *(each for each in self._settings if (each.client, each.guest_id) != (client, guest_id)),
                setting,
            ]
        )

    def _keep(self, settings: list[Setting]) -> None:
        self._settings = settings
        self._changed.update(self._tree.guests)

    def _at(self, guest: Guest) -> list[Setting]:
        """The settings of those who are at a guest, the latest last."""
        here = {each.client for each in self._sessions.of_guest(guest.target_id)}
        return [
            each
            for each in self._settings
            if each.client in here and each.guest_id in (None, guest.target_id)
        ]

    def _rule(self, guest: Guest) -> tuple[str, str]:
        if not self._sessions.attended(guest.target_id):
            return "", ""
        settings = self._at(guest)
        own = [each for each in settings if each.guest_id is not None]
        latest = (own or settings)[-1:]
        return (latest[0].behavior, latest[0].folder) if latest else ("default", "")

    # -- what happens ------------------------------------------------------------------------------------------------
    def begun(self, params: dict[str, Any]) -> None:
        """The bridge has met a download of an agent's page."""
        guest = self._tree.by_web_contents(int(params.get("webContentsId", -1)))
        if guest is None:
            return
        facts = {"url": params.get("url"), "suggestedFilename": params.get("filename")}
        if not params.get("saved"):
            self._wire.report("download.kept", targetId=guest.target_id, **facts)
            self._tell("FocusGuard.downloadKept", {"targetId": guest.target_id, **facts})
        self._event(
            guest,
            "Browser.downloadWillBegin",
            {"frameId": guest.target_id, "guid": params.get("guid"), **facts},
        )

    def changed(self, params: dict[str, Any]) -> None:
        """It has gone on, or has ended."""
        guest = self._tree.by_web_contents(int(params.get("webContentsId", -1)))
        if guest is not None:
            names = ("guid", "totalBytes", "receivedBytes", "state")
            self._event(guest, "Browser.downloadProgress", {name: params.get(name) for name in names})

    def _event(self, guest: Guest, method: str, params: dict[str, Any]) -> None:
        for each in self._at(guest):
            if each.events:
                self._wire.event(each.client, each.session, method, params)
