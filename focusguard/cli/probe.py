"""`focusguard probe`: where every kind of agent input lands, raw and guarded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from focusguard.cli.electron import install_with_progress
from focusguard.doctor import Subject, subject_of
from focusguard.electron.errors import RuntimeMissing
from focusguard.electron.runtimes import DEFAULT, KNOWN, Runtime, find_runtime
from focusguard.guard import BridgeMode
from probes.landing.compare import compare_results, render_comparison
from probes.landing.controls import BREAKS
from probes.landing.report_md import render_document
from probes.landing.runner import Event, Request, Run
from probes.landing.schema import (
    EMBEDDINGS,
    ROUTES,
    WINDOWS,
    LandingResult,
    UnreadableResultError,
    read_result,
)
from probes.landing.screen import print_matrix
from probes.landing.table import select_cases
from probes.landing.writing import write_result
from probes.own_app.finding import FIND_SECONDS, App, NothingToMeasure
from probes.own_app.ground import request_for
from probes.own_app.stage import survey

DEFAULT_OUT = Path("results/landing")
ONLY_WITH_APP = frozenset({"app_args", "host_field", "guest", "guest_field", "bridge", "wait"})
NOT_WITH_APP = frozenset({"embeddings", "jobs", "break_control"})


@click.group(invoke_without_command=True)
@click.option(
    "--electron",
    "electrons",
    multiple=True,
    metavar="VERSION|PATH",
    help="Electron to measure; the default one if not given.",
)
@click.option(
    "--embedding", "embeddings", multiple=True, type=click.Choice(EMBEDDINGS), help="Default: webview."
)
@click.option("--window", "windows", multiple=True, type=click.Choice(WINDOWS), help="Default: both.")
@click.option("--route", "routes", multiple=True, type=click.Choice(ROUTES), help="Default: both.")
@click.option("--case", "patterns", multiple=True, metavar="GLOB", help="Only cases whose name matches.")
@click.option("--quick", is_flag=True, help="The short list of cases.")
@click.option(
    "--seed", default=0, show_default=True, help="Order of the trials; 0 is the order of the matrix."
)
@click.option(
    "--jobs", default=2, show_default=True, type=click.IntRange(1, 16), help="Columns measured at once."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_OUT,
    show_default=True,
    help="Folder for landing.json, landing.md and landing.html.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--app",
    type=click.Path(exists=True, path_type=Path),
    help="Measure your own app: its folder or main file, or a packaged app's executable.",
)
@click.option(
    "--app-arg", "app_args", multiple=True, metavar="ARG", help="With --app: an argument for the app."
)
@click.option(
    "--host-field",
    metavar="SELECTOR",
    help="With --app: the person's field in the app's own page. Default: the first that takes text.",
)
@click.option(
    "--guest",
    metavar="URL-PART|NUMBER",
    help="With --app: the guest, by a part of its URL or its number from 0. Default: the first.",
)
@click.option(
    "--guest-field",
    metavar="SELECTOR",
    help="With --app: the agent's field in the guest. Default: the first that takes text.",
)
@click.option(
    "--bridge",
    type=click.Choice(["preload", "app", "inject", "none"]),
    default="preload",
    show_default=True,
    help="With --app: how the guard's bridge gets into the app, as in `focusguard run`.",
)
@click.option(
    "--wait",
    type=click.FloatRange(0.1, 600),
    default=FIND_SECONDS,
    show_default=True,
    help="With --app: seconds for its guest and fields to come.",
)
@click.option("--list", "list_only", is_flag=True, help="List the cases and stop.")
@click.option("--break-control", type=click.Choice(BREAKS), hidden=True)
@click.pass_context
def probe(
    context: click.Context,
    electrons: tuple[str, ...],
    embeddings: tuple[Any, ...],
    windows: tuple[Any, ...],
    routes: tuple[Any, ...],
    patterns: tuple[str, ...],
    quick: bool,
    seed: int,
    jobs: int,
    out: Path,
    as_json: bool,
    app: Path | None,
    app_args: tuple[str, ...],
    host_field: str | None,
    guest: str | None,
    guest_field: str | None,
    bridge: BridgeMode,
    wait: float,
    list_only: bool,
    break_control: Any,
) -> int:
    """Measure where agent input lands, raw and guarded: in the fixture app, or with --app in your own.

    Exit status: 0 complete; 1 complete, and a guarded row leaked or stole; 2 incomplete, or wrong usage.
    What --case, --electron, --embedding, --window, --route and --app-arg give can be repeated.

    With --app the app is started on a display and with a profile of its own, and letters and digits are typed into
    its two fields.

    \b
    Examples:
      focusguard probe --quick
      focusguard probe --electron 22.3.25 --electron ./electron --route raw
      focusguard probe --case 'mouse-press*' --window headful --json
      focusguard probe --app path/to/app --host-field '#notes' --quick
      focusguard probe --app /opt/my-app/my-app --bridge inject --guest example.com
      focusguard probe compare before/landing.json after/landing.json
    """
    if context.invoked_subcommand is not None:
        return 0
    _check_usage(context, app, windows, electrons)
    try:
        cases = select_cases(patterns, quick=quick, any_app=app is not None)
    except LookupError as error:
        raise click.BadParameter(f"{error.args[0]}; see --list", param_hint="--case") from error
    if list_only:
        for case in cases:
            click.echo(f"{case.name:45} {case.what}")
        return 0
    if app is not None:
        request = _request_for_app(
            electrons[0] if electrons else None,
            App(
                app,
                args=app_args,
                host_field=host_field,
                guest=guest,
                guest_field=guest_field,
                bridge=bridge,
                seconds=wait,
            ),
            routes=_in_order(routes, ROUTES) or ROUTES,
            cases=cases,
            quick=quick,
            seed=seed,
        )
        result = _measure(request, out, as_json=as_json)
        if as_json:
            click.echo(result.model_dump_json(indent=1))
        return result.exit_code
    runtimes = [_find(spec) for spec in electrons] if electrons else [_find(None)]
    results = []
    for runtime in runtimes:
        request = Request(
            runtime=runtime,
            embeddings=_in_order(embeddings, EMBEDDINGS) or ("webview",),
            windows=_in_order(windows, WINDOWS) or WINDOWS,
            routes=_in_order(routes, ROUTES) or ROUTES,
            cases=cases,
            quick=quick,
            seed=seed,
            jobs=jobs,
            broken=break_control,
        )
        folder = out if len(runtimes) == 1 else out / runtime.version
        results.append(_measure(request, folder, as_json=as_json))
    if as_json:
        texts = [result.model_dump_json(indent=1) for result in results]
        click.echo(texts[0] if len(texts) == 1 else f"[{','.join(texts)}]")
    codes = [result.exit_code for result in results]
    return 2 if 2 in codes else max(codes)


@probe.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
def compare(before: Path, after: Path) -> int:
    """Compare two results cell by cell: exit status 0 if they say the same, 1 if not.

    \b
    Example:
      focusguard probe compare before/landing.json after/landing.json
    """
    comparison = compare_results(_read(before), _read(after))
    click.echo(render_comparison(comparison))
    return 0 if comparison.equal else 1


@probe.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("docs/landing-matrix.md")
)
def doc(results: tuple[Path, ...], out: Path) -> int:
    """Write the documentation page from results of several versions.

    \b
    Example:
      focusguard probe doc --out docs/landing-matrix.md results/*/landing.json
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render_document([_read(path) for path in results]), "utf-8")
    click.echo(out)
    return 0


def _measure(request: Request, out: Path, *, as_json: bool) -> LandingResult:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[now]}", style="dim"),
    )
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"Electron {request.runtime.version}", total=request.cells, now="")

            def report(event: Event) -> None:
                now = f"{event.lane}: {event.text}"
                progress.update(task, advance=1 if event.row is not None else 0, now=now)
                if (
                    not console.is_terminal
                    and event.row is None
                    and event.text in ("starting", "controls", "done")
                ):
                    console.print(now, highlight=False, soft_wrap=True)

            run = Run(request, report)
            anyio.run(run.perform)
    except BaseException as error:
        # What was seen until then is evidence; the run stays incomplete.
        run.faults.append(f"stopped: {type(error).__name__} {error}".strip())
        write_result(run.result(), run.screenshots, out)
        raise
    result = run.result()
    files = write_result(result, run.screenshots, out)
    if not as_json:
        print_matrix(result, Console())
        click.echo(f"{files.html} (landing.md and landing.json beside it)")
    for reason in result.incomplete_because:
        console.print(f"incomplete: {reason}", style="bold red", highlight=False, soft_wrap=True)
    return result


def _check_usage(
    context: click.Context, app: Path | None, windows: Sequence[str], electrons: Sequence[str]
) -> None:
    """Refuses options that do not go together.

    Raises:
        click.UsageError: They do not.
    """
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    if app is None and (alone := given & ONLY_WITH_APP):
        raise click.UsageError(f"{_flags(alone)} needs --app")
    if app is not None and (fixtures := given & NOT_WITH_APP):
        raise click.UsageError(f"{_flags(fixtures)} is for the fixture app, and does not go with --app")
    if app is not None and "hidden" in windows:
        raise click.UsageError(
            "with --app the window is measured as the app shows it: leave --window hidden out"
        )
    if app is not None and len(electrons) > 1:
        raise click.UsageError("with --app one --electron is measured at a time")


def _flags(names: set[str]) -> str:
    flags = {"app_args": "app-arg", "embeddings": "embedding"}
    return ", ".join(sorted(f"--{flags.get(name, name).replace('_', '-')}" for name in names))


def _request_for_app(electron: str | None, app: App, **more: Any) -> Request:
    """Starts an app once, and finds in it what is measured.

    Raises:
        click.UsageError: It cannot be found; the message lists what there is.
    """
    assert app.path is not None
    try:
        subject = subject_of(electron, app.path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except RuntimeMissing:
        subject = Subject(_find(electron), app.path, given=True)
    app = replace(app, path=subject.app)
    console = Console(stderr=True)
    console.print("looking for the app's guest and fields", highlight=False)
    try:
        found = anyio.run(survey, app, subject.runtime)
    except NothingToMeasure as error:
        raise click.UsageError(str(error)) from error
    console.print(
        f"host: {found.host_field} in {found.host}\nguest: {found.guest_field} in {found.embedding} "
        f"{found.guest}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return request_for(app, found, subject.runtime, **more)


def _find(spec: str | None) -> Runtime:
    try:
        return find_runtime(spec)
    except RuntimeMissing as error:
        version = spec or DEFAULT
        if version not in KNOWN:
            raise click.BadParameter(str(error), param_hint="--electron") from error
        return install_with_progress(version)


def _in_order(given: Sequence[Any], known: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(item for item in known if item in given)


def _read(path: Path) -> LandingResult:
    try:
        return read_result(path)
    except UnreadableResultError as error:
        raise click.UsageError(str(error)) from error


if __name__ == "__main__":
    sys.exit(probe(standalone_mode=False))
