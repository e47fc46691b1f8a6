"""`focusguard soak`: a person types on while agents do everything they can."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from focusguard.cli.electron import install_with_progress
from focusguard.electron.errors import RuntimeMissing
from focusguard.electron.runtimes import DEFAULT, KNOWN, Runtime, find_runtime
from focusguard.policy.borrow import Pace
from probes.soak.composing import WORDS
from probes.soak.report_html import render_html
from probes.soak.report_md import render_document
from probes.soak.runner import Plan, run
from probes.soak.schema import SoakResult

DEFAULT_OUT = Path("results/soak")
EMBEDDINGS = ("webview", "browser-view", "web-contents-view")
HOST_FIELDS = ("textarea", "contenteditable", "shadow", "terminal", "form", "frame", "xterm")


@click.group(invoke_without_command=True)
@click.option("--electron", metavar="VERSION|PATH", help="Electron to use; the default one if not given.")
@click.option("--embedding", type=click.Choice(EMBEDDINGS), default="webview", show_default=True)
@click.option(
    "--host-field",
    type=click.Choice(HOST_FIELDS),
    default="textarea",
    show_default=True,
    help="What the person types into.",
)
@click.option("--keystrokes", type=click.IntRange(1), default=1000, show_default=True)
@click.option(
    "--rate", type=click.FloatRange(0.5, 60), default=25.0, show_default=True, help="Keystrokes per second."
)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--pace", type=click.Choice(["between-keys", "at-once"]), default="between-keys", show_default=True
)
@click.option(
    "--input-method",
    type=click.Choice(list(WORDS)),
    help="The person composes words with this engine of fcitx5; best with --rate 6.",
)
@click.option(
    "--guests", type=click.IntRange(1, 2), default=2, show_default=True, help="Guests, each with an agent."
)
@click.option(
    "--no-control", is_flag=True, help="Leave the raw control out; the run then proves nothing by itself."
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=DEFAULT_OUT, show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, without its timeline.")
@click.pass_context
def soak(
    context: click.Context,
    electron: str | None,
    embedding: Any,
    host_field: Any,
    keystrokes: int,
    rate: float,
    seed: int,
    pace: Pace,
    input_method: Any,
    guests: int,
    no_control: bool,
    out: Path,
    as_json: bool,
) -> int:
    """Have a person type with real keystrokes while agents click, type, drag, focus and reload.

    Exit status: 0 nobody lost anything; 1 something was lost, leaked or missed; 2 incomplete, or wrong usage.

    \b
    Examples:
      focusguard soak
      focusguard soak --keystrokes 5000 --out results/soak-long
      focusguard soak --electron 22.3.25 --host-field contenteditable --json
      focusguard soak --input-method pinyin --rate 6 --keystrokes 700 --no-control
    """
    if context.invoked_subcommand is not None:
        return 0
    plan = Plan(
        runtime=_find(electron),
        embedding=embedding,
        host_field=host_field,
        keystrokes=keystrokes,
        rate=rate,
        seed=seed,
        pace=pace,
        guests=guests,
        control=not no_control,
        input_method=input_method,
    )
    result = _run(plan)
    out.mkdir(parents=True, exist_ok=True)
    (out / "soak.json").write_text(result.model_dump_json(indent=1), "utf-8")
    (out / "soak.html").write_text(render_html(result), "utf-8")
    if as_json:
        click.echo(result.model_dump_json(indent=2, exclude={"timeline", "strokes_ms"}))
    else:
        click.echo(summary(result))
        click.echo(f"{out / 'soak.html'} (soak.json beside it)")
    sys.exit(2 if not result.complete else 0 if result.clean else 1)


@soak.command()
@click.argument(
    "results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("docs/soak.md"))
def doc(results: tuple[Path, ...], out: Path) -> int:
    """Write the documentation page from the soak.json files of several runs.

    \b
    Example:
      focusguard soak doc --out docs/soak.md results/*/soak.json
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render_document([_read(path) for path in results]), "utf-8")
    click.echo(out)
    return 0


def _read(path: Path) -> SoakResult:
    try:
        return SoakResult.model_validate_json(path.read_text("utf-8"))
    except ValueError as fault:
        raise click.ClickException(f"{path} is no result of `focusguard soak`: {fault}") from None


def _find(spec: str | None) -> Runtime:
    try:
        return find_runtime(spec)
    except RuntimeMissing:
        if spec is not None and spec not in KNOWN:
            raise
        return install_with_progress(spec or DEFAULT)


def _run(plan: Plan) -> SoakResult:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        typing = bar.add_task("keystrokes", total=plan.keystrokes, note="")

        def progress(typed: int, actions: int, faults: int) -> None:
            bar.update(typing, completed=typed, note=f"{actions} actions, {faults} faults")

        return anyio.run(run, plan, progress)


def summary(result: SoakResult) -> str:
    """A few lines for people."""
    control = result.raw_control
    raw = f"raw control: {control.lost} of {control.keystrokes} lost" if control else "no raw control"
    lines = [
        f"Electron {result.runtime.electron}, {result.embedding}, {result.host_field}, {result.rate:g} keys/s",
        f"{result.keystrokes} keystrokes against {result.presses} presses and {result.other_actions} other actions",
        f"lost {result.lost}, out of order {result.out_of_order}, doubled {result.doubled}, "
        f"misdelivered {result.misdelivered}, leaked {result.leaked}, effects missing {result.effects_missing}",
        f"brought home {result.brought_home}, refused for a moment {result.refused}; {raw}",
        f"borrow p50 {result.borrow_ms.p50} ms, p99 {result.borrow_ms.p99} ms, max {result.borrow_ms.max} ms",
    ]
    if result.compositions is not None:
        words = result.compositions
        lines.append(
            f"{words.engine}: {words.words} words, swallowed {words.swallowed}, broken {words.broken}, "
            f"reported by the guard {words.reported}"
        )
    if not result.complete:
        lines.append(f"INCOMPLETE: {result.incomplete_because}")
    return "\n".join(lines)
