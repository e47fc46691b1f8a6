"""The matrix as one self-contained HTML file: a coloured cell per row, its evidence one click away."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape

from probes.landing.cells import (
    MARKS,
    TONES,
    Column,
    case_order,
    columns_of,
    mark_of,
    tone_of,
    totals_of,
    words_of,
    words_of_subject,
)
from probes.landing.schema import Control, LandingResult, Row
from probes.landing.table import all_cases

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --card: #fff; --ink: #1b1f24; --page: #f6f7f9;
  --good: #bfe8c9; --fault: #f5a9a4; --moved: #f9d79a; --quiet: #dfe3e8; --refused: #c9d9f5;
  --crashed: #c7a3d9; --unsupported: #eceff2; --invalid: #ffe95c; }
@media (prefers-color-scheme: dark) { :root { --card: #1c2127; --ink: #e6e9ed; --page: #12161b;
  --good: #1f5a33; --fault: #84302b; --moved: #77561a; --quiet: #333a42; --refused: #2c426b;
  --crashed: #5a3570; --unsupported: #20252b; --invalid: #6e6410; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 24px; background: var(--page); color: var(--ink);
  font: 14px/1.45 system-ui, sans-serif; }
h1 { margin: 0 0 4px; font-size: 22px; } h2 { font-size: 16px; margin: 28px 0 8px; }
p { margin: 4px 0; max-width: 90ch; }
code, pre { font: 12px/1.4 ui-monospace, monospace; }
.banner { padding: 8px 12px; border-radius: 6px; background: var(--invalid); font-weight: 600; }
table { border-collapse: separate; border-spacing: 2px; }
th { text-align: left; font-weight: 600; padding: 4px 8px; vertical-align: bottom; }
thead th { position: sticky; top: 0; background: var(--page); z-index: 2; }
td { padding: 0; vertical-align: top; border-radius: 4px; min-width: 132px; }
td.none { text-align: center; opacity: .4; padding: 4px; }
.focus { opacity: .65; font-weight: 400; }
summary { cursor: pointer; padding: 4px 8px; list-style: none; border-radius: 4px; }
summary::-webkit-details-marker { display: none; }
summary:hover, summary:focus-visible { outline: 2px solid currentColor; outline-offset: -2px; }
td > details { position: relative; }
.card { position: absolute; z-index: 5; top: 100%; left: 0; width: min(720px, 90vw); max-height: 75vh;
  overflow: auto; padding: 12px 16px; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; box-shadow: 0 8px 32px #0006; }
td.right .card { left: auto; right: 0; }
.card h3 { margin: 12px 0 4px; font-size: 13px; } .card h3:first-child { margin-top: 0; }
.card table { border-spacing: 0; font-size: 12px; width: 100%; }
.card td { border-radius: 0; min-width: 0; padding: 2px 6px 2px 0; border-top: 1px solid var(--line);
  overflow-wrap: anywhere; }
.card td.tight { white-space: nowrap; } .card td.reply { min-width: 5ch; }
.card pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 4px 0; }
.shot { width: 100%; aspect-ratio: var(--ratio, 1.42); background-size: contain; background-repeat: no-repeat;
  border: 1px solid var(--line); margin-top: 8px; }
.key { display: inline-block; padding: 2px 8px; border-radius: 4px; margin: 2px 4px 2px 0; }
""" + "".join(f".{tone} {{ background: var(--{tone}); }}\n" for tone in TONES)


def render_html(result: LandingResult, screenshots: Mapping[str, bytes]) -> str:
    """`landing.html` of one run.

    Args:
        result: The run.
        screenshots: PNG files by the name that a row's evidence gives.
    """
    runtime = result.runtime
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>Landing matrix: Electron {escape(runtime.electron)}</title>",
        f"<style>{_STYLE}{_picture_rules(result, screenshots)}</style>",
        f"<h1>Landing matrix: Electron {escape(runtime.electron)}, Chromium {escape(runtime.chromium)}</h1>",
        f"<p>Measured {escape(result.started)} in {result.seconds:.0f} s on {escape(result.system)}. "
        f"Executable sha256 <code>{escape(runtime.sha256)}</code>, seed {result.plan.seed}.</p>",
        f"<p>{escape(totals_of(result.rows))}</p>",
    ]
    if result.subject is not None:
        parts.append(f"<p>{escape(words_of_subject(result.subject))}.</p>")
    if not result.complete:
        parts.append(
            f"<p class=banner>Incomplete, no verdict: {escape('; '.join(result.incomplete_because))}</p>"
        )
    parts += [
        "<p>"
        + "".join(f"<span class='key {tone}'>{escape(text)}</span>" for tone, text in TONES.items())
        + "</p>",
        f"<p>{escape(MARKS)} Click a cell for its evidence.</p>",
        _matrix(result),
        "<h2>Controls</h2>",
        _controls(result.controls),
        "<h2>Columns</h2><table>",
        *(f"<tr><th>{escape(name)}<td>{escape(text)}" for name, text in result.columns.items()),
        "</table></html>",
    ]
    return "\n".join(parts) + "\n"


def _picture_rules(result: LandingResult, screenshots: Mapping[str, bytes]) -> str:
    """One style rule per picture, so that equal pictures stand in the file once."""
    used = {row.evidence.screenshot for row in result.rows if row.evidence.screenshot}
    rules = []
    for name in sorted(used & set(screenshots)):
        data = base64.b64encode(screenshots[name]).decode("ascii")
        rules.append(f".{_picture_class(name)} {{ background-image: url(data:image/png;base64,{data}); }}")
    return "\n".join(rules)


def _picture_class(name: str) -> str:
    return "shot-" + "".join(letter if letter.isalnum() else "-" for letter in name)


def _matrix(result: LandingResult) -> str:
    columns = columns_of(result)
    sentences = {case.name: case.what for case in all_cases()}
    lines = ["<table><thead><tr><th>case<th>guest's focus"]
    lines += [
        f"<th>{escape(column.embedding)}<br>{escape(column.window)}<br>{escape(column.route)}"
        for column in columns
    ]
    lines.append("</thead><tbody>")
    for case, focus in case_order(result):
        lines.append(
            f"<tr><th title='{escape(sentences.get(case, ''), quote=True)}'><code>{escape(case)}</code>"
            f"<th class=focus>{escape(focus)}"
        )
        lines += [
            _cell(result, case, column, right=index >= len(columns) / 2)
            for index, column in enumerate(columns)
        ]
    lines.append("</tbody></table>")
    return "\n".join(lines)


def _cell(result: LandingResult, case: str, column: Column, *, right: bool) -> str:
    row = result.row(case, column.embedding, column.window, column.route)
    if row is None:
        return "<td class=none>–"
    side = " right" if right else ""
    return (
        f"<td class='{tone_of(row)}{side}'><details name=cell>"
        f"<summary>{escape(words_of(row) + mark_of(row))}</summary>"
        f"<div class=card>{_evidence(row)}</div></details>"
    )


def _evidence(row: Row) -> str:
    evidence = row.evidence
    focus = evidence.focus
    parts = [f"<h3>{escape(row.case)}</h3><p>{escape(evidence.what)}</p>"]
    if evidence.reason:
        parts.append(f"<p><b>{escape(evidence.reason)}</b></p>")
    facts: list[tuple[str, str]] = [
        ("landing", " + ".join(row.landing) or "no input of its own"),
        ("leaked", f"{row.leaked} {'; '.join(evidence.leaked_inputs)}"),
        ("stolen", str(row.stolen)),
        ("reply", row.reply),
        ("focus of the host", f"{focus.story}: {focus.before} → {focus.after}"),
        ("document.hasFocus()", f"{focus.document_focus_before} → {focus.document_focus_after}"),
        ("focus events, host", ", ".join(focus.host_events)),
        ("focus events, guest", ", ".join(focus.guest_events)),
        ("active window changes", ", ".join(focus.raised)),
        ("host's field", evidence.host_value),
        (
            "guest's values",
            json.dumps(evidence.guest_values, ensure_ascii=False) if evidence.guest_values else "",
        ),
        ("counters", json.dumps(evidence.counters) if evidence.counters else ""),
        ("renderers gone", ", ".join(evidence.gone)),
        ("next key (hidden)", evidence.next_key or ""),
        ("same case, raw", evidence.twin or ""),
        (
            "trial",
            f"nonce {evidence.nonce}, instance {evidence.instance}, process {evidence.pid}, {evidence.ms} ms",
        ),
    ]
    if evidence.typed is not None:
        typed = evidence.typed
        lost = f"{typed.missing_during} lost during, {typed.missing_after} after, {typed.surplus} too many"
        facts[3:3] = [
            ("the person typed", f"during: {typed.during or '–'}; after: {typed.after or '–'}"),
            ("arrived", f"{typed.arrived or 'nothing'} ({lost})"),
            ("typed at, ms", ", ".join(f"{at:.0f}" for at in typed.schedule_ms)),
            ("arrived elsewhere", _pairs(typed.elsewhere)),
        ]
    parts.append("<table>")
    parts += [f"<tr><td>{escape(name)}<td>{escape(value)}" for name, value in facts if value]
    parts.append("</table><h3>Commands</h3><table>")
    parts += [
        f"<tr><td class=tight>{command.ms:.0f} ms"
        f"<td class=tight><code>{escape(command.method)}</code> on {escape(command.session)}"
        f"<td><code>{escape(json.dumps(command.params, ensure_ascii=False))}</code>"
        f"<td class=reply>{escape(command.reply)}"
        for command in evidence.commands
    ]
    parts.append("</table><h3>Seen in the logs</h3><table>")
    for seen in evidence.sightings:
        at = "" if seen.at_ms is None else f"{seen.at_ms:.0f} ms"
        parts.append(
            f"<tr><td>{at}<td>{escape(seen.document)}<td>{escape(seen.type)}<td>{escape(seen.detail)}"
            f"<td>{escape(seen.target)}"
        )
    if evidence.sightings_left_out:
        parts.append(f"<tr><td><td>and {evidence.sightings_left_out} more")
    parts.append("</table>" if evidence.sightings else "</table><p>nothing</p>")
    if evidence.screenshot:
        parts.append(f"<div class='shot {_picture_class(evidence.screenshot)}'></div>")
    return "".join(parts)


def _pairs(values: Mapping[str, object]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in values.items())


def _controls(controls: Sequence[Control]) -> str:
    lines = ["<table><thead><tr><th>control<th>where<th>expected<th>seen</thead>"]
    lines += [
        f"<tr><th>{escape(item.name)}<th class=focus>{item.embedding} {item.window} {item.route}"
        f"<td>{escape(item.expected)}<td class={'good' if item.passed else 'fault'}>{escape(item.seen)}"
        for item in controls
    ]
    lines.append("</table>")
    return "\n".join(lines)
