"""The command line's frame: help without imports, one clear line for an error, and exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from focusguard import cli
from focusguard.electron.errors import RigError
from focusguard.electron.runtimes import DEFAULT, KNOWN, MANIFEST


def commands(group: click.Group, *above: str) -> list[list[str]]:
    """Every command below a group, by its words."""
    found: list[list[str]] = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found.append([*above, name])
        if isinstance(command, click.Group):
            found += commands(command, *above, name)
    return found


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], int]:
    """Runs a command that raises, and returns the exit code."""

    def run(error: BaseException) -> int:
        @click.command()
        def command() -> None:
            raise error

        monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: command)
        return cli._run(["anything"])

    return run


class TestExitCodes:
    def test_an_error_of_ours_is_one_line(
        self, failing: Callable[[BaseException], int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert failing(RigError("the display\n  has gone; start again")) == 1
        assert capsys.readouterr().err == "focusguard: the display has gone; start again\n"

    def test_so_is_one_out_of_task_groups(
        self, failing: Callable[[BaseException], int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        inner = ExceptionGroup("inner", [RigError("the app ended"), RigError("and so did the pipe")])
        assert failing(ExceptionGroup("outer", [inner])) == 1
        assert capsys.readouterr().err == "focusguard: the app ended\n"

    @pytest.mark.parametrize(
        "error", [KeyboardInterrupt(), click.Abort(), BaseExceptionGroup("group", [KeyboardInterrupt()])]
    )
    def test_an_interruption(self, failing: Callable[[BaseException], int], error: BaseException) -> None:
        assert failing(error) == 130

    def test_a_fault_of_ours_is_not_hidden(self, failing: Callable[[BaseException], int]) -> None:
        with pytest.raises(ZeroDivisionError):
            failing(ZeroDivisionError("a bug"))
        with pytest.raises(ExceptionGroup, match="group"):
            failing(ExceptionGroup("group", [RigError("known"), ZeroDivisionError("a bug")]))

    @pytest.mark.parametrize(
        "arguments", [["no-such-command"], ["electron", "--nope"], ["electron", "install", "1.2.3"]]
    )
    def test_wrong_usage(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert cli._run(arguments) == 2
        assert "Error:" in capsys.readouterr().err

    def test_help_and_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli._run(["--help"]) == 0
        assert "Measure where agent input lands" in capsys.readouterr().out
        assert cli._run(["--version"]) == 0
        assert capsys.readouterr().out.startswith("focusguard ")

    @pytest.mark.parametrize("command", commands(cli.cli), ids=" ".join)
    def test_every_help_ends_in_examples_of_its_own(
        self, command: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli._run([*command, "--help"]) == 0
        told = capsys.readouterr().out
        assert re.search(rf"\n  Examples?:\n    .*focusguard {' '.join(command)}", told), told

    def test_help_imports_no_sub_command(self) -> None:
        program = (
            "import sys; from focusguard import cli; cli._run(['--help']);"
            "print([name for name in sys.modules if name.startswith('focusguard.cli.')])"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout.splitlines()[-1] == "[]"


class TestElectron:
    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.delenv("FOCUSGUARD_ELECTRON", raising=False)
        monkeypatch.setattr("focusguard.electron.runtimes.REPOSITORY", tmp_path)
        return tmp_path / "focusguard" / "electron"

    def put(self, cache: Path, version: str) -> Path:
        path = cache / version / "electron"
        path.parent.mkdir(parents=True)
        path.write_text("it")
        path.with_name(MANIFEST).write_text(
            json.dumps({"executable": "electron", "sha256": "cd" * 32, "chromium": "1.2", "size": 2})
        )
        return path

    def test_path_of_what_is_missing(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli._run(["electron", "path"]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert f"run `focusguard electron install {DEFAULT}`" in captured.err

    def test_path(self, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = self.put(cache, "9.4.1")
        assert cli._run(["electron", "path", "9.4.1"]) == 0
        assert capsys.readouterr().out == f"{path}\n"
        assert cli._run(["electron", "path", "9.4.1", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {
            "version": "9.4.1",
            "executable": str(path),
            "source": "cache",
            "sha256": "cd" * 32,
            "chromium": "1.2",
        }

    def test_list(self, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.put(cache, "25.1.1")
        assert cli._run(["electron", "list", "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        assert listed["default"] == DEFAULT
        assert [item["version"] for item in listed["installed"]] == ["25.1.1"]
        assert {item["version"] for item in listed["installable"]} == set(KNOWN) - {"25.1.1"}
        assert cli._run(["electron", "list"]) == 0
        text = capsys.readouterr().out
        assert all(version in text for version in KNOWN)
        assert "not installed: focusguard electron install 33.2.1" in text

    def test_install_of_what_is_there(self, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = self.put(cache, DEFAULT)
        assert cli._run(["electron", "install"]) == 0
        assert capsys.readouterr().out == f"{path}\n"
