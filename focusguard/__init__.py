"""Agent input reaches the page it targets and nothing else, and the person never loses a keystroke to it."""

from focusguard.errors import Code, GuardError
from focusguard.guard import RunningGuard, attach, launch

__all__ = ["Code", "GuardError", "RunningGuard", "attach", "launch"]
