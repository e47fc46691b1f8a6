"""The app's targets, and which of them are guests.

The tree knows every target of the app; clients are only ever shown guests (as `page`), their virtual `tab`, and the
frames and workers below them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

TargetInfo = dict[str, Any]


class Embedding(StrEnum):
    """How the app shows a page."""

    WEBVIEW = "webview"
    BROWSER_VIEW = "browser-view"
    WEB_CONTENTS_VIEW = "web-contents-view"
    WINDOW = "window"
    OFFSCREEN = "offscreen"
    OTHER = "other"


#: Types of a frame that has a process of its own; Electron 9 calls those of a webview webviews too.
FRAME_TYPES = frozenset({"iframe", "webview"})


@dataclass(slots=True)
class Child:
    """A frame or worker below a guest.

    Attributes:
        session_id: the guard's own session on it.
        parent_id: target id of the frame or page that it hangs under.
        parent_frame: of a frame: the id of the one around it, as the page says; None until it has.
        emulated: whether the guard's session has turned focus emulation on there.
    """

    info: TargetInfo
    session_id: str
    parent_id: str
    parent_frame: str | None = None
    emulated: bool = False


@dataclass(slots=True)
class Guest:
    """An embedded page that an agent may drive.

    Attributes:
        info: CDP target info as the app gave it last.
        embedding: how it is shown.
        web_contents_id: Electron's id, None without a bridge.
        host_id: Electron's id of the host's WebContents, None where there is none or without a bridge.
        session_id: the guard's own session on it, None until it is attached.
        children: frames and workers below it, by target id.
        emulated: whether the guard's session has turned focus emulation on.
        ready: whether clients have been told.
        crashed: whether its renderer has died.
        deaf: whether a person's press was stopped at it, after which it drops releases until the next press.
    """

    info: TargetInfo
    embedding: Embedding = Embedding.WEBVIEW
    web_contents_id: int | None = None
    host_id: int | None = None
    session_id: str | None = None
    children: dict[str, Child] = field(default_factory=dict)
    emulated: bool = False
    ready: bool = False
    crashed: bool = False
    deaf: bool = False

    @property
    def target_id(self) -> str:
        """The CDP target id, the same for every client."""
        return str(self.info["targetId"])

    @property
    def frames(self) -> list[Child]:
        """The frames below it that have a process of their own."""
        return [child for child in self.children.values() if child.info["type"] in FRAME_TYPES]

    @property
    def inner(self) -> bool:
        """Whether root-session keys would be routed to the host: the guest is an inner WebContents of it.

        Chromium: RenderWidgetHostImpl of the *focused* frame of the outermost tree gets them
        (content/browser/devtools/protocol/input_handler.cc).
        """
        return self.embedding is Embedding.WEBVIEW


class TargetTree:
    """Every target of the app by id, and the guests among them."""

    def __init__(self) -> None:
        self.infos: dict[str, TargetInfo] = {}
        self.guests: dict[str, Guest] = {}

    def guest_of(self, target_id: str) -> Guest | None:
        """The guest that a target is or belongs to; None for everything a client must not see."""
        guest = self.guests.get(target_id)
        if guest is not None:
            return guest if guest.ready else None
        for candidate in self.guests.values():
            if candidate.ready and target_id in candidate.children:
                return candidate
        return None

    def by_web_contents(self, web_contents_id: int) -> Guest | None:
        """The guest with Electron's id."""
        return next((g for g in self.guests.values() if g.web_contents_id == web_contents_id), None)

    def ready(self) -> list[Guest]:
        """The guests that clients see, oldest first."""
        return [guest for guest in self.guests.values() if guest.ready]


TAB_PREFIX = "tab-"
#: The one browser context that clients see, whatever partitions the app uses; Playwright leaves a page without one be.
CONTEXT_ID = "F0C05000000000000000000000000000"


def tab_id(guest_id: str) -> str:
    """Id of the virtual tab around a guest; Puppeteer attaches to tabs first, then to the page inside."""
    return TAB_PREFIX + guest_id


def shown(info: TargetInfo, *, attached: bool, as_type: str | None = None) -> TargetInfo:
    """A target info as clients see it: a guest is a `page`, and attachment is the client's own."""
    kept: TargetInfo = {
        key: info[key]
        for key in ("targetId", "title", "url", "canAccessOpener", "subtype", "parentFrameId")
        if key in info
    }
    return {**kept, "type": as_type or info["type"], "attached": attached, "browserContextId": CONTEXT_ID}


def shown_page(guest: Guest, *, attached: bool) -> TargetInfo:
    """The guest as a page."""
    return shown(guest.info, attached=attached, as_type="page")


def shown_tab(guest: Guest, *, attached: bool) -> TargetInfo:
    """The guest's virtual tab."""
    return {**shown(guest.info, attached=attached, as_type="tab"), "targetId": tab_id(guest.target_id)}


#: Chromium's filter where a client gives none (content/browser/devtools/protocol/target_handler.cc).
DEFAULT_FILTER: tuple[dict[str, Any], ...] = (
    {"type": "browser", "exclude": True},
    {"type": "tab", "exclude": True},
    {},
)


def passes(filter_: tuple[dict[str, Any], ...], target_type: str) -> bool:
    """Whether a TargetFilter lets a type through: the first entry that matches decides."""
    for entry in filter_:
        if "type" not in entry or entry["type"] == target_type:
            return not entry.get("exclude", False)
    return False
