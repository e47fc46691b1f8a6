"""What a watcher makes of a guard's answers, played as transcripts."""

from __future__ import annotations

from typing import Any

from focusguard.watch.state import ACTIONS, GONE, State

STATUS: dict[str, Any] = {
    "version": "1.0",
    "mode": "bridge",
    "limits": [],
    "bridge": {"version": 1, "pid": 7, "electron": "33.2.1", "chromium": "130.0"},
    "guests": [
        {"targetId": "G1", "embedding": "webview", "url": "http://one.test/?q=secret", "crashed": False},
        {"targetId": "G2", "embedding": "offscreen", "url": "data:text/html,secret", "crashed": True},
    ],
    "clients": [
        {"client": 1, "guests": ["G1", "G2"], "watches": False},
        {"client": 2, "guests": ["G1"], "watches": False},
        {"client": 3, "guests": [], "watches": True},
    ],
}
KEY = {
    "client": 1,
    "targetId": "G1",
    "method": "Input.dispatchKeyEvent",
    "type": "keyDown",
    "verdict": "handled",
    "way": "send-input-event",
}


def told(state: State, kind: str, now: float | None = 1.0, **facts: Any) -> None:
    """A report comes."""
    state.take({"number": 1, "kind": kind, "facts": facts}, now)


class TestStatus:
    def test_guests_and_who_is_at_them(self) -> None:
        state = State()
        assert state.know(STATUS)
        seen = [(each.target_id, each.state, each.url, each.clients) for each in state.guests.values()]
        assert seen == [("G1", "ready", "http://one.test/?…", (1, 2)), ("G2", "crashed", "data:…", (1,))]

    def test_the_same_again_is_no_news(self) -> None:
        state = State()
        state.know(STATUS)
        assert not state.know(STATUS)
        assert state.know({**STATUS, "mode": "no-bridge"})

    def test_an_older_guard_tells_less(self) -> None:
        state = State()
        guest = {"targetId": "G1", "embedding": "webview", "url": ""}
        state.know({"version": "0.9", "guests": [guest]})
        assert (state.guests["G1"].state, state.guests["G1"].clients) == ("ready", ())

    def test_figures(self) -> None:
        state = State()
        assert state.measure({"borrows": 1})
        assert not state.measure({"borrows": 1})


class TestGuests:
    def test_one_that_goes_is_shown_as_it_was(self) -> None:
        state = State()
        state.know(STATUS)
        told(state, "guest.gone", targetId="G1")
        assert list(state.guests) == ["G2"]
        (gone,) = state.gone
        assert (gone.url, gone.state, gone.clients) == ("http://one.test/?…", "gone", ())

    def test_one_that_came_and_went_between_two_looks(self) -> None:
        state = State()
        state.know(STATUS)
        told(state, "guest.ready", targetId="G3", url="http://three.test/", embedding="webview")
        told(state, "guest.gone", targetId="G3")
        assert [each.url for each in state.gone] == ["http://three.test/"]
        assert list(state.guests) == ["G1", "G2"]

    def test_one_of_which_nothing_is_known(self) -> None:
        state = State()
        told(state, "guest.gone", targetId="G9")
        assert [each.target_id for each in state.gone] == ["G9"]

    def test_the_status_may_know_it_before_the_report_comes(self) -> None:
        state = State()
        state.know(STATUS)
        state.know({**STATUS, "guests": STATUS["guests"][1:]})
        told(state, "guest.gone", targetId="G1")
        assert [(each.url, each.state) for each in state.gone] == [("http://one.test/?…", "gone")]

    def test_few_are_remembered(self) -> None:
        state = State()
        for number in range(GONE + 4):
            told(state, "guest.gone", targetId=f"G{number}")
        assert [each.target_id for each in state.gone] == [f"G{number}" for number in range(4, GONE + 4)]


class TestLandings:
    def test_equal_ones_are_counted_together(self) -> None:
        state = State()
        for now in (1.0, 2.0, 3.0):
            told(state, "action", now, **KEY)
            told(state, "action", now, **{**KEY, "type": "keyUp"})
        assert [(each.kind, times.count, times.at) for each, times in state.landings.items()] == [
            ("keyDown", 3, 3.0),
            ("keyUp", 3, 3.0),
        ]

    def test_each_verdict_way_frame_client_and_code_stands_alone(self) -> None:
        state = State()
        others = {"verdict": "missed", "way": "borrow", "frameId": "F1", "client": 2, "code": "browser_error"}
        told(state, "action", **KEY)
        for name, value in others.items():
            told(state, "action", **{**KEY, name: value})
        assert len(state.landings) == 1 + len(others)

    def test_the_last_one_is_last(self) -> None:
        state = State()
        told(state, "action", 1.0, **KEY)
        told(state, "action", 2.0, **{**KEY, "type": "keyUp"})
        told(state, "action", 3.0, **KEY, heldMs=4.5)
        landing, times = next(reversed(state.landings.items()))
        assert (landing.kind, times.count, times.held_ms) == ("keyDown", 2, 4.5)

    def test_what_went_on_before_has_no_time(self) -> None:
        state = State()
        told(state, "action", None, **KEY)
        assert next(iter(state.landings.values())).at is None

    def test_however_long_it_runs_it_does_not_grow(self) -> None:
        state = State()
        for number in range(3 * ACTIONS):
            told(state, "action", **{**KEY, "targetId": f"G{number}"})
            told(state, "refusal", client=1, method="Browser.close", code="browser_refused")
            told(state, "guest.gone", targetId=f"G{number}")
        assert len(state.landings) == ACTIONS
        assert next(reversed(state.landings)).target_id == f"G{3 * ACTIONS - 1}"
        assert len(state.refused) < 10
        assert state.refusals == {"browser_refused": 3 * ACTIONS}


class TestCounts:
    def test_what_was_kept_from_opening(self) -> None:
        state = State()
        for kind in ("dialog.answered", "download.kept", "download.kept", "chooser.kept"):
            told(state, kind, targetId="G1")
        assert state.boxes == {"dialogs": 1, "downloads": 2, "file choosers": 1}

    def test_what_the_person_has_lost(self) -> None:
        state = State()
        told(state, "bridge.key.lost", hostWebContentsId=1)
        told(state, "bridge.composition.broken", hostWebContentsId=1, how="restarted")
        assert (state.lost_keys, state.broken_words) == (1, 1)

    def test_what_a_newer_guard_reports_is_passed_over(self) -> None:
        state = State()
        told(state, "made.up", anything=1)
        assert state == State()
