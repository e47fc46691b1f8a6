"""`focusguard run` and `focusguard attach`: the guard as a command."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
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
    async with starting as guard:
        guard.watch(lambda report: _log(report, as_json))
        if as_json:
            _print_json({"endpoint": guard.endpoint, "wsEndpoint": guard.ws_endpoint, "bridge": guard.bridge})
        else:
            click.echo(_how_to_connect(guard))
        reason = await guard.wait_until_lost()
    if as_json:
        _print_json({"ended": reason})
    else:
        click.echo(f"ended: {reason}")


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


def _log(report: Report, as_json: bool) -> None:
    if as_json:
        _print_json({"event": report.kind, **report.facts})
    elif report.kind in SHOWN:
        facts = "  ".join(f"{name}={value}" for name, value in report.facts.items() if value is not None)
        click.echo(f"{report.kind:14} {facts}")


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, default=str))
