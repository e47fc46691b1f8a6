"""The token of `focusguard serve`: in a file of the user's, so that clients can keep their endpoint."""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from focusguard.electron.errors import RigError

#: What stands in an endpoint's path as it is, and cannot be guessed.
TOKEN = re.compile(r"[A-Za-z0-9_-]{22,200}")


class BadTokenFile(RigError):
    """The file cannot be used: somebody else may read it, or no token is in it."""


def default_token_file() -> Path:
    """Under the user's state folder, which stays when they log out."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return folder / "focusguard" / "token"


def read_token(path: Path) -> str:
    """The token in a file.

    Raises:
        FileNotFoundError: there is no such file.
        BadTokenFile: somebody else may have read it, or it holds no token.
    """
    try:
        with path.open(encoding="ascii", errors="replace") as stream:
            found = os.fstat(stream.fileno())
            text = stream.read(1000).strip() if stat.S_ISREG(found.st_mode) else ""
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise BadTokenFile(f"{path} cannot be read: {fault.strerror}") from fault
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
        raise BadTokenFile(f"{path} is not yours alone: `chmod 600` it, or remove it and have a new one made")
    if not TOKEN.fullmatch(text):
        raise BadTokenFile(
            f"{path} holds no token (22 to 200 of A-Z a-z 0-9 _ -): remove it to have one made"
        )
    return text


def ensure_token(path: Path) -> str:
    """The token in a file, which is made with mode 0600 where there is none.

    Raises:
        BadTokenFile: see `read_token`, or it cannot be made.
    """
    try:
        return read_token(path)
    except FileNotFoundError:
        pass
    made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(f"{secrets.token_urlsafe(32)}\n")
            with suppress(FileExistsError):  # another one that starts just now has been quicker
                os.link(made, path)
        finally:
            made.unlink(missing_ok=True)
    except OSError as fault:
        raise BadTokenFile(f"{path} cannot be made: {fault.strerror}") from fault
    return read_token(path)
