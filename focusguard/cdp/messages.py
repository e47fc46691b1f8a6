"""Views on CDP messages that decode only what routing needs.

`params`, `result` and `error` stay raw bytes until a rule asks for them, so a message that only changes its id
or session is copied, not decoded and encoded again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from focusguard import errors

_NO_RAW = msgspec.Raw(b"")
#: As deep as Chromium's reader goes (third_party/inspector_protocol crdtp/json.cc, kStackLimit).
MAX_DEPTH = 300
#: Chromium's words for an object that it does not find.
NO_MAP = "CBOR: map start expected"
#: The least number of digits of an integer beyond a double.
_BEYOND = 309
_LONG_INTEGER = re.compile(rb"(?<![0-9])[0-9]{%d}" % _BEYOND)
#: Of so many digits in a row, each 19th byte shows 16: looking at those is quicker.
_STRIDE, _LONG_IN_STRIDE = 19, re.compile(rb"[0-9]{16}")
_MEMBERS = frozenset({"id", "method", "params", "sessionId"})
INT32 = range(-(2**31), 2**31)


class Envelope(msgspec.Struct, omit_defaults=True, gc=False):
    """One CDP message; which members are set tells commands, answers and events apart."""

    id: int | None = None
    method: str | None = None
    params: msgspec.Raw = _NO_RAW
    result: msgspec.Raw = _NO_RAW
    error: msgspec.Raw = _NO_RAW
    sessionId: str | None = None  # noqa: N815 - as it is called on the wire


class _Command(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A client's command as nearly all are; what is not is looked at more closely."""

    id: Annotated[int, msgspec.Meta(ge=INT32.start, lt=INT32.stop)]
    method: Annotated[str, msgspec.Meta(min_length=1)]
    params: msgspec.Raw = _NO_RAW
    sessionId: str = ""  # noqa: N815 - as it is called on the wire


class MalformedMessage(errors.ProtocolError):
    """A client message that is not a CDP command.

    Attributes:
        id: the command's id where it could be read, so that the answer reaches its caller.
    """

    def __init__(self, rpc_code: int, message: str, command_id: int | None = None) -> None:
        super().__init__(rpc_code, message)
        self.id = command_id


_decode = msgspec.json.Decoder(Envelope).decode
_decode_command = msgspec.json.Decoder(_Command).decode
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
    """Decode a client's command: what Chromium reads it as, or what Chromium refuses it with.

    Raises:
        MalformedMessage: with the code and words Chromium uses (content/public third_party/inspector_protocol
            crdtp/dispatch.cc).
    """
    try:
        if not data.isascii():
            data.decode()  # payloads are passed on unread, so nobody else would notice
        read = _decode_command(data)
    except UnicodeDecodeError:
        raise MalformedMessage(errors.PARSE_ERROR, "Message must be a valid JSON") from None
    except msgspec.DecodeError:
        message = _decode_odd_command(data)
    except RecursionError:
        raise _too_deep() from None
    else:
        message = Envelope(read.id, read.method, read.params, sessionId=read.sessionId or None)
        _check_members(data, message)
    assert message.id is not None
    _check_readable(data, message.id)
    if bytes(memoryview(message.params)[:1]) not in (b"", b"{", b"[", b"n"):
        words = "Message may have object 'params' property"
        raise MalformedMessage(errors.INVALID_REQUEST, words, message.id)
    return message


def _check_members(data: bytes, message: Envelope) -> None:
    """Refuse a member that is there twice. Each has a colon, and so have few methods and sessions."""
    payload = bytes(message.params)
    start = data.find(payload[:64])
    if data.startswith(payload, start):  # to count without it takes a third of the time where it is large
        around = data[:start] + data[start + len(payload) :]
    else:
        around = data.replace(payload, b"", 1)
    if around.count(b":") != 2 + bool(payload) + (message.sessionId is not None):
        _members_of(data)


def _members_of(data: bytes) -> dict[str, Any]:
    """The members of a command, each of which is there once.

    Raises:
        MalformedMessage: one is there twice, or it is no object.
    """
    last: list[tuple[str, Any]] = []

    def remember(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal last
        last = pairs  # of what encloses the others, at last
        return dict(pairs)

    members = _load_slowly(data, remember)
    if not isinstance(members, dict):
        raise MalformedMessage(errors.INVALID_REQUEST, "Message must be an object")
    if len(members) < len(last):
        command_id = next((_integer(value) for name, value in last if name == "id"), None)
        raise MalformedMessage(errors.PARSE_ERROR, "CBOR: duplicate map key", command_id)
    return members


def _decode_odd_command(data: bytes) -> Envelope:
    """Decode a command that is unlike others, or say what is wrong with it.

    Half surrogate pairs, control characters in strings and numbers such as 5.0 are taken, as Chromium takes them; what
    it gets is encoded anew.

    Raises:
        MalformedMessage: it is not a command.
    """
    members = _members_of(data)
    command_id, method = _integer(members.get("id")), members.get("method")
    if command_id is None:
        raise MalformedMessage(errors.INVALID_REQUEST, "Message must have integer 'id' property")
    if not _MEMBERS.issuperset(members):
        words = "Message has property other than 'id', 'method', 'sessionId', 'params'"
        raise MalformedMessage(errors.INVALID_REQUEST, words, command_id)
    if not _is_text(method) or not method:
        words = "Message must have string 'method' property"
        raise MalformedMessage(errors.INVALID_REQUEST, words, command_id)
    session_id = members.get("sessionId", "")
    if not _is_text(session_id):
        words = "Message may have string 'sessionId' property"
        raise MalformedMessage(errors.INVALID_REQUEST, words, command_id)
    params = msgspec.Raw(_encode(members["params"])) if "params" in members else _NO_RAW
    return Envelope(command_id, method, params, sessionId=session_id or None)


def _integer(value: Any) -> int | None:
    """The integer that Chromium takes a number for: one of 32 bits, however it is written."""
    return int(value) if is_int32(value) else None


def is_int32(value: Any) -> bool:
    """Whether Chromium takes a value for an integer."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return isinstance(value, int) and not isinstance(value, bool) and value in INT32


def _check_readable(data: bytes, command_id: int) -> None:
    """Refuse what Chromium's reader does not take: its answer would have no id, and nobody would get it.

    Reading costs less than searching, and finds most of it; it lets depth through, and integers beyond a double.

    Raises:
        MalformedMessage: a number is beyond a double, or values are nested more than `MAX_DEPTH` deep.
    """
    try:
        value = _decode_any(data)
        shallow = data.count(b"[") + data.count(b"{") <= MAX_DEPTH
        if shallow and not (_LONG_IN_STRIDE.search(data[::_STRIDE]) and _LONG_INTEGER.search(data)):
            return
    except (msgspec.DecodeError, RecursionError):
        value = _load(data)
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        if not all(map(_is_finite, level)):
            raise MalformedMessage(errors.PARSE_ERROR, "JSON: invalid number", command_id)
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise MalformedMessage(errors.PARSE_ERROR, "JSON: stack limit exceeded", command_id)


def _is_finite(value: Any) -> bool:
    """Whether a value is no number beyond a double."""
    try:
        return not isinstance(value, (int, float)) or math.isfinite(value)
    except OverflowError:
        return False


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _decode_loosely(data: bytes) -> Envelope:
    """Decode what the fast decoder refuses: half surrogate pairs, which Chromium sends.

    Raises:
        MalformedMessage: it is not a CDP message.
    """
    loose = _load(data)
    if not isinstance(loose, dict):
        raise MalformedMessage(errors.INVALID_REQUEST, "Message must be an object")
    command_id = loose.get("id")
    if "id" in loose and (not isinstance(command_id, int) or isinstance(command_id, bool)):
        raise MalformedMessage(errors.INVALID_REQUEST, "Message must have integer 'id' property")
    for name in ("method", "sessionId"):
        if loose.get(name) is not None and not _is_text(loose[name]):
            raise MalformedMessage(errors.INVALID_REQUEST, f"Message may have string '{name}' property")
    payload = {k: msgspec.Raw(_encode(loose[k])) for k in ("params", "result", "error") if k in loose}
    return Envelope(command_id, loose.get("method"), sessionId=loose.get("sessionId"), **payload)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _too_deep() -> MalformedMessage:
    return MalformedMessage(errors.PARSE_ERROR, "JSON: stack limit exceeded")


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
    return _load_slowly(raw)


def _load_slowly(raw: bytes, pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Decode JSON as Chromium reads it, but for comments and its own escapes.

    Raises:
        MalformedMessage: it is not JSON.
    """
    try:
        # Not strict: Chromium takes control characters in strings.
        return json.loads(
            raw.decode(),
            strict=False,
            parse_int=_parse_int,
            parse_constant=_no_constant,
            object_pairs_hook=pairs_hook,
        )
    except ValueError:
        raise MalformedMessage(errors.PARSE_ERROR, "Message must be a valid JSON") from None
    except RecursionError:
        raise _too_deep() from None


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _BEYOND + 1 else math.inf  # one may be a sign


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _encode(value: Any) -> bytes:
    try:
        return _encode_strict(value)
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(value, separators=(",", ":")).encode()


def utf8(text: str) -> bytes:
    """A text of a client's as Chromium encodes it: half a surrogate pair becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def with_params(message: Envelope, params: dict[str, Any]) -> Envelope:
    """The same message with other parameters."""
    return msgspec.structs.replace(message, params=msgspec.Raw(_encode(params)))


def params_of(message: Envelope) -> dict[str, Any]:
    """The command's or event's parameters as a dict.

    Raises:
        MalformedMessage: `params` is no JSON.
        ProtocolError: `params` is there and is not an object.
    """
    raw = bytes(message.params)
    if not raw or raw == b"null":
        return {}
    try:
        value = _load(raw)
    except MalformedMessage as fault:
        raise MalformedMessage(fault.rpc_code, str(fault), message.id) from None
    if not isinstance(value, dict):
        raise errors.invalid_params(NO_MAP)
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
