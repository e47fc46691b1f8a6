"""The soak as a page: the figures, each kind of action, and a timeline of keystrokes, borrows and actions."""

from __future__ import annotations

from html import escape

from probes.soak.schema import Moment, SoakResult

#: Milliseconds in one row of the timeline, and its width in pixels.
ROW_MS = 10_000
WIDTH = 1200
ROW_HEIGHT = 46
#: Rows that are drawn; a longer soak shows its beginning and says so.
MAX_ROWS = 60

STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #222; max-width: 1260px }
table { border-collapse: collapse; margin: 1em 0 }
td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left } .good { color: #1a7f37 } .bad { color: #c62828; font-weight: 600 }
.big { font-size: 20px } svg { background: #fafafa; border: 1px solid #eee } .key { color: #666 }
"""
COLOURS = {
    "press": "#1565c0",
    "other": "#90a4ae",
    "borrow": "#ef6c00",
    "refusal": "#8e24aa",
    "missing": "#c62828",
}


def render_html(result: SoakResult) -> str:
    """The whole page, in one file."""
    faults = {
        "lost": result.lost,
        "out of order": result.out_of_order,
        "doubled": result.doubled,
        "misdelivered": result.misdelivered,
        "leaked": result.leaked,
        "effects missing": result.effects_missing,
    }
    words = ", ".join(
        f'<span class="{"bad" if n else "good"}">{name} {n}</span>' for name, n in faults.items()
    )
    control = result.raw_control
    raw = f"{control.lost} of {control.keystrokes} keystrokes lost" if control else "not run"
    title = f"Soak: Electron {escape(result.runtime.electron)}, {result.embedding}, {result.host_field}"
    incomplete = (
        f'<p class="bad">Incomplete: {escape(result.incomplete_because)}</p>' if not result.complete else ""
    )
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>
<h1>{title}</h1>{incomplete}
<p class="big">{result.keystrokes} keystrokes at {result.rate:g}/s against {result.presses} presses and
{result.other_actions} other actions: {words}</p>
<p>Without the guard, the same typing: <b>{raw}</b>. Brought home from borrows: {result.brought_home}.
Refused for a moment: {result.refused}.</p>
{_spreads(result)}{_actions(result)}
<h2>Timeline</h2>
<p class="key">Each row is {ROW_MS // 1000} s. Ticks: keystrokes.
In the middle: {_legend("borrow", "the focus was away")}.
Below: {_legend("press", "presses")}, {_legend("other", "other actions")}, {_legend("refusal", "refusals")},
{_legend("missing", "effects not seen")}.</p>
{_timeline(result)}</html>
"""


def _legend(kind: str, text: str) -> str:
    return f'<span style="color:{COLOURS[kind]}">{text}</span>'


def _spreads(result: SoakResult) -> str:
    rows = "".join(
        f"<tr><td>{name}</td><td>{each.p50}</td><td>{each.p99}</td><td>{each.max}</td></tr>"
        for name, each in (
            ("focus away from the person", result.borrow_ms),
            ("wait for a gap between keys", result.waited_ms),
            ("keystroke later than its schedule (the machine)", result.late_ms),
        )
    )
    return f"<table><tr><th>milliseconds</th><th>p50</th><th>p99</th><th>max</th></tr>{rows}</table>"


def _actions(result: SoakResult) -> str:
    rows = "".join(
        f"<tr><td>{escape(each.name)}</td><td>{each.done}</td>"
        f"<td class={'bad' if each.missing else 'good'}>{each.missing}</td>"
        f"<td>{each.ms.p50}</td><td>{each.ms.p99}</td></tr>"
        for each in result.actions
    )
    head = "<tr><th>action</th><th>done</th><th>effect not seen</th><th>p50 ms</th><th>p99 ms</th></tr>"
    return f"<table>{head}{rows}</table>"


def _timeline(result: SoakResult) -> str:
    last = max([0.0, *result.strokes_ms[-1:], *(each.at_ms for each in result.timeline[-1:])])
    rows = min(MAX_ROWS, int(last // ROW_MS) + 1)
    placed = ((at, _place(at, rows)) for at in result.strokes_ms)
    parts = [f'<path d="M{at[0]:.1f} {at[1] + 2}v9" stroke="#555"/>' for _, at in placed if at is not None]
    marks = ((moment, _place(moment.at_ms, rows)) for moment in result.timeline)
    parts += [_mark(moment, *at) for moment, at in marks if at is not None]
    cut = "" if rows * ROW_MS >= last else f"<p>The first {rows * ROW_MS // 1000} s are shown.</p>"
    return f'<svg width="{WIDTH}" height="{rows * ROW_HEIGHT}">{"".join(parts)}</svg>{cut}'


def _place(at_ms: float, rows: int) -> tuple[float, int] | None:
    row = int(at_ms // ROW_MS)
    if not 0 <= row < rows:
        return None
    return at_ms % ROW_MS / ROW_MS * WIDTH, row * ROW_HEIGHT


def _mark(moment: Moment, x: float, y: int) -> str:
    width = max(1.0, (moment.held_ms if moment.kind == "borrow" else moment.ms) or 0) / ROW_MS * WIDTH
    title = f"<title>{escape(moment.what)} at {moment.at_ms:.0f} ms, {moment.ms:.1f} ms</title>"
    if moment.kind == "borrow":
        colour, top, height = COLOURS["borrow"], 13, 9
    elif moment.kind == "refusal":
        colour, top, height = COLOURS["refusal"], 24, 18
    else:
        press = moment.what.startswith(("press", "double", "drag", "tap"))
        colour = COLOURS["missing" if moment.fine is False else "press" if press else "other"]
        top, height = 24 + 9 * (moment.agent or 0), 8
    box = f'x="{x:.1f}" y="{y + top}" width="{max(1.0, width):.1f}" height="{height}"'
    return f'<rect {box} fill="{colour}">{title}</rect>'
