"""A person types on at 25 keys per second while two agents do everything they can; the raw control loses most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from focusguard.cli import cli
from focusguard.electron.runtimes import Runtime
from probes.soak.report_html import render_html
from probes.soak.report_md import render_document
from probes.soak.runner import Plan, run
from probes.soak.schema import Compositions, SoakResult

pytestmark = pytest.mark.headful

KEYSTROKES = 1000


async def test_a_thousand_keystrokes_and_none_is_lost(runtime: Runtime, tmp_path: Path) -> None:
    result = await run(Plan(runtime=runtime, keystrokes=KEYSTROKES), lambda *_: None)
    (tmp_path / "soak.html").write_text(render_html(result), "utf-8")
    assert f"| {runtime.version} | webview | textarea | 1,000 |" in render_document([result])
    words = Compositions(engine="pinyin", words=9, compositions=9, swallowed=0, broken=1, reported=1)
    composed = render_document([result.model_copy(update={"compositions": words})])
    assert f"| {runtime.version} | pinyin | 25 | 9 | 9 | 0 | **1** | 1 |" in composed
    facts = result.model_dump_json(exclude={"timeline", "strokes_ms"}, indent=1)
    print(facts)

    assert result.complete, result.incomplete_because
    assert result.keystrokes == KEYSTROKES
    assert (result.lost, result.out_of_order, result.doubled) == (0, 0, 0), facts
    assert (result.misdelivered, result.leaked) == (0, 0), facts
    missed = [moment for moment in result.timeline if moment.fine is False]
    assert not missed, facts
    assert result.presses >= 50
    assert result.other_actions >= 50
    control = result.raw_control
    assert control is not None
    assert control.keystrokes == KEYSTROKES
    assert control.lost > KEYSTROKES / 2, "the control shows no fault: the run proves nothing"


def test_wrong_usage_is_said_in_one_line() -> None:
    answer = CliRunner().invoke(cli, ["soak", "--embedding", "offscreen"])
    assert answer.exit_code == 2
    assert "offscreen" in answer.output


def test_a_page_is_made_of_results(tmp_path: Path) -> None:
    wrong = tmp_path / "soak.json"
    wrong.write_text("{}")
    answer = CliRunner().invoke(cli, ["soak", "doc", str(wrong), "--out", str(tmp_path / "soak.md")])
    assert answer.exit_code == 1
    assert "is no result of `focusguard soak`" in answer.output
    assert not (tmp_path / "soak.md").exists()


def test_the_schema_keeps_its_names() -> None:
    promised = {
        "runtime",
        "keystrokes",
        "presses",
        "other_actions",
        "effects_missing",
        "lost",
        "out_of_order",
        "doubled",
        "misdelivered",
        "leaked",
        "brought_home",
        "borrow_ms",
        "raw_control",
    }
    schema = json.loads(json.dumps(SoakResult.model_json_schema()))
    assert promised <= set(schema["properties"])
