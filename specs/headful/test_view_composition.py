"""A person composes with a real input method in a window that has a view: the view keeps still until they are done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

from focusguard.electron.display import isolated_display
from focusguard.electron.input_method import input_method
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import Embedding
from specs.embeddings import VIEWS
from specs.guarded import Stage, guarded, raw, stage

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

in_views = pytest.mark.only(*VIEWS)
HALF, REST, WORD = "nih", "ao ", "你好"
RATE = 12.0
COMPOSITION = ("compositionstart", "compositionend")


@pytest.fixture(scope="module")
async def staged(
    request: pytest.FixtureRequest, embedding: Embedding, runtime: Runtime, janitor: Janitor
) -> AsyncIterator[Stage]:
    async with (
        isolated_display(janitor=janitor) as display,
        input_method("pinyin", display, janitor) as env,
        stage(request.param, runtime, display, janitor, embedding=embedding, env=env) as running,
    ):
        await start(running)
        await running.hands.type(HALF + REST, rate=RATE)  # the first word loads the dictionary
        await anyio.sleep(2)
        yield running


def is_oldest(runtime: Runtime) -> bool:
    """Whether it is Electron 9, where views and windows share the input method the other way round."""
    return int(runtime.version.partition(".")[0]) < 22


async def start(app: Stage) -> int:
    """A fresh trial, with the input method as after the window came to the front."""
    await app.fresh()
    await app.guest()
    await app.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
    await app.fixture.execute("host", "void document.activeElement.blur()")
    await app.fixture.focus_host("textarea", text="")
    await app.fixture.settle()
    await anyio.sleep(0.5)
    return await app.fixture.settle()


async def press(app: Stage) -> str | None:
    x, y = await app.at("text")
    event = {"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1}
    refused = await app.try_send("Input.dispatchMouseEvent", event)
    await app.try_send("Input.dispatchMouseEvent", {**event, "type": "mouseReleased"})
    return refused


async def key(app: Stage) -> str | None:
    return await app.key("Tab")


async def dom_focus(app: Stage) -> str | None:
    root = (await app.send("DOM.getDocument"))["root"]["nodeId"]
    found = await app.send("DOM.querySelector", {"nodeId": root, "selector": "#text"})
    return await app.try_send("DOM.focus", {"nodeId": found["nodeId"]})


Action = Callable[[Stage], Awaitable[str | None]]
ACTIONS: tuple[Action, ...] = (press, key, dom_focus)


async def compose_around(app: Stage, action: Callable[[], Awaitable[object]]) -> tuple[str, list[str]]:
    """The person types half a word, something happens, they type the rest; gives the field and the compositions."""
    seq = await start(app)
    await app.hands.type(HALF, rate=RATE)
    await anyio.sleep(0.3)
    await action()
    await app.hands.type(REST, rate=RATE)
    await anyio.sleep(0.3)
    host = (await app.seen(seq)).host
    return str(host.values["textarea"]), [record.type for record in host.records(*COMPOSITION)]


@in_views
@guarded
class TestWithinAWord:
    @pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
    async def test_what_would_end_it_is_refused(self, staged: Stage, action: Action) -> None:
        refusals: list[str | None] = []

        async def act() -> None:
            refusals.append(await action(staged))

        assert await compose_around(staged, act) == (WORD, list(COMPOSITION))
        assert [str(refusal).partition(":")[0] for refusal in refusals] == ["browser_user_composing"]

    async def test_a_page_that_focuses_itself_cannot_end_it(self, staged: Stage) -> None:
        focus = "void document.getElementById('text').focus()"
        seen = await compose_around(staged, lambda: staged.fixture.execute("guest:0", focus))
        assert seen == (WORD, list(COMPOSITION))

    async def test_afterwards_all_is_as_before(self, staged: Stage) -> None:
        async def nothing() -> None:
            pass

        assert await compose_around(staged, nothing) == (WORD, list(COMPOSITION))
        await anyio.sleep(1)
        assert [await action(staged) for action in ACTIONS] == [None] * len(ACTIONS)
        await staged.hands.type(HALF + REST, rate=RATE)
        await anyio.sleep(0.3)
        assert (await staged.seen()).host.values["textarea"] == WORD * 2


@pytest.mark.only("window", "offscreen")
@guarded
class TestAnotherWindow:
    @pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
    async def test_it_goes_on_and_nothing_is_refused(
        self, staged: Stage, action: Action, embedding: Embedding, runtime: Runtime
    ) -> None:
        """The exception: in Electron 9 the windows of an app have one input method, and no pane is in the other."""
        refusals: list[str | None] = []

        async def act() -> None:
            refusals.append(await action(staged))

        value, compositions = await compose_around(staged, act)
        assert refusals == [None]
        if embedding == "window" and is_oldest(runtime):
            assert value != WORD
        else:
            assert (value, compositions) == (WORD, list(COMPOSITION))


@in_views
@raw
class TestRaw:
    """The control: each of them ends the word in the middle. In Electron 9 none does."""

    @pytest.mark.parametrize("action", [press, dom_focus], ids=lambda action: action.__name__)
    async def test_it_ends(self, staged: Stage, action: Action, runtime: Runtime) -> None:
        value, _ = await compose_around(staged, lambda: action(staged))
        assert (value == WORD) is is_oldest(runtime)
