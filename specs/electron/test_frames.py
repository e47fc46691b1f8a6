"""Case 13: a guest's own page, its same-site frame, its cross-site frame and the one inside that.

Each is clicked through the root session `R`; then keys and text go to `R`, and to the frame's own session `F`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

from probes.observed import Frame, State
from specs.guarded import SessionName, Stage

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]

FRAMES: tuple[Frame, ...] = ("main", "same-site", "cross-site", "nested")
FRAME = "guest:0/cross-site"
#: Presses after each load; a frame that is late with its drawing is met about once in eight loads.
PRESSES = 3
ENOUGH = 5 * PRESSES
#: The frames that have a session of their own, and which that is.
OWN: tuple[tuple[Frame, SessionName], ...] = (("cross-site", "frame"), ("nested", "nested"))


def typed(state: State) -> dict[str, tuple[list[str], list[str]]]:
    """For each document that saw any: the keys that went down, and the texts that were put in."""
    return {
        document.name: (document.keys(), [record.data or "" for record in document.records("input")])
        for document in state.having("keydown", "input")
    }


async def click_and_type(on: Stage, frame: Frame, session: SessionName = "root") -> State:
    """The agent clicks into a frame's field through R, then presses a key and inserts a text."""
    since = await on.fresh()
    await on.click("text", frame=frame)
    assert await on.key("k", session=session) is None
    assert await on.insert("é ü", session=session) is None
    return await on.seen(since)


class TestGuarded:
    @pytest.mark.parametrize("frame", FRAMES)
    async def test_what_r_is_sent_goes_where_it_clicked(self, guarded: Stage, frame: Frame) -> None:
        state = await click_and_type(guarded, frame)
        assert typed(state) == {f"guest:0/{frame}": (["k"], ["k", "é ü"])}
        assert state.guest(0, frame).values["text"] == "ké ü"
        assert state.host.active == ["textarea"]
        assert state.host.records("keydown", "input") == []

    @pytest.mark.parametrize(("frame", "session"), OWN)
    async def test_what_f_is_sent_goes_to_the_frame(
        self, guarded: Stage, frame: Frame, session: SessionName
    ) -> None:
        state = await click_and_type(guarded, frame, session)
        assert typed(state) == {f"guest:0/{frame}": (["k"], ["k", "é ü"])}
        assert state.host.active == ["textarea"]

    async def test_a_click_on_the_frames_own_session_too(self, guarded: Stage) -> None:
        since = await guarded.fresh()
        for frame, session in OWN:
            await guarded.click("text", frame=frame, session=session)
            assert await guarded.key("x") is None
            assert (await guarded.fixture.state(logs=False)).host.active == ["textarea"]
        state = await guarded.seen(since)
        assert typed(state) == {f"guest:0/{frame}": (["x"], ["x"]) for frame, _ in OWN}

    async def test_in_any_order_each_key_follows_the_click_before_it(self, guarded: Stage) -> None:
        since = await guarded.fresh()
        for letter, frame in zip(
            "abcdef", ("nested", "main", "cross-site", "same-site", "nested", "main"), strict=True
        ):
            await guarded.click("text", frame=frame)
            assert await guarded.key(letter) is None
        state = await guarded.seen(since)
        values = {frame: state.guest(0, frame).values["text"] for frame in FRAMES}
        assert values == {"nested": "ae", "main": "bf", "cross-site": "c", "same-site": "d"}
        assert state.host.records("keydown", "input") == []

    @pytest.mark.parametrize("frame", ["cross-site", "nested"])
    async def test_a_frame_that_died_with_the_focus_gets_no_key_and_says_so(
        self, guarded: Stage, frame: Frame, eventually: Eventually
    ) -> None:
        since = await guarded.fresh()
        await guarded.click("text", frame=frame)
        await kill_frame(guarded, frame, eventually)
        for refused in (await guarded.key("k"), await guarded.insert("t")):
            assert refused is not None
            assert "browser_input_not_delivered" in refused
        assert typed(await guarded.seen(since)) == {}
        # The guest's page itself goes on.
        await guarded.click("text")
        assert await guarded.key("m") is None
        assert typed(await guarded.seen(since)) == {"guest:0/main": (["m"], ["m"])}

    async def test_a_press_into_a_frame_that_is_not_drawn_yet_is_no_success(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        """Chromium gives it to the page around the frame (raw control: `TestRaw`), or to nobody."""
        verdicts: list[tuple[bool, bool]] = []
        async for verdict in press_while_it_loads(guarded, eventually):
            verdicts.append(verdict)
            if len(verdicts) == ENOUGH:
                break
        print(f"presses while a frame loads: {ENOUGH}, {verdicts.count((True, False))} of them refused")
        assert (False, False) not in verdicts, "said to have arrived, and no document of the frame saw it"
        assert (False, True) in verdicts


class TestRaw:
    async def test_a_press_into_a_frame_that_is_not_drawn_yet_is_called_a_success(
        self, raw: Stage, eventually: Eventually
    ) -> None:
        with anyio.fail_after(120):
            async for refused, seen in press_while_it_loads(raw, eventually):
                assert not refused
                if not seen:
                    break

    @pytest.mark.parametrize("frame", FRAMES)
    async def test_what_r_is_sent_goes_to_the_field_that_has_the_windows_focus(
        self, raw: Stage, frame: Frame
    ) -> None:
        since = await raw.fresh()
        await raw.fixture.focus_guest("text", frame=frame)
        assert await raw.key("k") is None
        assert await raw.insert("t") is None
        assert typed(await raw.seen(since)) == {"host": (["k"], ["k", "t"])}

    @pytest.mark.parametrize(("frame", "session"), OWN)
    async def test_f_routes_right_but_the_click_has_taken_the_persons_focus(
        self, raw: Stage, frame: Frame, session: SessionName
    ) -> None:
        state = await click_and_type(raw, frame, session)
        (place, (keys, _)) = next(iter(typed(state).items()))
        assert (len(typed(state)), place, keys) == (1, f"guest:0/{frame}", ["k"])
        assert state.host.active != ["textarea"]

    async def test_a_key_for_a_frame_that_died_goes_to_the_host(
        self, raw: Stage, eventually: Eventually
    ) -> None:
        since = await raw.fresh()
        await raw.fixture.focus_guest("text", frame="cross-site")
        await kill_frame(raw, "cross-site", eventually)
        assert await raw.key("k") is None
        assert typed(await raw.seen(since)) == {"host": (["k"], ["k"])}


async def press_while_it_loads(on: Stage, eventually: Eventually) -> AsyncIterator[tuple[bool, bool]]:
    """Presses into a cross-site frame from its first moment on: was each refused, and did the frame see it?"""
    while True:
        await on.fresh()
        x, y = await on.at("text", frame="cross-site")
        born = (await on.fixture.state(logs=False)).guest(0, "cross-site").id
        await on.fixture.reload(wait=False)

        async def loaded(born: str = born) -> bool:
            documents = (await on.fixture.state(logs=False)).documents
            return any(each.ready and each.id != born for each in documents if each.name == FRAME)

        await eventually(loaded)
        for _ in range(PRESSES):
            since = (await on.fixture.state(logs=False)).seq
            press = {"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1}
            refused = await on.try_send("Input.dispatchMouseEvent", press)
            await on.try_send("Input.dispatchMouseEvent", {**press, "type": "mouseReleased"})
            seen = (await on.seen(since)).guest(0, "cross-site").records("pointerdown")
            yield refused is not None, bool(seen)


async def kill_frame(on: Stage, frame: Frame, eventually: Eventually) -> None:
    """A frame's renderer is killed; what shares it dies too."""
    document = (await on.fixture.state(logs=False)).guest(0, frame)
    os.kill(document.pid, signal.SIGKILL)

    async def gone() -> bool:
        return any(sick.pid == document.pid for sick in (await on.fixture.crash_state()).sick)

    await eventually(gone)
