"""A person types on while an agent sends one command again and again: the host's log is the person's string.

Cases 1, 5 and 7. Each class has its raw twin, which shows what the person loses without the guard, or that there is
nothing to lose.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from probes.landing.cdp_client import find_guest, open_client
from probes.observed import State
from specs.guarded import FOCUS, SessionName, Stage, endpoint, guarded, key_event, raw, records

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

TEXT = "thequickbr"
RATE = 8.0
TIMES = 6
#: Seconds between two of the agent's commands: all of them fall between the person's first key and their last.
PAUSE = 0.15
Eventually = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class Command:
    """What the agent sends: one command, or several that make one action.

    Attributes:
        at: the element of the guest whose middle every command gets as `x` and `y`.
        keys: what the guest's pages log of each round.
    """

    name: str
    steps: tuple[tuple[str, dict[str, Any]], ...]
    at: str | None = None
    keys: tuple[str, ...] = ()


def _mouse(kind: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "Input.dispatchMouseEvent", {"type": kind, "button": "left", "clickCount": 1, **more}


def _evaluate(code: str) -> tuple[str, dict[str, Any]]:
    return "Runtime.evaluate", {"expression": code, "userGesture": True}


def _touch(kind: str, *points: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)}


_DIGIT = key_event("7")
_KEY = (
    ("Input.dispatchKeyEvent", {"type": "keyDown", **_DIGIT}),
    ("Input.dispatchKeyEvent", {"type": "keyUp", **{k: v for k, v in _DIGIT.items() if k != "text"}}),
)
#: What goes to the guest's root session and to a cross-site frame's own.
ANYWHERE = (
    Command("key", _KEY, keys=("7",)),
    Command("insert-text", (("Input.insertText", {"text": "7"}),)),
    Command("compose", (("Input.imeSetComposition", {"text": "7", "selectionStart": 1, "selectionEnd": 1}),)),
    Command("press", (_mouse("mousePressed"), _mouse("mouseReleased")), at="text"),
    Command(
        "right-press",
        (_mouse("mousePressed", button="right"), _mouse("mouseReleased", button="right")),
        "text",
    ),
    Command("move", (_mouse("mouseMoved"),), at="text"),
    Command("script-focus", (_evaluate("document.querySelector('[data-field=text]').focus()"),)),
    Command("window-focus", (_evaluate("window.focus()"),)),
    Command("emulation", (("Emulation.setFocusEmulationEnabled", {"enabled": True}),)),
)
#: What there is on the root session only.
ROOT = (
    Command("wheel", (_mouse("mouseWheel", button="none", deltaX=0, deltaY=10),), at="text"),
    Command("touch", (_touch("touchStart", {"x": 50, "y": 57}), _touch("touchEnd"))),
    Command("tap", (("Input.synthesizeTapGesture", {}),), at="button"),
    Command("tab", (("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key_event("Tab")}),), keys=("Tab",)),
    Command("navigate", (("Page.navigate", {"url": ""}),)),
    Command("reload", (("Page.reload", {}),)),
    Command("history-back", (_evaluate("history.back()"),)),
    Command("bring-to-front", (("Page.bringToFront", {}),)),
    Command("screenshot", (("Page.captureScreenshot", {"format": "jpeg", "quality": 5}),)),
    Command("lifecycle", (("Page.setWebLifecycleState", {"state": "active"}),)),
)
#: What goes to the browser as a whole.
BROWSER = ("Target.activateTarget", "Target.createTarget", "Browser.setWindowBounds")


async def agent_at_work(app: Stage, command: Command, session: SessionName, times: int = TIMES) -> None:
    """Sends a command time after time."""
    place = await app.at(command.at, session=session, frame=_frame(session)) if command.at else None
    for _ in range(times):
        for method, params in command.steps:
            more: dict[str, Any] = {}
            if place and "Touch" not in method:
                more = {"x": place[0], "y": place[1]}
            if command.name == "navigate":
                more = {"url": app.url()}
            await app.try_send(method, {**params, **more}, session=session)
        await anyio.sleep(PAUSE)


def _frame(session: SessionName) -> Any:
    return {"root": "main", "frame": "cross-site", "nested": "nested"}[session]


async def typed_meanwhile(
    app: Stage, work: Callable[[], Coroutine[Any, Any, None]], text: str = TEXT
) -> State:
    """The person types while the agent works; what everybody has seen then."""
    since = await app.fixture.settle()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await app.hands.type(text, rate=RATE)
    return await app.seen(since)


def unharmed(state: State, text: str = TEXT) -> None:
    """The host as if nobody else had been there."""
    assert "".join(state.host.keys()) == text
    assert state.host.values["textarea"] == text
    assert records(state.host, *FOCUS) == []
    guests = [document for document in state.documents if document.role == "guest"]
    assert [
        (each.name, record.key)
        for each in guests
        for record in each.records("keydown")
        if record.key in set(text)
    ] == []


@guarded
class TestEveryCommand:
    @pytest.mark.parametrize("command", ANYWHERE + ROOT, ids=lambda command: command.name)
    async def test_on_the_guest(self, app: Stage, command: Command) -> None:
        await app.fixture.focus_host("textarea", text="")
        await app.fixture.focus_guest("text")
        state = await typed_meanwhile(app, lambda: agent_at_work(app, command, "root"))
        unharmed(state)
        if command.keys:
            seen = state.guest().records("keydown")
            assert [record.key for record in seen if record.key in command.keys] == list(command.keys) * TIMES

    @pytest.mark.parametrize("command", ANYWHERE, ids=lambda command: command.name)
    async def test_on_a_cross_site_frame(self, app: Stage, command: Command) -> None:
        await app.fixture.focus_host("textarea", text="")
        await app.fixture.focus_guest("text", frame="cross-site")
        state = await typed_meanwhile(app, lambda: agent_at_work(app, command, "frame"))
        unharmed(state)
        assert state.guest(frame="cross-site").keys() == list(command.keys) * TIMES

    @pytest.mark.parametrize("command", ANYWHERE, ids=lambda command: command.name)
    async def test_on_a_guest_that_is_not_shown(self, app: Stage, command: Command) -> None:
        await app.fixture.focus_host("textarea", text="")
        await app.fixture.focus_guest("text")
        await app.fixture.execute(
            "host", "void (document.getElementById('guest-0').style.visibility = 'hidden')"
        )
        # A move waits for a frame, which does not come: it is refused after two seconds.
        times = 2 if command.name == "move" else TIMES
        try:
            state = await typed_meanwhile(app, lambda: agent_at_work(app, command, "root", times))
        finally:
            await app.fixture.execute(
                "host", "void (document.getElementById('guest-0').style.visibility = '')"
            )
        unharmed(state)

    @pytest.mark.parametrize("method", BROWSER)
    async def test_on_the_browser(self, app: Stage, method: str) -> None:
        target = await find_guest(app.client, app.url())
        await app.fixture.focus_host("textarea", text="")
        params: dict[str, dict[str, Any]] = {
            "Target.activateTarget": {"targetId": target},
            "Target.createTarget": {"url": "about:blank"},
            "Browser.setWindowBounds": {"windowId": 1, "bounds": {"left": 9, "top": 9, "width": 400}},
        }

        async def work() -> None:
            for _ in range(TIMES):
                try:
                    await app.client.send(method, params[method])
                except Exception as refusal:
                    assert "browser_" in str(refusal)
                await anyio.sleep(PAUSE)

        unharmed(await typed_meanwhile(app, work))


@raw
class TestEveryCommandRaw:
    @pytest.mark.parametrize("name", ["key", "insert-text", "press", "touch", "tab"])
    async def test_the_person_is_disturbed(self, app: Stage, name: str) -> None:
        command = next(each for each in ANYWHERE + ROOT if each.name == name)
        await app.fixture.focus_host("textarea", text="")
        await app.fixture.focus_guest("text")
        state = await typed_meanwhile(app, lambda: agent_at_work(app, command, "root"))
        assert state.host.values["textarea"] != TEXT


BURST = "0123456789" * 20
PERSON = "sphinxofblackquartzjudgemyvowabcdefghijk"


async def burst(send: Callable[[str, dict[str, Any]], Coroutine[Any, Any, Any]]) -> None:
    """Types every character without waiting for an answer."""
    async with anyio.create_task_group() as tasks:
        for digit in BURST:
            down = key_event(digit)
            up = {name: value for name, value in down.items() if name != "text"}
            tasks.start_soon(send, "Input.dispatchKeyEvent", {"type": "keyDown", **down})
            tasks.start_soon(send, "Input.dispatchKeyEvent", {"type": "keyUp", **up})


@guarded
class TestBursts:
    async def test_two_hundred_characters_at_once_and_the_persons_forty(self, app: Stage) -> None:
        await app.fixture.focus_host("textarea", text="")
        await app.fixture.focus_guest("text", text="")

        async def work() -> None:
            await burst(lambda method, params: app.send(method, params, timeout=30))

        state = await typed_meanwhile(app, work, PERSON)
        unharmed(state, PERSON)
        assert state.guest().values["text"] == BURST

    async def test_a_client_that_dies_in_the_middle(self, app: Stage, eventually: Eventually) -> None:
        await app.fixture.focus_host("textarea", text="")
        await app.fixture.focus_guest("text", text="")

        async def work() -> None:
            async with open_client(endpoint(app)) as dying:
                target = await find_guest(dying, app.url())
                attach = {"targetId": target, "flatten": True}
                session = (await dying.send("Target.attachToTarget", attach))["sessionId"]
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(
                        burst, lambda method, params: dying.send(method, params, session=session)
                    )
                    await eventually(lambda: some_have_come(app))
                    tasks.cancel_scope.cancel()

        state = await typed_meanwhile(app, work, PERSON)
        unharmed(state, PERSON)
        assert BURST.startswith(state.guest().values["text"])
        downs, ups = state.guest().records("keydown"), state.guest().records("keyup")
        assert [each.key for each in ups][-1] == [each.key for each in downs][-1], "no key stays down"


async def some_have_come(app: Stage) -> bool:
    return len(str((await app.fixture.state(logs=False)).guest().values["text"])) > 20


@raw
class TestBurstsRaw:
    async def test_all_of_it_ends_in_the_persons_field(self, app: Stage) -> None:
        await app.fixture.focus_host("textarea", text="")
        await app.fixture.focus_guest("text", text="")

        async def work() -> None:
            await burst(lambda method, params: app.send(method, params, timeout=30))

        state = await typed_meanwhile(app, work, PERSON)
        assert state.guest().values["text"] == ""
        assert len(str(state.host.values["textarea"])) == len(BURST) + len(PERSON)


#: What pages do to have the focus, from the moment on in which they are loaded.
GREEDY = {
    "autofocus": "addEventListener('load', () => document.getElementById('text').focus())",
    "window-focus": "setInterval(() => window.focus(), 50)",
    "field-focus": """setInterval(() => {
      const field = document.getElementById('text');
      if (field) field.focus();
    }, 50)""",
    "back-and-forth": """setInterval(() => {
      const at = document.activeElement && document.activeElement.id;
      const next = document.getElementById(at === 'text' ? 'textarea' : 'text');
      if (next) next.focus();
    }, 30)""",
    "reload": "setTimeout(() => location.reload(), 300)",
    "reload-and-focus": """addEventListener('load', () => {
      document.getElementById('text').focus();
      window.focus();
      setTimeout(() => location.reload(), 300);
    })""",
}


async def greedy(app: Stage, script: str, eventually: Eventually) -> State:
    """A page that wants the focus, and a person who types. Such a page never comes to rest."""
    await app.fixture.focus_host("textarea", text="")
    since = await app.fixture.settle()
    await app.send("Page.enable")
    added = await app.send("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    try:
        await app.fixture.reload(wait=False)
        await app.hands.type(TEXT + TEXT, rate=RATE)

        async def arrived() -> bool:
            state = await app.fixture.state(since=since)
            return len(state.host.records("keyup")) >= len(TEXT + TEXT)

        await eventually(arrived)
        return await app.fixture.state(since=since)
    finally:
        await app.send("Page.removeScriptToEvaluateOnNewDocument", added)
        await app.fixture.navigate(app.url())


@guarded
class TestGreedyPages:
    @pytest.mark.parametrize("name", GREEDY)
    async def test_take_nothing(self, app: Stage, name: str, eventually: Eventually) -> None:
        unharmed(await greedy(app, GREEDY[name], eventually), TEXT + TEXT)


@raw
class TestGreedyPagesRaw:
    @pytest.mark.parametrize("name", ["field-focus", "back-and-forth"])
    async def test_take_no_keys_without_the_guard_either(
        self, app: Stage, name: str, eventually: Eventually
    ) -> None:
        """What they take is the input method: specs/headful/test_input_method_raw.py."""
        unharmed(await greedy(app, GREEDY[name], eventually), TEXT + TEXT)
