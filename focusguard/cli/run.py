"""`focusguard run` and `focusguard attach`: the guard as a command."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import click

from focusguard.cli import endpoints, options
from focusguard.cli.log import Log, mode, told_last, until_over, ways_in
from focusguard.guard import BridgeMode, RunningGuard
from focusguard.guard import attach as attach_guard
from focusguard.guard import launch as launch_guard
from focusguard.policy.borrow import Pace

_PORT = click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The guard's port; 0 takes a free one."
)
_NO_TOKEN = click.option(
    "--no-token",
    is_flag=True,
    help="Let every local process in. Any program on this machine can then drive the guests.",
)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- APP [ARGS]...")
@options.BRIDGE
@_PORT
@_NO_TOKEN
@options.PACE
@options.JSON
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
@options.PACE
@options.JSON
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
    if endpoints.is_websocket(endpoint):
        return endpoint
    base = endpoints.base_of(endpoint)
    try:
        return endpoints.browser_socket(base)
    except endpoints.NoAnswerError as fault:
        raise click.ClickException(
            f"no CDP endpoint answers at {base} ({fault}). Start the app with --remote-debugging-port=9222"
        ) from None


async def _show(starting: AbstractAsyncContextManager[RunningGuard], as_json: bool) -> None:
    with told_last(as_json) as ending:
        log = Log(as_json)
        async with starting as guard:
            guard.watch(log)
            log.say(
                {"endpoint": guard.endpoint, "wsEndpoint": guard.ws_endpoint, "bridge": guard.bridge}
                if as_json
                else _how_to_connect(guard)
            )
            ending.reason = await until_over(guard, log)
        log.say({"ended": ending.reason} if as_json else f"ended: {ending.reason}")
        log.check()


def _how_to_connect(guard: RunningGuard) -> str:
    return (
        f"guarding {mode(guard)}\n"
        f"{ways_in(guard.endpoint, guard.ws_endpoint)}\n"
        "Ctrl-C stops the guard and the app it started."
    )
