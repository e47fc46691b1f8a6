"""The guard for programs without an event loop, such as those that use Playwright's synchronous interface.

The guard runs in a thread of its own, with the same arguments as in `focusguard.launch` and `focusguard.attach`:

    with focusguard.sync.launch(electron, app) as guard, sync_playwright() as playwright:
        guard.wait_for_guests()
        browser = playwright.chromium.connect_over_cdp(guard.endpoint)

Leaving the block ends the guard and the app, also where an exception or Ctrl-C leaves it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import Any, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from focusguard import guard as asynchronous
from focusguard.electron.launching import ElectronProcess
from focusguard.guard import GuestCallback, GuestInfo, RunningGuard
from focusguard.policy.effects import Report

P = ParamSpec("P")
T = TypeVar("T")


class Guard:
    """A guard that accepts clients, for use outside an event loop. Made by `launch` and `attach`.

    Its methods may be called from any thread. Functions that are handed to `watch` and `on_guest` are called in the
    guard's own thread: there, the methods that wait cannot be used.
    """

    def __init__(self, portal: BlockingPortal, guard: RunningGuard) -> None:
        self._portal = portal
        self._guard = guard
        self._thread = portal.call(threading.get_ident)

    @property
    def endpoint(self) -> str:
        """See `RunningGuard.endpoint`."""
        return self._guard.endpoint

    @property
    def ws_endpoint(self) -> str:
        """See `RunningGuard.ws_endpoint`."""
        return self._guard.ws_endpoint

    @property
    def address(self) -> str:
        """See `RunningGuard.address`."""
        return self._guard.address

    @property
    def headers(self) -> dict[str, str]:
        """See `RunningGuard.headers`."""
        return self._guard.headers

    @property
    def bridge(self) -> dict[str, Any] | None:
        """See `RunningGuard.bridge`."""
        return self._guard.bridge

    @property
    def process(self) -> ElectronProcess | None:
        """See `RunningGuard.process`; its methods that wait go through `call`."""
        return self._guard.process

    @property
    def lost(self) -> str | None:
        """Why the app is gone, None while it is there."""
        return self._guard.lost

    def guests(self) -> list[GuestInfo]:
        """The guests that clients see now, as CDP target infos."""
        return self._in_its_thread(self._guard.guests)

    def wait_for_guests(self, count: int = 1, *, seconds: float = 20.0) -> list[GuestInfo]:
        """Wait until at least so many guests are there; see `RunningGuard.wait_for_guests`.

        Raises:
            TimeoutError: they did not come in time.
        """
        return self.call(functools.partial(self._guard.wait_for_guests, count, seconds=seconds))

    def wait_until_lost(self) -> str:
        """Wait until the app is gone; gives the reason."""
        return self.call(self._guard.wait_until_lost)

    def metrics(self) -> dict[str, Any]:
        """Counts and borrow times, as `FocusGuard.getMetrics` gives them."""
        return self._in_its_thread(self._guard.metrics)

    def watch(self, watcher: Callable[[Report], None]) -> None:
        """Have a function called, in the guard's thread, for everything that the guard reports."""
        self._in_its_thread(functools.partial(self._guard.watch, watcher))

    def on_guest(self, opened: GuestCallback | None = None, closed: GuestCallback | None = None) -> None:
        """Have functions called, in the guard's thread, when a guest comes and when it goes.

        Args:
            opened: see `RunningGuard.on_guest`.
            closed: see `RunningGuard.on_guest`.
        """
        self._in_its_thread(functools.partial(self._guard.on_guest, opened, closed))

    def call(self, function: Callable[..., Awaitable[T]], *args: object) -> T:
        """Run one of this library's asynchronous functions and wait for it: `guard.call(person.type, "text")`.

        Args:
            function: what to run in the guard's thread.
            args: its arguments.

        Returns:
            What it gives.
        """
        return self._portal.call(function, *args)

    def _in_its_thread(self, function: Callable[[], T]) -> T:
        # What a callback asks is asked in the guard's thread already, where waiting for that thread would never end.
        return function() if threading.get_ident() == self._thread else self._portal.call(function)


def _blocking(
    start: Callable[P, AbstractAsyncContextManager[RunningGuard]],
) -> Callable[P, AbstractContextManager[Guard]]:
    @functools.wraps(start)
    @contextmanager
    def started(*args: P.args, **kwargs: P.kwargs) -> Iterator[Guard]:
        with (
            start_blocking_portal(name="focusguard") as portal,
            portal.wrap_async_context_manager(start(*args, **kwargs)) as guard,
        ):
            yield Guard(portal, guard)

    return started


launch = _blocking(asynchronous.launch)
attach = _blocking(asynchronous.attach)
