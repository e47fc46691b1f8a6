"""Agent input reaches the page it targets and nothing else, and the person never loses a keystroke to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from focusguard.errors import Code, GuardError

if TYPE_CHECKING:
    from focusguard.guard import RunningGuard, attach, launch

__all__ = ["Code", "GuardError", "RunningGuard", "attach", "launch"]


def __getattr__(name: str) -> Any:
    """The guard is imported when it is asked for: the command line's help must not wait for it."""
    if name in ("RunningGuard", "attach", "launch"):
        from focusguard import guard

        return getattr(guard, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
