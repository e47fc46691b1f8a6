"""Fixtures for specs of your own Electron app: an isolated display, a person at it, and the app behind the guard.

pytest loads this by itself where focusguard is installed; docs/testing-your-app.md has an example. The fixtures are
synchronous, so they serve ordinary tests, those of pytest-asyncio and those of anyio's plugin alike. What they need is
imported when a test asks for one of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from focusguard.electron.display import Display
    from focusguard.electron.person import Person
    from focusguard.guarded_app import GuardedApp


@pytest.fixture(scope="session")
def _focusguard_portal() -> Iterator[BlockingPortal]:
    """The event loop of the fixtures, in a thread of its own: it outlives those of the tests."""
    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal(name="focusguard fixtures") as portal:
        yield portal


@pytest.fixture(scope="session")
def isolated_display(_focusguard_portal: BlockingPortal) -> Iterator[Display]:
    """A display of 1280 by 900 pixels with a window manager, for the whole run; nobody else is on it."""
    from focusguard.electron.display import isolated_display as start
    from focusguard.electron.errors import DisplayFailed

    display = _focusguard_portal.wrap_async_context_manager(start())
    try:
        shown = display.__enter__()
    except DisplayFailed as error:
        pytest.fail(f"isolated_display: {error}", pytrace=False)
    try:
        yield shown
    finally:
        display.__exit__(None, None, None)


@pytest.fixture
def person(isolated_display: Display, _focusguard_portal: BlockingPortal) -> Iterator[Person]:
    """A person at the isolated display, with real keys and a real pointer; at the end all are released."""
    from focusguard.electron.person import Person

    someone = Person(isolated_display)
    try:
        yield someone
    finally:
        _focusguard_portal.call(someone.release_all)


@pytest.fixture
def guarded_app(isolated_display: Display) -> Callable[..., GuardedApp]:
    """Starts an app on the isolated display, behind the guard, for the length of a block.

    It takes the arguments of `focusguard.launch`: `async with guarded_app(electron, app, args=["--flag"]) as guard:`.
    With an ordinary `with` it gives the guard of `focusguard.sync`.
    """
    from focusguard.guarded_app import GuardedApp

    return functools.partial(GuardedApp, display=isolated_display)
