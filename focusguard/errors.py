"""Every error the guard answers with, in one place.

A CDP client shows people the message only, so the message carries the code, what happened and what to do.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: JSON-RPC code of a server error, as Chromium uses it for refused commands.
SERVER_ERROR = -32000
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
#: Chromium's code for a session id that it does not know (content/browser/devtools/devtools_session.cc).
SESSION_NOT_FOUND = -32001


class Code(StrEnum):
    """The guard's own error codes; they stand in front of the message, and in `data`."""

    FOCUS_GUARD_UNAVAILABLE = "browser_focus_guard_unavailable"
    USER_COMPOSING = "browser_user_composing"
    INPUT_NOT_DELIVERED = "browser_input_not_delivered"
    TARGET_HIDDEN = "browser_target_hidden"
    REFUSED = "browser_refused"
    BRIDGE_LOST = "browser_bridge_lost"
    TIMEOUT = "browser_timeout"
    ERROR = "browser_error"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a code says and whether the same command may be sent again as it is."""

    retryable: bool
    says: str
    advice: str


MEANINGS: dict[Code, Meaning] = {
    Code.FOCUS_GUARD_UNAVAILABLE: Meaning(
        True,
        "the host page did not confirm in time that the person's focus is safe; nothing was sent",
        "send it again; if it stays, the host page is busy or hung",
    ),
    Code.USER_COMPOSING: Meaning(
        True,
        "the person is composing text with an input method, and this input would end it; nothing was sent",
        "send it again in a moment, when the person has finished the word",
    ),
    Code.INPUT_NOT_DELIVERED: Meaning(
        True,
        "the input was sent and no document in the guest received it",
        "look at the page (a navigation, a dialog, a stopped or crashed renderer), then decide about sending it again",
    ),
    Code.TARGET_HIDDEN: Meaning(
        True,
        "the guest is not painted, so this command cannot complete",
        "ask the app to show the guest, or use a command that does not need a frame",
    ),
    Code.REFUSED: Meaning(
        False,
        "the command would act on the person's app instead of a guest",
        "use the same command on a guest's session, or leave it out",
    ),
    Code.BRIDGE_LOST: Meaning(
        True,
        "the bridge inside the app is gone, so the person's focus cannot be kept; nothing was sent",
        "wait until the bridge has reconnected (FocusGuard.getStatus tells), then send it again",
    ),
    Code.TIMEOUT: Meaning(
        False,
        "the app did not answer in time; whether the command took effect is unknown",
        "look at the page before sending it again",
    ),
    Code.ERROR: Meaning(False, "the app answered with an error", "see the message"),
}


class GuardError(Exception):
    """A refused or failed command, on its way to the client.

    Attributes:
        code: which of the guard's codes.
        detail: what happened, in a sentence without the code.
        rpc_code: JSON-RPC error number (negative).
        data: further fields for `error.data`.
        advice: what to do, in a clause without a full stop.
    """

    def __init__(
        self,
        code: Code,
        detail: str = "",
        *,
        rpc_code: int = SERVER_ERROR,
        data: dict[str, Any] | None = None,
        advice: str = "",
    ) -> None:
        meaning = MEANINGS[code]
        self.code = code
        self.detail = detail or meaning.says
        self.rpc_code = rpc_code
        self.data = data or {}
        self.advice = advice or meaning.advice
        super().__init__(f"{code}: {self.detail}. To do: {self.advice}.")

    def to_cdp(self) -> dict[str, Any]:
        """The `error` member of a CDP answer. Its `data` is JSON text, as clients rely on a string there."""
        facts = {"code": str(self.code), "retryable": MEANINGS[self.code].retryable, **self.data}
        return {
            "code": self.rpc_code,
            "message": str(self),
            "data": json.dumps(facts),
        }


class ProtocolError(Exception):
    """A command that Chromium itself would refuse, answered in Chromium's own words and numbers.

    Attributes:
        data: what is wrong with which parameter, where Chromium says so.
    """

    def __init__(self, rpc_code: int, message: str, data: str | None = None) -> None:
        self.rpc_code = rpc_code
        self.data = data
        super().__init__(message)

    def to_cdp(self) -> dict[str, Any]:
        """The `error` member of a CDP answer."""
        body: dict[str, Any] = {"code": self.rpc_code, "message": str(self)}
        return body if self.data is None else {**body, "data": self.data}


def invalid_params(fault: str, name: str = "") -> ProtocolError:
    """Parameters that Chromium cannot read; it also says at which byte of its own encoding, which is nobody's.

    Args:
        fault: what is wrong with it.
        name: the parameter; empty: all of them.
    """
    where = f"params.{name}" if name else "params"
    return ProtocolError(INVALID_PARAMS, "Invalid parameters", f"Failed to deserialize {where} - {fault}")
