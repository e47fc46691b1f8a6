"""The file with the token of `focusguard serve`: made once, and nobody else's to read."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from focusguard.cli.token_file import TOKEN, BadTokenFile, default_token_file, ensure_token, read_token

GOOD = "abcdefghijklmnopqrstuvwxyz_-09"


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


class TestMaking:
    def test_it_is_made_for_its_owner_alone_and_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "folder" / "token"
        token = ensure_token(path)
        assert TOKEN.fullmatch(token)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert ensure_token(path) == token
        assert list(path.parent.iterdir()) == [path]

    def test_several_at_once_agree(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        with ThreadPoolExecutor(8) as pool:
            tokens = set(pool.map(ensure_token, [path] * 32))
        assert tokens == {read_token(path)}
        assert list(tmp_path.iterdir()) == [path]

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        write(tmp_path / "file", "")
        with pytest.raises(BadTokenFile, match="token cannot be"):
            ensure_token(tmp_path / "file" / "token")


class TestReading:
    def test_one_that_a_person_wrote(self, tmp_path: Path) -> None:
        assert read_token(write(tmp_path / "token", f"  {GOOD}\n")) == GOOD

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
    def test_one_that_others_may_read(self, tmp_path: Path, mode: int) -> None:
        with pytest.raises(BadTokenFile, match="chmod 600"):
            ensure_token(write(tmp_path / "token", GOOD, mode))

    @pytest.mark.parametrize("text", ["", "short", f"{GOOD}/..", f"{GOOD} {GOOD}", "ü" * 30, "a" * 201])
    def test_what_is_no_token(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(BadTokenFile, match="holds no token"):
            ensure_token(write(tmp_path / "token", text))

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(BadTokenFile, match="cannot be read"):
            ensure_token(tmp_path)


class TestWhere:
    def test_it_is_in_the_users_state_folder(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert default_token_file() == tmp_path / "focusguard" / "token"
        monkeypatch.setenv("XDG_STATE_HOME", "relative")
        assert default_token_file() == Path.home() / ".local" / "state" / "focusguard" / "token"
