"""`focusguard serve`: what does not go together is wrong usage, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from focusguard.cli import _run


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give an app to start"),
        (["--attach", "9222", "--", "app"], "give an app to start"),
        (["--attach", "9222", "--restart"], "--restart is only for an app that is started here"),
        (["--attach", "9222", "--bridge", "none"], "--bridge is only for an app that is started here"),
        (["--inspector", "9229", "--", "app"], "--inspector is only for --attach"),
        (["--attach", "ws://127.0.0.1:9222/devtools/browser/1"], "is of one app only: give the port"),
        (["--attach", "9222", "--inspector", "ws://127.0.0.1:9229/1"], "is of one app only: give the port"),
        (["--attach", "nonsense"], "neither a port, nor"),
        (["--port", "70000", "--", "app"], "70000"),
    ],
)
def test_wrong_usage(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert _run(["serve", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
