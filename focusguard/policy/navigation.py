"""Commands after which a page may focus something by itself: navigations, reloads, new content."""

from __future__ import annotations

from focusguard.cdp.targets import Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.borrow import BRIDGE_SECONDS, Borrower, Lease
from focusguard.policy.flow import Await, Bridge, CallFailed, Flow, Gone, Post, TimedOut, Upstream, call
from focusguard.policy.wire import Wire

#: Seconds for which the person's focus is watched after a navigation was answered: the new page may focus itself.
WATCH_SECONDS = 1.0
#: Seconds for a navigation to be answered.
ANSWER_SECONDS = 120.0

Result = dict[str, object]


class Navigator:
    """Carries out navigations with the pane watching; other input does not wait for them."""

    def __init__(self, wire: Wire, borrower: Borrower) -> None:
        self._wire = wire
        self._borrower = borrower

    def navigate(self, guest: Guest, request: Upstream) -> Flow[Result]:
        """Send a navigation on and watch the person's focus until a while after its answer.

        Raises:
            GuardError: the person is composing, or no answer came.
        """
        self._check_alive(guest)
        lease = yield from self._watch(guest)
        try:
            handle = yield Post(request)
            if lease is not None:
                lease.pass_turn()
            result: Result = yield Await(handle, ANSWER_SECONDS)
        except TimedOut:
            raise GuardError(
                Code.TIMEOUT, f"no answer to {request.method} within {ANSWER_SECONDS:g} s"
            ) from None
        finally:
            if lease is not None:
                self._borrower.end_later(lease, guest, WATCH_SECONDS)
        return result

    def reload(self, guest: Guest, session_id: str, *, ignore_cache: bool) -> Flow[Result]:
        """Reload a webview. On its session Chromium's `Page.reload` reloads the host (probe case reload)."""
        self._check_alive(guest)
        if not self._wire.bridge_here or guest.web_contents_id is None:
            expression = {"expression": "location.reload()"}
            yield from self.navigate(guest, Upstream("Runtime.evaluate", expression, session_id))
            return {}
        lease = yield from self._watch(guest)
        params = {"webContentsId": guest.web_contents_id, "ignoreCache": ignore_cache}
        try:
            yield from call(Bridge("guest.reload", params), BRIDGE_SECONDS)
        except (CallFailed, TimedOut) as fault:
            raise GuardError(Code.ERROR, f"the app did not reload the guest: {fault}") from None
        except Gone:
            raise GuardError(Code.BRIDGE_LOST) from None
        finally:
            if lease is not None:
                self._borrower.end_later(lease, guest, WATCH_SECONDS)
        return {}

    def _check_alive(self, guest: Guest) -> None:
        """Electron 33.2.1 aborts, app and all, when a webview whose renderer has died navigates or reloads."""
        if guest.crashed and guest.inner:
            raise GuardError(
                Code.REFUSED,
                "the guest's renderer has died, and navigating it could end the app",
                advice="have the app open a new guest",
            )

    def _watch(self, guest: Guest) -> Flow[Lease | None]:
        if not self._borrower.needed(guest):
            self._borrower.check_composing(guest)
            return None
        try:
            return (yield from self._borrower.begin(guest, take=False))
        except GuardError as refusal:
            if refusal.code is Code.USER_COMPOSING:
                raise
            # A navigation takes no focus by itself: it does not depend on the host page answering.
            return None
