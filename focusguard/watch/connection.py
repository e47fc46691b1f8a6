"""A client of the guard that asks and touches nothing: it attaches to no guest."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from focusguard.errors import METHOD_NOT_FOUND
from focusguard.watch.state import State

CONNECT_SECONDS = 10.0
#: Seconds for an answer; the guard gives its own at once.
ANSWER_SECONDS = 10.0


class CannotWatchError(Exception):
    """There is no guard that can be watched; the message says why."""


class GuardGoneError(Exception):
    """The guard has ended the connection, or does not answer; the message says why."""


class Connection:
    """Asks one thing after the other. Made by `open_connection`."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Ask the guard.

        Raises:
            GuardGoneError: it is not there any more.
            CannotWatchError: it does not know the method.
        """
        number = next(self._ids)
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                await self._connection.send(
                    json.dumps({"id": number, "method": method, "params": dict(params or {})})
                )
                while (message := json.loads(await self._connection.recv())).get("id") != number:
                    pass
        except ConnectionClosed as fault:
            said = fault.rcvd.reason if fault.rcvd is not None else ""
            raise GuardGoneError(said or "the connection broke") from None
        except TimeoutError:
            raise GuardGoneError(f"it did not answer within {ANSWER_SECONDS:g} s") from None
        except (ValueError, AttributeError):
            raise CannotWatchError("it speaks no CDP") from None
        if "error" in message:
            code = message["error"].get("code")
            unknown = "it is no guard, or an older one" if code == METHOD_NOT_FOUND else "it refuses"
            raise CannotWatchError(f"{unknown}: {message['error'].get('message')}")
        result: dict[str, Any] = message["result"]
        return result


@asynccontextmanager
async def open_connection(url: str) -> AsyncIterator[Connection]:
    """Connect to a guard's WebSocket (`ws://…/devtools/browser/focusguard`).

    Yields:
        The connection.

    Raises:
        CannotWatchError: nothing answers there, or it refuses.
    """
    try:
        connection = await connect(
            url,
            max_size=None,
            compression=None,
            ping_interval=None,
            open_timeout=CONNECT_SECONDS,
            close_timeout=1,
            proxy=None,  # the guard is on this machine, whatever proxy the environment names
        )
    except InvalidStatus as fault:
        said = fault.response.body.decode("utf-8", "replace") if fault.response.body else ""
        raise CannotWatchError(f"HTTP {fault.response.status_code}: {said[:300]}") from None
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as fault:
        raise CannotWatchError(str(fault) or type(fault).__name__) from None
    async with connection:
        yield Connection(connection)


@dataclass(frozen=True, slots=True)
class News:
    """What is new since the last look.

    Attributes:
        reports: oldest first.
        status: whether the guard's status is another one.
        metrics: whether its figures are others.
        missed: how many reports came and went unseen.
    """

    reports: list[dict[str, Any]]
    status: bool
    metrics: bool
    missed: int


class Watcher:
    """Keeps a state up to date.

    Args:
        connection: to the guard.
        state: what is known of it.
        history: whether what went on before counts too.
    """

    def __init__(self, connection: Connection, state: State, *, history: bool) -> None:
        self._connection = connection
        self._state = state
        self._history = history
        self._last: int | None = None

    async def look(self, now: float) -> News:
        """Ask what is new.

        Raises:
            GuardGoneError: the guard is not there any more.
            CannotWatchError: it cannot be watched.
        """
        first = self._last is None
        answer = await self._connection.ask("FocusGuard.getReports", {} if first else {"after": self._last})
        self._last = answer["last"]
        reports = answer["reports"] if self._history or not first else []
        for report in reports:
            self._state.take(report, None if first else now)
        missed = 0 if first else answer["missed"]
        self._state.missed += missed
        status = self._state.know(await self._connection.ask("FocusGuard.getStatus"))
        metrics = self._state.measure(await self._connection.ask("FocusGuard.getMetrics"))
        return News(reports, status, metrics, missed)
