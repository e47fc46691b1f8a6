"""`focusguard doctor`: whether everything is there, and what to do about what is not."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path

import anyio
import click

from focusguard.doctor import Bridge, Finding, State, examine, subject_of
from focusguard.electron.errors import RuntimeMissing

#: Seconds for everything; each look has a shorter bound of its own.
BOUND_SECONDS = 120.0
COLOURS = {State.OK: "green", State.NOTE: "yellow", State.BAD: "red"}


@click.command()
@click.argument("app", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--electron", metavar="VERSION|PATH", help="Electron to use; the default one if not given.")
@click.option(
    "--bridge",
    type=click.Choice(["preload", "app", "inject"]),
    default="preload",
    show_default=True,
    help="How the bridge is to get into APP.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(app: Path | None, electron: str | None, bridge: Bridge, as_json: bool) -> int:
    """Check what the guard needs here, and whether APP can be guarded: it is started for a moment, out of sight.

    APP is an app's folder or main file, or the executable of a packaged app.

    Exit status: 0 all is fine; 1 something will not work; 2 wrong usage.

    \b
    Examples:
      focusguard doctor
      focusguard doctor path/to/app
      focusguard doctor --bridge inject /opt/my-app/my-app
      focusguard doctor --json --electron 22.3.25 path/to/app
    """
    try:
        subject_of(electron, app)
    except RuntimeMissing as error:
        if electron is not None:
            raise click.BadParameter(str(error), param_hint="--electron") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    findings: list[Finding] = []

    async def look() -> None:
        with anyio.move_on_after(BOUND_SECONDS) as bound:
            async with aclosing(examine(electron, app, bridge=bridge)) as examined:
                async for finding in examined:
                    findings.append(finding)
                    if not as_json:
                        _print(finding)
        if bound.cancelled_caught:
            late = Finding(
                "time", State.BAD, f"it took more than {BOUND_SECONDS:g} s", "try again when less is running"
            )
            findings.append(late)
            if not as_json:
                _print(late)

    anyio.run(look)
    bad = any(finding.state is State.BAD for finding in findings)
    if as_json:
        click.echo(json.dumps({"ok": not bad, "findings": [asdict(each) for each in findings]}, indent=2))
    return int(bad)


def _print(finding: Finding) -> None:
    state = click.style(finding.state.ljust(4), fg=COLOURS[finding.state])
    click.echo(f"{state}  {finding.name:17} {finding.found}")
    if finding.advice:
        click.echo(f"      {'':17} to do: {finding.advice}")
