"""What the policy is told (events) and what it asks for (commands)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


# -- events: what happened outside ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class ClientJoined:
    """A client's WebSocket is open.

    Attributes:
        client: number that the shell gave to the connection.
        target_id: the guest of a `/devtools/page/{id}` connection, None for `/devtools/browser/{id}`.
    """

    client: int
    target_id: str | None = None


@dataclass(frozen=True, slots=True)
class ClientSaid:
    """One whole text message of a client."""

    client: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ClientLeft:
    """The client's connection is gone, for whatever reason."""

    client: int


@dataclass(frozen=True, slots=True)
class UpstreamSaid:
    """One whole message of the app's CDP endpoint."""

    data: bytes


@dataclass(frozen=True, slots=True)
class UpstreamLost:
    """The app's CDP endpoint is gone."""

    reason: str


@dataclass(frozen=True, slots=True)
class BridgeJoined:
    """The bridge inside the app has proved itself."""

    hello: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BridgeAnswered:
    """The bridge's answer to an `AskBridge` command: a result or an error, never both."""

    request: int
    result: dict[str, Any] | None
    error: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class BridgeTold:
    """An event of the bridge."""

    event: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BridgeLeft:
    """The bridge's connection is gone."""


@dataclass(frozen=True, slots=True)
class TimerRang:
    """A timer started by `StartTimer` has run out."""

    timer: int


Event = (
    ClientJoined
    | ClientSaid
    | ClientLeft
    | UpstreamSaid
    | UpstreamLost
    | BridgeJoined
    | BridgeAnswered
    | BridgeTold
    | BridgeLeft
    | TimerRang
)


# -- commands: what the shell shall do -----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class SendClient:
    """Send one text message to a client."""

    client: int
    data: bytes


@dataclass(frozen=True, slots=True)
class CloseClient:
    """End a client's connection."""

    client: int
    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class SendUpstream:
    """Send one message to the app's CDP endpoint."""

    data: bytes


@dataclass(frozen=True, slots=True)
class AskBridge:
    """Send one request to the bridge; `BridgeAnswered` with the same number follows."""

    request: int
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Ring after so many seconds, unless cancelled before."""

    timer: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Forget a timer; one that has rung already is ignored by the policy."""

    timer: int


@dataclass(frozen=True, slots=True)
class Report:
    """Something for the log and for those who watch the guard (`focusguard watch`, the Python API).

    Attributes:
        kind: dotted name, for example `guest.ready`, `action`, `refusal`.
        facts: JSON-ready details.
    """

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)


Command = SendClient | CloseClient | SendUpstream | AskBridge | StartTimer | CancelTimer | Report
