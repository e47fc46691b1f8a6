"""What the commands that guard an app print: a short log for people, or one JSON object a line."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import click

from focusguard.guard import RunningGuard
from focusguard.policy.effects import Report

#: Reports that a person wants to read in a short log.
SHOWN = (
    "guest.ready",
    "guest.gone",
    "guest.crashed",
    "client.joined",
    "client.left",
    "refusal",
    "bridge.lost",
    "fault",
)
#: Within so many seconds one page is told of only once that it has changed.
REPEAT_SECONDS = 1.0
INTERRUPTED = "interrupted"


class Log:
    """Prints what the guard reports, as it comes.

    Attributes:
        broken: set once nobody reads it any more.
    """

    def __init__(
        self,
        as_json: bool,
        clock: Callable[[], float] = time.monotonic,
        *,
        shown: Collection[str] = SHOWN,
    ) -> None:
        self.broken: BrokenPipeError | None = None
        self.as_json = as_json
        self._clock = clock
        self._shown = shown
        self._changed: dict[object, float] = {}

    def __call__(self, report: Report) -> None:
        """Print a report, where it is one that this log shows."""
        if self.as_json and not self._repeats(report):
            self.say({"event": report.kind, **report.facts})
        elif not self.as_json and report.kind in self._shown:
            facts = "  ".join(f"{name}={value}" for name, value in report.facts.items() if value is not None)
            self.say(f"{report.kind:14} {facts}")

    def say(self, what: dict[str, Any] | str) -> None:
        """Print a line: an object as JSON, a text as it is."""
        try:
            click.echo(what if isinstance(what, str) else as_line(what))
        except BrokenPipeError as error:
            self.broken = error

    def check(self) -> None:
        """Whether anybody reads it still.

        Raises:
            BrokenPipeError: nobody does.
        """
        if self.broken is not None:
            raise self.broken

    def _repeats(self, report: Report) -> bool:
        """Whether the same was printed a moment ago: a page that loads tells several times that it has changed."""
        page = report.facts.get("webContentsId")
        if report.kind == "bridge.target.gone":
            self._changed.pop(page, None)
        if report.kind != "bridge.target.changed":
            return False
        now = self._clock()
        if now - self._changed.get(page, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return True
        self._changed[page] = now
        return False


@dataclass(slots=True)
class Ending:
    """Why a command stops."""

    reason: str = INTERRUPTED


@contextmanager
def told_last(as_json: bool) -> Iterator[Ending]:
    """Print the last line, however it ends: who reads the lines knows then that none will follow."""
    ending = Ending()
    try:
        yield ending
    except Exception as error:
        ending.reason = str(error)
        raise
    finally:
        if as_json and not isinstance(sys.exception(), BrokenPipeError):
            click.echo(as_line({"stopped": ending.reason}))


async def until_over(guard: RunningGuard, log: Log) -> str:
    """Wait until the app is gone; gives the reason.

    Raises:
        BrokenPipeError: nobody reads what is printed any more.
    """
    while guard.lost is None:
        log.check()
        await anyio.sleep(0.05)
    return guard.lost


def as_line(value: dict[str, Any]) -> str:
    """An object as one line of JSON."""
    return json.dumps(value, default=str)


def ways_in(endpoint: str, ws_endpoint: str) -> str:
    """How clients connect, in a few lines."""
    return (
        f"  endpoint       {endpoint}\n"
        f"  Playwright     chromium.connect_over_cdp({endpoint!r})\n"
        f"  Puppeteer      puppeteer.connect({{ browserWSEndpoint: {ws_endpoint!r} }})\n"
        f"  any client     {ws_endpoint}"
    )


def mode(guard: RunningGuard) -> str:
    """How well it guards, in a few words."""
    if guard.bridge is not None:
        return "with the bridge"
    return "WITHOUT a bridge: weaker, keys borrow the focus too"
