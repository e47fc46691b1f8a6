"""Presses are answered with success where the page was seen to get them, or cannot be asked."""

from __future__ import annotations

import pytest

from focusguard.policy.presses import EVER, SCRIPT, SEEN, TREE, WORLD
from specs.unit.strokes import HELD, MOUSE, PRESS, RELEASE, RETURNED, begin, repaired
from specs.unit.transcript import PRESS_CONTEXT, Call

CONTEXT = {"executionContextId": PRESS_CONTEXT}
#: What a page says before and after: nothing yet, or that it had seen two.
NONE, TWO = '{"heard": 0, "counted": 0}', '{"heard": 2, "counted": 2}'
ALONE = {"frameTree": {"frame": {"id": "G1"}}}
FRAMED = {"frameTree": {"frame": {"id": "G1"}, "childFrames": [{"frame": {"id": "INNER"}}]}}


def says(value: str) -> dict[str, object]:
    return {"result": {"type": "string", "value": value}}


class Stage:
    """A client that has asked for receipts and presses."""

    def __init__(self, **more: object) -> None:
        self.t, self.guest, self.agent = begin(**more)
        self.t.sees_presses = False
        self.agent.says(1, "FocusGuard.enable")
        self.agent.hears(1)
        self.session = self.guest.session

    def presses(self, id_: int = 2) -> None:
        """The command; the page is asked for its frames in the same breath."""
        self.agent.says(id_, MOUSE, PRESS, session="S1")
        self.t.app.takes_quietly()

    def asked_first(self, frames: dict[str, object] = ALONE, seen: str = NONE) -> None:
        """The first press in a document."""
        self.t.app.gets(TREE, session=self.session).answers(frames)
        self.t.app.gets("Page.createIsolatedWorld", {"worldName": WORLD}, session=self.session).answers(
            CONTEXT
        )
        self.t.app.gets("Runtime.evaluate", {"expression": SCRIPT}, session=self.session).answers(says(seen))

    def verdict(self, *, ms: int = 0, before: str = NONE) -> Call:
        """The question after it."""
        asked = self.t.app.gets("Runtime.evaluate", {"contextId": PRESS_CONTEXT}, session=self.session)
        assert asked.params["expression"] == f"focusguardPresses.verdict({before}, {ms})"
        return asked

    def press_is_sent(self) -> None:
        """It goes out, and is answered."""
        self.t.app.gets(MOUSE, session="S1").answers()

    def focus_goes_home(self) -> None:
        self.t.bridge.gets("borrow.end").answers(RETURNED)

    def receipt(self, verdict: str) -> None:
        assert self.agent.hears_event("FocusGuard.delivery", session="S1")["verdict"] == verdict
        self.t.silence()

    def sent_first(self, frames: dict[str, object] = ALONE) -> None:
        """All of the first press in a document up to the question what became of it."""
        self.presses()
        self.asked_first(frames)
        self.t.bridge.gets("borrow.begin").answers(HELD)
        self.press_is_sent()


@pytest.fixture
def stage() -> Stage:
    return Stage()


class TestSeen:
    @pytest.mark.parametrize("verdict", ["handled", "cancelled", "unverified"])
    def test_it_is_asked_beside_the_focus(self, stage: Stage, verdict: str) -> None:
        stage.sent_first()
        asked = stage.verdict()  # the focus is still on its way home
        stage.focus_goes_home()
        stage.agent.hears_nothing()
        asked.answers(says(verdict))
        stage.agent.hears(2, {}, session="S1")
        stage.receipt(verdict)

    def test_the_world_of_a_renderer_that_died_is_not_asked_again(self, stage: Stage) -> None:
        self.test_it_is_asked_beside_the_focus(stage, "handled")
        stage.t.app.says("Target.targetCrashed", {"targetId": "G1", "status": "killed", "errorCode": 9})
        stage.t.app.says("Inspector.targetReloadedAfterCrash", {}, session=stage.session)
        stage.presses(3)
        stage.asked_first()

    def test_the_second_press_asks_in_the_same_world(self, stage: Stage) -> None:
        self.test_it_is_asked_beside_the_focus(stage, "handled")
        stage.agent.says(3, MOUSE, RELEASE, session="S1")
        stage.t.app.gets(MOUSE, RELEASE, session="S1").answers()
        stage.agent.hears(3, session="S1")
        stage.agent.hears_event("FocusGuard.delivery", session="S1")
        stage.presses(4)
        stage.t.app.gets(TREE, session=stage.session).answers(ALONE)
        stage.t.app.gets("Runtime.evaluate", {"expression": SEEN}, session=stage.session).answers(says(TWO))
        stage.t.bridge.gets("borrow.begin").answers(HELD)
        stage.press_is_sent()
        stage.verdict(before=TWO).answers(says("handled"))
        stage.focus_goes_home()
        stage.agent.hears(4, {}, session="S1")
        stage.receipt("handled")

    def test_a_world_that_went_with_a_navigation_is_made_anew(self, stage: Stage) -> None:
        self.test_it_is_asked_beside_the_focus(stage, "handled")
        stage.agent.says(3, MOUSE, RELEASE, session="S1")
        stage.t.app.gets(MOUSE, RELEASE, session="S1").answers()
        stage.agent.hears(3, session="S1")
        stage.agent.hears_event("FocusGuard.delivery", session="S1")
        stage.presses(4)
        tree = stage.t.app.gets(TREE, session=stage.session)
        stage.t.app.gets("Runtime.evaluate", {"expression": SEEN}, session=stage.session).fails(
            "Cannot find context"
        )
        world = stage.t.app.gets("Page.createIsolatedWorld", session=stage.session)
        tree.answers(ALONE)
        world.answers(CONTEXT)
        stage.t.app.gets("Runtime.evaluate", {"expression": SCRIPT}, session=stage.session).answers(
            says(NONE)
        )
        stage.t.bridge.gets("borrow.begin").answers(HELD)
        stage.press_is_sent()
        stage.verdict().answers(says("handled"))
        stage.focus_goes_home()
        stage.agent.hears(4, {}, session="S1")
        stage.receipt("handled")


class TestMissed:
    def looked_again(self, stage: Stage, now: dict[str, object] = ALONE) -> None:
        """Nothing was seen at first."""
        stage.verdict().answers(says("missed"))
        stage.focus_goes_home()
        stage.t.app.gets(TREE, session=stage.session).answers(now)

    def test_it_is_named(self, stage: Stage) -> None:
        stage.sent_first()
        self.looked_again(stage)
        stage.verdict(ms=1000).answers(says("missed"))
        stage.agent.hears_error(2, "browser_input_not_delivered: the input was sent", session="S1")
        stage.receipt("missed")

    def test_nothing_is_down_then(self, stage: Stage) -> None:
        self.test_it_is_named(stage)
        stage.agent.leaves()
        stage.t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        stage.t.silence()

    def test_what_the_page_got_in_place_of_its_frame_is_named_at_once(self, stage: Stage) -> None:
        stage.sent_first()
        stage.verdict().answers(says("astray"))
        stage.focus_goes_home()
        stage.agent.hears_error(2, "browser_input_not_delivered: the input was sent", session="S1")
        stage.receipt("missed")

    def test_late_is_not_missed(self, stage: Stage) -> None:
        stage.sent_first()
        self.looked_again(stage)
        stage.verdict(ms=1000).answers(says("handled"))
        stage.agent.hears(2, {}, session="S1")
        stage.receipt("handled")

    @pytest.mark.parametrize("ever", ["missed", "unverified"])
    def test_a_frame_may_have_got_it(self, stage: Stage, ever: str) -> None:
        stage.sent_first(FRAMED)
        self.looked_again(stage, FRAMED)
        stage.t.app.gets("Page.createIsolatedWorld", {"frameId": "INNER"}, session=stage.session).answers(
            {"executionContextId": 91}
        )
        for expression, value in ((SCRIPT, NONE), (EVER, ever)):
            asked = stage.t.app.gets("Runtime.evaluate", {"expression": expression}, session=stage.session)
            assert asked.params["contextId"] == 91
            asked.answers(says(value))
        if ever == "missed":
            stage.verdict(ms=1000).answers(says("missed"))
            stage.agent.hears_error(2, "browser_input_not_delivered", session="S1")
        else:
            stage.agent.hears(2, {}, session="S1")
        stage.receipt(ever)

    def test_a_frame_that_is_gone_may_have_got_it(self, stage: Stage) -> None:
        stage.sent_first(FRAMED)
        self.looked_again(stage, ALONE)
        stage.agent.hears(2, {}, session="S1")
        stage.receipt("unverified")

    def test_a_frame_of_another_process_may_have_got_it(self, stage: Stage) -> None:
        frame = stage.t.frame(stage.guest, "CROSS")
        stage.sent_first()
        self.looked_again(stage)
        repaired(stage.t)
        stage.t.app.gets(TREE, session=frame).answers({"frameTree": {"frame": {"id": "CROSS"}}})
        stage.t.app.gets("Page.createIsolatedWorld", {"frameId": "CROSS"}, session=frame).answers(CONTEXT)
        stage.t.app.gets("Runtime.evaluate", {"expression": SCRIPT}, session=frame).answers(says(NONE))
        stage.t.app.gets("Runtime.evaluate", {"expression": EVER}, session=frame).answers(says("unverified"))
        stage.agent.hears(2, {}, session="S1")
        stage.receipt("unverified")


class TestUncertain:
    """Where it is not certain, it is said so, and nothing is held up."""

    def test_a_document_that_the_press_sent_away(self, stage: Stage) -> None:
        stage.sent_first()
        stage.verdict().fails("Cannot find context with specified id")
        stage.focus_goes_home()
        stage.agent.hears(2, {}, session="S1")
        stage.receipt("unverified")

    def test_a_page_that_does_not_say_beforehand(self, stage: Stage) -> None:
        stage.presses()
        tree = stage.t.app.gets(TREE, session=stage.session)
        world = stage.t.app.gets("Page.createIsolatedWorld", session=stage.session)
        stage.t.bridge.gets("borrow.begin").answers(HELD)
        assert not stage.t.app.calls, "the press waits a little"
        stage.t.rings(0.25)
        stage.press_is_sent()
        stage.focus_goes_home()
        stage.agent.hears(2, {}, session="S1")
        world.answers(CONTEXT)  # of which document, nobody knows
        stage.t.app.gets("Runtime.evaluate", {"expression": SCRIPT}, session=stage.session).answers(
            says(NONE)
        )
        tree.answers(ALONE)
        stage.receipt("unverified")

    def test_a_page_that_does_not_say_afterwards(self, stage: Stage) -> None:
        """It shows a dialog."""
        stage.sent_first()
        asked = stage.verdict()
        stage.focus_goes_home()
        stage.t.rings(0.5)
        stage.agent.hears(2, {}, session="S1")
        asked.answers(says("missed"))
        stage.receipt("unverified")

    def test_a_second_button_is_no_press_of_its_own(self, stage: Stage) -> None:
        TestSeen().test_it_is_asked_beside_the_focus(stage, "handled")
        stage.agent.says(3, MOUSE, {**PRESS, "button": "right"}, session="S1")
        stage.t.bridge.gets("borrow.begin").answers(HELD)
        stage.press_is_sent()
        stage.focus_goes_home()
        stage.agent.hears(3, {}, session="S1")
        stage.receipt("unverified")

    def test_an_electron_of_which_it_is_not_known(self) -> None:
        stage = Stage(electron="9.4.1")
        stage.presses()
        stage.t.bridge.gets("borrow.begin").answers(HELD)
        stage.press_is_sent()
        stage.focus_goes_home()
        stage.agent.hears(2, {}, session="S1")
        stage.receipt("unverified")

    def test_a_guest_that_goes_meanwhile(self, stage: Stage) -> None:
        stage.sent_first()
        stage.verdict()
        stage.t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        stage.focus_goes_home()
        stage.agent.hears_event("Target.detachedFromTarget")
        stage.agent.hears(2, {}, session="S1")
        stage.receipt("unverified")
