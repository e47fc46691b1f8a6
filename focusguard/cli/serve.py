"""`focusguard serve`: a guard at an endpoint that stays, for one app after the other."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import click
from click.core import ParameterSource

from focusguard.cli import endpoints, options
from focusguard.cli.in_turn import Pauses, awaited, guard_in_turn
from focusguard.cli.log import SHOWN, Log, told_last, ways_in
from focusguard.cli.signals import until_terminated
from focusguard.cli.token_file import default_token_file, ensure_token
from focusguard.guard import BridgeMode, RunningGuard, launch
from focusguard.policy.borrow import Pace
from focusguard.proxy.access import Access
from focusguard.proxy.front import open_front
from focusguard.proxy.standby import standby

#: Seconds for which an app that is started must run to be started again at once.
STEADY = 10.0


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- APP [ARGS]...]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=options.SERVE_PORT,
    show_default=True,
    help="Where clients connect, as long as this runs; 0 takes a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Holds the token that clients show; made if missing.  [default: focusguard/token in your state folder]",
)
@click.option("--restart", is_flag=True, help="Start the app again whenever it has ended.")
@options.BRIDGE
@click.option("--attach", metavar="PORT|URL", help="Guard each app that opens this debugging port, in turn.")
@click.option(
    "--inspector",
    metavar="PORT|URL",
    help="With --attach: the app's Node inspector, to load the bridge through.",
)
@options.PACE
@options.JSON
@click.pass_context
def serve(
    context: click.Context,
    command: tuple[str, ...],
    port: int,
    token_file: Path | None,
    restart: bool,
    bridge: BridgeMode,
    attach: str | None,
    inspector: str | None,
    pace: Pace,
    as_json: bool,
) -> None:
    """Guard an app, or one after the other, at an endpoint that clients can keep in their configuration.

    Port and token stay the same, also the next time. While no app is there, clients are answered with HTTP 503.
    Ends when the app ends; with --restart or --attach at Ctrl-C or SIGTERM, which stop an app that was started here.

    With --json the first line has the endpoints, the others what goes on, and the last one why it stopped.

    Exit status: 0 the app ended, or SIGTERM; 1 it could not be guarded; 2 wrong usage; 130 Ctrl-C.

    \b
    Examples:
      focusguard serve -- /usr/bin/my-app
      focusguard serve --restart --port 9400 -- node_modules/.bin/electron . --my-flag
      focusguard serve --attach 9222 --inspector 9229
    """
    _check(context, command, attach)
    base = _base(attach)
    inspector_base = _base(inspector)
    path = (token_file or default_token_file()).absolute()
    log = Log(as_json, shown=("app.awaited", "app.guarded", "app.ended", "app.failed", *SHOWN))

    async def main() -> None:
        token = ensure_token(path)
        async with open_front(port, standby(token)) as front:
            access = Access(front.port, token)
            _say_where(log, f"http://{access.base}", access.browser_url, path)

            def start() -> AbstractAsyncContextManager[RunningGuard]:
                if base is not None:
                    return awaited(base, inspector_base, log, pace=pace, port=front, token=token)
                app, *args = command
                return launch(Path(app), args=args, bridge=bridge, pace=pace, port=front, token=token)

            # An app that is started may end at once each time; one that comes by itself does so when it likes.
            pauses = Pauses(steady=0.0) if base is not None else Pauses(STEADY) if restart else None
            ending.reason = await guard_in_turn(start, log, pauses, patient=base is not None)
        log.say({"ended": ending.reason} if as_json else f"ended: {ending.reason}")

    with told_last(as_json) as ending:
        if anyio.run(until_terminated, main):
            ending.reason = "terminated"


def _check(context: click.Context, command: tuple[str, ...], attach: str | None) -> None:
    given = {
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    if bool(command) == (attach is not None):
        raise click.UsageError(
            "give an app to start (-- APP [ARGS]...), or the port of one with --attach", context
        )
    for name in ("restart", "bridge") if attach is not None else ("inspector",):
        if name in given:
            wants = "an app that is started here" if attach is not None else "--attach"
            raise click.UsageError(f"--{name} is only for {wants}", context)


def _base(where: str | None) -> str | None:
    if where is not None and endpoints.is_websocket(where):
        raise click.UsageError(f"{where} is of one app only: give the port, at which others will be too")
    return endpoints.base_of(where) if where is not None else None


def _say_where(log: Log, endpoint: str, ws_endpoint: str, path: Path) -> None:
    if log.as_json:
        log.say({"endpoint": endpoint, "wsEndpoint": ws_endpoint, "tokenFile": str(path)})
    else:
        log.say(f"serving\n{ways_in(endpoint, ws_endpoint)}\n  token file     {path}\nCtrl-C stops it.")
