"""Whether a press was seen by the page.

Chromium answers a press with success that it drops: after a navigation it gives a page no input until its first frame,
which in a hidden window can take a second and more. What is pressed in a cross-site frame it gives to the page around
until that frame is drawn. Whether the document saw it is asked beside the press, never in its way: before it while the
focus is noted, after it while the focus goes home.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any

from focusguard.cdp.targets import Guest
from focusguard.policy.evidence import ANSWER_SECONDS, MISS_SECONDS
from focusguard.policy.flow import Await, CallFailed, Flow, FlowFault, Handle, Post, Upstream, call
from focusguard.policy.wire import Wire

WORLD = "focusguard-presses"
TREE = "Page.getFrameTree"
EVER = "focusguardPresses.verdict(null, 0)"
SEEN = "JSON.stringify(focusguardPresses.seen())"
SCRIPT = resources.files("focusguard.policy").joinpath("presses.js").read_text("utf-8")
#: Electron's first version of which it is known that every press is counted (22.3, 25.1 and 33.2; not 9.4).
COUNTED_SINCE = 22
#: Seconds for which a press waits for the document to be known: one that is as busy as that would not take it sooner.
READY_SECONDS = 0.25
#: Frames that are asked, at most.
MAX_FRAMES = 64
#: Seconds for the page to say what it has seen when the press was answered. One that shows a dialog says nothing.
LOOK_SECONDS = 0.5


@dataclass(slots=True)
class Question:
    """What the document had seen of presses when one was sent.

    Attributes:
        context_id: the isolated world in the document; None while that is not there.
        before: what it had seen, as JSON; `null` while it has not said.
        ready: settled when the document has said all that, or will not.
        children: targets below the guest.
        frames: the frames below it that had their process in common with it.
        sealed: the press was sent; what becomes known later is not of the time before.
    """

    session_id: str
    ready: Handle
    children: frozenset[str]
    context_id: int | None = None
    before: str = "null"
    frames: Handle | None = None
    sealed: bool = False


class PressWitness:
    """Asks documents about presses."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._contexts: dict[str, int] = {}

    def forget(self, guest: Guest) -> None:
        """A guest, or its renderer, is gone, and its world with it."""
        if guest.session_id is not None:
            self._contexts.pop(guest.session_id, None)

    def ask(self, guest: Guest) -> Question | None:
        """Begin to ask; None where no answer would be certain."""
        if guest.session_id is None or self._wire.electron < COUNTED_SINCE:
            return None
        question = Question(guest.session_id, Handle(), frozenset(guest.children))
        self._wire.flows.start(self._before(guest, question), lambda _: question.ready.settle())
        return question

    def ready(self, question: Question) -> Flow[None]:
        """Wait until it is known what the document has seen so far; the press is sent right after that."""
        with suppress(FlowFault):
            yield Await(question.ready, READY_SECONDS)
        question.sealed = True

    def look(self, guest: Guest, question: Question) -> Handle:
        """Begin to find out what became of the press that was sent: a verdict of `Receipt`."""
        looking = Handle()
        if question.context_id is None:
            looking.settle("unverified")
        else:
            self._wire.flows.start(self._verdict(guest, question, question.context_id), looking.settle)
        return looking

    def _before(self, guest: Guest, question: Question) -> Flow[None]:
        question.frames = yield Post(Upstream(TREE, {}, question.session_id))
        known = self._contexts.get(question.session_id)
        try:
            if known is not None:
                question.context_id = known
                with suppress(
                    CallFailed, ValueError
                ):  # gone with a navigation, or the number of another world
                    seen = yield from self._evaluate(question.session_id, known, SEEN, ANSWER_SECONDS)
                    self._note(question, known, seen)
                    return
                question.context_id = None
            context_id = yield from self._world(question.session_id, guest.target_id)
            self._contexts[question.session_id] = context_id
            if not question.sealed:  # it may be another document by now
                question.context_id = context_id
            self._note(
                question,
                context_id,
                (yield from self._evaluate(question.session_id, context_id, SCRIPT, ANSWER_SECONDS)),
            )
        except (FlowFault, KeyError, ValueError):
            return

    def _note(self, question: Question, context_id: int, seen: str) -> None:
        if not question.sealed:
            question.context_id, question.before = context_id, json.dumps(json.loads(seen))

    def _verdict(self, guest: Guest, question: Question, context_id: int) -> Flow[str]:
        session_id = question.session_id
        asked = f"focusguardPresses.verdict({question.before}, %d)"
        try:
            verdict = yield from self._evaluate(session_id, context_id, asked % 0, LOOK_SECONDS)
            if verdict == "astray":
                return "missed"
            if verdict != "missed":
                return verdict
            if (yield from self._elsewhere(guest, question)):
                return "unverified"
            wait_ms = int(MISS_SECONDS * 1000)
            return (
                yield from self._evaluate(
                    session_id, context_id, asked % wait_ms, MISS_SECONDS + ANSWER_SECONDS
                )
            )
        except (FlowFault, KeyError, ValueError):
            return "unverified"  # the document went away with the press

    def _elsewhere(self, guest: Guest, question: Question) -> Flow[bool]:
        """Whether a frame may have got it: one that is gone, or one that has ever seen a press."""
        assert question.frames is not None
        before = yield Await(question.frames, ANSWER_SECONDS)
        now = yield from call(Upstream(TREE, {}, question.session_id), ANSWER_SECONDS)
        frames = [(question.session_id, frame_id) for frame_id in _below(now["frameTree"])]
        if not set(_below(before["frameTree"])) <= {frame_id for _, frame_id in frames}:
            return True
        for child in guest.frames:
            tree = yield from call(Upstream(TREE, {}, child.session_id), ANSWER_SECONDS)
            frames.append((child.session_id, child.info["targetId"]))
            frames += [(child.session_id, frame_id) for frame_id in _below(tree["frameTree"])]
        if len(frames) > MAX_FRAMES or not question.children <= guest.children.keys():
            return True
        for session_id, frame_id in frames:
            context_id = yield from self._world(session_id, frame_id)
            yield from self._evaluate(session_id, context_id, SCRIPT, ANSWER_SECONDS)
            if (yield from self._evaluate(session_id, context_id, EVER, ANSWER_SECONDS)) != "missed":
                return True
        return False

    def _world(self, session_id: str, frame_id: str) -> Flow[int]:
        """The isolated world in a frame; of one name it is the same for as long as the document is there."""
        params = {"frameId": frame_id, "worldName": WORLD}
        made = yield from call(Upstream("Page.createIsolatedWorld", params, session_id), ANSWER_SECONDS)
        return int(made["executionContextId"])

    def _evaluate(self, session_id: str, context_id: int, expression: str, seconds: float) -> Flow[str]:
        params = {
            "expression": expression,
            "contextId": context_id,
            "awaitPromise": True,
            "returnByValue": True,
        }
        answer = yield from call(Upstream("Runtime.evaluate", params, session_id), seconds)
        if "exceptionDetails" in answer:
            raise ValueError("the document is another one")
        value = answer["result"]["value"]
        if not isinstance(value, str):
            raise ValueError(f"the document says {json.dumps(value)}")
        return value


def _below(tree: dict[str, Any]) -> Iterator[str]:
    for child in tree.get("childFrames", []):
        yield child["frame"]["id"]
        yield from _below(child)
