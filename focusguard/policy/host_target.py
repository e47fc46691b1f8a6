"""The weaker mode: without a bridge the focus is borrowed through the host's own CDP target.

The pane is the same script that the bridge puts into the host page. What is missing is the app's main process: a
person's keys that fall into a borrow cannot be stopped at the guest and brought home, and keys need a borrow too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from typing import Any

from focusguard.cdp.sessions import Session, SessionTable
from focusguard.cdp.targets import Guest, TargetTree
from focusguard.errors import Code, GuardError
from focusguard.policy.evidence import ANSWER_SECONDS, Worlds
from focusguard.policy.flow import (
    CallFailed,
    Flow,
    FlowFault,
    Gone,
    TimedOut,
    Upstream,
    call,
    call_or_undo,
)
from focusguard.policy.wire import Wire

_FILES = resources.files("focusguard.bridge") / "electron"
#: In this order: the parts, and what they are parts of.
PANE_FILES = ("pane-place.js", "pane-line.js", "pane-hint.js", "pane.js")
PANE = "".join((_FILES / name).read_text("utf-8") for name in PANE_FILES)
PANE_WORLD = "focusguard-pane"
#: Event by which the page's own world tells the pane which element holds which guest.
LEARN_EVENT = "focusguard-learn"
#: Tells the pane a number for each webview, and gives the guard the time origin of the document in each: CDP does not
#: say which webview element a guest's target belongs to, and no two documents have the same origin.
LEARN = """(async (type) => {
  const found = [];
  for (const view of document.querySelectorAll('webview')) {
    const number = found.length + 1;
    let origin = 0;
    try {
      const late = new Promise((resolve) => setTimeout(resolve, 500, 0));
      origin = await Promise.race([view.executeJavaScript('performance.timeOrigin'), late]);
    } catch (error) {}
    view.dispatchEvent(new CustomEvent(type, { detail: number, bubbles: true, composed: true }));
    found.push([number, origin]);
  }
  return JSON.stringify(found);
})(%s)"""


class HostTarget:
    """Asks the pane in the host page over CDP."""

    def __init__(self, wire: Wire, tree: TargetTree, sessions: SessionTable, worlds: Worlds) -> None:
        self._wire = wire
        self._tree = tree
        self._sessions = sessions
        self._worlds = worlds
        self._attached: dict[str, str] = {}
        self._panes: dict[str, int] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._lease_at: dict[str, str] = {}
        self._leases = 0

    def begin(self, guest: Guest, *, take: bool, pace_ms: int, ready_ms: int) -> Flow[dict[str, Any]]:
        """As the bridge's `borrow.begin`; the person's keys are not seen here, so there is no pace to keep.

        Raises:
            GuardError: the host page of the guest cannot be found.
            FlowFault: its pane does not answer.
        """
        self._leases += 1
        lease = f"H{self._leases}"
        for fresh in (False, True):
            if fresh or guest.target_id not in self._places:
                self._places[guest.target_id] = yield from self._find(guest)
            host_id, number = self._places[guest.target_id]
            order = {
                "lease": lease,
                "guestId": number,
                "take": take,
                "anyGuest": False,
                "expires": 1e15,
                "keys": 0,
                "keysMs": 0,
            }
            question = f"begin({json.dumps(order)})"
            drop = self._drop(host_id, lease)
            held = yield from self._ask(host_id, question, ready_ms / 1000, late=drop)
            if held["state"] != "unknown-guest":
                break
        if held["state"] != "held":
            return {"state": held["state"], "lease": None, "waitedMs": 0}
        self._lease_at[lease] = host_id
        return {"state": "held", "lease": lease, "waitedMs": 0}

    def _drop(self, host_id: str, lease: str) -> Callable[[object], None]:
        """Has the pane forget a lease that it granted when nobody waited for it any more."""

        def drop(_: object) -> None:
            ask = self._ask(host_id, f"drop({json.dumps(lease)})", ANSWER_SECONDS)
            self._wire.flows.start(ask, failed=lambda _: None)

        return drop

    def end(self, lease: str, *, recheck_ms: int) -> Flow[dict[str, Any]]:
        """As the bridge's `borrow.end`."""
        host_id = self._lease_at.pop(lease)
        order = json.dumps({"lease": lease, "settleMs": recheck_ms})
        ended = yield from self._ask(host_id, f"end({order})", ANSWER_SECONDS)
        self._wire.start_timer(recheck_ms / 1000, lambda: self._recheck(host_id))
        return {**ended, "broughtHome": 0}

    def repair(self, guest: Guest) -> Flow[dict[str, Any]]:
        """As the bridge's `host.repair`."""
        place = self._places.get(guest.target_id)
        if place is None:
            return {"nudged": False}
        result: dict[str, Any] = yield from self._ask(place[0], "nudge()", ANSWER_SECONDS)
        return result

    def _recheck(self, host_id: str) -> None:
        self._wire.flows.start(self._ask(host_id, "recheck()", ANSWER_SECONDS), failed=lambda _: None)

    # -- the host page -------------------------------------------------------------------------------------------------
    def _find(self, guest: Guest) -> Flow[tuple[str, int]]:
        """The target and the number of the webview that holds a guest."""
        if guest.session_id is None:
            raise GuardError(Code.ERROR, "the guest is gone; nothing was sent")
        _, mine = yield from self._worlds.evaluate(
            guest.session_id, guest.target_id, "performance.timeOrigin"
        )
        for info in list(self._tree.infos.values()):
            if info["type"] != "page" or info["targetId"] in self._tree.guests:
                continue
            try:
                numbers = yield from self._learn(info["targetId"])
            except (FlowFault, GuardError):
                continue  # a window that does not answer does not hold this guest, or cannot be asked about it
            for number, origin in numbers:
                if origin == mine["value"]:
                    return info["targetId"], number
        nobody = "no window of the app says that it holds this guest; nothing was sent"
        raise GuardError(Code.FOCUS_GUARD_UNAVAILABLE, nobody)

    def _learn(self, host_id: str) -> Flow[list[tuple[int, float]]]:
        event = json.dumps(LEARN_EVENT)
        yield from self._ask(host_id, f"learnGuests({event})", ANSWER_SECONDS)
        found = yield from self._evaluate(host_id, {"expression": LEARN % event}, ANSWER_SECONDS)
        return [(number, origin) for number, origin in json.loads(found)]

    def _ask(
        self, host_id: str, question: str, seconds: float, *, late: Callable[[object], None] | None = None
    ) -> Flow[Any]:
        for fresh in (False, True):
            if fresh or host_id not in self._panes:
                yield from self._place(host_id)
            params = {
                "expression": f"globalThis.__focusguardPane.{question}",
                "contextId": self._panes[host_id],
            }
            try:
                return (yield from self._evaluate(host_id, params, seconds, late=late))
            except CallFailed:
                if fresh:
                    raise
        raise AssertionError("unreachable")

    def _place(self, host_id: str) -> Flow[None]:
        session_id = yield from self._session(host_id)
        made = yield from call(
            Upstream("Page.createIsolatedWorld", {"frameId": host_id, "worldName": PANE_WORLD}, session_id),
            ANSWER_SECONDS,
        )
        self._panes[host_id] = made["executionContextId"]
        source = f"(() => {{{PANE}\n}})();0"
        yield from self._evaluate(
            host_id, {"expression": source, "contextId": self._panes[host_id]}, ANSWER_SECONDS
        )

    def _evaluate(
        self,
        host_id: str,
        params: dict[str, Any],
        seconds: float,
        *,
        late: Callable[[object], None] | None = None,
    ) -> Flow[Any]:
        session_id = yield from self._session(host_id)
        full = {**params, "awaitPromise": True, "returnByValue": True}
        request = Upstream("Runtime.evaluate", full, session_id)
        answer = yield from call_or_undo(request, seconds, late or (lambda _: None))
        if "exceptionDetails" in answer:
            raise CallFailed(
                {"message": f"the host page could not be asked: {answer['exceptionDetails'].get('text')}"}
            )
        return answer["result"].get("value")

    def _session(self, host_id: str) -> Flow[str]:
        known = self._attached.get(host_id)
        if known is not None and self._sessions.get(known) is not None:
            return known
        try:
            made = yield from call_or_undo(
                Upstream("Target.attachToTarget", {"targetId": host_id, "flatten": True}),
                ANSWER_SECONDS,
                lambda late: self._wire.post(
                    Upstream("Target.detachFromTarget", {"sessionId": late["sessionId"]})
                ),
            )
        except (CallFailed, Gone, TimedOut):
            raise GuardError(
                Code.FOCUS_GUARD_UNAVAILABLE, "the host window is gone; nothing was sent"
            ) from None
        session_id = str(made["sessionId"])
        # The guard's own, and of no guest: no client can ever reach it.
        self._sessions.add(Session(session_id, None, host_id, guest_id=""))
        self._attached[host_id] = session_id
        self._panes.pop(host_id, None)
        return session_id
