"""How a watched guard looks: what is known is there, and what pages choose steers no terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from focusguard.watch.state import State
from focusguard.watch.view import plain, render
from specs.unit.test_watch_state import KEY, STATUS, told

METRICS = {"borrows": 12, "refusals": 1, "broughtHome": 3, "borrowMs": {"p50": 2.14, "p99": 6.3, "max": 7.0}}


def drawn(state: State, *, now: float = 10.0, height: int = 40, width: int = 120) -> str:
    """The view as text."""
    console = Console(file=StringIO(), width=width, height=height, force_terminal=False)
    console.print(render(state, where="http://127.0.0.1:9333", now=now, height=height))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def line(text: str, start: str) -> str:
    """The one line that begins so."""
    (found,) = [each for each in text.splitlines() if each.lstrip().startswith(start)]
    return " ".join(found.split())


@pytest.fixture
def state() -> State:
    known = State()
    known.know(STATUS)
    known.measure(METRICS)
    return known


class TestWhatIsShown:
    def test_the_guard(self, state: State) -> None:
        head = line(drawn(state), "focusguard")
        assert head == "focusguard 1.0 http://127.0.0.1:9333 with the bridge Electron 33.2.1"

    def test_a_guard_without_a_bridge_says_what_is_weaker(self, state: State) -> None:
        state.know({**STATUS, "mode": "no-bridge", "bridge": None, "limits": ["keys borrow the focus too"]})
        shown = drawn(state)
        assert "WITHOUT a bridge" in line(shown, "focusguard")
        assert line(shown, "keys borrow") == "keys borrow the focus too"

    def test_clients_by_what_they_do(self, state: State) -> None:
        clients = [*STATUS["clients"], {"client": 4, "guests": [], "watches": False}]
        state.know({**STATUS, "clients": clients})
        assert line(drawn(state), "clients") == "clients at guests #1 #2 at none #4 watching #3"

    def test_figures(self, state: State) -> None:
        told(state, "bridge.key.lost", hostWebContentsId=1)
        told(state, "dialog.answered", targetId="G1", type="alert", accept=False)
        shown = drawn(state)
        assert line(shown, "borrows") == (
            "borrows 12 p50 2.1 ms p99 6.3 ms max 7.0 ms refused 1 keys brought home 3 keys lost 1"
        )
        assert line(shown, "kept") == "kept dialogs 1 downloads 0 file choosers 0"

    def test_guests(self, state: State) -> None:
        told(state, "guest.gone", targetId="G2")
        shown = drawn(state)
        assert line(shown, "G1") == "G1 ready webview http://one.test/?… #1 #2"
        assert line(shown, "G2") == "G2 gone offscreen data:…"

    def test_where_actions_have_landed(self, state: State) -> None:
        told(state, "action", None, **{**KEY, "type": "keyUp"})
        press = {
            "client": 2,
            "targetId": "GUEST-0002",
            "method": "Input.dispatchMouseEvent",
            "frameId": "FRAME-77",
        }
        told(state, "action", 7.0, **press, type="mousePressed", verdict="handled", way="borrow", heldMs=4.26)
        told(state, "action", 7.0, **press, verdict="unverified", way="cdp", code="browser_user_composing")
        shown = drawn(state)
        assert line(shown, "before").endswith("1 #1 G1 keyUp handled send-input-event")
        refused, pressed = [" ".join(each.split()) for each in shown.splitlines() if each.startswith("3 s")]
        assert pressed == "3 s 1 #2 GUEST- mousePressed handled borrow FRAME- 4.3 ms"
        assert refused == "3 s 1 #2 GUEST- Input.dispatchMouseEvent browser_user_composing cdp FRAME-"

    def test_refusals(self, state: State) -> None:
        for code in ("browser_refused", "browser_user_composing", "browser_refused"):
            told(state, "refusal", client=1, method="Browser.close", code=code)
        shown = drawn(state)
        assert line(shown, "refused") == "refused browser_refused 2 browser_user_composing 1"
        assert shown.count("#1 Browser.close: browser_refused") == 2

    def test_before_anything_is_known(self) -> None:
        assert "clients none" in " ".join(drawn(State()).split())

    def test_reports_that_were_missed(self, state: State) -> None:
        assert "unseen" not in drawn(state)
        state.missed = 7
        assert "7 reports went by unseen" in drawn(state)


class TestRoom:
    @pytest.mark.parametrize(("height", "width"), [(10, 40), (24, 80), (50, 200)])
    def test_it_fits_a_terminal_as_far_as_it_can(self, state: State, height: int, width: int) -> None:
        for number in range(60):
            told(state, "action", 1.0, **{**KEY, "targetId": f"T{number}"})
        shown = drawn(state, height=height, width=width).splitlines()
        assert len(shown) <= max(height, 20)
        assert all(len(each) <= width for each in shown)
        if width > 60:
            assert any("T59" in each for each in shown)


class TestWhatPagesChoose:
    HOSTILE = "\x1b[2J\x1b]0;title\x07[bold red]x[/]\u202egnp.exe\r\n\x9b31m"

    def test_it_steers_no_terminal(self, state: State) -> None:
        hostile: dict[str, Any] = {
            **STATUS,
            "guests": [
                {"targetId": self.HOSTILE, "embedding": self.HOSTILE, "url": f"http://{self.HOSTILE}"}
            ],
            "limits": [self.HOSTILE],
            "bridge": {"electron": self.HOSTILE},
        }
        state.know(hostile)
        facts = dict.fromkeys(("targetId", "method", "type", "verdict", "way", "frameId"), self.HOSTILE)
        told(state, "action", 1.0, client=1, **facts)
        told(state, "action", 1.0, client=1, **facts, code=self.HOSTILE)
        told(state, "refusal", client=1, method=self.HOSTILE, code=self.HOSTILE)
        shown = drawn(state, width=400)
        assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e"} & set(shown)
        assert "[bold red]x[/]" in shown  # it is text, and no markup

    def test_what_shows_stays_as_it_is(self) -> None:
        assert plain("http://bücher.test/語 a") == "http://bücher.test/語 a"
        assert plain(self.HOSTILE).count("\N{REPLACEMENT CHARACTER}") == 7
