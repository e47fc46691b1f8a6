"""Case 12: a person composes with a real input method while an agent is at a guest; the word is theirs to end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import anyio
import pytest

from focusguard.electron.display import isolated_display
from focusguard.electron.input_method import Engine, input_method
from focusguard.electron.install import ensure_runtime
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import Embedding
from specs.embeddings import newest_view
from specs.guarded import Stage, guarded, raw, stage

pytestmark = [pytest.mark.headful, pytest.mark.input_method, pytest.mark.anyio]

in_a_view = pytest.mark.only(newest_view(ensure_runtime().version))
RATE = 12.0
COMPOSITION = ("compositionstart", "compositionend")
#: Seconds for what was refused to be accepted.
RETRY_SECONDS = 8.0


@dataclass(frozen=True)
class Word:
    """What is typed with an engine before and after the agent acts, what it gives, and in how many compositions."""

    engine: Engine
    half: str
    rest: str
    text: str
    compositions: int

    @property
    def events(self) -> list[str]:
        return list(COMPOSITION) * self.compositions


PINYIN = Word("pinyin", "nih", "ao ", "你好", 1)
#: One composition for each syllable.
HANGUL = Word("hangul", "gk", "srmf ", "한글 ", 2)


@pytest.fixture(scope="module", params=[PINYIN], ids=["pinyin"])
def word(request: pytest.FixtureRequest) -> Word:
    found: Word = request.param
    return found


both = pytest.mark.parametrize(
    "word", [PINYIN, HANGUL], ids=["pinyin", "hangul"], indirect=True, scope="module"
)


@pytest.fixture(scope="module")
async def staged(
    request: pytest.FixtureRequest, embedding: Embedding, word: Word, runtime: Runtime, janitor: Janitor
) -> AsyncIterator[Stage]:
    async with (
        isolated_display(janitor=janitor) as display,
        input_method(word.engine, display, janitor) as env,
        stage(request.param, runtime, display, janitor, embedding=embedding, env=env) as running,
    ):
        await start(running)
        await running.hands.type(word.half + word.rest, rate=RATE)  # the first word loads the dictionary
        with anyio.move_on_after(2):
            while str((await running.seen()).host.values["textarea"]) != word.text:
                await anyio.sleep(0.05)
        yield running


def is_oldest(runtime: Runtime) -> bool:
    """Whether it is Electron 9, where views and windows share the input method the other way round."""
    return int(runtime.version.partition(".")[0]) < 22


async def start(app: Stage, *, writing: bool = False) -> int:
    """A fresh trial, with the input method as after the window came to the front.

    Args:
        writing: whether a field of the guest has its page's focus.
    """
    await app.fresh()
    if writing:
        with anyio.fail_after(RETRY_SECONDS):  # the page is kept still for a while after a word
            while await app.fixture.execute("guest:0", "document.documentElement.inert"):
                await anyio.sleep(0.05)
        await app.fixture.focus_guest("text")
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


async def compose_around(
    app: Stage,
    action: Callable[[], Awaitable[object]],
    word: Word = PINYIN,
    *,
    writing: bool = False,
    waits: bool = False,
) -> tuple[str, list[str]]:
    """The person types half a word, something happens, they type the rest; gives the field and the compositions.

    Args:
        writing: as for `start`.
        waits: whether they type on meanwhile.
    """
    seq = await start(app, writing=writing)
    await app.hands.type(word.half, rate=RATE)
    await anyio.sleep(0.3)
    async with anyio.create_task_group() as tasks:
        if waits:
            tasks.start_soon(action)
            await anyio.sleep(0.3)
        else:
            await action()
        await app.hands.type(word.rest, rate=RATE)
    await anyio.sleep(0.3)
    host = (await app.seen(seq)).host
    return str(host.values["textarea"]), [record.type for record in host.records(*COMPOSITION)]


async def insert(app: Stage) -> str | None:
    return await app.insert("7")


async def script_focus(app: Stage) -> str | None:
    return await app.try_send("Runtime.evaluate", {"expression": "document.querySelector('#text').focus()"})


async def navigate(app: Stage) -> str | None:
    return await app.try_send("Page.navigate", {"url": app.url() + "#elsewhere"})


async def reload(app: Stage) -> str | None:
    return await app.try_send("Page.reload")


WEBVIEW_ACTIONS: tuple[Action, ...] = (press, key, insert, dom_focus, script_focus, navigate, reload)


@pytest.mark.only("webview")
@both
@guarded
class TestWebview:
    @pytest.mark.parametrize("action", WEBVIEW_ACTIONS, ids=lambda action: action.__name__)
    async def test_the_word_is_whole_and_what_was_refused_comes_after_it(
        self, staged: Stage, word: Word, action: Action
    ) -> None:
        refusals: list[str] = []

        async def act() -> None:
            with anyio.fail_after(RETRY_SECONDS):
                while (refused := await action(staged)) is not None:
                    refusals.append(refused.partition(":")[0])
                    await anyio.sleep(0.1)

        seen = await compose_around(staged, act, word, writing=action is insert, waits=True)
        assert seen == (word.text, word.events)
        assert set(refusals) <= {"browser_user_composing"}


@pytest.mark.only("webview")
@raw
class TestRawWebview:
    """The control: what spoils the word. A navigation does not, unless the new page focuses something."""

    @pytest.mark.parametrize("action", WEBVIEW_ACTIONS, ids=lambda action: action.__name__)
    async def test_it_is_spoiled(self, staged: Stage, action: Action) -> None:
        value, _ = await compose_around(staged, lambda: action(staged), writing=action is insert, waits=True)
        assert (value == PINYIN.text) is (action is navigate)


@in_a_view
@guarded
class TestWithinAWord:
    @pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
    async def test_what_would_end_it_is_refused(self, staged: Stage, action: Action) -> None:
        refusals: list[str | None] = []

        async def act() -> None:
            refusals.append(await action(staged))

        assert await compose_around(staged, act) == (PINYIN.text, PINYIN.events)
        assert [str(refusal).partition(":")[0] for refusal in refusals] == ["browser_user_composing"]

    async def test_a_page_that_focuses_itself_cannot_end_it(self, staged: Stage) -> None:
        focus = "void document.getElementById('text').focus()"
        seen = await compose_around(staged, lambda: staged.fixture.execute("guest:0", focus))
        assert seen == (PINYIN.text, PINYIN.events)

    async def test_afterwards_all_is_as_before(self, staged: Stage) -> None:
        async def nothing() -> None:
            pass

        assert await compose_around(staged, nothing) == (PINYIN.text, PINYIN.events)
        await anyio.sleep(1)
        assert [await action(staged) for action in ACTIONS] == [None] * len(ACTIONS)
        await staged.hands.type(PINYIN.half + PINYIN.rest, rate=RATE)
        await anyio.sleep(0.3)
        assert (await staged.seen()).host.values["textarea"] == PINYIN.text * 2


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
            assert value != PINYIN.text
        else:
            assert (value, compositions) == (PINYIN.text, PINYIN.events)


@in_a_view
@raw
class TestRaw:
    """The control: each of them ends the word in the middle. In Electron 9 none does."""

    @pytest.mark.parametrize("action", [press, dom_focus], ids=lambda action: action.__name__)
    async def test_it_ends(self, staged: Stage, action: Action, runtime: Runtime) -> None:
        value, _ = await compose_around(staged, lambda: action(staged))
        assert (value == PINYIN.text) is is_oldest(runtime)
