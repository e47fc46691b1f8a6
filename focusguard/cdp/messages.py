"""Views on CDP messages that decode only what routing needs.

`params`, `result` and `error` stay raw bytes until a rule asks for them, so a message that only changes its id
or session is copied, not decoded and encoded again.
"""

from __future__ import annotations

from typing import Any

import msgspec

from focusguard import errors

_NO_RAW = msgspec.Raw(b"")


class Envelope(msgspec.Struct, omit_defaults=True, gc=False):
    """One CDP message; which members are set tells commands, answers and events apart."""

    id: int | None = None
    method: str | None = None
    params: msgspec.Raw = _NO_RAW
    result: msgspec.Raw = _NO_RAW
    error: msgspec.Raw = _NO_RAW
    sessionId: str | None = None


class MalformedMessage(errors.ProtocolError):
    """A client message that is not a CDP command.

    Attributes:
        id: the command's id where it could be read, so that the answer reaches its caller.
    """

    def __init__(self, rpc_code: int, message: str, command_id: int | None = None) -> None:
        super().__init__(rpc_code, message)
        self.id = command_id


_decode = msgspec.json.Decoder(Envelope).decode
_encode = msgspec.json.Encoder().encode
_decode_any = msgspec.json.Decoder().decode


def decode_upstream(data: bytes) -> Envelope:
    """Decode a message of the app's CDP endpoint.

    Raises:
        msgspec.DecodeError: it is not a CDP message.
    """
    return _decode(data)


def decode_command(data: bytes) -> Envelope:
    """Decode a client's command.

    Raises:
        MalformedMessage: with the code and words Chromium uses (content/public third_party/inspector_protocol
            crdtp/dispatch.cc).
    """
    try:
        message = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _malformed(data) from None
    except RecursionError:
        raise MalformedMessage(errors.PARSE_ERROR, "Message is nested too deeply") from None
    if message.id is None:
        raise MalformedMessage(errors.INVALID_REQUEST, "Message must have integer 'id' property")
    if message.method is None:
        raise MalformedMessage(
            errors.INVALID_REQUEST, "Message must have string 'method' property", message.id
        )
    return message


def _malformed(data: bytes) -> MalformedMessage:
    try:
        loose = _decode_any(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return MalformedMessage(errors.PARSE_ERROR, "Message must be a valid JSON")
    except RecursionError:
        return MalformedMessage(errors.PARSE_ERROR, "Message is nested too deeply")
    if not isinstance(loose, dict):
        return MalformedMessage(errors.INVALID_REQUEST, "Message must be an object")
    command_id = loose.get("id")
    if not isinstance(command_id, int) or isinstance(command_id, bool):
        return MalformedMessage(errors.INVALID_REQUEST, "Message must have integer 'id' property")
    if not isinstance(loose.get("method"), str):
        return MalformedMessage(
            errors.INVALID_REQUEST, "Message must have string 'method' property", command_id
        )
    return MalformedMessage(
        errors.INVALID_REQUEST, "Message may have string 'sessionId' property", command_id
    )


def params_of(message: Envelope) -> dict[str, Any]:
    """The command's or event's parameters as a dict.

    Raises:
        MalformedMessage: `params` is there and is not an object.
    """
    raw = bytes(message.params)
    if not raw or raw == b"null":
        return {}
    value = _decode_any(raw)
    if not isinstance(value, dict):
        raise MalformedMessage(
            errors.INVALID_REQUEST, "Message may have object 'params' property", message.id
        )
    return value


def result_of(message: Envelope) -> dict[str, Any]:
    """The answer's result as a dict, empty where the answer is an error."""
    raw = bytes(message.result)
    value = _decode_any(raw) if raw else {}
    return value if isinstance(value, dict) else {}


def error_of(message: Envelope) -> dict[str, Any] | None:
    """The answer's error as a dict, None for a success."""
    raw = bytes(message.error)
    if not raw:
        return None
    value = _decode_any(raw)
    return value if isinstance(value, dict) else {"code": errors.SERVER_ERROR, "message": str(value)}


def readdress(message: Envelope, *, command_id: int | None, session_id: str | None) -> bytes:
    """The same message under another id and session; its payload is copied byte for byte."""
    return _encode(
        Envelope(command_id, message.method, message.params, message.result, message.error, session_id)
    )


def command(command_id: int, method: str, params: dict[str, Any], session_id: str | None) -> bytes:
    """Encode a command of the guard's own."""
    body: dict[str, Any] = {"id": command_id, "method": method, "params": params}
    if session_id is not None:
        body["sessionId"] = session_id
    return _encode(body)


def with_raw_params(command_id: int, method: str, params: bytes, session_id: str | None) -> bytes:
    """Encode a command whose parameters are encoded already."""
    return _encode(Envelope(command_id, method, msgspec.Raw(params or b"{}"), sessionId=session_id))


def answer(command_id: int | None, result: dict[str, Any], session_id: str | None = None) -> bytes:
    """Encode a successful answer."""
    body: dict[str, Any] = {"id": command_id, "result": result}
    if session_id is not None:
        body["sessionId"] = session_id
    return _encode(body)


def failure(command_id: int | None, error: dict[str, Any], session_id: str | None = None) -> bytes:
    """Encode an error answer; without an id where the command's could not be read, as Chromium does."""
    body: dict[str, Any] = {"error": error}
    if command_id is not None:
        body["id"] = command_id
    if session_id is not None:
        body["sessionId"] = session_id
    return _encode(body)


def event(method: str, params: dict[str, Any], session_id: str | None = None) -> bytes:
    """Encode an event."""
    body: dict[str, Any] = {"method": method, "params": params}
    if session_id is not None:
        body["sessionId"] = session_id
    return _encode(body)
