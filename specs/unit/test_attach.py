"""Sessions of clients: attached, spoken to, ended; nobody reaches another's."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.cdp.limits import Limits
from focusguard.policy import effects
from specs.unit.browsing import (
    TAB_1,
    app_with_hidden_targets,
    attached,
    visit,
)
from specs.unit.strokes import begin
from specs.unit.transcript import Client, Transcript, page, target


class TestAttaching:
    """Target.attachToTarget and detachFromTarget: sessions of one's own."""

    def test_two_clients_on_one_guest_have_sessions_of_their_own(self) -> None:
        t = Transcript()
        t.guest("G1")
        first, second = t.client(), t.client()
        first.attaches("G1", "S1")
        second.attaches("G1", "S2")
        for id_ in range(1, 4):
            first.says(id_, "Runtime.evaluate", {"expression": "first"}, session="S1")
            second.says(id_, "Runtime.evaluate", {"expression": "second"}, session="S2")
        calls = [(t.app.gets("Runtime.evaluate", session=f"S{1 + n % 2}")) for n in range(6)]
        for call in reversed(calls):
            call.answers({"result": {"value": call.params["expression"]}})
        for id_ in (3, 2, 1):
            first.hears(id_, {"result": {"value": "first"}}, session="S1")
            second.hears(id_, {"result": {"value": "second"}}, session="S2")
        t.app.says("Runtime.consoleAPICalled", {"type": "log"}, session="S1")
        first.hears_event("Runtime.consoleAPICalled", session="S1")
        t.silence()

    def test_one_client_twice_on_one_guest(self) -> None:
        t, _, agent = begin()
        agent.attaches("G1", "S2")
        agent.says(7, "DOM.enable", session="S2")
        agent.says(7, "DOM.enable", session="S1")
        later = t.app.gets("DOM.enable", session="S2")
        t.app.gets("DOM.enable", session="S1").answers()
        agent.hears(7, {}, session="S1")
        later.answers()
        agent.hears(7, {}, session="S2")

    @pytest.mark.parametrize("session", ["S2", "DETACHED", "invented", "OWN-G1"])
    def test_a_foreign_detached_invented_or_hidden_session_is_an_error(self, session: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent, other = t.client(), t.client()
        other.attaches("G1", "S2")
        agent.attaches("G1", "DETACHED")
        agent.says(1, "Target.detachFromTarget", {"sessionId": "DETACHED"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "DETACHED"}).answers()
        agent.hears_event("Target.detachedFromTarget")
        agent.hears(1)
        for id_, method in enumerate(("Input.insertText", "Runtime.evaluate", "Target.getTargets")):
            agent.says(id_, method, {"text": "x"}, session=session)
            error = agent.hears_error(id_, "Session with given id not found.", session=session)
            assert error["code"] == -32001
        agent.says(9, "Target.detachFromTarget", {"sessionId": session})
        agent.hears_error(9, "No session with given id")
        agent.says(
            10, "Target.sendMessageToTarget", {"sessionId": session, "message": '{"id":1,"method":"A.b"}'}
        )
        agent.hears_error(10, "No session with given id")
        t.silence()

    def test_the_guards_own_sessions_are_never_heard_of(self) -> None:
        t, guest, _agent = begin()
        t.app.says("Page.frameNavigated", {"frame": {}}, session=guest.session)
        t.app.says("Page.frameNavigated", {"frame": {}}, session="nobody's")
        t.silence()

    def test_a_frame_can_be_attached(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        t.frame(guest, "F1")
        agent = t.client()
        agent.attaches("F1", "S1")
        agent.says(1, "DOM.getDocument", session="S1")
        t.app.gets("DOM.getDocument", session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_detaching_tells_once_and_answers_what_was_outstanding(self) -> None:
        t, _, agent = begin()
        agent.says(1, "Runtime.evaluate", session="S1")
        t.app.gets("Runtime.evaluate", session="S1")
        agent.says(2, "Target.detachFromTarget", {"sessionId": "S1"})
        agent.hears_error(1, "browser_error: the target closed before it answered", session="S1")
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"})
        agent.hears(2, {})
        t.app.says("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"})
        t.silence()

    def test_by_target_id_the_newest_goes(self) -> None:
        t, _, agent = begin()
        agent.attaches("G1", "S2")
        agent.says(1, "Target.detachFromTarget", {"targetId": "G1"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S2"}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S2"})
        agent.hears(1, {})

    def test_a_client_is_told_which_frame_a_frame_is_in_where_the_app_does_not_say(self) -> None:
        t, guest, agent = begin()
        t.frame(guest, "F1", inside="INNER")
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
        info = {**target("F1", "iframe"), "parentFrameId": "INNER"}
        agent.hears_event("Target.attachedToTarget", {"targetInfo": info}, session="S1")
        t.silence()

    def test_what_the_app_says_of_a_frame_is_passed_on_as_it_came(self) -> None:
        t, guest, agent = begin()
        t.frame(guest, "F1", inside="INNER")
        said = attached("SF", "F1")
        said["targetInfo"]["parentFrameId"] = "OUTER"
        t.app.says("Target.attachedToTarget", said, session="S1")
        agent.hears_event("Target.attachedToTarget", said, session="S1")
        t.silence()

    def test_a_frames_session_is_detached_where_the_app_announced_it(self) -> None:
        t, _, agent = begin()
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
        agent.hears_event("Target.attachedToTarget", {"sessionId": "SF"}, session="S1")
        agent.says(1, "Target.detachFromTarget", {"sessionId": "SF"}, session="S1")
        detaching = t.app.gets("Target.detachFromTarget", {"sessionId": "SF"}, session="S1")
        t.app.says("Target.detachedFromTarget", {"sessionId": "SF", "targetId": "F1"}, session="S1")
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "SF"}, session="S1")
        detaching.answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_what_was_attached_on_a_session_goes_with_it(self) -> None:
        t = Transcript()
        guest = t.guest("G1")
        t.guest("G2")
        t.frame(guest, "F1")
        agent = t.client()
        agent.attaches("G1", "S1")
        for id_, (target_id, session) in enumerate((("F1", "SF"), ("G2", "S2"))):
            agent.says(id_, "Target.attachToTarget", {"targetId": target_id, "flatten": True}, session="S1")
            t.app.gets("Target.attachToTarget", {"targetId": target_id}).answers({"sessionId": session})
            agent.hears_event("Target.attachedToTarget", {"sessionId": session}, session="S1")
            agent.hears(id_, {"sessionId": session}, session="S1")
        agent.says(9, "Target.detachFromTarget", {"sessionId": "S1"})
        for session in ("S1", "S2", "SF"):
            t.app.gets("Target.detachFromTarget", {"sessionId": session}).answers()
        agent.hears_event("Target.detachedFromTarget", {"sessionId": "S1"})
        agent.hears(9, {})
        agent.says(10, "Runtime.evaluate", session="S2")
        agent.hears_error(10, "Session with given id not found.", session="S2")
        t.silence()

    def test_an_attachment_that_comes_too_late_is_ended(self) -> None:
        t, _, agent = visit()
        agent.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        attaching = t.app.gets("Target.attachToTarget")
        t.rings(10.0)
        agent.hears_error(1, "browser_timeout")
        attaching.answers({"sessionId": "LATE"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "LATE"}).answers()
        agent.says(2, "Runtime.evaluate", session="LATE")
        agent.hears_error(2, "Session with given id not found.", session="LATE")
        t.silence()

    def test_a_guest_that_dies_while_it_attaches(self) -> None:
        t, _, agent = visit()
        agent.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        attaching = t.app.gets("Target.attachToTarget")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        attaching.answers({"sessionId": "S1"})
        agent.hears_error(1, "browser_error: the guest is gone")
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).fails("No session with given id")
        t.silence()
        assert len(t.guard.sessions) == 0

    def test_the_apps_own_refusal_is_passed_on(self) -> None:
        t, _, agent = visit()
        agent.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        t.app.gets("Target.attachToTarget").fails("Not allowed")
        agent.hears_error(1, "Not allowed")

    def test_too_many_sessions_are_refused(self) -> None:
        t = Transcript(limits=Limits(sessions=2))
        t.guest("G1")
        agent = t.client()
        agent.attaches("G1", "S1")
        agent.says(1, "Target.attachToTarget", {"targetId": "G1", "flatten": True})
        for id_, method in enumerate(("Target.attachToTarget", "Target.attachToBrowserTarget"), start=2):
            agent.says(id_, method, {"targetId": "G1", "flatten": True})
            error = agent.hears_error(id_, "browser_refused: this connection has 2 sessions already")
            assert error["message"].endswith("already. To do: detach some of them.")
        agent.says(4, "Target.attachToTarget", {"targetId": "tab-G1", "flatten": True})
        agent.hears_error(4, "browser_refused")


class TestBrowserSessions:
    """Target.attachToBrowserTarget: another virtual browser on the same connection."""

    def test_it_keeps_a_discovery_of_its_own(self) -> None:
        t = Transcript()
        agent = t.client()
        agent.says(1, "Target.attachToBrowserTarget")
        agent.hears_event("Target.attachedToTarget", {"sessionId": TAB_1})
        agent.hears(1, {"sessionId": TAB_1})
        agent.says(2, "Target.setDiscoverTargets", {"discover": True}, session=TAB_1)
        agent.hears(2, {}, session=TAB_1)
        t.guest("G1")
        agent.hears_event("Target.targetCreated", session=TAB_1)
        agent.says(3, "Browser.close", session=TAB_1)
        agent.hears_error(3, "browser_refused", session=TAB_1)
        agent.says(4, "Target.detachFromTarget", {"sessionId": TAB_1})
        agent.hears_event("Target.detachedFromTarget", {"sessionId": TAB_1})
        agent.hears(4)
        t.guest("G2")
        t.silence()


class TestWrappedSessions:
    """The nested protocol: Target.sendMessageToTarget and receivedMessageFromTarget."""

    def wrapped(self) -> tuple[Transcript, Client]:
        t, _, agent = visit()
        agent.says(1, "Target.attachToTarget", {"targetId": "G1"})
        t.app.gets("Target.attachToTarget", {"targetId": "G1", "flatten": True}).answers({"sessionId": "S1"})
        agent.hears_event("Target.attachedToTarget", {"sessionId": "S1"})
        agent.hears(1, {"sessionId": "S1"})
        return t, agent

    def test_commands_answers_and_events_are_wrapped(self) -> None:
        t, agent = self.wrapped()
        inner = '{"id":5,"method":"Runtime.evaluate","params":{"expression":"1"}}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears(2, {})
        t.app.gets("Runtime.evaluate", {"expression": "1"}, session="S1").answers({"result": {"value": 1}})
        agent.hears_event(
            "Target.receivedMessageFromTarget",
            {"sessionId": "S1", "targetId": "G1", "message": '{"id":5,"result":{"result":{"value":1}}}'},
        )
        t.app.says("Runtime.consoleAPICalled", {"type": "log"}, session="S1")
        heard = agent.hears_event("Target.receivedMessageFromTarget")
        assert heard["message"] == '{"method":"Runtime.consoleAPICalled","params":{"type":"log"}}'
        t.silence()

    @pytest.mark.parametrize(
        "method", ["Browser.close", "Target.createBrowserContext", "Browser.setWindowBounds"]
    )
    def test_what_is_inside_goes_through_the_same_table(self, method: str) -> None:
        t, agent = self.wrapped()
        inner = f'{{"id":5,"method":"{method}"}}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears(2, {})
        assert "browser_refused" in agent.hears_event("Target.receivedMessageFromTarget")["message"]
        t.silence()

    @pytest.mark.parametrize(
        ("inner", "says"),
        [
            ("", '{"error":{"code":-32700,"message":"Message must be a valid JSON"}}'),
            ("{", '{"error":{"code":-32700,"message":"Message must be a valid JSON"}}'),
            ("[]", '{"error":{"code":-32600,"message":"Message must be an object"}}'),
            ('"\\ud83d"', '{"error":{"code":-32600,"message":"Message must be an object"}}'),
            ("\ud83d", '{"error":{"code":-32700,"message":"Message must be a valid JSON"}}'),
            (
                '{"id":5}',
                '{"error":{"code":-32600,"message":"Message must have string \'method\' property"},"id":5}',
            ),
            (
                '{"id":5,"method":"A.b","sessionId":"S1"}',
                '{"error":{"code":-32001,"message":"Session with given id not found."},"id":5}',
            ),
        ],
    )
    def test_a_message_that_is_none_is_answered_inside(self, inner: str, says: str) -> None:
        t, agent = self.wrapped()
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears_event(
            "Target.receivedMessageFromTarget", {"sessionId": "S1", "targetId": "G1", "message": says}
        )
        agent.hears(2, {})
        t.silence()

    @pytest.mark.parametrize(
        ("params", "message", "data"),
        [
            (
                {"sessionId": "S1", "message": 3},
                "Invalid parameters",
                "message - BINDINGS: string value expected",
            ),
            ({"sessionId": "S1"}, "Invalid parameters", "message - BINDINGS: mandatory field missing"),
            (
                {"sessionId": 5, "message": "{}"},
                "Invalid parameters",
                "sessionId - BINDINGS: string value expected",
            ),
            ({"message": "{}"}, "Session id must be specified", None),
            ({"sessionId": "S2", "message": "{}"}, "No session with given id", None),
        ],
    )
    def test_what_wraps_nothing_is_an_error(self, params: Any, message: str, data: str | None) -> None:
        t, agent = self.wrapped()
        agent.says(2, "Target.sendMessageToTarget", params)
        error = agent.hears_error(2, message)
        assert error.get("data") == (data and f"Failed to deserialize params.{data}")
        t.silence()

    def test_half_a_surrogate_pair_goes_in_as_chromium_encodes_it(self) -> None:
        t, agent = self.wrapped()
        inner = '{"id":5,"method":"Runtime.evaluate","params":{"expression":"\'\ud83d\'.length"}}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears(2, {})
        t.app.gets("Runtime.evaluate", {"expression": "'\ufffd'.length"}, session="S1").answers()
        agent.hears_event("Target.receivedMessageFromTarget")
        t.silence()

    def test_half_a_surrogate_pair_comes_out(self) -> None:
        t, agent = self.wrapped()
        t.app.says("Runtime.consoleAPICalled", {"type": "\ud83d"}, session="S1")
        heard = agent.hears_event("Target.receivedMessageFromTarget")
        assert heard["message"] == '{"method":"Runtime.consoleAPICalled","params":{"type":"\\ud83d"}}'
        t.silence()

    def test_bytes_that_are_no_text_come_out_as_text(self) -> None:
        t, agent = self.wrapped()
        t.feed(effects.UpstreamSaid(b'{"method":"A.b","params":{"x":"\xff"},"sessionId":"S1"}'))
        heard = agent.hears_event("Target.receivedMessageFromTarget")
        assert heard["message"] == '{"method":"A.b","params":{"x":"\ufffd"}}'
        t.silence()

    def test_it_cannot_be_spoken_to_as_if_it_were_flat(self) -> None:
        t, agent = self.wrapped()
        agent.says(2, "Runtime.evaluate", session="S1")
        agent.hears_error(2, "Session with given id not found.", session="S1")
        t.silence()

    def test_a_flat_session_cannot_be_spoken_to_like_that(self) -> None:
        _t, _, agent = begin()
        inner = '{"id":5,"method":"Runtime.evaluate"}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner})
        agent.hears_error(2, "No session with given id")

    def test_wrapped_in_wrapped(self) -> None:
        t, agent = self.wrapped()
        innermost = '{\\"id\\":6,\\"method\\":\\"Browser.close\\"}'
        inner = '{"id":5,"method":"Target.sendMessageToTarget","params":{"sessionId":"S1","message":"%s"}}'
        agent.says(2, "Target.sendMessageToTarget", {"sessionId": "S1", "message": inner % innermost})
        agent.hears(2, {})
        assert agent.hears_event("Target.receivedMessageFromTarget")["message"] == '{"id":5,"result":{}}'
        assert "browser_refused" in agent.hears_event("Target.receivedMessageFromTarget")["message"]
        t.silence()


class TestPageConnections:
    """`/devtools/page/{id}`: the connection is the session, its messages carry no session id."""

    def test_commands_and_events(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, "Runtime.evaluate", {"expression": "1"})
        t.app.gets("Runtime.evaluate", {"expression": "1"}, session="S1").answers({"result": {"value": 1}})
        agent.hears(1, {"result": {"value": 1}})
        t.app.says("Page.loadEventFired", {"timestamp": 1.5}, session="S1")
        agent.hears_event("Page.loadEventFired", {"timestamp": 1.5})
        agent.says(2, "Target.getTargetInfo")
        agent.hears(2, {"targetInfo": page("G1")})
        t.silence()

    def test_what_is_said_before_the_app_has_attached_waits_in_order(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client("G1")
        agent.says(1, "Page.enable")
        agent.says(2, "DOM.enable")
        t.app.gets("Target.attachToTarget").answers({"sessionId": "S1"})
        t.app.gets("Page.enable", session="S1").answers()
        t.app.gets("DOM.enable", session="S1").answers()
        agent.hears(1)
        agent.hears(2)

    def test_frames_below_it_have_sessions(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        t.app.says("Target.attachedToTarget", attached("SF", "F1"), session="S1")
        agent.hears_event("Target.attachedToTarget", {"sessionId": "SF"})
        agent.says(1, "DOM.enable", session="SF")
        t.app.gets("DOM.enable", session="SF").answers()
        agent.hears(1, {}, session="SF")

    def test_its_own_session_has_no_name(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, "Page.enable", session="S1")
        agent.hears_error(1, "Session with given id not found.", session="S1")
        t.silence()

    def test_it_cannot_be_detached(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, "Target.detachFromTarget", {"sessionId": "S1"})
        agent.hears_error(1, "No session with given id")

    @pytest.mark.parametrize(
        "command", ["Browser.close", "Target.createBrowserContext", "Browser.setWindowBounds"]
    )
    def test_it_reaches_no_further_than_its_guest(self, command: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, command)
        agent.hears_error(1, "browser_refused")
        t.silence()

    @pytest.mark.parametrize("how", ["detached", "destroyed"])
    def test_it_ends_with_its_guest(self, how: str) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client_on("G1", "S1")
        agent.says(1, "Runtime.evaluate")
        t.app.gets("Runtime.evaluate", session="S1")
        if how == "detached":
            t.app.says("Target.detachedFromTarget", {"sessionId": "S1", "targetId": "G1"})
        else:
            t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_error(1, "browser_error: the target closed before it answered")
        agent.hears_event("Inspector.detached", {"reason": "target_closed"})
        assert agent.is_closed(1000) == "the guest is gone"
        agent.says(2, "Target.getTargets")
        agent.leaves()
        t.silence()

    def test_a_guest_that_cannot_be_attached_ends_the_connection(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client("G1")
        agent.says(1, "Page.enable")
        t.app.gets("Target.attachToTarget").fails("No target with given id found")
        assert agent.is_closed(1011) == "No target with given id found"
        agent.says(2, "Target.getTargets")
        agent.leaves()
        t.silence()

    def test_a_hidden_target_ends_the_connection(self) -> None:
        t = Transcript()
        app_with_hidden_targets(t)
        agent = t.client("HOST")
        assert agent.is_closed(1011) == "No target with given id found"
        t.silence()

    def test_a_client_that_leaves_before_it_is_attached(self) -> None:
        t = Transcript()
        t.guest("G1")
        agent = t.client("G1")
        agent.leaves()
        t.app.gets("Target.attachToTarget").answers({"sessionId": "S1"})
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        assert agent.closed is None
        t.silence()

    def test_what_waits_for_the_attachment_is_bounded(self) -> None:
        t = Transcript(limits=Limits(pending=3))
        t.guest("G1")
        agent = t.client("G1")
        for id_ in range(4):
            agent.says(id_, "Page.enable")
        agent.is_closed(1013)
