"""Where the focus is inside a guest, and whether an input was seen there.

Both are asked in an isolated world on the guard's own sessions: `document.activeElement` is followed through frame
elements, and the frame at the end tells what its window has seen. A frame id is also the id of the frame's target
where the frame has a process of its own (CDP `DOM.describeNode`, `Target.TargetInfo`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from focusguard.cdp.targets import Child, Guest
from focusguard.errors import Code, GuardError
from focusguard.policy.flow import (
    Await,
    CallFailed,
    Flow,
    FlowFault,
    Gone,
    Handle,
    Post,
    TimedOut,
    Upstream,
    call,
)

WORLD = "focusguard"
#: Runs once in every world that is asked.
SCRIPT = resources.files("focusguard.policy").joinpath("evidence.js").read_text("utf-8")
#: Seconds that a guest's renderer has to answer a question; a page may be busy for a while, a stopped one stays silent.
ANSWER_SECONDS = 2.0
#: Seconds after which an input that no document has seen counts as missed.
MISS_SECONDS = 1.0
#: Milliseconds for the focus to leave a frame when the guest gets it.
LEFT_MS = 100
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
        above: session and isolated world of the frames above it, the outermost first; nothing for the main frame.
        editable: whether the focused element takes text.
        focused: whether the frame knows of the focus: it is not always where `activeElement` says (see `_strayed`).
        seen: for each event type asked for, how often it was dispatched so far (two witnesses).
    """

    session_id: str
    context_id: int
    child: Child | None
    editable: bool
    visible: bool
    seen: dict[str, list[int]]
    focused: bool = True
    above: tuple[tuple[str, int], ...] = ()


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


def locate(worlds: Worlds, guest: Guest, types: list[str], start: Child | None = None) -> Flow[Place]:
    """Follow the focus inside a guest to the frame that holds it.

    Args:
        worlds: where frames are asked.
        guest: whose focus.
        types: the events whose counts are wanted.
        start: the frame with a process of its own to begin at, and to stay below, instead of the guest's page.

    Raises:
        GuardError: the guest does not answer, or its focused frame is gone or cannot be reached.
    """
    if guest.session_id is None:
        raise GuardError(Code.INPUT_NOT_DELIVERED, "the guest is not attached yet; nothing was sent")
    session_id, frame_id, child = guest.session_id, guest.target_id, None
    if start is not None:
        session_id, frame_id, child = start.session_id, start.info["targetId"], start
    expression = f"focusguard.look({json.dumps(types)})"
    above: tuple[tuple[str, int], ...] = ()
    try:
        for _ in range(MAX_DEPTH):
            context_id, found = yield from worlds.evaluate(session_id, frame_id, expression)
            if found["type"] == "string":
                seen = json.loads(found["value"])
                place = Place(session_id, context_id, child, **seen, above=above)
                if above and start is None and not place.focused:
                    return (yield from _strayed(worlds, guest, expression)) or place
                return place
            above = (*above, (session_id, context_id))
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


def _strayed(worlds: Worlds, guest: Guest, expression: str) -> Flow[Place | None]:
    """The frame that has the focus where `activeElement` does not lead to it.

    After Tab has gone from one frame to the next, the document above still names the first one (33.2). Each frame's
    `hasFocus()` is right, and true for those above the focused one too.
    """
    found: list[tuple[int, int, str, str, Child | None]] = []
    roots: list[tuple[str, Child | None]] = [(str(guest.session_id), None)]
    roots += [(one.session_id, one) for one in guest.frames]
    for session_id, child in roots:
        tree = (yield from call(Upstream("Page.getFrameTree", {}, session_id), ANSWER_SECONDS))["frameTree"]
        for depth, frame_id in _frames(tree, 0):
            _, focused = yield from worlds.evaluate(session_id, frame_id, "document.hasFocus()")
            if focused.get("value"):
                found.append((_depth(guest, child), depth, session_id, frame_id, child))
    found.sort(key=lambda one: one[:2])
    above: tuple[tuple[str, int], ...] = ()
    for _, _, session_id, frame_id, child in found:
        context_id, seen = yield from worlds.evaluate(session_id, frame_id, expression)
        if seen["type"] == "string" and frame_id == found[-1][3]:
            return Place(session_id, context_id, child, **json.loads(seen["value"]), above=above)
        above = (*above, (session_id, context_id))
    return None


def _frames(tree: dict[str, Any], depth: int) -> Iterator[tuple[int, str]]:
    yield depth, tree["frame"]["id"]
    for below in tree.get("childFrames", []):
        yield from _frames(below, depth + 1)


def _depth(guest: Guest, child: Child | None) -> int:
    depth = 0
    while child is not None:
        depth, child = depth + 1, guest.children.get(child.parent_id)
    return depth


def hold_focus(place: Place) -> Flow[None]:
    """Note the focused element of a frame before the guest gets the focus, which Chromium moves to its main frame.

    Measured on Electron 9.4 to 33.2: the frame loses its focused element to that, with all the events. Until
    `resume_focus` or `drop_focus` they are kept from the page.
    """
    yield from in_worlds((*place.above, _world(place)), "focusguard.hold()")


def resume_focus(place: Place) -> Flow[None]:
    """Give the focus back to the frame and its element, by way of the frames above it."""
    yield from in_worlds((_world(place),), f"focusguard.left({LEFT_MS})")
    for world in (*place.above, _world(place)):
        yield from in_worlds((world,), "focusguard.back()")
    yield from drop_focus(place)


def drop_focus(place: Place) -> Flow[None]:
    """Let the page see focus events again."""
    yield from in_worlds((*place.above, _world(place)), "focusguard.done()")


def _world(place: Place) -> tuple[str, int]:
    return place.session_id, place.context_id


def in_worlds(worlds: tuple[tuple[str, int], ...], expression: str) -> Flow[None]:
    """Evaluate in these sessions' isolated worlds, at once; what fails is let be."""
    handles: list[Handle] = []
    for session_id, context_id in worlds:
        params = {"expression": expression, "contextId": context_id, "awaitPromise": True}
        handles.append((yield Post(Upstream("Runtime.evaluate", params, session_id))))
    for handle in handles:
        with suppress(FlowFault):  # a frame that is gone has no focus to keep
            yield Await(handle, ANSWER_SECONDS)


def wait_expression(types: list[str], seen: dict[str, list[int]], *, character: bool) -> str:
    """The page-side wait for one of `types`, beginning from what was seen before the input."""
    arguments = (types, seen, character, int(MISS_SECONDS * 1000))
    return f"focusguard.wait({', '.join(map(json.dumps, arguments))})"
