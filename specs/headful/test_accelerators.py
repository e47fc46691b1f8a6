"""The app's menu accelerators: an agent's keys never fire one, the person's own fire it once."""

from __future__ import annotations

from typing import Literal

import anyio
import pytest

from probes.observed import Frame
from specs.guarded import SessionName, Stage, guarded, raw

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

#: As an agent and a person press them, and as the menu of the app calls them.
ACCELERATORS = {
    "ctrl+w": "Ctrl+W",
    "ctrl+r": "Ctrl+R",
    "ctrl+q": "Ctrl+Q",
    "ctrl+=": "Ctrl+=",
    "ctrl+-": "Ctrl+-",
    "F5": "F5",
    "F11": "F11",
    "ctrl+shift+i": "Ctrl+Shift+I",
}
#: X's key codes, which clients on Linux send.
NATIVE = {"w": 25, "r": 27, "q": 24, "=": 21, "-": 20, "F5": 71, "F11": 95, "i": 31}
PLACES: tuple[tuple[SessionName, Frame | Literal["none"]], ...] = (
    ("root", "main"),
    ("root", "same-site"),
    ("root", "cross-site"),
    ("frame", "cross-site"),
    ("root", "none"),
)


async def all_keys(app: Stage, session: SessionName = "root", *, native: bool) -> dict[str, str]:
    """The agent presses each of them; gives the errors."""
    errors = {}
    for combination in ACCELERATORS:
        code = NATIVE[combination.split("+")[-1]] if native else 0
        error = await app.key(combination, session=session, nativeVirtualKeyCode=code)
        if error:
            errors[combination] = error
    return errors


async def fired(app: Stage) -> dict[str, int]:
    return {name: count for name, count in (await app.seen()).accelerators.items() if count}


@guarded
class TestTheAgentsKeys:
    @pytest.mark.parametrize("native", [False, True])
    @pytest.mark.parametrize(("session", "frame"), PLACES)
    async def test_none_fires_and_the_page_sees_each(
        self, app: Stage, session: SessionName, frame: Frame | Literal["none"], native: bool
    ) -> None:
        await app.fixture.focus_guest("text", frame=frame)
        errors = await all_keys(app, session, native=native)
        state = await app.seen()
        assert (await fired(app), errors) == ({}, {})
        assert state.host.keys() == []
        seen = [r.key for d in state.documents if d.role == "guest" for r in d.records("keydown")]
        assert [key.lower() for key in seen if key] == [key.split("+")[-1].lower() for key in ACCELERATORS]
        assert state.before_input == []

    async def test_none_fires_while_the_person_is_in_the_guest(self, app: Stage) -> None:
        await app.hands.click(*(await app.fixture.rects()).on_screen("text"))
        await app.fixture.settle()
        await all_keys(app, native=True)
        assert await fired(app) == {}


@guarded
class TestThePersonsKeys:
    @pytest.mark.parametrize("where", ["host", "guest"])
    async def test_each_fires_once(self, app: Stage, where: str) -> None:
        if where == "guest":
            await app.hands.click(*(await app.fixture.rects()).on_screen("text"))
            await app.fixture.settle()
        for combination in ACCELERATORS:
            await app.hands.key(combination)
        assert await fired(app) == dict.fromkeys(ACCELERATORS.values(), 1)

    async def test_each_fires_once_among_the_agents(self, app: Stage) -> None:
        await app.fixture.focus_guest("text")
        stop = anyio.Event()

        async def agent() -> None:
            while not stop.is_set():
                await all_keys(app, native=True)
                await app.click("button")
                await app.key("Tab")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent)
            for combination in ACCELERATORS:
                await app.hands.key(combination)
                await anyio.sleep(0.06)  # a person's pace
            stop.set()
        assert await fired(app) == dict.fromkeys(ACCELERATORS.values(), 1)


@raw
class TestRaw:
    @pytest.mark.parametrize(("session", "frame"), [("root", "main"), ("frame", "cross-site")])
    async def test_a_native_key_code_fires_each(self, app: Stage, session: SessionName, frame: Frame) -> None:
        await app.fixture.focus_guest("text", frame=frame)
        await all_keys(app, session, native=True)
        assert await fired(app) == dict.fromkeys(ACCELERATORS.values(), 1)

    async def test_without_one_none_fires_and_the_host_gets_the_keys(self, app: Stage) -> None:
        await app.fixture.focus_guest("text")
        await all_keys(app, native=False)
        assert await fired(app) == {}
        state = await app.seen()
        assert state.host.keys() == [combination.split("+")[-1] for combination in ACCELERATORS]
        assert state.guest().keys() == []

    async def test_a_frames_own_session_without_one_shows_no_fault(self, app: Stage) -> None:
        await app.fixture.focus_guest("text", frame="cross-site")
        await all_keys(app, "frame", native=False)
        assert await fired(app) == {}
        assert [document.name for document in (await app.seen()).having("keydown")] == ["guest:0/cross-site"]

    async def test_the_persons_keys_show_no_fault(self, app: Stage) -> None:
        for combination in ACCELERATORS:
            await app.hands.key(combination)
        assert await fired(app) == dict.fromkeys(ACCELERATORS.values(), 1)
