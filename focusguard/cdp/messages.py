"""Views on CDP messages that decode only what routing needs.

`params`, `result` and `error` stay raw bytes until a rule asks for them, so a message that only changes its id
or session is copied, not decoded and encoded again.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

from focusguard import errors

_NO_RAW = msgspec.Raw(b"")
#: As deep as Chromium's reader goes (third_party/inspector_protocol crdtp/json.cc, kStackLimit).
MAX_DEPTH = 300
#: A number beyond a double cannot be written in a short way without one.
_LONG_EXPONENT = re.compile(rb"[0-9][eE]\+?[0-9]{3}")
#: Bytes from which on reading a message is quicker than searching it (0.5 ms against 20 ms for 1 MiB of digits).
SEARCHED = 4096


class Envelope(msgspec.Struct, omit_defaults=True, gc=False):
    """One CDP message; which members are set tells commands, answers and events apart."""

    id: int | None = None
    method: str | None = None
    params: msgspec.Raw = _NO_RAW
    result: msgspec.Raw = _NO_RAW
    error: msgspec.Raw = _NO_RAW
    sessionId: str | None = None  # noqa: N815 - as it is called on the wire


class MalformedMessage(errors.ProtocolError):
    """A client message that is not a CDP command.

    Attributes:
        id: the command's id where it could be read, so that the answer reaches its caller.
    """

    def __init__(self, rpc_code: int, message: str, command_id: int | None = None) -> None:
        super().__init__(rpc_code, message)
        self.id = command_id


_decode = msgspec.json.Decoder(Envelope).decode
_decode_any = msgspec.json.Decoder().decode
_encode_strict = msgspec.json.Encoder().encode


def decode_upstream(data: bytes) -> Envelope:
    """Decode a message of the app's CDP endpoint.

    Raises:
        MalformedMessage: it is not a CDP message.
    """
    try:
        return _decode(data)
    except msgspec.DecodeError:
        return _decode_loosely(data)
    except RecursionError:
        raise _too_deep() from None


def decode_command(data: bytes) -> Envelope:
    """Decode a client's command.

    Raises:
        MalformedMessage: with the code and words Chromium uses (content/public third_party/inspector_protocol
            crdtp/dispatch.cc).
    """
    try:
        if not data.isascii():
            data.decode()  # payloads are passed on unread, so nobody else would notice
        message = _decode(data)
    except UnicodeDecodeError:
        raise MalformedMessage(errors.PARSE_ERROR, "Message must be a valid JSON") from None
    except msgspec.DecodeError:
        message = _decode_loosely(data)
    except RecursionError:
        raise _too_deep() from None
    if message.id is None:
        raise MalformedMessage(errors.INVALID_REQUEST, "Message must have integer 'id' property")
    if message.method is None:
        raise MalformedMessage(
            errors.INVALID_REQUEST, "Message must have string 'method' property", message.id
        )
    _check_readable(data, message.id)
    return message


def _check_readable(data: bytes, command_id: int) -> None:
    """Refuse what Chromium's reader does not take: its answer would have no id, and nobody would get it.

    Raises:
        MalformedMessage: a number is beyond a double, or values are nested more than `MAX_DEPTH` deep.
    """
    deep = data.count(b"[") + data.count(b"{") > MAX_DEPTH
    if not deep and len(data) < SEARCHED and _LONG_EXPONENT.search(data) is None:
        return
    level: list[Any] = [_load(data)]
    for _ in range(MAX_DEPTH):
        if any(isinstance(value, float) and math.isinf(value) for value in level):
            raise MalformedMessage(errors.PARSE_ERROR, "JSON: invalid number", command_id)
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise MalformedMessage(errors.PARSE_ERROR, "JSON: stack limit exceeded", command_id)


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _decode_loosely(data: bytes) -> Envelope:
    """Decode what the fast decoder refuses: half surrogate pairs, which Chromium takes and sends.

    Raises:
        MalformedMessage: it is not a CDP message.
    """
    loose = _load(data)
    if not isinstance(loose, dict):
        raise MalformedMessage(errors.INVALID_REQUEST, "Message must be an object")
    command_id = loose.get("id")
    if "id" in loose and (not isinstance(command_id, int) or isinstance(command_id, bool)):
        raise MalformedMessage(errors.INVALID_REQUEST, "Message must have integer 'id' property")
    for name, must in (("method", "must"), ("sessionId", "may")):
        text = loose.get(name)
        if text is not None and not _is_text(text):
            words = f"Message {must} have string '{name}' property"
            raise MalformedMessage(errors.INVALID_REQUEST, words, command_id)
    payload = {k: msgspec.Raw(_encode(loose[k])) for k in ("params", "result", "error") if k in loose}
    return Envelope(command_id, loose.get("method"), sessionId=loose.get("sessionId"), **payload)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _too_deep() -> MalformedMessage:
    return MalformedMessage(errors.PARSE_ERROR, "Message is nested too deeply")


def _load(raw: bytes) -> Any:
    """Decode JSON, half surrogate pairs included.

    Raises:
        MalformedMessage: it is not JSON.
    """
    try:
        return _decode_any(raw)
    except msgspec.DecodeError:
        pass
    except RecursionError:
        raise _too_deep() from None
    try:
        return json.loads(raw.decode(), parse_constant=_no_constant)
    except ValueError:
        raise MalformedMessage(errors.PARSE_ERROR, "Message must be a valid JSON") from None
    except RecursionError:
        raise _too_deep() from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _encode(value: Any) -> bytes:
    try:
        return _encode_strict(value)
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(value, separators=(",", ":")).encode()


def with_params(message: Envelope, params: dict[str, Any]) -> Envelope:
    """The same message with other parameters."""
    return msgspec.structs.replace(message, params=msgspec.Raw(_encode(params)))


def params_of(message: Envelope) -> dict[str, Any]:
    """The command's or event's parameters as a dict.

    Raises:
        MalformedMessage: `params` is there and is not an object.
    """
    raw = bytes(message.params)
    if not raw or raw == b"null":
        return {}
    try:
        value = _load(raw)
    except MalformedMessage as fault:
        raise MalformedMessage(fault.rpc_code, str(fault), message.id) from None
    if not isinstance(value, dict):
        raise MalformedMessage(
            errors.INVALID_REQUEST, "Message may have object 'params' property", message.id
        )
    return value


def result_of(message: Envelope) -> dict[str, Any]:
    """The answer's result as a dict, empty where the answer is an error."""
    raw = bytes(message.result)
    value = _load(raw) if raw else {}
    return value if isinstance(value, dict) else {}


def error_of(message: Envelope) -> dict[str, Any] | None:
    """The answer's error as a dict, None for a success."""
    raw = bytes(message.error)
    if not raw:
        return None
    value = _load(raw)
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
