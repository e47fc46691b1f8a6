"""`/json/protocol`: the app's own description of CDP, with the guard's domain added.

Over a port Chromium serves it. Over a pipe there is no such route; then the bridge reads it from the app's resources.
"""

from __future__ import annotations

import base64
import json
import urllib.request
import zlib
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

import anyio

#: Seconds for the app to give its description.
DESCRIBE_SECONDS = 10.0
#: The largest description that is believed, bytes; Chromium 130's has 1.4 MB.
LARGEST = 1 << 24
#: The guard's own domain, in the format of the protocol's description.
DOMAIN: Mapping[str, Any] = json.loads(
    resources.files("focusguard.policy").joinpath("domain.json").read_text("utf-8")
)

Ask = Callable[[str], Awaitable[Mapping[str, Any]]]


class NotDescribed(Exception):
    """The app gives no description; the message says why."""


async def from_port(url: str) -> dict[str, Any]:
    """Fetch it from the app's debugging port.

    Args:
        url: the app's browser WebSocket.

    Raises:
        NotDescribed: the port does not give it.
    """
    where = urlsplit(url)._replace(scheme="http", path="/json/protocol").geturl()

    def fetch() -> bytes:
        # The app is on this machine, whatever proxy the environment names.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(where, timeout=DESCRIBE_SECONDS) as answer:
            data: bytes = answer.read(LARGEST)
        return data

    try:
        return _checked(await anyio.to_thread.run_sync(fetch, abandon_on_cancel=True))
    except OSError as fault:
        raise NotDescribed(f"the app's debugging port does not give it ({fault})") from None


async def from_bridge(ask: Ask) -> dict[str, Any]:
    """Have the bridge read it.

    Raises:
        NotDescribed: there is no bridge, or this build holds no description.
    """
    try:
        with anyio.fail_after(DESCRIBE_SECONDS):
            answer = await ask("app.protocol")
    except TimeoutError:
        raise NotDescribed("the app's bridge did not answer in time") from None
    if not answer.get("found"):
        raise NotDescribed("this build of the app holds no description")
    return _checked(_unpacked(str(answer.get("gzip", ""))))


def with_guard(description: Mapping[str, Any]) -> dict[str, Any]:
    """The description of what a client of the guard talks to."""
    return {**description, "domains": [*description["domains"], DOMAIN]}


def _unpacked(packed: str) -> bytes:
    """The app is not trusted to be brief: no more than `LARGEST` is unpacked."""
    try:
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(base64.b64decode(packed), LARGEST)
    except (ValueError, zlib.error):
        raise NotDescribed("the app's bridge gave something else") from None


def _checked(data: bytes) -> dict[str, Any]:
    try:
        description = json.loads(data)
    except ValueError:
        raise NotDescribed("what the app gives is no description of the protocol") from None
    if not isinstance(description, dict) or not isinstance(description.get("domains"), list):
        raise NotDescribed("what the app gives is no description of the protocol")
    return description
