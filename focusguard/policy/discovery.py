"""How the guard learns of guests: the app's targets, the bridge's word on each, and a session of its own on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from focusguard.cdp import messages
from focusguard.cdp.messages import Envelope
from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import FRAME_TYPES, Child, Embedding, Guest, TargetInfo, TargetTree
from focusguard.policy.browser import VirtualBrowser
from focusguard.policy.evidence import Worlds
from focusguard.policy.flow import Bridge, Flow, FlowFault, Sleep, Upstream, call, call_or_undo
from focusguard.policy.wire import DEAD, Wire

#: Seconds for the app to answer about a target.
DESCRIBE_SECONDS = 5.0
#: The bridge learns of a new WebContents a little after CDP does; it is asked again after each of these pauses.
ASK_AGAIN_SECONDS = (0.0, 0.1, 0.4, 1.5)

_AUTO_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
#: Events of a guest's page that the guard acts on.
PAGE_EVENTS = (
    "Page.javascriptDialogOpening",
    "Page.javascriptDialogClosed",
    "Page.fileChooserOpened",
    "Input.dragIntercepted",
)
_PAGE_TYPES = ("page", "webview", "other")


class Discovery:
    """Keeps the target tree."""

    def __init__(
        self,
        wire: Wire,
        tree: TargetTree,
        sessions: SessionTable,
        browser: VirtualBrowser,
        worlds: Worlds,
        *,
        bridge_expected: bool,
        gone: Callable[[Guest], None],
        let_go: Callable[[Guest], Flow[None]],
        crashed: Callable[[Guest], None],
        frame_here: Callable[[Guest, Child], None],
        page_event: Callable[[Guest, str, dict[str, Any]], None],
    ) -> None:
        self._wire = wire
        self._tree = tree
        self._sessions = sessions
        self._browser = browser
        self._worlds = worlds
        self._bridge_expected = bridge_expected
        self._gone = gone
        self._let_go = let_go
        self._crash = crashed
        self._frame_here = frame_here
        self._page_event = page_event
        #: Target id -> whether to ask once more, as something changed while it was asked about.
        self._asking: dict[str, bool] = {}

    def start(self) -> Flow[dict[str, Any]]:
        """Begin to watch the app's targets."""
        version = yield from call(Upstream("Browser.getVersion"), DESCRIBE_SECONDS)
        yield from call(Upstream("Target.setDiscoverTargets", {"discover": True}), DESCRIBE_SECONDS)
        return version

    def bridge_expected(self, expected: bool) -> None:
        """Whether to wait for the bridge's word before anything is called a guest."""
        self._bridge_expected = expected
        self.reconsider()

    def reconsider(self) -> None:
        """Ask about every target that is not a guest yet."""
        for info in list(self._tree.infos.values()):
            if info["targetId"] in self._asking:
                self._asking[info["targetId"]] = True
            else:
                self._consider(info)

    # -- the app's root events ---------------------------------------------------------------------------------------
    def root_event(self, message: Envelope) -> None:
        """An event on the browser's own session."""
        params = messages.params_of(message)
        info: TargetInfo = params.get("targetInfo", {})
        if message.method == "Target.targetCreated":
            self._tree.infos[info["targetId"]] = info
            self._consider(info)
        elif message.method == "Target.targetInfoChanged":
            self._changed(info)
        elif message.method == "Target.targetDestroyed":
            self._destroyed(params["targetId"])
        elif message.method == "Target.targetCrashed":
            self._crashed(params)
        elif message.method == "Target.detachedFromTarget":
            self._detached(params["sessionId"])

    def _crashed(self, params: dict[str, Any]) -> None:
        target_id = params["targetId"]
        guest = self._tree.guest_of(target_id)
        if guest is None:
            return
        self._wire.report("guest.crashed", targetId=guest.target_id, status=params.get("status"))
        if target_id == guest.target_id:
            guest.crashed = True
            self._crash(guest)
        # Chromium answers what was on its way when the page is loaded anew, if ever (measured on 22.3 to 33.2).
        for session in self._sessions.of_guest(guest.target_id):
            if session.target_id == target_id:
                self._wire.session_lost(session.id, DEAD)
        child = guest.children.get(target_id)
        self._browser.target_crashed(target_id, child.info["type"] if child is not None else "page", params)

    def _changed(self, info: TargetInfo) -> None:
        target_id = info["targetId"]
        self._tree.infos[target_id] = info
        guest = self._tree.guests.get(target_id)
        if guest is not None:
            guest.info = info
        elif (owner := self._tree.guest_of(target_id)) is not None:
            owner.children[target_id].info = info
            guest = owner
        if guest is None:
            self._consider(info)
        elif guest.ready:
            self._browser.target_changed(guest, info)

    def _destroyed(self, target_id: str) -> None:
        self._tree.infos.pop(target_id, None)
        guest = self._tree.guests.get(target_id)
        if guest is not None:
            self._remove(guest)

    def _remove(self, guest: Guest) -> None:
        target_id = guest.target_id
        del self._tree.guests[target_id]
        # What waits is answered first, then sessions end, then the target: the order in which Chromium tells.
        self._gone(guest)
        self._own_session_gone(guest)
        self._browser.guest_gone(target_id)
        if guest.ready:
            for child_id, child in guest.children.items():
                self._browser.target_gone(child_id, child.info["type"], guest=False)
            self._browser.target_gone(target_id, "page", guest=True)
            self._wire.report("guest.gone", targetId=target_id)

    def refuse(self, web_contents_id: int) -> None:
        """The app keeps agents out of a page: for them it is gone, with what they hold down in it."""
        guest = self._tree.by_web_contents(web_contents_id)
        if guest is None:
            return

        def ended(_: object) -> None:
            if self._tree.guests.get(guest.target_id) is not guest:
                return
            own = [
                each.id for each in self._sessions.of_guest(guest.target_id) if each.main and not each.virtual
            ]
            self._remove(guest)
            for session_id in own:
                self._wire.post(Upstream("Target.detachFromTarget", {"sessionId": session_id}))

        self._wire.flows.start(self._let_go(guest), ended, ended)

    def _own_session_gone(self, guest: Guest) -> None:
        session_id, guest.session_id = guest.session_id, None
        if session_id is not None:
            self._forget_own(session_id)

    def _forget_own(self, session_id: str) -> list[Session]:
        removed = self._sessions.remove(session_id)
        for gone in removed:
            self._worlds.forget_session(gone.id)
            self._wire.session_lost(gone.id)
        return removed

    def _detached(self, session_id: str) -> None:
        session = self._sessions.get(session_id)
        if session is None:
            return
        if session.client is not None:
            self._browser.session_gone(session)
            return
        guest = self._tree.guests.get(session.guest_id)
        if guest is not None and guest.session_id == session_id:
            guest.session_id = None
        self._forget_own(session_id)

    # -- the guard's own sessions ------------------------------------------------------------------------------------
    def own_event(self, session: Session, message: Envelope) -> None:
        """An event on one of the guard's sessions; clients never see it."""
        guest = self._tree.guests.get(session.guest_id)
        if guest is None:
            return
        if message.method == "Inspector.targetReloadedAfterCrash" and session.main:
            guest.crashed = False
        elif message.method in PAGE_EVENTS:
            self._page_event(guest, message.method, messages.params_of(message))
        elif message.method == "Target.attachedToTarget":
            params = messages.params_of(message)
            info, child_session = params["targetInfo"], params["sessionId"]
            self._sessions.add(
                Session(
                    child_session, None, info["targetId"], guest.target_id, parent_id=session.id, main=False
                )
            )
            child = guest.children[info["targetId"]] = Child(info, child_session, session.target_id)
            if info["type"] in FRAME_TYPES:
                self._wire.post(Upstream("Target.setAutoAttach", _AUTO_ATTACH, child_session))
                if "parentFrameId" not in info:
                    self._wire.flows.start(self._find_parent(child), failed=lambda _: None)
                self._frame_here(guest, child)
            if guest.ready:
                self._browser.child_here(guest, info)
        elif message.method == "Target.detachedFromTarget":
            for gone in self._forget_own(messages.params_of(message)["sessionId"]):
                lost = guest.children.get(gone.target_id)
                if lost is not None and lost.session_id == gone.id:
                    del guest.children[gone.target_id]
                    if guest.ready:
                        self._browser.target_gone(gone.target_id, lost.info["type"], guest=False)

    def _find_parent(self, child: Child) -> Flow[None]:
        """Learn the frame around a frame: older Chromiums do not say it of a target."""
        tree = yield from call(Upstream("Page.getFrameTree", {}, child.session_id), DESCRIBE_SECONDS)
        child.parent_frame = tree["frameTree"]["frame"].get("parentId")

    # -- guests ------------------------------------------------------------------------------------------------------
    def _consider(self, info: TargetInfo) -> None:
        target_id = info["targetId"]
        if info["type"] not in _PAGE_TYPES or target_id in self._tree.guests or target_id in self._asking:
            return
        if not self._wire.bridge_here and (self._bridge_expected or info["type"] != "webview"):
            return
        self._asking[target_id] = False

        def ended(_: object) -> None:
            again = self._asking.pop(target_id)
            if again and target_id in self._tree.infos:
                self._consider(self._tree.infos[target_id])

        def failed(fault: Exception) -> None:
            self._failed(target_id, fault)
            ended(None)

        self._wire.flows.start(self._adopt(target_id), ended, failed)

    def _failed(self, target_id: str, fault: Exception) -> None:
        guest = self._tree.guests.get(target_id)
        if guest is not None and not guest.ready:
            del self._tree.guests[target_id]
        self._wire.report("guest.unreachable", targetId=target_id, reason=str(fault))

    def _adopt(self, target_id: str) -> Flow[None]:
        guest = yield from self._describe(target_id)
        if guest is None or target_id not in self._tree.infos:
            return
        self._tree.guests[target_id] = guest
        made = yield from call_or_undo(
            Upstream("Target.attachToTarget", {"targetId": target_id, "flatten": True}),
            DESCRIBE_SECONDS,
            lambda late: self._wire.post(
                Upstream("Target.detachFromTarget", {"sessionId": late["sessionId"]})
            ),
        )
        if self._tree.guests.get(target_id) is not guest:
            return
        guest.session_id = made["sessionId"]
        self._sessions.add(Session(made["sessionId"], None, target_id, target_id))
        # A stopped renderer must not keep the guest from being listed: this answer is not waited for.
        self._wire.post(Upstream("Target.setAutoAttach", _AUTO_ATTACH, guest.session_id))
        guest.ready = True
        self._wire.report(
            "guest.ready", targetId=target_id, url=guest.info.get("url"), embedding=guest.embedding
        )
        self._browser.guest_ready(guest)

    def _describe(self, target_id: str) -> Flow[Guest | None]:
        info = self._tree.infos[target_id]
        if not self._wire.bridge_here:
            return Guest(info)
        for pause in ASK_AGAIN_SECONDS:
            if pause:
                yield Sleep(pause)
            try:
                found = yield from call(Bridge("target.describe", {"targetId": target_id}), DESCRIBE_SECONDS)
            except FlowFault as fault:
                self._wire.report("guest.unknown", targetId=target_id, reason=str(fault))
                return None
            if target_id not in self._tree.infos:
                return None
            if found.get("found"):
                if not found.get("guest"):
                    return None
                return Guest(
                    self._tree.infos[target_id],
                    Embedding(found["kind"]),
                    found.get("webContentsId"),
                    found.get("hostWebContentsId"),
                )
        return None
