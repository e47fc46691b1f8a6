"""What the fixture shows: one model for each thing that it reports.

These are oracles: read from the fixture's own logs and documents, never from the reply of what is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Embedding = Literal["webview", "browser-view", "web-contents-view", "window", "offscreen"]
WindowState = Literal["hidden", "headful"]
Frame = Literal["main", "same-site", "cross-site", "nested"]
HostField = Literal["textarea", "contenteditable", "shadow", "terminal", "form", "frame", "xterm"]
RestoreMode = Literal["none", "on-focus", "at-end"]
#: Where an embedding's documents are looked for, in the order of the states.
Role = Literal["host", "guest", "sentinel", "other"]
DocumentStatus = Literal["alive", "crashed", "stopped", "unresponsive", "error"]


class Model(BaseModel):
    """Base: names in camel case on the wire, fields that are not known are kept."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")


class Box(Model):
    """A rectangle; the unit is said where it is used."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> tuple[float, float]:
        """Its middle."""
        return self.x + self.width / 2, self.y + self.height / 2


class Record(Model):
    """One event as a document's capture-phase listener on the window saw it.

    Attributes:
        seq: Order of arrival in the main process, over all logs.
        t: When it was seen, in milliseconds since the epoch.
        target: The field or element (through open shadow roots), `window` or `document`.
        value: The field's value at that moment: for `input`, after the change.
        caret: Offset of the caret in the field at that moment.
    """

    seq: int
    t: float
    type: str
    trusted: bool = False
    target: str = "none"
    key: str | None = None
    code: str | None = None
    key_code: int | None = None
    location: int | None = None
    repeat: bool | None = None
    composing: bool | None = None
    data: str | None = None
    input_type: str | None = None
    shift: bool | None = None
    ctrl: bool | None = None
    alt: bool | None = None
    meta: bool | None = None
    x: float | None = None
    y: float | None = None
    button: int | None = None
    buttons: int | None = None
    detail: int | None = None
    value: Any = None
    caret: int | None = None
    nonce: str | None = None


class Selection(Model):
    """A text field's selection."""

    start: int | None = None
    end: int | None = None
    direction: str | None = None


class Scroll(Model):
    """Scroll offsets in CSS pixels."""

    x: float
    y: float


class SeenByPage(Model):
    """An event as the host page's own listener on its document saw it."""

    t: float
    type: str
    target: str
    key: str | None = None


class Terminal(Model):
    """The terminal-like field: what was typed into its program, and the focus reports that it was sent."""

    data: str = ""
    reports: list[str] = Field(default_factory=list)


class PageView(Model):
    """What the page's own script says. The page could be deceived; the rest of a `Document` could not.

    Attributes:
        counters: Clicks, submits, drops and so on, by name.
        submitted: The drafts that the host's form was submitted with.
        dropped: Texts that were dropped on the drop zone.
        seen: Focus and key events that reached the host page's listeners.
    """

    counters: dict[str, int] = Field(default_factory=dict)
    submitted: list[str] = Field(default_factory=list)
    dropped: list[str] = Field(default_factory=list)
    combobox_open: bool = False
    terminal: Terminal = Field(default_factory=Terminal)
    seen: list[SeenByPage] = Field(default_factory=list)
    has_focus: bool = False
    active: str | None = None


class Document(Model):
    """One document: a page or a frame.

    Attributes:
        guest: Index of the guest that it is in, None in host and sentinel.
        frame: `main`, `same-site`, `cross-site`, `nested`; `host-frame` in the host.
        pid: Its renderer.
        status: `alive`, or what is wrong with it; the log is there in any case.
        active: The active element, through open shadow roots; `["body"]` where nothing has the focus.
    """

    id: str
    role: Role
    guest: int | None
    frame: str
    web_contents_id: int
    url: str
    pid: int
    ready: bool
    status: DocumentStatus
    error: str | None = None
    log: list[Record] = Field(default_factory=list)
    title: str = ""
    visibility: str = ""
    has_focus: bool = False
    active: list[str] = Field(default_factory=list)
    values: dict[str, Any] = Field(default_factory=dict)
    selections: dict[str, Selection] = Field(default_factory=dict)
    selection: dict[str, Any] | None = None
    scrolls: dict[str, Scroll] = Field(default_factory=dict)
    page: PageView | None = None

    @property
    def name(self) -> str:
        """Such as `host`, `guest:0/cross-site`; what `Fixture.execute` takes."""
        if self.role == "guest":
            return f"guest:{self.guest}/{self.frame}"
        return self.role if self.frame == "main" else self.frame

    def records(self, *types: str, target: str | None = None) -> list[Record]:
        """The log, limited to these types of event (all if none is named) and to one target."""
        return [
            record
            for record in self.log
            if (not types or record.type in types) and (target is None or record.target == target)
        ]

    def keys(self, *, target: str | None = None) -> list[str]:
        """The `key` of every keydown, in order."""
        return [record.key or "" for record in self.records("keydown", target=target)]

    def count(self, counter: str) -> int:
        """One of the page's counters."""
        return self.page.counters.get(counter, 0) if self.page is not None else 0


class BeforeInput(Model):
    """A key as the main process saw it before the page (`before-input-event`)."""

    seq: int
    t: float
    web_contents_id: int
    role: Role
    guest: int | None
    type: str
    key: str
    code: str
    repeat: bool
    shift: bool
    control: bool
    alt: bool
    meta: bool


class WindowEvent(Model):
    """Focus, blur, show, hide of a window (`window` is its name) or a WebContents (`contents-focus`)."""

    seq: int
    t: float
    type: str
    window: str | None = None
    web_contents_id: int | None = None
    role: str = "window"
    guest: int | None = None


class AcceleratorEvent(Model):
    """A menu accelerator that fired."""

    seq: int
    t: float
    accelerator: str


class WindowInfo(Model):
    """A window; bounds in pixels of the screen, `content` without its frame and menu bar."""

    name: str
    id: int
    web_contents_id: int
    visible: bool
    focused: bool
    minimized: bool
    bounds: Box
    content: Box


class Gone(Model):
    """A page whose renderer ended, as Electron reported it. `open` until the page has navigated again."""

    seq: int
    t: float
    web_contents_id: int
    role: Role
    guest: int | None
    reason: str
    open: bool


class Sick(Model):
    """A document whose renderer is gone or stopped, as the operating system has it; frames too."""

    id: str
    role: Role
    guest: int | None
    frame: str
    web_contents_id: int
    pid: int
    state: Literal["gone", "stopped"]


class CrashState(Model):
    """Renderers that are no more, and those that do not run."""

    gone: list[Gone]
    sick: list[Sick]


class State(Model):
    """Everything the fixture knows.

    Attributes:
        nonce: Of the last reset.
        instance, pid: Of the app; another value means another app.
        seq: Number of the newest record.
        accelerators: How often each menu accelerator fired.
        stale: Records that belong to the trial before the last reset and came in after it.
        forgotten: Number of the newest record that a full log had to let go.
    """

    nonce: str | None
    instance: str
    pid: int
    seq: int
    t: float
    documents: list[Document]
    accelerators: dict[str, int]
    accelerator_log: list[AcceleratorEvent]
    before_input: list[BeforeInput]
    window_log: list[WindowEvent]
    stale: list[dict[str, Any]]
    gone: list[Gone]
    sick: list[Sick]
    windows: list[WindowInfo]
    forgotten: int

    def document(self, role: Role, *, guest: int | None = None, frame: str = "main") -> Document:
        """The one document of that place.

        Raises:
            LookupError: There is none, or more than one.
        """
        found = [
            document
            for document in self.documents
            if (document.role, document.guest, document.frame) == (role, guest, frame)
        ]
        if len(found) != 1:
            raise LookupError(f"{len(found)} documents for {role} {guest} {frame}")
        return found[0]

    @property
    def host(self) -> Document:
        """The host page."""
        return self.document("host")

    def guest(self, index: int = 0, frame: str = "main") -> Document:
        """A guest's page, or one of its frames."""
        return self.document("guest", guest=index, frame=frame)

    def window(self, name: str = "host") -> WindowInfo:
        """The window of that name: `host`, `sentinel`, `guest-0`."""
        return next(window for window in self.windows if window.name == name)

    def having(self, *types: str) -> Iterable[Document]:
        """The documents that logged events of one of these types."""
        return (document for document in self.documents if document.records(*types))


class HostInfo(Model):
    """The host page's WebContents; `type` is Electron's `getType()`."""

    web_contents_id: int
    url: str
    type: str
    focused: bool


class GuestInfo(Model):
    """A guest's WebContents.

    Attributes:
        type: Electron's `getType()`.
        rect: Its place in the host window's content in CSS pixels; None for a window of its own.
        lookup_by_target: Whether this Electron has `webContents.fromDevToolsTargetId`.
    """

    index: int
    web_contents_id: int
    url: str
    type: str
    rect: Box | None
    lookup_by_target: bool
    host_web_contents_id: int | None


class GuestOrigins(Model):
    """The origins of a guest's frames."""

    main: str
    same_site: str
    cross: str
    nested: str


class Origins(Model):
    """The origins of the fixture's pages."""

    host: str
    sentinel: str
    guests: list[GuestOrigins]


class Opened(Model):
    """What `open` made."""

    embedding: Embedding
    window: WindowState
    host: HostInfo
    guests: list[GuestInfo]
    window_id: int
    origins: Origins


class ResetDocument(Model):
    """A document that acknowledged a reset."""

    id: str
    role: Role
    guest: int | None
    frame: str
    web_contents_id: int
    active: list[str]


class Acknowledged(Model):
    """A reset that every live document acknowledged."""

    nonce: str
    instance: str
    pid: int
    seq: int
    documents: list[ResetDocument]


class FocusAnswer(Model):
    """A document's own view of its focus."""

    active: list[str]
    has_focus: bool = False


class GuestFocus(Model):
    """Where the focus is after a guest was given its own.

    Attributes:
        host: The host page, which should have kept what it had.
        host_moved: Whether the host's active element changed by it.
        guest: Active element of the guest's page: the field, or the frame that has it.
        document: The document that the field is in.
    """

    host: FocusAnswer
    host_moved: bool
    guest: list[str]
    document: FocusAnswer


class FrameRects(Model):
    """A frame's content box and its elements, all in CSS pixels of the guest's viewport."""

    box: Box
    elements: dict[str, Box]


class Viewport(Model):
    """A viewport in CSS pixels; `scale` is the device pixel ratio."""

    width: float
    height: float
    scale: float


class Rects(Model):
    """Where things are.

    Attributes:
        frames: By frame; `frames["main"].elements["text"]` and so on.
        guest: The guest in the host window's content; None for a window of its own.
        guest_on_screen: The guest in pixels of the screen.
        window: The host window's content on the screen.
        host: The host page's elements, in CSS pixels of its viewport.
    """

    viewport: Viewport
    frames: dict[str, FrameRects]
    guest: Box | None
    guest_on_screen: Box | None
    window: Box
    host: dict[str, Box]

    def element(self, name: str, frame: str = "main") -> Box:
        """An element's box in CSS pixels of the guest's viewport: for input on its root session."""
        return self.frames[frame].elements[name]

    def in_frame(self, name: str, frame: str) -> Box:
        """An element's box in CSS pixels of its own frame's viewport: what the frame's own session takes."""
        outer, inner = self.frames[frame].box, self.element(name, frame)
        return Box(x=inner.x - outer.x, y=inner.y - outer.y, width=inner.width, height=inner.height)

    def on_screen(self, name: str, frame: str = "main") -> tuple[int, int]:
        """The centre of a guest's element on the screen, for the person's mouse."""
        if self.guest_on_screen is None:
            raise LookupError("the guest is not on the screen")
        x, y = self.element(name, frame).centre
        return round(self.guest_on_screen.x + x), round(self.guest_on_screen.y + y)

    def host_on_screen(self, name: str) -> tuple[int, int]:
        """The centre of a host's element on the screen, for the person's mouse."""
        x, y = self.host[name].centre
        return round(self.window.x + x), round(self.window.y + y)
