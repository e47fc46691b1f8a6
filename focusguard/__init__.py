"""Agent input reaches the page it targets and nothing else, and the person never loses a keystroke to it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from focusguard.errors import Code, GuardError

if TYPE_CHECKING:
    from focusguard import sync
    from focusguard.electron.errors import (
        DisplayFailed,
        ForeignDisplay,
        InputMethodMissing,
        InstallFailed,
        LaunchFailed,
        RigError,
        RuntimeMissing,
        UpstreamFailed,
    )
    from focusguard.guard import GuestInfo, RunningGuard, attach, launch
    from focusguard.policy.effects import Report

__all__ = [
    "Code",
    "DisplayFailed",
    "ForeignDisplay",
    "GuardError",
    "GuestInfo",
    "InputMethodMissing",
    "InstallFailed",
    "LaunchFailed",
    "Report",
    "RigError",
    "RunningGuard",
    "RuntimeMissing",
    "UpstreamFailed",
    "attach",
    "launch",
    "sync",
]
_ERRORS = "focusguard.electron.errors"
#: What is imported when it is asked for: the command line's help and the pure core must not wait for it.
_LAZY = {
    "DisplayFailed": _ERRORS,
    "ForeignDisplay": _ERRORS,
    "InputMethodMissing": _ERRORS,
    "InstallFailed": _ERRORS,
    "LaunchFailed": _ERRORS,
    "RigError": _ERRORS,
    "RuntimeMissing": _ERRORS,
    "UpstreamFailed": _ERRORS,
    "GuestInfo": "focusguard.guard",
    "Report": "focusguard.policy.effects",
    "RunningGuard": "focusguard.guard",
    "attach": "focusguard.guard",
    "launch": "focusguard.guard",
}


def __getattr__(name: str) -> Any:
    """Imports what is asked for."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name == "sync":
        return import_module("focusguard.sync")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
