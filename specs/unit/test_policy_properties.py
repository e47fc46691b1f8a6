"""The whole policy under any order of events.

Two clients, two guests with frames, deaths, late and missing and failing answers of the app and of the bridge, timers,
loss and return of the bridge, loss of clients. At every step, and when all has come to rest:

- every command of a living client gets exactly one reply, on its session, and nobody else's;
- nothing is sent to a client or a bridge that left;
- input goes to guests and their frames, never to the whole window or a host;
- a borrow that was granted is returned, or its bridge is gone;
- while the person composes, a view gets nothing that would end it;
- at rest nothing waits, no lock is held, no timer runs, and the app has no session of a client that left.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from focusguard.policy.effects import AskBridge, Command, SendClient, SendUpstream
from specs.unit.outside import HOST, AppSession, Outside, Peer

#: More for a longer look, as in FOCUSGUARD_EXAMPLES=5000.
EXAMPLES = int(os.environ.get("FOCUSGUARD_EXAMPLES", "150"))

KEY = "Input.dispatchKeyEvent"
A = {"key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65}
INPUT: list[tuple[str, dict[str, Any]]] = [
    (KEY, {"type": "keyDown", "text": "a", **A}),
    (KEY, {"type": "keyUp", **A}),
    (KEY, {"type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}),
    ("Input.insertText", {"text": "hi"}),
    ("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1}),
    ("Input.dispatchMouseEvent", {"type": "mousePressed", "x": 1, "y": 1, "button": "left"}),
    ("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 1, "y": 1}),
    ("Input.dispatchMouseEvent", {"type": "mouseReleased", "x": 1, "y": 1, "button": "left"}),
    ("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": 1, "y": 1}]}),
    ("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []}),
    ("Input.synthesizeTapGesture", {"x": 1, "y": 1}),
    ("DOM.focus", {"nodeId": 1}),
]
AT_SESSION: list[tuple[str, dict[str, Any]]] = [
    ("Runtime.evaluate", {"expression": "1"}),
    ("Page.navigate", {"url": "http://guest.test/"}),
    ("Page.reload", {}),
    ("Page.bringToFront", {}),
    ("Page.close", {}),
    ("Browser.close", {}),
    ("Target.getTargets", {}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}),
]
AT_ROOT: list[tuple[str, dict[str, Any]]] = [
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}),
    ("Target.setAutoAttach", {"autoAttach": True, "flatten": True, "filter": [{"type": "tab"}]}),
    ("Target.setAutoAttach", {"autoAttach": False}),
    ("Target.setDiscoverTargets", {"discover": True, "filter": [{}]}),
    ("Target.getTargets", {"filter": [{}]}),
    ("Target.attachToBrowserTarget", {}),
    ("Target.createTarget", {"url": "about:blank"}),
    ("Input.insertText", {"text": "hi"}),
    ("FocusGuard.getStatus", {}),
    ("FocusGuard.getReports", {"after": 0}),
]


#: A rule's own choices: one number, so that a step is cheap.
chances = st.integers(0, 2**20).map(lambda number: Random(number * 7919 + 1))


def _mostly_well(chance: Random) -> Callable[[list[Any]], Any]:
    return lambda options: options[0] if chance.random() < 0.85 else chance.choice(options)


class AnyOrder(RuleBasedStateMachine):
    """One life of a guard."""

    weaker = False

    @initialize(chance=chances)
    def begin(self, chance: Random) -> None:
        self.outside = outside = Outside(weaker=self.weaker)
        for _ in range(2):
            outside.appear(outside.new_guest(), "webview")
        self._go_on()
        for _ in range(2):
            peer = outside.join(None)
            for target_id in outside.guests():
                outside.say(peer, "Target.attachToTarget", {"targetId": target_id, "flatten": True}, None)
            self._go_on()
        if chance.random() < 0.5:
            outside.frame_appears(chance.choice(outside.guests()))
            self._go_on()

    def _go_on(self) -> None:
        """All that waits for the app or the bridge is answered well, in order."""
        while self.outside.calls or self.outside.asked:
            self._one_answer(lambda options: options[0])

    def _one_answer(self, choose: Callable[[list[Any]], Any]) -> None:
        if self.outside.calls:
            self.outside.answer(self.outside.calls[0], choose)
        elif self.outside.asked:
            self.outside.answer_bridge(self.outside.asked[0], choose)

    # -- clients -------------------------------------------------------------------------------------------------------
    @precondition(lambda self: len(self.outside.living()) < 2)
    @rule(chance=chances)
    def client_joins(self, chance: Random) -> None:
        self.outside.join(chance.choice([None, *self.outside.guests() * 2, HOST]))

    @precondition(lambda self: self.outside.living())
    @rule(chance=chances)
    def client_leaves(self, chance: Random) -> None:
        if chance.random() < 0.3:
            self.outside.leave(self._peer(chance))

    @precondition(lambda self: self.outside.living())
    @rule(chance=chances)
    def client_attaches(self, chance: Random) -> None:
        peer = self._peer(chance)
        known = [*self.outside.guests(), *self.outside.frames]
        target_id = chance.choice([*known * 3, *(f"tab-{each}" for each in known), HOST, "invented"])
        params = {"targetId": target_id, "flatten": chance.random() < 0.8}
        self.outside.say(
            peer, "Target.attachToTarget", params, chance.choice([None, self._session(chance, peer)])
        )

    @precondition(lambda self: self.outside.living())
    @rule(chance=chances)
    def client_detaches(self, chance: Random) -> None:
        peer = self._peer(chance)
        session = self._session(chance, peer) or "invented"
        self.outside.say(peer, "Target.detachFromTarget", {"sessionId": session}, None)

    @precondition(lambda self: self.outside.living())
    @rule(chance=chances, command=st.sampled_from(AT_ROOT))
    def client_speaks_to_the_browser(self, chance: Random, command: tuple[str, dict[str, Any]]) -> None:
        self.outside.say(self._peer(chance), *command, None)

    @precondition(lambda self: self.outside.living())
    @rule(chance=chances, command=st.sampled_from(AT_SESSION))
    def client_speaks_to_a_session(self, chance: Random, command: tuple[str, dict[str, Any]]) -> None:
        peer = self._peer(chance)
        self.outside.say(peer, *command, self._session(chance, peer))

    @precondition(lambda self: self.outside.living())
    @rule(chance=chances, commands=st.lists(st.sampled_from(INPUT), min_size=1, max_size=4))
    def client_sends_input(self, chance: Random, commands: list[tuple[str, dict[str, Any]]]) -> None:
        peer = self._peer(chance)
        session = self._session(chance, peer)
        for method, params in commands:
            if peer.here:
                self.outside.say(peer, method, params, session)

    @precondition(lambda self: self.outside.living())
    @rule(chance=chances, count=st.integers(0, 20), command=st.sampled_from(INPUT))
    def client_sends_input_that_is_answered(
        self, chance: Random, count: int, command: tuple[str, dict[str, Any]]
    ) -> None:
        peer = self._peer(chance)
        self.outside.say(peer, *command, self._session(chance, peer))
        for _ in range(count):
            self._one_answer(_mostly_well(chance))

    def _peer(self, chance: Random) -> Peer:
        return chance.choice(self.outside.living())

    def _session(self, chance: Random, peer: Peer) -> str | None:
        """Mostly one that still exists; now and then one of the past, of another client, of the guard, or none."""
        alive = [each for each in peer.sessions if self.outside.guard.sessions.get(each) is not None]
        if peer.page is not None:
            alive += ["", ""]
        if alive and chance.random() < 0.9:
            return chance.choice(alive) or None
        others = [session for each in self.outside.clients.values() for session in each.sessions]
        return chance.choice([*others, *self.outside.sessions, "invented", None])

    # -- the app -------------------------------------------------------------------------------------------------------
    @precondition(lambda self: len(self.outside.guests()) < 2)
    @rule()
    def guest_appears(self) -> None:
        self.outside.appear(self.outside.new_guest(), "webview")

    @precondition(lambda self: self.outside.guests())
    @rule(chance=chances, tell=st.booleans())
    def guest_goes(self, chance: Random, tell: bool) -> None:
        if chance.random() < 0.3:
            self.outside.guest_goes(chance.choice(self.outside.guests()), tell=tell)

    @precondition(lambda self: self.outside.guests() and len(self.outside.frames) < 4)
    @rule(chance=chances)
    def frame_appears(self, chance: Random) -> None:
        self.outside.frame_appears(chance.choice(self.outside.guests()))

    @precondition(lambda self: self.outside.frames)
    @rule(chance=chances)
    def frame_goes(self, chance: Random) -> None:
        self.outside.frame_goes(chance.choice(list(self.outside.frames)))

    @precondition(lambda self: self.outside.frames)
    @rule(chance=chances)
    def frame_is_attached_for_a_client(self, chance: Random) -> None:
        frame = chance.choice(list(self.outside.frames))
        guest = self.outside.frames[frame]
        sessions = [each for each, its in self.outside.sessions.items() if its.target_id == guest]
        if sessions:
            self.outside.attach_frame(chance.choice(sessions), frame)

    @precondition(lambda self: self.outside.calls)
    @rule(chance=chances)
    def app_answers(self, chance: Random) -> None:
        call = chance.choice(
            [self.outside.calls[0], self.outside.calls[-1], chance.choice(self.outside.calls)]
        )
        self.outside.answer(call, chance.choice)

    @precondition(lambda self: self.outside.asked)
    @rule(chance=chances)
    def bridge_answers(self, chance: Random) -> None:
        self.outside.answer_bridge(chance.choice(self.outside.asked), chance.choice)

    @precondition(lambda self: self.outside.calls or self.outside.asked)
    @rule(chance=chances, count=st.integers(1, 12))
    def it_goes_on_for_a_while(self, chance: Random, count: int) -> None:
        for _ in range(count):
            self._one_answer(_mostly_well(chance))

    @precondition(lambda self: not self.weaker)
    @rule(chance=chances)
    def bridge_comes_or_goes(self, chance: Random) -> None:
        if not self.outside.bridge:
            self.outside.join_bridge()
        elif chance.random() < 0.2:
            self.outside.lose_bridge()

    @precondition(lambda self: self.outside.bridge)
    @rule(chance=chances)
    def person_composes(self, chance: Random) -> None:
        self.outside.compose(chance.random() < 0.5)

    @precondition(lambda self: self.outside.timers)
    @rule()
    def time_passes(self) -> None:
        self.outside.ring()

    # -- at rest -------------------------------------------------------------------------------------------------------
    def teardown(self) -> None:
        outside = self.outside
        if outside.broken:
            return  # what broke it is on its way
        self._come_to_rest()
        for peer in outside.living():
            assert not peer.waits, f"client {peer.number} still waits for {peer.waits}"
        for peer in outside.living():
            outside.leave(peer)
        self._come_to_rest()
        assert outside.guard.idle, "a flow still waits"
        assert not outside.leases, f"borrowed and not returned: {outside.leases}"
        assert not any(lock.held or lock.queue for lock in outside.guard._borrower._hosts.values())
        assert [session.id for session in outside.guard.sessions if session.client is not None] == []
        own = {session.id for session in outside.guard.sessions}
        assert set(outside.sessions) <= own, "the app has sessions that nobody owns"

    def _come_to_rest(self) -> None:
        """The app and the bridge answer the oldest first; what they do not answer runs into its bound."""
        outside = self.outside
        for _ in range(5000):
            if outside.calls or outside.asked:
                self._one_answer(lambda options: options[0])
            elif outside.timers:
                outside.ring()
            else:
                return
        raise AssertionError("it never comes to rest")


class TestTheBooks:
    """Controls: what a broken guard would say is seen by the books that the property is kept with."""

    @pytest.fixture
    def outside(self) -> Outside:
        outside = Outside()
        outside.join(None)
        return outside

    @pytest.mark.parametrize(
        ("command", "seen"),
        [
            (SendClient(1, b'{"id":7,"result":{}}'), "answers nothing, or for the second time"),
            (SendClient(1, b'{"id":1,"result":{"token":"2/1"}}'), "somebody else's"),
            (SendClient(1, b'{"id":1,"result":{},"sessionId":"S"}'), "on another session"),
            (SendClient(1, b'{"method":"Target.targetCreated","params":{"x":"HOST"}}'), "hidden target"),
            (SendUpstream(b'{"id":9,"method":"Input.insertText"}'), "input for the whole window"),
            (SendUpstream(b'{"id":9,"method":"Input.insertText","sessionId":"HS"}'), "input for a host"),
            (AskBridge(9, "borrow.end", {"lease": 4}), "returns what is not borrowed"),
        ],
    )
    def test_a_fault_is_seen(self, outside: Outside, command: Command, seen: str) -> None:
        peer = next(iter(outside.clients.values()))
        peer.number, outside.clients = 1, {1: peer}
        peer.waits[1] = (None, "1/1")
        outside.sessions["HS"] = AppSession(HOST, None)
        with pytest.raises(AssertionError, match=seen):
            outside.take([command])

    def test_a_client_that_left_hears_nothing(self, outside: Outside) -> None:
        peer = next(iter(outside.clients.values()))
        outside.leave(peer)
        with pytest.raises(AssertionError, match="a client that left"):
            outside.take([SendClient(peer.number, b'{"method":"A.b","params":{}}')])

    def test_a_bridge_that_left_is_not_asked(self, outside: Outside) -> None:
        outside.lose_bridge()
        with pytest.raises(AssertionError, match="a bridge that left"):
            outside.take([AskBridge(9, "keys.send", {})])


class AnyOrderWithoutABridge(AnyOrder):
    """The weaker mode: the guard asks the pane in the host page itself."""

    weaker = True


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=60,
        deadline=None,
        phases=[phase for phase in Phase if phase is not Phase.explain],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )


AnyOrder.TestCase.settings = _settings(EXAMPLES)
TestAnyOrder = AnyOrder.TestCase
AnyOrderWithoutABridge.TestCase.settings = _settings(EXAMPLES // 3)
TestAnyOrderWithoutABridge = AnyOrderWithoutABridge.TestCase
