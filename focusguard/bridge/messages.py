"""Every message of the bridge protocol, as pydantic models.

Lines that come from the app are checked against these models; nothing else of it is believed. The module is
free of input and output, so that the guard's pure core can use it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

PROTOCOL_VERSION = 1

EmbeddingKind = Literal["webview", "browser-view", "web-contents-view", "window", "offscreen", "other"]
BorrowState = Literal["held", "guest-focused", "composing", "nothing-to-hold"]


class Message(BaseModel):
    """Base: unknown fields are ignored (a newer bridge may say more), names on the wire are camelCase."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Hello(Message):
    """First line of the bridge: who it is, and its proof."""

    type: Literal["hello"]
    version: int
    token: str = Field(repr=False, max_length=256)
    pid: int
    electron: str
    chromium: str
    node: str
    capabilities: tuple[str, ...] = ()


class Welcome(Message):
    """The guard's answer to a hello that it accepts."""

    type: Literal["welcome"] = "welcome"
    version: int = PROTOCOL_VERSION


class Refused(Message):
    """The guard's answer to a hello that it does not accept; `retry` says whether a later try makes sense."""

    type: Literal["refused"] = "refused"
    message: str
    retry: bool = False


class ErrorBody(Message):
    """Why a request failed: `code` is for programs, `message` for people."""

    code: str
    message: str = ""


class AnswerLine(Message):
    """The bridge's answer to one request."""

    id: int
    result: dict[str, Any] | None = None
    error: ErrorBody | None = None


class EventLine(Message):
    """Something the bridge says unasked."""

    event: str
    params: dict[str, Any] = Field(default_factory=dict)


class Request(Message):
    """One request of the guard."""

    id: int
    method: str
    params: dict[str, Any] = Field(default_factory=dict)


class TargetDescription(Message):
    """Result of `target.describe` and `guest.open`."""

    found: bool
    web_contents_id: int | None = Field(default=None, alias="webContentsId")
    kind: EmbeddingKind = "other"
    host_web_contents_id: int | None = Field(default=None, alias="hostWebContentsId")
    guest: bool = False
    url: str = ""
    title: str = ""
    visible: bool = False


class AppProtocol(Message):
    """Result of `app.protocol`."""

    found: bool
    gzip: str = ""


class KeysSent(Message):
    """Result of `keys.send`."""

    sent: int


class BorrowBegun(Message):
    """Result of `borrow.begin`; `lease` is None when there is nothing to give back."""

    state: BorrowState
    lease: int | None = None
    waited_ms: float = Field(default=0.0, alias="waitedMs")


class BorrowEnded(Message):
    """Result of `borrow.end`.

    Attributes:
        returned: whether the focus was away and is home again.
        reason: `returned`, or why nothing had to be, or could be, returned.
        held_ms: how long the focus was away from the person, in milliseconds.
        brought_home: how many of the person's key presses were carried home.
    """

    returned: bool
    reason: str
    held_ms: float = Field(default=0.0, alias="heldMs")
    brought_home: int = Field(default=0, alias="broughtHome")


class HostRepaired(Message):
    """Result of `host.repair`."""

    nudged: bool


class HostComposition(Message):
    """Result of `host.composition`."""

    open: bool


RESULTS: Mapping[str, type[Message]] = {
    "app.protocol": AppProtocol,
    "target.describe": TargetDescription,
    "guest.open": TargetDescription,
    "keys.send": KeysSent,
    "borrow.begin": BorrowBegun,
    "borrow.end": BorrowEnded,
    "host.repair": HostRepaired,
    "host.composition": HostComposition,
}
"""Model of the result of each method that has one; the others answer with an empty object."""


@dataclass(frozen=True)
class Connected:
    """A bridge has proved itself."""

    hello: Hello


@dataclass(frozen=True)
class Lost:
    """The bridge is gone; its open requests were answered with the code `bridge-lost` before this."""

    reason: str


@dataclass(frozen=True)
class Answer:
    """The answer to the request `id`: exactly one of `result` and `error` is set."""

    id: int
    result: Mapping[str, Any] | None = None
    error: ErrorBody | None = None


@dataclass(frozen=True)
class Notice:
    """An event of the bridge, for example `composition`."""

    name: str
    params: Mapping[str, Any]


BridgeEvent = Connected | Lost | Answer | Notice
