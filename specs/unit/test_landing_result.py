"""The result document, the reports that are made from it, comparing two, and the command line's usage errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from focusguard.cli.probe import probe
from probes.landing.cells import tone_of, words_of
from probes.landing.compare import compare_results
from probes.landing.report_html import render_html
from probes.landing.report_md import render_document, render_markdown
from probes.landing.runner import mark_twins
from probes.landing.schema import (
    Control,
    Evidence,
    LandingResult,
    Plan,
    Row,
    RuntimeInfo,
    Subject,
    UnreadableResultError,
    read_result,
)
from probes.landing.writing import write_result


def row(case: str = "key", route: Any = "raw", **more: Any) -> Row:
    given: dict[str, Any] = {
        "case": case,
        "embedding": "webview",
        "window": "headful",
        "route": route,
        "guest_focus": "main",
        "landing": ["guest"],
        "leaked": 0,
        "stolen": 0,
        "focus_kept": True,
        "reply": "ok",
        "status": "observed",
        "evidence": Evidence(what="<b>what</b>"),
    }
    return Row.model_validate({**given, **more})


def result(*rows: Row, complete: bool = True, electron: str = "33.2.1") -> LandingResult:
    cases = list(dict.fromkeys(item.case for item in rows))
    return LandingResult(
        started="2030-01-02T03:04:05Z",
        seconds=12.0,
        system="Linux",
        runtime=RuntimeInfo(electron=electron, chromium="130.0.1.2", sha256="ab" * 32),
        plan=Plan(
            embeddings=["webview"],
            windows=["headful"],
            routes=["raw", "guarded"],
            cases=cases,
            quick=False,
            seed=0,
            cells=len(rows),
        ),
        controls=[
            Control(
                name="leak",
                passed=complete,
                embedding="webview",
                window="headful",
                route="raw",
                expected="host",
                seen="host",
            )
        ],
        complete=complete,
        incomplete_because=[] if complete else ["control leak failed"],
        rows=list(rows),
    )


LEAK = {"landing": ["host"], "leaked": 3}


class DescribeExitCode:
    def it_is_0_for_a_complete_run_without_a_guarded_fault(self) -> None:
        assert result(row(**LEAK), row(route="guarded")).exit_code == 0

    def it_is_1_for_a_guarded_leak_or_theft(self) -> None:
        assert result(row(route="guarded", **LEAK)).exit_code == 1
        assert result(row(route="guarded", stolen=1)).exit_code == 1

    def it_is_2_for_an_incomplete_run_whatever_it_saw(self) -> None:
        assert result(row(), complete=False).exit_code == 2
        assert result(row(route="guarded", **LEAK), complete=False).exit_code == 2


class DescribeSchema:
    def it_has_the_promised_fields(self) -> None:
        data = json.loads(result(row()).model_dump_json())
        assert {"schema_version", "runtime", "controls", "complete", "rows"} <= set(data)
        assert set(data["runtime"]) == {"electron", "chromium", "sha256"}
        assert {"name", "passed"} <= set(data["controls"][0])
        assert set(data["rows"][0]) == {
            *("case", "embedding", "window", "route", "guest_focus", "landing", "leaked", "stolen"),
            *("focus_kept", "reply", "status", "evidence"),
        }

    def it_refuses_words_that_it_does_not_know(self) -> None:
        with pytest.raises(ValidationError):
            row(landing=["elsewhere"])
        with pytest.raises(ValidationError):
            row(status="perhaps")

    def it_reads_what_it_wrote(self, tmp_path: Path) -> None:
        before = result(row(), row("mouse-press", stolen=10, focus_kept=False))
        files = write_result(before, {}, tmp_path)
        assert read_result(files.json) == before
        assert read_result(tmp_path) == before

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 2}', '{"schema_version": 1}'])
    def it_says_what_it_cannot_read(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "landing.json").write_text(text)
        with pytest.raises(UnreadableResultError, match=r"landing\.json"):
            read_result(tmp_path)


class DescribeCells:
    def it_tells_where_and_what_happened(self) -> None:
        assert words_of(row(**LEAK, evidence=Evidence.model_validate({"focus": {"story": "kept"}}))) == (
            "host, leaked 3, kept"
        )
        moved = Evidence.model_validate({"focus": {"story": "moved"}})
        assert words_of(row(stolen=10, focus_kept=False, evidence=moved)) == "guest, stolen 10, moved"
        assert words_of(row(status="unsupported")) == "unsupported"

    @pytest.mark.parametrize(
        ("more", "tone"),
        [
            ({}, "good"),
            (LEAK, "fault"),
            ({"stolen": 1}, "fault"),
            ({"focus_kept": False}, "moved"),
            ({"landing": ["crashed"], "focus_kept": None}, "crashed"),
            ({"landing": ["nowhere"]}, "quiet"),
            ({"landing": ["nowhere"], "route": "guarded", "reply": "error -32000: no"}, "refused"),
            ({"status": "invalid"}, "invalid"),
            ({"status": "unsupported"}, "unsupported"),
        ],
    )
    def it_has_a_colour_for_everything(self, more: dict[str, Any], tone: str) -> None:
        assert tone_of(row(**more)) == tone


def test_a_guarded_row_says_whether_its_raw_twin_shows_a_fault() -> None:
    rows = [
        row("key", **LEAK),
        row("key", "guarded"),
        row("dom-focus", landing=[]),
        row("dom-focus", "guarded", landing=[]),
        row("alone", "guarded"),
    ]
    mark_twins(rows)
    assert [item.evidence.twin for item in rows] == [None, "fault", None, "no-fault", "absent"]


class DescribeReports:
    def it_makes_markdown_with_every_cell(self) -> None:
        text = render_markdown(result(row(**LEAK), row(route="guarded")))
        assert "| `key` | main | **host, leaked 3" in text
        assert "guest" in text

    def it_puts_an_incomplete_run_first(self) -> None:
        assert "Incomplete: no verdict" in render_markdown(result(row(), complete=False))

    def it_names_another_app_and_where_in_it(self, tmp_path: Path) -> None:
        given = result(row())
        given.subject = Subject(
            app="notes", args=["--a"], host="h.html", host_field="#n", guest="g.html", guest_field="#s"
        )
        write_result(given, {}, tmp_path)
        assert read_result(tmp_path) == given
        words = "The app notes --a: the person is in #n of h.html, the agent in #s of g.html."
        assert all(words in (tmp_path / f"landing.{kind}").read_text() for kind in ("md", "html"))

    def it_makes_one_page_of_several_versions(self) -> None:
        text = render_document([result(row()), result(row(), electron="9.4.1")])
        assert "## Electron 33.2.1, webview\n" in text
        assert "| [9.4.1](#electron-941-webview) | webview |" in text
        assert "## Electron 9.4.1, webview\n" in text
        assert "generated" in text

    def it_only_names_what_a_version_does_not_have(self) -> None:
        lacking = result(row(status="unsupported", landing=[]), electron="9.4.1")
        text = render_document([result(row()), lacking])
        assert "| 9.4.1 | webview: not in this version |" in text
        assert "## Electron 9.4.1" not in text

    def it_makes_a_self_contained_page_with_evidence_and_pictures(self) -> None:
        shown = row()
        shown.evidence.screenshot = "abc"
        page = render_html(result(shown), {"abc": b"\x89PNG"})
        assert "data:image/png;base64,iVBORw==" in page
        assert "<details" in page
        assert "src=" not in page
        assert "http" not in page
        assert "<b>what</b>" not in page, "evidence is escaped"


class DescribeCompare:
    def it_finds_no_difference_in_evidence_alone(self) -> None:
        other = row()
        other.evidence.ms = 99
        assert compare_results(result(row()), result(other)).equal

    def it_names_what_changed_and_what_got_worse(self) -> None:
        comparison = compare_results(result(row()), result(row(**LEAK)))
        assert [(item.case, item.worse) for item in comparison.changed] == [("key", True)]

    def it_names_cells_that_only_one_has(self) -> None:
        comparison = compare_results(result(row("a")), result(row("b")))
        assert (comparison.only_before, comparison.only_after) == (
            ["a webview headful raw"],
            ["b webview headful raw"],
        )

    def it_names_a_difference_of_versions(self) -> None:
        comparison = compare_results(result(row()), result(row(), electron="9.4.1"))
        assert "electron: 33.2.1 -> 9.4.1" in comparison.conditions


class DescribeCommandLine:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--case", "no-such-case"],
            ["--embedding", "iframe"],
            ["--window", "minimised"],
            ["--route", "sideways"],
            ["--electron", "1.2.3"],
            ["--electron", "/nowhere/electron"],
            ["--jobs", "0"],
            ["--no-such-option"],
            ["compare", "missing.json", "missing.json"],
            ["doc"],
            ["--host-field", "#notes"],
            ["--app-arg", "--flag"],
            ["--app", "/nowhere"],
            ["--app", "probes", "--case", "reload"],
            ["--app", "probes"],
            ["--app", "electron_fixture", "--window", "hidden"],
            ["--app", "electron_fixture", "--embedding", "webview"],
            ["--app", "electron_fixture", "--jobs", "2"],
            ["--app", "electron_fixture", "--electron", "1.2.3"],
            ["--app", "electron_fixture", "--electron", "33.2.1", "--electron", "22.3.25"],
        ],
    )
    def it_answers_wrong_usage_with_2(self, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("focusguard.cli.probe._measure", None)
        monkeypatch.setattr("focusguard.cli.probe.survey", None)
        done = CliRunner().invoke(probe, arguments)
        assert done.exit_code == 2, done.output

    def it_lists_cases(self) -> None:
        done = CliRunner().invoke(probe, ["--list", "--case", "mouse-*"])
        assert done.exit_code == 0
        assert "mouse-wheel" in done.output
        assert "insert-text" not in done.output

    def it_compares_two_files(self, tmp_path: Path) -> None:
        one, other = tmp_path / "one", tmp_path / "other"
        write_result(result(row()), {}, one)
        write_result(result(row(**LEAK)), {}, other)
        done = CliRunner().invoke(probe, ["compare", str(one), str(other)], standalone_mode=False)
        assert done.return_value == 1
        assert "WORSE key" in done.output
        assert (
            CliRunner().invoke(probe, ["compare", str(one), str(one)], standalone_mode=False).return_value
            == 0
        )

    def it_writes_the_documentation_page(self, tmp_path: Path) -> None:
        write_result(result(row()), {}, tmp_path)
        page = tmp_path / "docs" / "matrix.md"
        done = CliRunner().invoke(probe, ["doc", str(tmp_path / "landing.json"), "--out", str(page)])
        assert done.exit_code == 0
        assert page.read_text().startswith("# Landing matrix")
