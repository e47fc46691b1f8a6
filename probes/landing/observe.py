"""Verdicts. Pure: what the fixture logged goes in, what a row says comes out; no reply is ever looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from probes.landing.cases import Kind
from probes.landing.schema import FocusEvidence, FocusStory, Place, Sighting, Typed

PERSON_KEYS = "1234567890"

_KEY_EVENTS = frozenset({"keydown", "keypress", "keyup", "before-input-event"})
_TEXT_EVENTS = frozenset(
    {"beforeinput", "input", "textInput", "compositionstart", "compositionupdate", "compositionend"}
)
_POINTER_EVENTS = {
    "press": frozenset(
        {"pointerdown", "pointerup", "mousedown", "mouseup", "click", "auxclick", "dblclick", "contextmenu"}
        | {"dragstart", "dragend", "drop"}
    ),
    "move": frozenset({"pointermove", "mousemove"}),
    "wheel": frozenset({"wheel", "mousewheel", "scroll", "touchstart", "touchmove"}),
    "touch": frozenset(
        {"touchstart", "touchmove", "touchend", "touchcancel", "pointerdown", "pointerup", "mousedown"}
        | {"mouseup", "click", "pointercancel"}
    ),
    "gesture": frozenset(
        {"touchstart", "touchend", "touchmove", "touchcancel", "pointerdown", "pointerup"}
        | {"mousedown", "mouseup", "click", "wheel", "pointercancel"}
    ),
    "drag": frozenset({"dragenter", "dragover", "dragleave", "drop"}),
}
# One agent input makes several events; outside the guest it is counted by the first that shows up of these.
_LEADING = (
    "pointerdown",
    "mousedown",
    "touchstart",
    "click",
    "pointermove",
    "mousemove",
    "wheel",
    "scroll",
    "dragenter",
    "dragover",
    "drop",
    "pointerup",
    "mouseup",
    "contextmenu",
)


@dataclass(frozen=True)
class Event:
    """One entry of a document's capture-phase log."""

    type: str
    key: str = ""
    data: str = ""
    target: str = ""
    trusted: bool = True
    at_ms: float | None = None


@dataclass(frozen=True)
class Document:
    """One document of the app as the fixture saw it.

    Attributes:
        place: Host, guest, frame of the guest, or another guest.
        name: Name for a reader, for example `guest/cross-site/nested`.
        active: The element with the document's focus, through shadow roots; empty for the body.
        has_focus: `document.hasFocus()`.
        value: Content of the field that is in use.
        log: Events since the reset, in order.
    """

    place: Place
    name: str
    active: str = ""
    has_focus: bool = False
    value: str = ""
    log: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """The whole app at one moment, as far as verdicts need it.

    Attributes:
        accelerators: The app menu's accelerators that fired, and how often.
        gone: Renderers of the guest that are gone.
        unreadable: Documents that should have answered and did not.
    """

    host: Document
    others: tuple[Document, ...] = ()
    accelerators: dict[str, int] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def documents(self) -> tuple[Document, ...]:
        """Host first, then everything else."""
        return (self.host, *self.others)

    @property
    def weight(self) -> int:
        """A number that changes while anything is still happening."""
        return (
            sum(len(document.log) for document in self.documents)
            + sum(self.accelerators.values())
            + len(self.gone)
            + len(self.unreadable)
        )


@dataclass(frozen=True)
class AgentInput:
    """What the agent sent, as far as it can be recognised in a log."""

    kind: Kind
    tokens: tuple[str, ...] = ()


@dataclass(frozen=True)
class PersonInput:
    """What the person typed, in order: while the agent acted, and after."""

    during: str = ""
    after: str = ""

    @property
    def all(self) -> str:
        """Everything, in order."""
        return self.during + self.after


@dataclass(frozen=True)
class Verdict:
    """What a row says, apart from the reply."""

    landing: tuple[Place, ...]
    leaked: int
    leaked_inputs: tuple[str, ...]
    stolen: int
    focus_kept: bool | None
    focus: FocusEvidence
    typed: Typed | None
    sightings: tuple[Sighting, ...]


def judge(
    before: Snapshot,
    after: Snapshot,
    agent: AgentInput,
    person: PersonInput | None,
    *,
    raised: Sequence[str] = (),
    field_name: str = "",
) -> Verdict:
    """Decides a row from two looks at the fixture.

    Args:
        before: Taken when the preparation was done, before the agent's first command.
        after: Taken when everything had settled and the person had typed.
        agent: How to recognise the agent's input.
        person: What the person typed with real keystrokes; None in a hidden window.
        raised: Changes of the display's active window in between.
        field_name: The person's field, where the focus has to be.
    """
    sightings = tuple(find_sightings(before, after, agent))
    crashed = bool(after.gone)
    leaked_inputs = tuple(find_leaks(sightings, agent))
    focus = tell_focus(before, after, raised, field_name)
    typed = follow_person(after, person, field_name) if person is not None else None
    kept: bool | None = None if crashed else focus.story in ("kept", "restored")
    return Verdict(
        landing=tell_landing(sightings, agent, crashed),
        leaked=len(leaked_inputs),
        leaked_inputs=leaked_inputs,
        # Without real keystrokes it is inferred: the next one would not have reached the field.
        stolen=typed.missing if typed is not None else int(kept is False),
        focus_kept=kept,
        focus=focus,
        typed=typed,
        sightings=sightings,
    )


def new_events(before: Snapshot, after: Snapshot, document: Document) -> tuple[Event, ...]:
    """A document's events since `before`; all of them if it is new or was loaded anew."""
    earlier = next((old for old in before.documents if old.name == document.name), None)
    if earlier is None or document.log[: len(earlier.log)] != earlier.log:
        return document.log
    return document.log[len(earlier.log) :]


def recognise(event: Event, agent: AgentInput) -> bool:
    """Whether an event is the agent's input."""
    if agent.kind == "none" or not event.trusted:
        return False
    if agent.kind == "keys":
        if event.type in _KEY_EVENTS:
            return event.key in agent.tokens
        return event.type in _TEXT_EVENTS and event.data in agent.tokens
    if agent.kind == "text":
        # The text may arrive piece by piece. The person's alphabet and the agent's have nothing in common.
        seen = event.data if event.type in _TEXT_EVENTS else event.key if event.type in _KEY_EVENTS else ""
        return any(seen in token or token in seen for token in agent.tokens) if seen else False
    return event.type in _POINTER_EVENTS[agent.kind]


def find_sightings(before: Snapshot, after: Snapshot, agent: AgentInput) -> Iterable[Sighting]:
    """Every log entry that is the agent's input, document by document."""
    for document in after.documents:
        for event in new_events(before, after, document):
            if recognise(event, agent):
                yield Sighting(
                    place=document.place,
                    document=document.name,
                    type=event.type,
                    detail=event.key or event.data,
                    target=event.target,
                    trusted=event.trusted,
                    at_ms=event.at_ms,
                )
        if agent.kind in ("keys", "text") and document.place == "host":
            yield from _silent_text(before, document, after, agent)
    for name, count in after.accelerators.items():
        for _ in range(count - before.accelerators.get(name, 0)):
            yield Sighting(place="app-menu", document="menu", type="accelerator", detail=name)


def _silent_text(
    before: Snapshot, document: Document, after: Snapshot, agent: AgentInput
) -> Iterable[Sighting]:
    """The agent's text in a value without any event that says so."""
    if any(recognise(event, agent) for event in new_events(before, after, document)):
        return
    for token in agent.tokens:
        if len(token) == 1 and not token.isprintable():
            continue
        grown = document.value.count(token) - before.host.value.count(token)
        for _ in range(max(0, grown)):
            yield Sighting(place="host", document=document.name, type="value", detail=token)


def tell_landing(sightings: Sequence[Sighting], agent: AgentInput, crashed: bool) -> tuple[Place, ...]:
    """The places of the sightings, in order of first sight; a crash is one of them."""
    places: list[Place] = []
    for sighting in sightings:
        if sighting.place not in places:
            places.append(sighting.place)
    if crashed:
        places.append("crashed")
    if not places and agent.kind != "none":
        places.append("nowhere")
    return tuple(places)


def find_leaks(sightings: Sequence[Sighting], agent: AgentInput) -> Iterable[str]:
    """The agent's inputs that were seen outside its guest, each named once per time it was sent."""
    outside = [seen for seen in sightings if seen.place in ("host", "other-guest", "app-menu")]
    if not outside:
        return
    if agent.kind in ("keys", "text"):
        for place in ("host", "other-guest"):
            here = [seen for seen in outside if seen.place == place]
            for token, count in _count_tokens(here, agent).items():
                for _ in range(count):
                    yield f"{token} → {place}"
        for seen in outside:
            if seen.place == "app-menu":
                yield f"{seen.detail} → app-menu"
        return
    for place in ("host", "other-guest"):
        here = [seen for seen in outside if seen.place == place]
        kind = next((kind for kind in _LEADING if any(seen.type == kind for seen in here)), None)
        for seen in here:
            if seen.type == kind:
                yield f"{kind} → {place}"


def _count_tokens(here: Sequence[Sighting], agent: AgentInput) -> dict[str, int]:
    """How often each of the agent's inputs was seen; one input makes several events, each type once."""
    counts: dict[str, int] = {}
    for kind in {seen.type for seen in here}:
        details = [seen.detail for seen in here if seen.type == kind]
        for token in agent.tokens:
            counts[token] = max(counts.get(token, 0), details.count(token))
    if agent.kind == "text" and here and not any(counts.values()):
        counts[agent.tokens[0]] = 1  # only a part of it
    return {token: count for token, count in counts.items() if count}


def tell_focus(before: Snapshot, after: Snapshot, raised: Sequence[str], field_name: str) -> FocusEvidence:
    """The story of the host's focus, from its active element, its document's focus and its events."""
    host, host_events = after.host, new_events(before, after, after.host)
    seen = [f"{event.type} {event.target}".strip() for event in host_events if event.type in _FOCUS_EVENTS]
    at_home = host.active == before.host.active and (host.has_focus or not before.host.has_focus)
    left = any(event.type in ("blur", "focusout") for event in host_events)
    story: FocusStory = ("restored" if left else "kept") if at_home else "moved"
    guest_events = [
        f"{document.name}: {event.type} {event.target}".strip()
        for document in after.others
        for event in new_events(before, after, document)
        if event.type in _FOCUS_EVENTS
    ]
    return FocusEvidence(
        story=story,
        field=field_name,
        before=before.host.active,
        after=host.active,
        document_focus_before=before.host.has_focus,
        document_focus_after=host.has_focus,
        host_events=seen[:40],
        guest_events=guest_events[:40],
        raised=list(raised),
    )


_FOCUS_EVENTS = frozenset({"focus", "blur", "focusin", "focusout", "visibilitychange"})


def follow_person(after: Snapshot, person: PersonInput, field_name: str) -> Typed:
    """Follows the person's keystrokes: which arrived in their field in order, and where the others went."""
    # A terminal takes keys, some at the keydown and some at the keypress, and lets no text into its hidden field.
    kind = "keydown" if field_name == "terminal" else "input"
    arrived = "".join(
        event.data or event.key
        for event in after.host.log
        if event.type == kind
        and event.trusted
        and event.target == field_name
        and _is_person(event.data or event.key)
    )
    elsewhere: dict[str, str] = {}
    for document in after.documents:
        keys = "".join(
            event.key
            for event in document.log
            if event.type == "keydown"
            and event.trusted
            and _is_person(event.key)
            and not (document is after.host and event.target == field_name)
        )
        if keys:
            elsewhere[document.name] = keys
    kept = _in_order(person.all, arrived)
    missing_during = sum(not kept[index] for index in range(len(person.during)))
    missing = sum(not one for one in kept)
    return Typed(
        during=person.during,
        after=person.after,
        arrived=arrived,
        missing=missing,
        missing_during=missing_during,
        missing_after=missing - missing_during,
        surplus=max(0, len(arrived) - (len(kept) - missing)),
        elsewhere=elsewhere,
    )


def _is_person(text: str) -> bool:
    return len(text) == 1 and text in PERSON_KEYS


def _in_order(expected: str, seen: str) -> list[bool]:
    """For each expected key, whether it is part of the longest run of keys that arrived in order."""
    rows, columns = len(expected), len(seen)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            if expected[row] == seen[column]:
                best[row][column] = best[row + 1][column + 1] + 1
            else:
                best[row][column] = max(best[row + 1][column], best[row][column + 1])
    arrived, row, column = [False] * rows, 0, 0
    while row < rows and column < columns:
        if expected[row] == seen[column] and best[row][column] == best[row + 1][column + 1] + 1:
            arrived[row], row, column = True, row + 1, column + 1
        elif best[row + 1][column] >= best[row][column + 1]:
            row += 1
        else:
            column += 1
    return arrived
