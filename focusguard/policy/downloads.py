"""Downloads that a page begins while agents drive it: saved where a client has said, or cancelled.

Chromium's own setters act on the whole browser context, which a guest may share with the app and the person's other
pages; and Electron asks where to save each download, in a box over the person's work. So the guard keeps what each
client has set, and the bridge carries it out for the guests that this client is at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import CONTEXT_ID, Guest, TargetTree
from focusguard.errors import INVALID_PARAMS, Code, GuardError, ProtocolError
from focusguard.policy import keys
from focusguard.policy.flow import Bridge, CallFailed, Flow, Gone, call
from focusguard.policy.wire import Wire

SAVING = ("allow", "allowAndName")
FOR_BROWSER, FOR_PAGE = ("deny", "default", *SAVING), ("deny", "default", "allow")
#: Seconds for the app to break off a download.
CANCEL_SECONDS = 10.0
#: Chromium's words.
NOT_FOUND = "No download item found for the given GUID"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a client wants done with downloads.

    Attributes:
        session: where it was set, and where its events go; None: the root of a browser connection.
        guest_id: the guest that it is for; None: all that the client is at.
        folder: where to save, on the machine of the app, which is the guard's own; empty where nothing is saved.
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
        #: Downloads that are being saved: guid -> the guest whose page began it.
        self._going: dict[str, str] = {}

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
        self._going = {guid: of for guid, of in self._going.items() if of != guest.target_id}
        self._settings = [each for each in self._settings if each.guest_id != guest.target_id]

    def bridge_joined(self) -> None:
        """A bridge is there, which knows of nothing yet."""
        self._posted.clear()
        self._going.clear()
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

        Without a bridge nobody can carry it out, and Electron asks the person. That is reported, and no error: client
        libraries set this as they connect, and would not connect at all.

        Raises:
            ProtocolError: a parameter is missing or unknown.
        """
        behavior, folder = params["behavior"], params.get("downloadPath", "")
        _check_context(params)
        if behavior not in (FOR_BROWSER if page is None else FOR_PAGE):
            raise ProtocolError(INVALID_PARAMS, f"Invalid parameters behavior: {behavior}")
        if behavior in SAVING and not folder:
            raise ProtocolError(INVALID_PARAMS, "downloadPath not provided")
        if behavior in SAVING and not (
            PurePath(folder).is_absolute() and keys.whole(folder) and "\0" not in folder
        ):
            raise ProtocolError(INVALID_PARAMS, "Invalid parameters downloadPath: absolute path expected")
        if behavior != "default" and not self._bridge_expected:
            self._wire.report("download.unguarded", client=client, behavior=behavior)
        guest_id = None if page is None else page.target_id
        if behavior not in SAVING:
            folder = ""
        setting = Setting(client, session, guest_id, behavior, folder, params.get("eventsEnabled", False))
        self._keep(
            [
                *(each for each in self._settings if (each.client, each.guest_id) != (client, guest_id)),
                setting,
            ]
        )

    def cancel(self, client: int, params: dict[str, Any]) -> Flow[dict[str, Any]]:
        """Break off a download that the client is told of: its `Browser.cancelDownload`.

        Raises:
            ProtocolError: there is none of this guid that it may see.
            GuardError: the app has not done it.
        """
        _check_context(params)
        guid = params["guid"]
        guest = self._tree.guests.get(self._going.get(guid, ""))
        if guest is None or not any(each.client == client and each.events for each in self._at(guest)):
            raise ProtocolError(INVALID_PARAMS, NOT_FOUND)
        try:
            answer = yield from call(Bridge("downloads.cancel", {"guid": guid}), CANCEL_SECONDS)
        except CallFailed as fault:
            raise GuardError(Code.ERROR, f"the app could not cancel the download: {fault}") from None
        except Gone:
            raise GuardError(Code.BRIDGE_LOST, "the bridge is gone; the download may go on") from None
        if not answer.get("found"):
            raise ProtocolError(INVALID_PARAMS, NOT_FOUND)
        return {}

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
        if params.get("saved"):
            self._going[str(params.get("guid"))] = guest.target_id
        else:
            self._wire.report("download.kept", targetId=guest.target_id, **facts)
            self._tell("FocusGuard.downloadKept", {"targetId": guest.target_id, **facts})
        self._event(
            guest,
            "Browser.downloadWillBegin",
            {"frameId": guest.target_id, "guid": params.get("guid"), **facts},
        )

    def changed(self, params: dict[str, Any]) -> None:
        """It has gone on, or has ended."""
        if params.get("state") != "inProgress":
            self._going.pop(str(params.get("guid")), None)
        guest = self._tree.by_web_contents(int(params.get("webContentsId", -1)))
        if guest is not None:
            names = ("guid", "totalBytes", "receivedBytes", "state")
            self._event(guest, "Browser.downloadProgress", {name: params.get(name) for name in names})

    def _event(self, guest: Guest, method: str, params: dict[str, Any]) -> None:
        for each in self._at(guest):
            if each.events:
                self._wire.event(each.client, each.session, method, params)


def _check_context(params: dict[str, Any]) -> None:
    """Refuse a context that is not there.

    Raises:
        ProtocolError: in Chromium's words.
    """
    context = params.get("browserContextId", CONTEXT_ID)
    if context != CONTEXT_ID:
        raise ProtocolError(INVALID_PARAMS, f"Failed to find browser context for id {context}")
