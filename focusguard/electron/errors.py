"""What can go wrong in the rig. Each message says what happened and what to do about it."""

from __future__ import annotations


class RigError(Exception):
    """Base of all the rig's errors; the command line prints them as one line."""


class RuntimeMissing(RigError):
    """No Electron was found where one was asked for."""


class InstallFailed(RigError):
    """A runtime could not be fetched, verified or unpacked."""


class DisplayFailed(RigError):
    """The isolated display, or its window manager, did not start or has died."""


class InputMethodMissing(RigError):
    """A real input method was asked for, and is not installed."""


class ForeignDisplay(RigError):
    """Native input was asked for on a display that this process did not start."""


class LaunchFailed(RigError):
    """Electron did not start, or ended before it was ready."""


class UpstreamFailed(RigError):
    """The app's CDP endpoint, or its bridge, cannot be reached."""


class PortTaken(RigError):
    """The port that clients shall connect to cannot be listened on."""
