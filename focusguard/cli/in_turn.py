"""One app after the other behind the guard, as `focusguard serve` does it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio

from focusguard.cli import endpoints
from focusguard.cli.log import Log, until_over
from focusguard.electron.errors import RigError, UpstreamFailed
from focusguard.guard import RunningGuard, attach
from focusguard.policy.effects import Report

#: Seconds between two attempts: at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
#: Seconds between two looks for an app; for it to show its first page; and for its inspector to answer.
LOOK_SECONDS, PAGE_SECONDS, INSPECTOR_SECONDS = 0.5, 10.0, 10.0

Start = Callable[[], AbstractAsyncContextManager[RunningGuard]]


class Pauses:
    """The pauses between attempts: twice as long each time that nothing came of one.

    Args:
        steady: seconds for which an app must have been guarded for the first pause to count again.
        first: seconds.
    """

    def __init__(self, steady: float, first: float = FIRST_PAUSE) -> None:
        self._steady = steady
        self._first = self._next = first

    def after(self, ran: float | None) -> float:
        """The pause after an app that was guarded for so many seconds; None: it could not be."""
        if ran is not None and ran >= self._steady:
            self._next = self._first
        pause, self._next = self._next, min(2 * self._next, LONGEST_PAUSE)
        return pause


async def guard_in_turn(start: Start, log: Log, pauses: Pauses | None, *, patient: bool = False) -> str:
    """Guard one app after the other.

    Args:
        start: waits for an app, or starts one, and guards it.
        log: where it is told of, with what the guards report.
        pauses: between two of them; None: there is one only.
        patient: go on also where the first one cannot be guarded.

    Returns:
        Why the only one has ended.

    Raises:
        RigError: the only one, or the first one, could not be guarded.
        BrokenPipeError: nobody reads what is printed any more.
    """
    while True:
        since: float | None = None
        try:
            async with start() as guard:
                since = anyio.current_time()
                patient = True
                guard.watch(log)
                log(Report("app.guarded", _described(guard)))
                reason = await until_over(guard, log)
        except RigError as fault:
            if pauses is None or not patient:
                raise
            reason = str(fault)
        if pauses is None:
            return reason
        pause = pauses.after(anyio.current_time() - since if since is not None else None)
        kind = "app.failed" if since is None else "app.ended"
        log(Report(kind, {"reason": reason, "againIn": pause}))
        log.check()
        await anyio.sleep(pause)


def _described(guard: RunningGuard) -> dict[str, Any]:
    bridge = guard.bridge
    if bridge is None:
        return {"mode": "no-bridge"}
    return {"mode": "bridge", "electron": bridge.get("electron"), "pid": bridge.get("pid")}


@asynccontextmanager
async def awaited(base: str, inspector: str | None, log: Log, **how: Any) -> AsyncIterator[RunningGuard]:
    """Wait for an app that opens its debugging port, and guard it.

    Args:
        base: the port's http address.
        inspector: that of the app's Node inspector, to load the bridge through.
        log: where it is told that there is none yet.
        how: further arguments of `focusguard.attach`.

    Yields:
        The guard.

    Raises:
        RigError: the app is there and cannot be guarded.
    """
    log(Report("app.awaited", {"at": base}))
    url = await _answer(endpoints.browser_socket, base)
    # Electron 33.2.1 has ended now and then when it was attached to while it was still starting.
    with anyio.move_on_after(PAGE_SECONDS):
        await _answer(endpoints.listed_socket, base)
    inspector_url: str | None = None
    if inspector is not None:
        with anyio.move_on_after(INSPECTOR_SECONDS):
            inspector_url = await _answer(endpoints.listed_socket, inspector)
        if inspector_url is None:
            raise UpstreamFailed(
                f"no Node inspector answers at {inspector}. Start the app with --inspect=PORT"
            )
    async with attach(url, inspector_url=inspector_url, **how) as guard:
        yield guard


async def _answer(ask: Callable[[str], str], base: str) -> str:
    while True:
        try:
            return await anyio.to_thread.run_sync(ask, base, abandon_on_cancel=True)
        except endpoints.NoAnswerError:
            await anyio.sleep(LOOK_SECONDS)
