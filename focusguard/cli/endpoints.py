"""Where an app or a guard is, from what a person gives: a port, an http address, or a WebSocket."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import click

#: Seconds for an endpoint to say what it is.
ANSWER_SECONDS = 5.0
#: The longest answer that is believed, bytes.
LARGEST = 1 << 20


class NoAnswerError(Exception):
    """Nothing of use answers there; the message says why, without any token of the address.

    Attributes:
        status: of the HTTP answer; None where there was none.
    """

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def is_websocket(endpoint: str) -> bool:
    """Whether it is a WebSocket's address, which needs no asking."""
    return endpoint.startswith(("ws://", "wss://"))


def base_of(endpoint: str) -> str:
    """The http address of a port, or of an http address.

    Raises:
        click.UsageError: it is neither.
    """
    base = f"http://127.0.0.1:{endpoint}" if endpoint.isdigit() else endpoint.rstrip("/")
    if not base.startswith("http://"):
        raise click.UsageError(f"{endpoint} is neither a port, nor an http:// or ws:// address")
    return base


def browser_socket(base: str) -> str:
    """The browser's WebSocket behind an http address.

    Raises:
        NoAnswerError: there is none.
    """
    return _socket_in(_fetch(f"{base}/json/version"))


def listed_socket(base: str) -> str:
    """The WebSocket that is listed first behind an http address: of an app's page, or of a Node inspector.

    Raises:
        NoAnswerError: there is none.
    """
    listed = _fetch(f"{base}/json/list")
    return _socket_in(listed[0] if isinstance(listed, list) and listed else None)


def shown(endpoint: str) -> str:
    """An address for a message: without its path, in which a token may be."""
    where = urlsplit(endpoint)
    return f"{where.scheme}://{where.netloc.rpartition('@')[2]}" if where.netloc else endpoint


def _fetch(url: str) -> Any:
    # It is on this machine, whatever proxy the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=ANSWER_SECONDS) as answer:
            return json.loads(answer.read(LARGEST))
    except urllib.error.HTTPError as fault:
        with fault:
            said = fault.read(300).decode("utf-8", "replace").strip()
        raise NoAnswerError(f"HTTP {fault.code}: {said or fault.reason}", fault.code) from None
    except (OSError, ValueError, HTTPException) as fault:
        raise NoAnswerError(str(getattr(fault, "reason", fault))) from None


def _socket_in(described: Any) -> str:
    socket = described.get("webSocketDebuggerUrl") if isinstance(described, dict) else None
    if not isinstance(socket, str):
        raise NoAnswerError("it names no webSocketDebuggerUrl")
    return socket
