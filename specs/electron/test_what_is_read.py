"""What Chromium reads of a client's messages the guard reads too, and what Chromium refuses is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from websockets.asyncio.client import connect

from probes.landing.cdp_client import find_guest
from specs.guarded import Stage, endpoint

pytestmark = [pytest.mark.electron, pytest.mark.anyio, pytest.mark.only("webview")]

MALFORMED, UNREADABLE, INVALID = -32600, -32700, -32602


def seven(head: str = '"id":6', tail: str = '"sessionId":"SESSION"') -> str:
    return f'{{{head},"method":"Runtime.evaluate","params":{{"expression":"7"}},{tail}}}'


def with_params(method: str, params: str) -> str:
    return f'{{"id":6,"method":"{method}","params":{params},"sessionId":"SESSION"}}'


def with_value(value: str) -> str:
    return with_params("Runtime.evaluate", f'{{"expression":"7","z":{value}}}')


#: What is said, and the same answer of both: the error's code, or what the expression gives.
BOTH = {
    "an id written as a float": (seven('"id":6.0'), 7),
    "an id written with an exponent": (seven('"id":6e0'), 7),
    "an id of 33 bits": (seven('"id":2147483648'), MALFORMED),
    "a member twice": (seven('"id":6,"id":7'), UNREADABLE),
    "a member too many": (seven('"id":6,"foo":1'), MALFORMED),
    "a session that is null": (seven(tail='"sessionId":null'), MALFORMED),
    "params that are none": (with_params("Runtime.evaluate", '"x"'), MALFORMED),
    "a parameter twice": (with_params("Runtime.evaluate", '{"expression":"8","expression":"7"}'), 7),
    "a kind of input twice": (
        with_params("Input.dispatchMouseEvent", '{"type":"mouseMoved","x":1,"y":1,"ty\\u0070e":"bad"}'),
        INVALID,
    ),
    "a newline in a string": (with_params("Runtime.evaluate", '{"expression":"3\n+4"}'), 7),
    "as deep as goes": (with_value("[" * 299 + "]" * 299), 7),
    "deeper": (with_value("[" * 299 + "1" + "]" * 299), UNREADABLE),
    "a long integer": (with_value("9" * 308), 7),
    "a longer one": (with_value("9" * 400), UNREADABLE),
    "a text for a number": (
        with_params("Input.dispatchMouseEvent", '{"type":"mouseMoved","x":"5","y":1}'),
        INVALID,
    ),
    "true for a number": (
        with_params("Input.dispatchKeyEvent", '{"type":"keyUp","modifiers":true}'),
        INVALID,
    ),
    "a text for true": (
        with_params("Input.dispatchKeyEvent", '{"type":"keyUp","autoRepeat":"yes"}'),
        INVALID,
    ),
    "a tap at no place": (with_params("Input.synthesizeTapGesture", '{"x":"a","y":5}'), INVALID),
    "a scroll of no speed": (
        with_params("Input.synthesizeScrollGesture", '{"x":1,"y":5,"speed":"a"}'),
        INVALID,
    ),
    "a composition of nothing": (with_params("Input.imeSetComposition", '{"text":"a"}'), INVALID),
    "a reload perhaps": (with_params("Page.reload", '{"ignoreCache":"yes"}'), INVALID),
}


class Line:
    """A client that sends what it likes, and its sessions on the guest, flat and wrapped."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.flat = self.wrapped = ""

    async def attach(self, target_id: str, *, flatten: bool) -> str:
        params = {"targetId": target_id, "flatten": flatten}
        await self.say(json.dumps({"id": 1, "method": "Target.attachToTarget", "params": params}))
        return str((await self.heard("id"))["result"]["sessionId"])

    async def say(self, text: str) -> None:
        await self._socket.send(text)

    async def heard(self, *members: str) -> dict[str, Any]:
        """The next message that has one of the members."""
        with anyio.fail_after(5):
            while True:
                message: dict[str, Any] = json.loads(await self._socket.recv())
                if any(member in message for member in members):
                    return message


@pytest.fixture(params=["raw", "guarded"])
async def line(request: pytest.FixtureRequest, raw: Stage, guarded: Stage) -> AsyncIterator[Line]:
    app = {"raw": raw, "guarded": guarded}[request.param]
    target_id = await find_guest(app.client, app.url())
    async with connect(endpoint(app), max_size=None, compression=None, proxy=None) as socket:
        line = Line(socket)
        line.flat = await line.attach(target_id, flatten=True)
        line.wrapped = await line.attach(target_id, flatten=False)
        yield line


@pytest.mark.parametrize("said", BOTH)
async def test_both_answer_the_same(line: Line, said: str) -> None:
    text, expected = BOTH[said]
    await line.say(text.replace("SESSION", line.flat))
    answer = await line.heard("id", "error")
    assert (answer["error"]["code"] if "error" in answer else answer["result"]["result"]["value"]) == expected


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ("{", {"code": -32700}),
        ("[]", {"code": -32600}),
        ('{"id":5,"method":"A.b","sessionId":"x"}', {"code": -32001}),
        ('{"id":5,"method":"Runtime.evaluate","params":{"expression":"\'\ud83d\'"}}', {"value": "\ufffd"}),
    ],
)
async def test_a_wrapped_message_is_answered_wrapped(line: Line, inner: str, said: dict[str, Any]) -> None:
    params = {"sessionId": line.wrapped, "message": inner}
    await line.say(json.dumps({"id": 6, "method": "Target.sendMessageToTarget", "params": params}))
    answers = [await line.heard("id", "method"), await line.heard("id", "method")]
    (outer,) = [answer for answer in answers if "id" in answer]
    (event,) = [answer["params"] for answer in answers if "method" in answer]
    assert (outer["result"], event["sessionId"]) == ({}, line.wrapped)
    heard = json.loads(event["message"])
    found = heard.get("error") or heard["result"]["result"]
    assert {name: found[name] for name in said} == said
