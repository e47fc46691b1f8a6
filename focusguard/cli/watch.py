"""`focusguard watch`: what a guard that runs is doing."""

from __future__ import annotations

import signal
import sys
import time

import anyio
import click
from rich.console import Console
from rich.live import Live

from focusguard.cli import endpoints, options
from focusguard.cli.log import SHOWN, Log, told_last
from focusguard.cli.signals import until_terminated
from focusguard.cli.token_file import default_token_file, read_token
from focusguard.policy.effects import Report
from focusguard.proxy.access import BROWSER_PATH
from focusguard.watch.connection import CannotWatchError, GuardGoneError, Watcher, open_connection
from focusguard.watch.state import BOXES, State
from focusguard.watch.view import plain, render

#: Seconds between two looks, and between two drawings where nothing is new.
LOOK_SECONDS, REDRAW_SECONDS = 0.2, 1.0
#: What is printed where the output is no terminal.
PRINTED = (*SHOWN, *BOXES, "action", "bridge.key.lost", "bridge.composition.broken", "bridge.joined")


@click.command()
@click.argument("endpoint", required=False, envvar="FOCUSGUARD_ENDPOINT")
@options.JSON
def watch(endpoint: str | None, as_json: bool) -> int:
    """Show what a guard does: guests, clients, where each action of an agent has landed, borrows, refusals.

    ENDPOINT is what `focusguard run` prints, or $FOCUSGUARD_ENDPOINT; without one it is that of `focusguard serve` at
    its default port. Nothing in the app changes because of a watcher, and nothing that is typed is shown. Where the
    output is no terminal, it prints a line for each report from now on.

    Exit status: 0 the guard has ended; 1 it cannot be watched; 2 wrong usage; 130 Ctrl-C.

    \b
    Examples:
      focusguard watch http://127.0.0.1:9333/TOKEN
      focusguard watch
      focusguard watch --json ws://127.0.0.1:9333/TOKEN/devtools/browser/focusguard
    """
    where = endpoint if endpoint is not None else _of_serve()
    console = Console()
    as_view = not as_json and sys.stdout.isatty() and not console.is_dumb_terminal

    async def main() -> None:
        try:
            async with open_connection(url) as connection:
                state = State()
                watcher = Watcher(connection, state, history=as_view)
                if as_view:
                    await _draw(watcher, state, console, endpoints.shown(where))
                else:
                    await _print(watcher, state, Log(as_json, shown=PRINTED))
        except GuardGoneError as gone:
            ending.reason = str(gone)
        except CannotWatchError as fault:
            raise _cannot(where, str(fault)) from None
        if not as_json:
            click.echo(f"the guard is gone: {plain(ending.reason)}")

    with told_last(as_json) as ending:
        url = _socket(where)
        if anyio.run(until_terminated, main):
            ending.reason = "terminated"
            return 128 + signal.SIGTERM
    return 0


async def _draw(watcher: Watcher, state: State, console: Console, where: str) -> None:
    drawn, size = 0.0, console.size
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            now = time.monotonic()
            news = await watcher.look(now)
            if (
                news.reports
                or news.status
                or news.metrics
                or size != console.size
                or now - drawn > REDRAW_SECONDS
            ):
                drawn, size = now, console.size
                live.update(render(state, where=where, now=now, height=size.height), refresh=True)
            await anyio.sleep(LOOK_SECONDS)


async def _print(watcher: Watcher, state: State, log: Log) -> None:
    while True:
        news = await watcher.look(time.monotonic())
        if news.missed:
            log.say({"missed": news.missed} if log.as_json else f"{news.missed} reports came and went unseen")
        for report in news.reports:
            log(Report(report["kind"], {name: _shown(value) for name, value in report["facts"].items()}))
        if log.as_json and news.status:
            log.say({"status": state.status})
        if log.as_json and news.metrics:
            log.say({"metrics": state.metrics})
        log.check()
        await anyio.sleep(LOOK_SECONDS)


def _shown(value: object) -> object:
    return plain(value) if isinstance(value, str) else value


def _of_serve() -> str:
    path = default_token_file()
    try:
        return f"http://127.0.0.1:{options.SERVE_PORT}/{read_token(path)}"
    except FileNotFoundError:
        raise click.UsageError(
            "give the endpoint that `focusguard run` prints; without one, a guard of `focusguard serve` is watched"
        ) from None


def _socket(endpoint: str) -> str:
    if endpoints.is_websocket(endpoint):
        # Whatever follows the token: at a guest's own address a watcher would be a client of that guest.
        return endpoint.partition("/devtools/")[0].rstrip("/") + BROWSER_PATH
    try:
        return endpoints.browser_socket(endpoints.base_of(endpoint))
    except endpoints.NoAnswerError as fault:
        raise _cannot(endpoint, str(fault)) from None


def _cannot(endpoint: str, why: str) -> click.ClickException:
    return click.ClickException(
        f"no guard to watch at {endpoints.shown(endpoint)} ({plain(why)}). "
        "Give the endpoint as `focusguard run` prints it"
    )
