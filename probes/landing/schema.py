"""The result of a landing probe: one document with a schema, from which every report is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

SCHEMA_VERSION = 1

Embedding = Literal["webview", "browser-view", "web-contents-view", "window", "offscreen"]
Window = Literal["hidden", "headful"]
Route = Literal["raw", "guarded"]
GuestFocus = Literal["main", "same-site", "cross-site", "nested", "none"]
Status = Literal["observed", "invalid", "unsupported"]
FocusStory = Literal["kept", "restored", "moved", "unknown"]
Twin = Literal["fault", "no-fault", "absent"]
Place = Literal[
    "host",
    "guest",
    "same-site-frame",
    "cross-site-frame",
    "other-guest",
    "app-menu",
    "nowhere",
    "crashed",
]

EMBEDDINGS: tuple[Embedding, ...] = ("webview", "browser-view", "web-contents-view", "window", "offscreen")
WINDOWS: tuple[Window, ...] = ("hidden", "headful")
ROUTES: tuple[Route, ...] = ("raw", "guarded")

COLUMNS: dict[str, str] = {
    "case": "What the agent did. The part before the first dot is the kind of command.",
    "guest_focus": "Where the guest's own focus was when the agent acted: a field of its main frame, of a "
    "frame inside it, or nothing (its body).",
    "landing": "Every place whose capture-phase log saw the agent's input. Empty where there is no input.",
    "leaked": "How many of the agent's inputs were seen outside the guest that they were sent to.",
    "stolen": "Headful: how many of the person's real keystrokes did not arrive, in order, in the field that "
    "they were typing into (10 typed after the action; in a while-typing case 10 more during it). Hidden: no "
    "real key can reach a hidden window, so the number is inferred from the focus: 1 when the next keystroke "
    "would not reach the host's field (it lost its document's focus, or its document lost the window's), "
    "else 0.",
    "focus_kept": "Whether the host's field had the focus when everything had settled. The evidence tells "
    "apart focus that never moved (kept), that came back (restored) and that was gone (moved).",
    "reply": "What the client was told. Never used for a verdict.",
    "status": "observed; invalid (the preparation failed, nothing was done); unsupported (this version or "
    "embedding has no such thing).",
}


class Model(BaseModel):
    """Base of all parts: unknown keys are an error, so that a reader notices a newer schema."""

    model_config = ConfigDict(extra="forbid")


class RuntimeInfo(Model):
    """The Electron that was measured; `sha256` is that of its executable."""

    electron: str
    chromium: str
    sha256: str


class Subject(Model):
    """The app that was measured, where it is not the fixture, and what was found in it."""

    app: str
    args: list[str] = Field(default_factory=list)
    host: str = Field(description="URL of the page that the person is in.")
    host_field: str
    guest: str = Field(description="URL of the guest.")
    guest_field: str


class Control(Model):
    """A deliberate fault (or a deliberate nothing) that the observers had to recognise first."""

    name: str
    passed: bool
    embedding: Embedding
    window: Window
    route: Route
    expected: str
    seen: str


class Command(Model):
    """One thing the agent did, with the reply that it got."""

    method: str
    session: str
    params: dict[str, Any] = Field(default_factory=dict)
    reply: str
    ms: float


class Sighting(Model):
    """One event of the agent's input in one log."""

    place: Place
    document: str
    type: str
    detail: str = ""
    target: str = ""
    trusted: bool = True
    at_ms: float | None = Field(default=None, description="Milliseconds since the trial's first command.")


class Typed(Model):
    """What the person typed with real keystrokes, and where it went."""

    during: str = ""
    after: str = ""
    arrived: str = ""
    missing: int = 0
    missing_during: int = 0
    missing_after: int = 0
    surplus: int = Field(default=0, description="Keystrokes that arrived more often than they were typed.")
    schedule_ms: list[float] = Field(
        default_factory=list,
        description="When each key was pressed, in milliseconds since the first command.",
    )
    elsewhere: dict[str, str] = Field(
        default_factory=dict, description="Document to the person's keys seen in it."
    )


class FocusEvidence(Model):
    """The host's focus before and after, and the focus events that its page saw in between."""

    story: FocusStory = "unknown"
    field: str = ""
    before: str = ""
    after: str = ""
    document_focus_before: bool | None = None
    document_focus_after: bool | None = None
    host_events: list[str] = Field(default_factory=list)
    page_events: list[str] = Field(
        default_factory=list, description="Focus and blur as the host's page saw them."
    )
    guest_events: list[str] = Field(default_factory=list)
    raised: list[str] = Field(default_factory=list, description="Changes of the display's active window.")


class Evidence(Model):
    """Everything a reader needs to check a row without running it again."""

    nonce: str = ""
    instance: str = ""
    pid: int | None = None
    what: str = ""
    ms: float | None = None
    commands: list[Command] = Field(default_factory=list)
    sightings: list[Sighting] = Field(default_factory=list)
    sightings_left_out: int = 0
    leaked_inputs: list[str] = Field(default_factory=list)
    focus: FocusEvidence = Field(default_factory=FocusEvidence)
    typed: Typed | None = None
    next_key: str | None = Field(
        default=None, description="Hidden, raw: where a key sent to the focused widget of the window went."
    )
    host_reloaded: bool = Field(default=False, description="The app's own page was loaded anew.")
    host_value: str = ""
    guest_values: dict[str, str] = Field(default_factory=dict)
    counters: dict[str, int] = Field(default_factory=dict)
    gone: list[str] = Field(default_factory=list, description="Renderers that are gone.")
    screenshot: str | None = Field(default=None, description="Key into the result's screenshots.")
    twin: Twin | None = Field(
        default=None,
        description="Guarded rows: whether the same case without the guard showed a fault in this run. Where "
        "it did not, a pass proves nothing.",
    )
    reason: str = Field(default="", description="Why a row is invalid or unsupported.")


class Row(Model):
    """One measured cell."""

    case: str
    embedding: Embedding
    window: Window
    route: Route
    guest_focus: GuestFocus
    landing: list[Place]
    leaked: int
    stolen: int
    focus_kept: bool | None
    reply: str
    status: Status
    evidence: Evidence

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes a row unique within a result."""
        return (self.case, self.embedding, self.window, self.route)

    @property
    def faulty(self) -> bool:
        """Whether this row shows what the guard exists to prevent."""
        if self.status != "observed":
            return False
        return bool(self.leaked or self.stolen or self.focus_kept is False or "crashed" in self.landing)


class Plan(Model):
    """What was asked for; a result is complete only when each planned cell has a row."""

    embeddings: list[Embedding]
    windows: list[Window]
    routes: list[Route]
    cases: list[str]
    quick: bool
    seed: int
    cells: int


class LandingResult(Model):
    """One run of the probe on one Electron."""

    schema_version: Literal[1] = 1
    tool: str = ""
    started: str = ""
    seconds: float = 0.0
    system: str = ""
    runtime: RuntimeInfo
    subject: Subject | None = None
    sources: dict[str, str] = Field(
        default_factory=dict, description="sha256 of the measuring and measured sources."
    )
    plan: Plan
    controls: list[Control]
    complete: bool
    incomplete_because: list[str] = Field(default_factory=list)
    rows: list[Row]
    columns: dict[str, str] = Field(default_factory=lambda: dict(COLUMNS))

    @property
    def guarded_faults(self) -> list[Row]:
        """Guarded rows that leaked or stole."""
        return [row for row in self.rows if row.route == "guarded" and (row.leaked or row.stolen)]

    @property
    def exit_code(self) -> int:
        """0 complete, 1 complete and a guarded row leaked or stole, 2 incomplete."""
        if not self.complete:
            return 2
        return 1 if self.guarded_faults else 0

    def row(self, case: str, embedding: str, window: str, route: str) -> Row | None:
        """The row of one cell, if it was measured."""
        wanted = (case, embedding, window, route)
        return next((row for row in self.rows if row.key == wanted), None)


class UnreadableResultError(Exception):
    """A file is not a landing result of a schema version that this program reads."""


def read_result(path: Path) -> LandingResult:
    """Reads `landing.json`.

    Args:
        path: The file, or the folder that holds it.

    Raises:
        UnreadableResultError: If it is missing, not JSON, or of another schema version.
    """
    file = path / "landing.json" if path.is_dir() else path
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableResultError(f"{file}: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise UnreadableResultError(
            f"{file}: schema version {version!r}, this program reads {SCHEMA_VERSION}"
        )
    try:
        return LandingResult.model_validate(data)
    except ValidationError as error:
        raise UnreadableResultError(f"{file}: {error}") from error
