"""Where the focus is inside a guest, and whether an input was seen there.

Both are asked in an isolated world on the guard's own sessions: `document.activeElement` is followed through frame
elements, and the frame at the end tells what its window has seen. A frame id is also the id of the frame's target
where the frame has a process of its own (CDP `DOM.describeNode`, `Target.TargetInfo`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from focusguard.cdp.targets import Child, Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.flow import CallFailed, Flow, Gone, Post, TimedOut, Upstream, call

WORLD = "focusguard"
#: Runs once in every world that is asked.
SCRIPT = resources.files("focusguard.policy").joinpath("evidence.js").read_text("utf-8")
#: Seconds that a guest's renderer has to answer a question; a page may be busy for a while, a stopped one stays silent.
ANSWER_SECONDS = 2.0
#: Seconds after which an input that no document has seen counts as missed.
MISS_SECONDS = 1.0
#: Frames below frames that are followed.
MAX_DEPTH = 32

Verdict = Literal["handled", "cancelled", "missed", "unverified"]


@dataclass(frozen=True, slots=True)
class Place:
    """The frame that holds the focus inside a guest.

    Attributes:
        session_id: the guard's session that reaches it.
        context_id: the isolated world in it.
        child: the frame target where it has a process of its own, None in the guest's own process.
        editable: whether the focused element takes text.
        seen: for each event type asked for, how often it was dispatched so far (two witnesses).
    """

    session_id: str
    context_id: int
    child: Child | None
    editable: bool
    visible: bool
    seen: dict[str, list[int]]


class Worlds:
    """Isolated worlds by session and frame, made when first asked for and made anew after a navigation."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], int] = {}

    def forget_session(self, session_id: str) -> None:
        """Drop the worlds of a session that is gone."""
        for key in [key for key in self._ids if key[0] == session_id]:
            del self._ids[key]

    def evaluate(
        self,
        session_id: str,
        frame_id: str,
        expression: str,
        *,
        wait: bool = False,
        seconds: float = ANSWER_SECONDS,
    ) -> Flow[tuple[int, dict[str, Any]]]:
        """Evaluate in the frame's world; gives the context id and the RemoteObject."""
        for fresh in (False, True):
            context_id = None if fresh else self._ids.get((session_id, frame_id))
            if context_id is None:
                context_id = yield from self._create(session_id, frame_id)
            try:
                answer = yield from call(
                    Upstream(
                        "Runtime.evaluate",
                        {"expression": expression, "contextId": context_id, "awaitPromise": wait},
                        session_id,
                    ),
                    seconds,
                )
            except CallFailed:
                if fresh:
                    raise
                continue  # the context went with a navigation
            if "exceptionDetails" in answer and not fresh:
                continue  # a navigation into another process, where the number names another document's context
            if "exceptionDetails" in answer:
                raise GuardError(
                    Code.ERROR, f"the guest could not be asked: {answer['exceptionDetails'].get('text')}"
                )
            return context_id, answer["result"]
        raise AssertionError("unreachable")

    def _create(self, session_id: str, frame_id: str) -> Flow[int]:
        made = yield from call(
            Upstream("Page.createIsolatedWorld", {"frameId": frame_id, "worldName": WORLD}, session_id),
            ANSWER_SECONDS,
        )
        context_id = int(made["executionContextId"])
        yield from call(
            Upstream("Runtime.evaluate", {"expression": SCRIPT, "contextId": context_id}, session_id),
            ANSWER_SECONDS,
        )
        self._ids[(session_id, frame_id)] = context_id
        return context_id


def locate(worlds: Worlds, guest: Guest, types: list[str]) -> Flow[Place]:
    """Follow the focus inside a guest to the frame that holds it.

    Raises:
        GuardError: the guest does not answer, or its focused frame is gone or cannot be reached.
    """
    if guest.session_id is None:
        raise GuardError(Code.INPUT_NOT_DELIVERED, "the guest is not attached yet; nothing was sent")
    session_id, frame_id, child = guest.session_id, guest.target_id, None
    expression = f"focusguard.look({json.dumps(types)})"
    try:
        for _ in range(MAX_DEPTH):
            context_id, found = yield from worlds.evaluate(session_id, frame_id, expression)
            if found["type"] == "string":
                return Place(session_id, context_id, child, **json.loads(found["value"]))
            node = yield from call(
                Upstream("DOM.describeNode", {"objectId": found["objectId"]}, session_id), ANSWER_SECONDS
            )
            # Held on to, the page's element would outlive its document.
            yield Post(Upstream("Runtime.releaseObject", {"objectId": found["objectId"]}, session_id))
            frame_id = node["node"].get("frameId", "")
            if frame_id in guest.children:
                child = guest.children[frame_id]
                session_id = child.session_id
    except TimedOut:
        raise GuardError(
            Code.INPUT_NOT_DELIVERED,
            f"the guest's renderer did not answer within {ANSWER_SECONDS:g} s; nothing was sent",
        ) from None
    except (CallFailed, Gone, KeyError) as fault:
        raise GuardError(
            Code.INPUT_NOT_DELIVERED,
            f"the frame that has the guest's focus is gone ({fault}); nothing was sent",
        ) from None
    raise GuardError(Code.INPUT_NOT_DELIVERED, f"the guest's focus is more than {MAX_DEPTH} frames deep")


def wait_expression(types: list[str], seen: dict[str, list[int]], *, character: bool) -> str:
    """The page-side wait for one of `types`, beginning from what was seen before the input."""
    arguments = (types, seen, character, int(MISS_SECONDS * 1000))
    return f"focusguard.wait({', '.join(map(json.dumps, arguments))})"
