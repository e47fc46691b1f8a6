"""The matrix as Markdown: of one run, and of several versions together for the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from probes.landing.cells import (
    MARKS,
    Column,
    case_order,
    columns_of,
    mark_of,
    totals_of,
    words_of,
    words_of_subject,
)
from probes.landing.schema import LandingResult, Row
from probes.landing.table import all_cases


def render_markdown(result: LandingResult) -> str:
    """`landing.md` of one run."""
    runtime = result.runtime
    lines = [
        f"# Landing matrix: Electron {runtime.electron}, Chromium {runtime.chromium}",
        "",
        f"Measured {result.started} in {result.seconds:.0f} s on {result.system}. "
        f"Executable sha256 `{runtime.sha256}`.",
        "",
        *([f"{words_of_subject(result.subject)}.", ""] if result.subject is not None else []),
        "**Complete.**"
        if result.complete
        else "**Incomplete: no verdict.** " + "; ".join(result.incomplete_because),
        "",
        totals_of(result.rows),
        "",
        "## Controls",
        "",
        *_controls(result),
        "",
        "## Matrix",
        "",
        *_matrix(result),
        "",
        MARKS,
        "",
        *_legend(result),
        "",
        *_odd_rows(result),
    ]
    return "\n".join(lines).rstrip() + "\n"


def render_document(results: Sequence[LandingResult]) -> str:
    """`docs/landing-matrix.md`: several versions, one section each."""
    lines = [
        "# Landing matrix",
        "",
        "Where an agent's input lands, and what it does to the person's focus. This page is generated from",
        "results of `focusguard probe` (`focusguard probe doc FILE…`); do not edit it by hand.",
        "",
        "| Electron | embedding | Chromium | measured | complete | rows | raw with a fault | guarded with a fault |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        raw = [row for row in result.rows if row.route == "raw"]
        guarded = [row for row in result.rows if row.route == "guarded"]
        version, embeddings = result.runtime.electron, ", ".join(result.plan.embeddings)
        there = _has_rows(result)
        cells = (
            f"[{version}](#{_anchor(_title(result))})" if there else version,
            embeddings if there else f"{embeddings}: not in this version",
            result.runtime.chromium,
            result.started[:10],
            "yes" if result.complete else "no",
            str(len(result.rows)),
            f"{sum(row.faulty for row in raw)} of {len(raw)}",
            f"{sum(row.faulty for row in guarded)} of {len(guarded)}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", MARKS, "", *_legend(results[0]), ""]
    for result in filter(_has_rows, results):
        lines += [
            f"## {_title(result)}",
            "",
            f"Chromium {result.runtime.chromium}, executable sha256 `{result.runtime.sha256}`. "
            f"{totals_of(result.rows)}.",
            "",
            *_matrix(result),
            "",
            *_odd_rows(result),
            "",
        ]
    lines += ["## Cases", "", "| case | what the agent does |", "| --- | --- |"]
    lines += [f"| `{case.name}` | {case.what} |" for case in all_cases()]
    return "\n".join(lines).rstrip() + "\n"


def _title(result: LandingResult) -> str:
    return f"Electron {result.runtime.electron}, {', '.join(result.plan.embeddings)}"


def _has_rows(result: LandingResult) -> bool:
    return any(row.status != "unsupported" for row in result.rows)


def _anchor(title: str) -> str:
    kept = (letter for letter in title.lower() if letter.isalnum() or letter in "- ")
    return "".join(kept).replace(" ", "-")


def _controls(result: LandingResult) -> list[str]:
    lines = ["| control | where | expected | seen | passed |", "| --- | --- | --- | --- | --- |"]
    for control in result.controls:
        where = f"{control.embedding} {control.window} {control.route}"
        passed = "yes" if control.passed else "**no**"
        lines.append(f"| {control.name} | {where} | {control.expected} | {control.seen} | {passed} |")
    return lines


def _matrix(result: LandingResult, level: str = "###") -> list[str]:
    """One table for each embedding: side by side they would be too wide to read."""
    lines: list[str] = []
    for embedding in result.plan.embeddings:
        columns = [column for column in columns_of(result) if column.embedding == embedding]
        if len(result.plan.embeddings) > 1:
            lines += [f"{level} {embedding}", ""]
        titles = [f"{column.window} {column.route}" for column in columns]
        lines += [f"| case | guest's focus | {' | '.join(titles)} |", "| --- " * (len(columns) + 2) + "|"]
        for case, focus in case_order(result):
            cells = [_cell(result, case, column) for column in columns]
            if any(cell != "–" for cell in cells):
                lines.append(f"| `{case}` | {focus} | {' | '.join(cells)} |")
        lines.append("")
    return lines[:-1]


def _cell(result: LandingResult, case: str, column: Column) -> str:
    row = result.row(case, column.embedding, column.window, column.route)
    if row is None:
        return "–"
    words = f"{words_of(row)}{mark_of(row)}"
    return f"**{words}**" if row.faulty or row.status == "invalid" else words


def _legend(result: LandingResult) -> list[str]:
    return [f"- **{name}**: {text}" for name, text in result.columns.items()]


def _odd_rows(result: LandingResult) -> list[str]:
    odd: list[Row] = [row for row in result.rows if row.status != "observed" or _errs(row)]
    if not odd:
        return []
    lines = ["Cells that are not plain observations:", ""]
    for row in odd:
        why = row.evidence.reason or row.reply
        lines.append(f"- `{row.case}` {row.embedding} {row.window} {row.route}: {row.status}, {why}")
    return lines


def _errs(row: Row) -> bool:
    return row.reply.startswith(("error", "timeout"))
