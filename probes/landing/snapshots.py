"""From what the fixture shows to what a verdict needs. Pure."""

from __future__ import annotations

from probes import observed
from probes.landing.observe import Document, Event, Snapshot
from probes.landing.schema import Place

_FRAME_PLACES: dict[str, Place] = {
    "main": "guest",
    "same-site": "same-site-frame",
    "cross-site": "cross-site-frame",
    "nested": "cross-site-frame",
}
BEFORE_THE_PAGE = "host, before the page"


def snapshot_of(state: observed.State, field_name: str, *, since_ms: float = 0.0) -> Snapshot:
    """A snapshot for verdicts about the guest with index 0.

    Args:
        state: The fixture's state, with logs.
        field_name: The person's field in the host.
        since_ms: What times are counted from, in milliseconds since the epoch.
    """
    host = state.host
    documents = [
        _document(document, since_ms, _guest_value(document))
        for document in state.documents
        if document is not host
    ]
    before_page = tuple(
        Event("before-input-event", key=entry.key, target="main process", at_ms=_since(entry.t, since_ms))
        for entry in state.before_input
        if entry.role != "guest" and entry.type == "keyDown"
    )
    if before_page:
        documents.append(Document("host", BEFORE_THE_PAGE, log=before_page))
    value = (
        host.page.terminal.data if field_name == "terminal" and host.page else host.values.get(field_name, "")
    )
    return Snapshot(
        host=_document(host, since_ms, str(value)),
        others=tuple(documents),
        accelerators=dict(state.accelerators),
        gone=tuple(gone_renderers(state)),
        unreadable=tuple(
            document.name
            for document in state.documents
            if document.status in ("unresponsive", "stopped", "error")
        ),
    )


def gone_renderers(state: observed.State | observed.CrashState) -> list[str]:
    """Names of the guest's documents whose renderer is no more."""
    names = [
        f"guest:{entry.guest}: {entry.reason}" for entry in state.gone if entry.open and entry.role == "guest"
    ]
    names += [
        f"guest:{entry.guest}/{entry.frame}: gone"
        for entry in state.sick
        if entry.role == "guest" and entry.state == "gone"
    ]
    return names


def active_name(document: observed.Document) -> str:
    """The element that has a document's focus; empty where it is the body."""
    name = document.active[-1] if document.active else ""
    return "" if name in ("body", "none") else name


def place_of(document: observed.Document) -> Place:
    """The word for where a document is."""
    if document.role != "guest":
        return "host"
    return _FRAME_PLACES.get(document.frame, "guest") if document.guest == 0 else "other-guest"


def _document(document: observed.Document, since_ms: float, value: str) -> Document:
    return Document(
        place=place_of(document),
        name=document.name,
        active=active_name(document),
        has_focus=document.has_focus,
        value=value,
        log=tuple(
            Event(
                type=record.type,
                key=record.key or "",
                data=record.data or "",
                target=record.target,
                trusted=record.trusted,
                at_ms=_since(record.t, since_ms),
            )
            for record in document.log
        ),
    )


def _guest_value(document: observed.Document) -> str:
    return str(document.values.get("text", ""))


def _since(t: float, since_ms: float) -> float:
    return round(t - since_ms, 1)
