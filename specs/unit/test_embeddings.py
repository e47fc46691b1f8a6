"""The rule of each embedding: what a page that is no webview needs, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.policy import effects
from specs.unit.strokes import (
    FINGER,
    KEY,
    LIFT,
    MOUSE,
    MOVE,
    PRESS,
    RELEASE,
    TAB,
    TOUCH,
    arrives_by_cdp,
    key,
    shows,
)
from specs.unit.transcript import CHOOSER, Client, GuestPage, Transcript

VIEWS = ("browser-view", "web-contents-view")
WINDOWS = ("window", "offscreen")
HOST = 1
WHEEL: dict[str, Any] = {"type": "mouseWheel", "x": 1, "y": 2, "deltaX": 0, "deltaY": 10}
COMPOSE: dict[str, Any] = {"text": "x", "selectionStart": 1, "selectionEnd": 1}
TAP = "Input.synthesizeTapGesture"
LOOK = '{"editable":true,"focused":true,"visible":true,"seen":{"keydown":[0,0],"keypress":[0,0]}}'


def begin(kind: str, electron: str = "33.2.1") -> tuple[Transcript, GuestPage, Client]:
    """A guest of a kind, and a client with the session S1 on it."""
    t = Transcript(electron=electron)
    guest = t.guest("G1", kind=kind, host_id=HOST if kind in VIEWS else None)
    agent = t.client()
    agent.attaches("G1", "S1")
    return t, guest, agent


def awake(t: Transcript, guest: GuestPage, agent: Client) -> None:
    """Somebody has moved the mouse there."""
    agent.says(99, MOUSE, MOVE, session="S1")
    shows(t, guest)
    t.app.gets(MOUSE, MOVE, session="S1").answers()
    agent.hears(99, {}, session="S1")


def way(guest: GuestPage, method: str) -> str:
    """The session that a command of S1 goes out on."""
    return guest.session if method == TOUCH else "S1"


@pytest.mark.parametrize("kind", [*VIEWS, *WINDOWS])
class TestATreeOfItsOwn:
    """Neither a press nor a key leaves it: nothing is borrowed, and CDP finds the focused frame."""

    @pytest.mark.parametrize(
        ("method", "params"),
        [
            (MOUSE, PRESS),
            (MOUSE, MOVE),
            (MOUSE, WHEEL),
            (TOUCH, FINGER),
            ("Input.dispatchDragEvent", {"type": "drop", "x": 1, "y": 1, "data": {"items": []}}),
            ("DOM.focus", {"nodeId": 5}),
        ],
    )
    def test_it_is_made_visible_once_and_then_all_is_sent_on(
        self, kind: str, method: str, params: dict[str, Any]
    ) -> None:
        """A view or window that was never shown would drop it and call it a success."""
        t, guest, agent = begin(kind)
        for id_ in (1, 2):
            agent.says(id_, method, params, session="S1")
            if id_ == 1:
                shows(t, guest)
            t.app.gets(method, params, session=way(guest, method)).answers()
            agent.hears(id_, {}, session="S1")
        t.silence()

    def test_the_bridge_is_told_of_presses(self, kind: str) -> None:
        """What comes of a person's press is theirs, and an agent's looks the same to the page."""
        t, guest, agent = begin(kind)
        awake(t, guest, agent)
        for id_, (method, params) in enumerate(
            ((MOUSE, PRESS), (MOUSE, RELEASE), (TOUCH, FINGER), (TOUCH, LIFT)), 1
        ):
            agent.says(id_, method, params, session="S1")
            t.app.gets(method, params, session=way(guest, method)).answers()
            agent.hears(id_, {}, session="S1")
        assert t.announced == [guest.web_contents_id] * 3
        t.silence()

    def test_keys_and_text_are_seen_to_arrive(self, kind: str) -> None:
        t, guest, agent = begin(kind)
        awake(t, guest, agent)
        for id_, (method, params) in enumerate(
            ((KEY, key("a")), ("Input.insertText", {"text": "x"}), (KEY, TAB)), 1
        ):
            agent.says(id_, method, params, session="S1")
            arrives_by_cdp(t, guest, method, params)
            agent.hears(id_, {}, session="S1")
        t.silence()

    def test_a_frame_that_came_later_is_told_before_the_next_press(self, kind: str) -> None:
        t, guest, agent = begin(kind)
        awake(t, guest, agent)
        frame = t.frame(guest, "CROSS")
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.gets("Emulation.setFocusEmulationEnabled", session=frame).answers()
        t.app.gets(MOUSE, PRESS, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_a_gesture_is_what_it_is_made_of(self, kind: str) -> None:
        """Chromium never answers one while the window is hidden, and Electron ends when one meets an offscreen page."""
        t, guest, agent = begin(kind)
        agent.says(1, TAP, {"x": 1, "y": 2}, session="S1")
        shows(t, guest)
        t.app.gets(TOUCH, FINGER, session=guest.session).answers()
        t.rings(0.05)
        t.app.gets(TOUCH, LIFT, session=guest.session).answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize(("method", "params"), [(MOUSE, PRESS), (TOUCH, FINGER)])
    def test_what_waits_for_a_frame_is_looked_into(
        self, kind: str, method: str, params: dict[str, Any]
    ) -> None:
        t, guest, agent = begin(kind)
        for id_ in (1, 2):
            agent.says(id_, method, params, session="S1")
            if id_ == 1:
                shows(t, guest)
            t.app.gets(method, params, session=way(guest, method))
            t.rings(0.7)
            t.page_is_painted(guest.session, False)
            agent.hears_error(id_, "browser_target_hidden", session="S1")
        t.silence()

    def test_the_client_leaves_while_it_is_made_visible(self, kind: str) -> None:
        t, guest, agent = begin(kind)
        agent.says(1, MOUSE, PRESS, session="S1")
        emulation = t.app.gets("Emulation.setFocusEmulationEnabled", session=guest.session)
        agent.leaves()
        t.app.gets("Target.detachFromTarget", {"sessionId": "S1"}).answers()
        emulation.answers()
        assert not [call for call in t.app.calls if call.method == MOUSE]


def no_room(t: Transcript) -> None:
    """The bridge has waited for the end of the word, and it has not come."""
    t.bridge.gets("host.room").fails("the person is composing text", "composing")


@pytest.mark.parametrize("kind", VIEWS)
class TestTheWindowsComposition:
    """A view shares the window's input method: what changes in it ends the composition in the host."""

    DISTURBING: tuple[tuple[str, dict[str, Any]], ...] = (
        (KEY, key("a")),
        ("Input.insertText", {"text": "x"}),
        ("Input.imeSetComposition", COMPOSE),
        (MOUSE, PRESS),
        (TOUCH, FINGER),
        (TOUCH, LIFT),
        (TAP, {"x": 1, "y": 2}),
        ("DOM.focus", {"nodeId": 5}),
        ("Page.navigate", {"url": "http://guest.test/2"}),
        ("Page.reload", {}),
    )

    @pytest.mark.parametrize(("method", "params"), DISTURBING)
    @pytest.mark.parametrize("first", [True, False])
    def test_nothing_that_would_end_it_is_sent(
        self, kind: str, method: str, params: dict[str, Any], first: bool
    ) -> None:
        t, guest, agent = begin(kind)
        if not first:
            awake(t, guest, agent)
        t.bridge.tells("composition", hostWebContentsId=HOST, open=True)
        agent.says(1, method, params, session="S1")
        if first and not method.startswith("Page."):
            shows(t, guest)
        if not method.startswith("Page.") and method != TAP:
            no_room(t)
        error = agent.hears_error(1, "browser_user_composing", session="S1")
        assert error["data"] == {"code": "browser_user_composing", "retryable": True}
        t.silence()

    @pytest.mark.parametrize(("method", "params"), [(MOUSE, RELEASE), (MOUSE, MOVE), (MOUSE, WHEEL)])
    def test_what_changes_nothing_goes_on(self, kind: str, method: str, params: dict[str, Any]) -> None:
        t, guest, agent = begin(kind)
        awake(t, guest, agent)
        t.bridge.tells("composition", hostWebContentsId=HOST, open=True)
        agent.says(1, method, params, session="S1")
        t.app.gets(method, params, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    @pytest.mark.parametrize(
        ("event", "facts"),
        [
            ("composition", {"hostWebContentsId": HOST, "open": False}),
            ("target.gone", {"webContentsId": HOST}),
        ],
    )
    def test_it_is_over(self, kind: str, event: str, facts: dict[str, Any]) -> None:
        t, guest, agent = begin(kind)
        awake(t, guest, agent)
        t.bridge.tells("composition", hostWebContentsId=HOST, open=True)
        t.bridge.tells(event, **facts)
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.gets(MOUSE, PRESS, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()

    def test_one_that_begins_while_the_page_is_asked(self, kind: str) -> None:
        t, guest, agent = begin(kind)
        agent.says(1, KEY, key("a"), session="S1")
        shows(t, guest)
        asked = t.page_is_asked(guest.session)
        t.bridge.tells("composition", hostWebContentsId=HOST, open=True)
        asked.answers({"result": {"type": "string", "value": LOOK}})
        agent.hears_error(1, "browser_user_composing", session="S1")
        t.silence()

    def test_one_in_another_window_is_none_of_it(self, kind: str) -> None:
        t, guest, agent = begin(kind)
        awake(t, guest, agent)
        t.bridge.tells("composition", hostWebContentsId=HOST + 1, open=True)
        agent.says(1, MOUSE, PRESS, session="S1")
        t.app.gets(MOUSE, PRESS, session="S1").answers()
        agent.hears(1, {}, session="S1")
        t.silence()


class TestElectron9:
    """Focus emulation does not make a hidden page visible there."""

    @pytest.mark.parametrize("kind", [*VIEWS, "window"])
    @pytest.mark.parametrize(("method", "params"), [(MOUSE, WHEEL), (TOUCH, FINGER), (TAP, {"x": 1, "y": 2})])
    @pytest.mark.parametrize("visible", [True, False])
    def test_what_a_hidden_page_drops_is_not_sent(
        self, kind: str, method: str, params: dict[str, Any], visible: bool
    ) -> None:
        t, guest, agent = begin(kind, "9.4.1")
        awake(t, guest, agent)
        agent.says(1, method, params, session="S1")
        asked = t.page_is_asked(guest.session)
        assert "visibilityState" in asked.params["expression"]
        asked.answers({"result": {"type": "boolean", "value": visible}})
        if not visible:
            agent.hears_error(1, "browser_target_hidden", session="S1")
        elif method == TAP:
            t.app.gets(TOUCH, FINGER, session=guest.session).answers()
            t.rings(0.05)
            t.app.gets(TOUCH, LIFT, session=guest.session).answers()
            agent.hears(1, {}, session="S1")
        else:
            t.app.gets(method, params, session=way(guest, method)).answers()
            agent.hears(1, {}, session="S1")
        t.silence()


class TestWindows:
    """A window of its own has the input method for itself."""

    @pytest.mark.parametrize("kind", WINDOWS)
    def test_a_composition_elsewhere_is_no_reason_to_wait(self, kind: str) -> None:
        t, guest, agent = begin(kind)
        awake(t, guest, agent)
        t.bridge.tells("composition", hostWebContentsId=HOST, open=True)
        agent.says(1, KEY, key("a"), session="S1")
        arrives_by_cdp(t, guest, KEY, key("a"))
        agent.hears(1, {}, session="S1")
        t.silence()


class TestOffscreen:
    """What Electron cannot do with an offscreen page is refused by name."""

    def test_no_key_where_electron_would_crash(self) -> None:
        t, guest, agent = begin("offscreen")
        t.frame(guest, "CROSS")
        agent.attaches("CROSS", "SF")
        agent.says(1, KEY, key("a"), session="SF")
        t.page_is_painted(guest.session, True)
        t.page_says(guest.session)
        agent.hears_error(1, "browser_refused", session="SF")
        t.silence()

    @pytest.mark.parametrize(
        ("method", "params"),
        [(TOUCH, FINGER), (TOUCH, LIFT), (TAP, {"x": 1, "y": 2})],
    )
    @pytest.mark.parametrize("electron", ["9.4.1", "22.3.25", "25.1.1"])
    def test_no_touch_where_none_arrives(self, electron: str, method: str, params: dict[str, Any]) -> None:
        t, guest, agent = begin("offscreen", electron)
        awake(t, guest, agent)
        agent.says(1, method, params, session="S1")
        error = agent.hears_error(1, "browser_refused", session="S1")
        assert "touches" in error["message"]
        t.silence()


@pytest.mark.parametrize("kind", VIEWS)
def test_a_press_that_is_quicker_than_its_announcement_is_not_the_persons(kind: str) -> None:
    t, guest, agent = begin(kind)
    awake(t, guest, agent)
    t.hears_at_once = False
    agent.says(1, MOUSE, PRESS, session="S1")
    t.app.gets(MOUSE, PRESS, session="S1").answers()
    t.app.calls.clear()
    t.bridge.tells("person.acted", webContentsId=guest.web_contents_id)
    assert not t.app.calls
    t.feed(effects.BridgeAnswered(t.unheard.pop(), {}, None))
    t.bridge.tells("person.acted", webContentsId=guest.web_contents_id)
    t.app.gets(CHOOSER, {"enabled": False}, session=guest.session).answers()
