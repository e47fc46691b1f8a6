"""`focusguard run` and `focusguard attach`: the guard as a command."""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import click

from focusguard.guard import BridgeMode, RunningGuard
from focusguard.guard import attach as attach_guard
from focusguard.guard import launch as launch_guard
from focusguard.policy.borrow import Pace
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

_PORT = click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The guard's port; 0 takes a free one."
)
_NO_TOKEN = click.option(
    "--no-token",
    is_flag=True,
    help="Let every local process in. Any program on this machine can then drive the guests.",
)
_PACE = click.option(
    "--pace",
    type=click.Choice(["between-keys", "at-once"]),
    default="between-keys",
    show_default=True,
    help="When the focus is borrowed while the person types.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- APP [ARGS]...")
@click.option(
    "--bridge",
    type=click.Choice(["preload", "app", "inject", "none"]),
    default="preload",
    show_default=True,
    help="How the bridge gets into the app: before it, required by it, through the inspector, or not at all.",
)
@_PORT
@_NO_TOKEN
@_PACE
@_JSON
def run(
    command: tuple[str, ...], bridge: BridgeMode, port: int, no_token: bool, pace: Pace, as_json: bool
) -> None:
    """Start an Electron app with its guest pages behind the guard; ends when the app ends.

    With --json the first line has the endpoints, the others what the guard reports, and the last one why it stopped.

    \b
    Examples:
      focusguard run -- /usr/bin/my-app
      focusguard run --port 9333 -- node_modules/.bin/electron . --my-flag
      focusguard run --json -- "$(focusguard electron path)" path/to/app
    """
    token = _token(no_token)

    async def main() -> None:
        started = launch_guard(
            Path(command[0]), args=command[1:], bridge=bridge, pace=pace, port=port, token=token
        )
        await _show(started, as_json)

    anyio.run(main)


@click.command()
@click.argument("endpoint")
@click.option(
    "--inspector", help="WebSocket of the app's Node inspector, to load the bridge through; closed then."
)
@_PORT
@_NO_TOKEN
@_PACE
@_JSON
def attach(
    endpoint: str, inspector: str | None, port: int, no_token: bool, pace: Pace, as_json: bool
) -> None:
    """Guard an app that runs already with --remote-debugging-port.

    ENDPOINT is the app's port, its http address, or its browser WebSocket. Without --inspector there is no bridge: the
    guard runs in its weaker mode, and says so.

    \b
    Examples:
      focusguard attach 9222
      focusguard attach ws://127.0.0.1:9222/devtools/browser/0f2c…
      kill -USR1 PID; focusguard attach 9222 --inspector ws://127.0.0.1:9229/3d5a…
    """
    token = _token(no_token)
    url = _browser_url(endpoint)

    async def main() -> None:
        await _show(attach_guard(url, inspector_url=inspector, pace=pace, port=port, token=token), as_json)

    anyio.run(main)


def _token(no_token: bool) -> str | None:
    if no_token:
        click.echo("warning: without a token every program on this machine can drive the guests", err=True)
        return None
    return ""


def _browser_url(endpoint: str) -> str:
    if endpoint.startswith(("ws://", "wss://")):
        return endpoint
    base = f"http://127.0.0.1:{endpoint}" if endpoint.isdigit() else endpoint.rstrip("/")
    if not base.startswith("http://"):
        raise click.UsageError(f"{endpoint} is neither a port, nor an http:// or ws:// address")
    try:
        with urllib.request.urlopen(f"{base}/json/version", timeout=5) as answer:
            return str(json.load(answer)["webSocketDebuggerUrl"])
    except (urllib.error.URLError, OSError, ValueError, KeyError) as fault:
        raise click.ClickException(
            f"no CDP endpoint answers at {base} ({fault}). Start the app with --remote-debugging-port=9222"
        ) from None


async def _show(starting: AbstractAsyncContextManager[RunningGuard], as_json: bool) -> None:
    stopped = "interrupted"
    try:
        async with starting as guard:
            log = Log(as_json)
            guard.watch(log)
            if as_json:
                _print_json(
                    {"endpoint": guard.endpoint, "wsEndpoint": guard.ws_endpoint, "bridge": guard.bridge}
                )
            else:
                click.echo(_how_to_connect(guard))
            stopped = await _until_over(guard, log)
        if as_json:
            _print_json({"ended": stopped})
        else:
            click.echo(f"ended: {stopped}")
    except Exception as error:
        stopped = str(error)
        raise
    finally:
        # The last line, however it ends: who reads the lines knows that the app is gone and none will follow.
        if as_json and not isinstance(sys.exception(), BrokenPipeError):
            _print_json({"stopped": stopped})


async def _until_over(guard: RunningGuard, log: Log) -> str:
    """Wait until the app is gone.

    Raises:
        BrokenPipeError: nobody reads what is printed any more.
    """
    while guard.lost is None:
        if log.broken is not None:
            raise log.broken
        await anyio.sleep(0.05)
    return guard.lost


def _how_to_connect(guard: RunningGuard) -> str:
    mode = (
        "with the bridge"
        if guard.bridge is not None
        else "WITHOUT a bridge: weaker, keys borrow the focus too"
    )
    return (
        f"guarding {mode}\n"
        f"  endpoint       {guard.endpoint}\n"
        f"  Playwright     chromium.connect_over_cdp({guard.endpoint!r})\n"
        f"  Puppeteer      puppeteer.connect({{ browserWSEndpoint: {guard.ws_endpoint!r} }})\n"
        f"  any client     {guard.ws_endpoint}\n"
        "Ctrl-C stops the guard and the app it started."
    )


class Log:
    """Prints what the guard reports, as it comes.

    Attributes:
        broken: set once nobody reads it any more.
    """

    def __init__(self, as_json: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.broken: BrokenPipeError | None = None
        self._as_json = as_json
        self._clock = clock
        self._changed: dict[object, float] = {}

    def __call__(self, report: Report) -> None:
        """Print a report, where it is one that this log shows."""
        try:
            if self._as_json and not self._repeats(report):
                _print_json({"event": report.kind, **report.facts})
            elif not self._as_json and report.kind in SHOWN:
                facts = "  ".join(
                    f"{name}={value}" for name, value in report.facts.items() if value is not None
                )
                click.echo(f"{report.kind:14} {facts}")
        except BrokenPipeError as error:
            self.broken = error

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


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, default=str))
