"""Envelopes: what is read of a message, what is passed on untouched, and what Chromium's words for a bad one are."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focusguard.cdp import messages
from focusguard.cdp.messages import MalformedMessage, decode_command, decode_upstream, params_of
from focusguard.errors import ProtocolError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


class TestCommands:
    """A client's message must have an integer `id` and a string `method`."""

    def test_what_is_read(self) -> None:
        message = decode_command(b'{"id":7,"method":"A.b","params":{"x":[1,"y"]},"sessionId":"S"}')
        assert (message.id, message.method, message.sessionId) == (7, "A.b", "S")
        assert params_of(message) == {"x": [1, "y"]}

    @pytest.mark.parametrize(
        ("data", "rpc_code", "says", "id_"),
        [
            (b"", -32700, "Message must be a valid JSON", None),
            (b"{", -32700, "Message must be a valid JSON", None),
            (b'{"id":1,"method":"A.b"} {}', -32700, "Message must be a valid JSON", None),
            (b'{"id":1,"method":"A.b","params":{"x":"\xff"}}', -32700, "Message must be a valid JSON", None),
            (b'{"id":1,"method":"A.b","params":NaN}', -32700, "Message must be a valid JSON", None),
            (b'{"id":1,"method":"A.b","params":{"x":"\\ud8"}}', -32700, "Message must be a valid JSON", None),
            (b"[" * 100_000 + b"]" * 100_000, -32700, "JSON: stack limit exceeded", None),
            (b"[]", -32600, "Message must be an object", None),
            (b'"x"', -32600, "Message must be an object", None),
            (b"{}", -32600, "Message must have integer 'id' property", None),
            (b'{"id":"1","method":"A.b"}', -32600, "Message must have integer 'id' property", None),
            (b'{"id":1.5,"method":"A.b"}', -32600, "Message must have integer 'id' property", None),
            (b'{"id":true,"method":"A.b"}', -32600, "Message must have integer 'id' property", None),
            (b'{"id":null,"method":"A.b"}', -32600, "Message must have integer 'id' property", None),
            (b'{"id":1}', -32600, "Message must have string 'method' property", 1),
            (b'{"id":1,"method":""}', -32600, "Message must have string 'method' property", 1),
            (b'{"id":1,"method":"A.b","sessionId":null}', -32600, "Message may have string 'sessionId'", 1),
            (b'{"id":1,"method":3}', -32600, "Message must have string 'method' property", 1),
            (b'{"id":1,"method":"\\ud83d"}', -32600, "Message must have string 'method' property", 1),
            (b'{"id":1,"method":"A.b","sessionId":3}', -32600, "Message may have string 'sessionId'", 1),
            (
                b'{"id":1,"method":"A.b","sessionId":"\\udc00"}',
                -32600,
                "Message may have string 'sessionId'",
                1,
            ),
        ],
    )
    def test_bad_ones(self, data: bytes, rpc_code: int, says: str, id_: int | None) -> None:
        with pytest.raises(MalformedMessage) as caught:
            decode_command(data)
        assert str(caught.value).startswith(says)
        assert (caught.value.rpc_code, caught.value.id) == (rpc_code, id_)

    @pytest.mark.parametrize(
        ("value", "says"),
        [
            (b"1e999", "JSON: invalid number"),
            (b"9" * 309, "JSON: invalid number"),
            (b"-" + b"9" * 400, "JSON: invalid number"),
            (b"9" * 5000, "JSON: invalid number"),
            (b"9" * 2000 + b".5", "JSON: invalid number"),
            (b"1" + b"0" * 250 + b"e99", "JSON: invalid number"),
            (b'["\\ud83d",' + b"9" * 400 + b"]", "JSON: invalid number"),
            (b"[" * 300 + b"]" * 300, "JSON: stack limit exceeded"),
            (b"[" * 299 + b"1" + b"]" * 299, "JSON: stack limit exceeded"),
            (b'{"deep": [-1E+400]}', "JSON: invalid number"),
            (b"[" * 400 + b"]" * 400, "JSON: stack limit exceeded"),
            (b'{"a":' * 350 + b"0" + b"}" * 350, "JSON: stack limit exceeded"),
        ],
    )
    def test_what_chromium_would_answer_without_an_id(self, value: bytes, says: str) -> None:
        with pytest.raises(MalformedMessage) as refused:
            decode_command(b'{"id":7,"method":"A.b","params":{"z":' + value + b"}}")
        assert (refused.value.id, refused.value.to_cdp()["message"]) == (7, says)
        assert refused.value.to_cdp()["code"] == -32700

    @pytest.mark.parametrize(
        "value",
        [
            b'"1e999"',
            b"1e308",
            b"9" * 308,
            b'"' + b"9" * 5000 + b'"',
            b"0." + b"9" * 5000,
            b"1e-999",
            b"[" * 299 + b"]" * 299,
            b"[" * 298 + b"1" + b"]" * 298,
            b"[" + b"[]," * 400 + b"0]",
        ],
    )
    def test_what_only_looks_like_it(self, value: bytes) -> None:
        message = decode_command(b'{"id":7,"method":"A.b","params":{"z":' + value + b"}}")
        assert message.id == 7

    @given(
        st.integers(1, 320), st.text("0123456789", max_size=320), st.integers(-400, 400), st.integers(0, 40)
    )
    def test_a_number_is_read_where_it_is_a_double(
        self, before: int, after: str, power: int, shift: int
    ) -> None:
        number = "9" * before + (f".{after}" if after else "") + f"e{power}" * bool(power)
        data = '{"id":7,' + " " * shift + f'"method":"A.b","params":{{"z":{number}}}}}'
        try:
            decode_command(data.encode())
        except MalformedMessage as fault:
            assert (fault.id, str(fault)) == (7, "JSON: invalid number")
            assert math.isinf(float(number))
        else:
            assert not math.isinf(float(number))

    @pytest.mark.parametrize("written", [b"5", b"5.0", b"5e0", b"50e-1", b"0.5E1"])
    def test_five_however_it_is_written(self, written: bytes) -> None:
        message = decode_command(b'{"id":' + written + b',"method":"A.b","params":{"x":1.0}}')
        assert (message.id, type(message.id), params_of(message)) == (5, int, {"x": 1})

    @pytest.mark.parametrize("id_", [2**31 - 1, -(2**31), 0])
    def test_ids_have_32_bits(self, id_: int) -> None:
        assert decode_command(b'{"id":%d,"method":"A.b"}' % id_).id == id_

    @pytest.mark.parametrize("id_", [b"2147483648", b"-2147483649", b"1e10", b"1e400", b"9" * 400, b"NaN"])
    def test_and_no_more(self, id_: bytes) -> None:
        with pytest.raises(MalformedMessage) as refused:
            decode_command(b'{"id":' + id_ + b',"method":"A.b"}')
        assert refused.value.id is None

    @pytest.mark.parametrize(
        "twice",
        [
            b'"id":2,"id":3,"method":"A.b"',
            b'"id":2,"method":"A.b","method":"A.c"',
            b'"id":2,"method":"A.b","\\u006dethod":"A.c"',
            b'"id": 2, "method": "A.b", "params": {"a":1}, "params": {"a":1}',
            b'"id":2,"method":"A.b","params":{},"params":{"a":{"b":{"c":1}}}',
            b'"id":2,"method":"A.b","params":{"a":{"b":{"c":1}}},"params":{}',
            b'"id":2,"method":"A.b","sessionId":"S","sessionId":"T"',
            b'"id":2,"method":"A.b","params":{"a":"\\ud83d"},"sessionId":"S","sessionId":"T"',
        ],
    )
    def test_a_member_that_is_there_twice(self, twice: bytes) -> None:
        with pytest.raises(MalformedMessage, match="CBOR: duplicate map key") as refused:
            decode_command(b"{" + twice + b"}")
        assert refused.value.id == 2

    def test_what_only_looks_like_twice(self) -> None:
        message = decode_command(
            b'{"id":2,"method":"A:b","params":{"id":1,"a":1,"a":2},"sessionId":"S:\\u003a"}'
        )
        assert (message.method, message.sessionId, params_of(message)) == ("A:b", "S::", {"id": 1, "a": 2})

    @pytest.mark.parametrize("more", [b'"foo":1', b'"result":{}', b'"error":{}'])
    def test_a_member_too_many(self, more: bytes) -> None:
        with pytest.raises(MalformedMessage, match="Message has property other than") as refused:
            decode_command(b'{"id":2,"method":"A.b",' + more + b"}")
        assert refused.value.id == 2

    def test_control_characters_in_strings(self) -> None:
        message = decode_command(b'{"id":2,"method":"A.b","params":{"text":"a\x01\n\x00b"},"sessionId":"S"}')
        assert params_of(message) == {"text": "a\x01\n\x00b"}
        assert messages.readdress(message, command_id=3, session_id="S") == (
            b'{"id":3,"method":"A.b","params":{"text":"a\\u0001\\n\\u0000b"},"sessionId":"S"}'
        )

    @pytest.mark.parametrize("comment", [b"/* c */", b"// c\n"])
    def test_comments_are_refused(self, comment: bytes) -> None:
        with pytest.raises(MalformedMessage, match="Message must be a valid JSON"):
            decode_command(b'{"id":2,' + comment + b'"method":"A.b"}')

    @pytest.mark.parametrize("params", [b"3", b'"x"', b"true", b"-1.5"])
    def test_params_that_are_no_object(self, params: bytes) -> None:
        with pytest.raises(MalformedMessage, match="Message may have object 'params' property") as caught:
            decode_command(b'{"id":5,"method":"A.b","params":' + params + b"}")
        assert caught.value.id == 5

    def test_params_that_are_a_list(self) -> None:
        message = decode_command(b'{"id":5,"method":"A.b","params":[1]}')
        with pytest.raises(ProtocolError, match="Invalid parameters") as caught:
            params_of(message)
        assert caught.value.data == "Failed to deserialize params - CBOR: map start expected"

    @pytest.mark.parametrize("data", [b'{"id":5,"method":"A.b"}', b'{"id":5,"method":"A.b","params":null}'])
    def test_no_params_are_empty_params(self, data: bytes) -> None:
        assert params_of(decode_command(data)) == {}

    @given(st.binary(max_size=60))
    def test_any_bytes_are_a_command_or_malformed(self, data: bytes) -> None:
        with contextlib.suppress(MalformedMessage):
            decode_command(data)

    @given(JSON)
    def test_any_json_is_a_command_or_malformed(self, value: Any) -> None:
        with pytest.raises(MalformedMessage):
            decode_command(json.dumps([value]).encode())
        for name in ("id", "method", "params", "sessionId"):
            body = {"id": 1, "method": "A.b", name: value}
            with contextlib.suppress(ProtocolError):
                params_of(decode_command(json.dumps(body).encode()))


class TestHalfSurrogatePairs:
    """JavaScript strings need not be Unicode: half a pair goes both ways as an escape, never as a failure."""

    TEXT = b'{"id":1,"method":"A.b","params":{"text":"x\\ud83dy","n":[1,{"m":"\\ude00"}]},"sessionId":"S"}'

    def test_in_a_command(self) -> None:
        message = decode_command(self.TEXT)
        assert params_of(message) == {"text": "x\ud83dy", "n": [1, {"m": "\ude00"}]}
        sent = messages.readdress(message, command_id=9, session_id="T")
        assert json.loads(sent) == {**json.loads(self.TEXT), "id": 9, "sessionId": "T"}

    @pytest.mark.parametrize("member", [b'"result"', b'"error"', b'"method":"A.b","params"'])
    def test_in_a_message_of_the_app(self, member: bytes) -> None:
        data = b'{"sessionId":"S",' + member + b':{"value":"\\ud83d"}}'
        message = decode_upstream(data)
        passed_on = messages.readdress(message, command_id=None, session_id="S")
        assert json.loads(passed_on) == json.loads(data)
        assert b"\\ud83d" in passed_on

    def test_in_what_the_guard_says_itself(self) -> None:
        for data in (
            messages.command(1, "A.b", {"text": "\ud83d"}, "S"),
            messages.answer(1, {"text": "\ud83d"}, "S"),
            messages.failure(1, {"message": "\ud83d"}, "S"),
            messages.event("A.b", {"text": "\ud83d"}, "S"),
        ):
            assert b"\\ud83d" in data
            assert json.loads(data)["sessionId"] == "S"

    def test_whole_pairs_and_everything_else_are_text(self) -> None:
        message = decode_command(
            '{"id":1,"method":"A.b","params":{"text":"😀 é 你 \\ud83d\\ude00"}}'.encode()
        )
        assert params_of(message) == {"text": "😀 é 你 😀"}


class TestPassingOn:
    """A message under another id and session is otherwise the same bytes."""

    @pytest.mark.parametrize(
        "payload",
        [
            b'"params":{ "x" : 1.0e2 , "y":"\\u0041\\n" }',
            b'"result":{"big":123456789012345678901234567890}',
            b'"error":{"code":-32000,"message":"no"}',
            b'"params":{"x":1e999}',
        ],
    )
    def test_payload_bytes_are_kept(self, payload: bytes) -> None:
        message = decode_upstream(b'{"id":1,' + payload + b"}")
        assert messages.readdress(message, command_id=2, session_id="S") == (
            b'{"id":2,' + payload + b',"sessionId":"S"}'
        )

    def test_no_session_no_id(self) -> None:
        message = decode_upstream(b'{"method":"A.b","params":{},"sessionId":"S"}')
        assert (
            messages.readdress(message, command_id=None, session_id=None) == b'{"method":"A.b","params":{}}'
        )

    def test_the_id_zero_is_an_id(self) -> None:
        message = decode_command(b'{"id":0,"method":"A.b"}')
        assert messages.readdress(message, command_id=0, session_id=None) == b'{"id":0,"method":"A.b"}'

    @given(JSON, st.integers(min_value=0), st.text(max_size=40))
    def test_whatever_it_is(self, value: Any, command_id: int, session_id: str) -> None:
        raw = json.dumps({"value": value}, separators=(",", ":")).encode()
        message = decode_command(b'{"id":1,"method":"A.b","params":' + raw + b"}")
        sent = messages.readdress(message, command_id=command_id, session_id=session_id)
        assert raw in sent
        assert json.loads(sent)["params"] == {"value": value}

    def test_raw_params(self) -> None:
        assert messages.with_raw_params(3, "A.b", b'{"x": 1}', "S") == (
            b'{"id":3,"method":"A.b","params":{"x": 1},"sessionId":"S"}'
        )
        assert messages.with_raw_params(3, "A.b", b"", None) == b'{"id":3,"method":"A.b","params":{}}'


class TestAnswersOfTheApp:
    def test_a_result(self) -> None:
        message = decode_upstream(b'{"id":1,"result":{"x":1}}')
        assert (messages.result_of(message), messages.error_of(message)) == ({"x": 1}, None)

    def test_an_error(self) -> None:
        message = decode_upstream(b'{"id":1,"error":{"code":-1,"message":"no"}}')
        assert (messages.result_of(message), messages.error_of(message)) == (
            {},
            {"code": -1, "message": "no"},
        )

    def test_an_error_that_is_no_object(self) -> None:
        message = decode_upstream(b'{"id":1,"error":"no"}')
        assert messages.error_of(message) == {"code": -32000, "message": "no"}

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"id":"x"}', b"[" * 100_000])
    def test_what_is_no_message(self, data: bytes) -> None:
        with pytest.raises(MalformedMessage):
            decode_upstream(data)

    def test_without_an_id_an_error_names_nobody(self) -> None:
        assert messages.failure(None, {"code": -32700, "message": "no"}) == (
            b'{"error":{"code":-32700,"message":"no"}}'
        )
