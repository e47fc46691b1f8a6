"""The matrix on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from probes.landing.cells import MARKS, Tone, case_order, columns_of, mark_of, tone_of, totals_of, words_of
from probes.landing.schema import LandingResult

_COLOURS: dict[Tone, str] = {
    "good": "green",
    "fault": "bold red",
    "moved": "yellow",
    "quiet": "dim",
    "refused": "blue",
    "crashed": "bold magenta",
    "unsupported": "dim",
    "invalid": "bold black on yellow",
}


def print_matrix(result: LandingResult, console: Console) -> None:
    """Prints the matrix and its totals."""
    runtime = result.runtime
    table = Table(title=f"Electron {runtime.electron}, Chromium {runtime.chromium}", title_justify="left")
    table.add_column("case", no_wrap=True)
    columns = columns_of(result)
    for column in columns:
        table.add_column(column.title.replace(" ", "\n"), overflow="fold")
    for case, _focus in case_order(result):
        cells = []
        for column in columns:
            row = result.row(case, column.embedding, column.window, column.route)
            if row is None:
                cells.append("[dim]–[/]")
            else:
                cells.append(f"[{_COLOURS[tone_of(row)]}]{words_of(row)}{mark_of(row)}[/]")
        table.add_row(case, *cells)
    if not console.is_terminal:
        console = Console(width=max(120, 48 + 36 * len(columns)), file=console.file)
    console.print(table)
    console.print(MARKS, style="dim", highlight=False)
    console.print(totals_of(result.rows), highlight=False)
    passed = sum(control.passed for control in result.controls)
    console.print(f"controls: {passed} of {len(result.controls)} passed", highlight=False)
