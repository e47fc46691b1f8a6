"""The person goes on to something else while an agent presses: their newer choice wins, and nothing fights over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from probes.observed import State
from specs.elsewhere import elsewhere
from specs.guarded import INPUT, Stage, guarded, raw

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

GUESTS = 2
BUSY_MS = 500
#: The guest's page is busy for a while when it is pressed; the press is answered after that.
SLOW = """(addEventListener('mousedown', () => {
  const end = performance.now() + %d;
  while (performance.now() < end);
}, { capture: true, once: true }), 0)"""
#: Whether a guest has seen the press, asked where nobody is busy.
PRESSED = """return Array.from(stage.registry.docs.values()).some((doc) =>
  doc.webContentsId === %d && doc.log.some((record) => record.type === 'mousedown'));"""
#: A field of the host that can go away.
DOOMED = """(() => {
  const field = document.createElement('input');
  field.id = 'doomed';
  field.style.cssText = 'position:absolute;left:8px;top:110px;width:200px';
  document.getElementById('fields').appendChild(field);
  field.focus();
  return 0;
})()"""
REMOVE = "(document.getElementById('doomed').remove(), 0)"
#: Whether the person's focus has come back from the press.
AT_HOME = "document.hasFocus() && document.activeElement.id === 'textarea'"
FOCUS_GUEST = "(document.getElementById('guest-%d').focus(), 0)"


@asynccontextmanager
async def slow_press(app: Stage, guest: int = 0) -> AsyncIterator[None]:
    """Inside, the guest's page is busy with a press of the agent; afterwards everything has been answered."""
    opened = app.fixture.opened
    assert opened is not None
    number = opened.guests[guest].web_contents_id
    place = await app.at("text", guest=guest)
    await app.guest(guest)
    await app.fixture.execute(f"guest:{guest}", SLOW % BUSY_MS)

    async def press() -> None:
        await app.mouse("mousePressed", *place, guest=guest)
        await app.mouse("mouseReleased", *place, guest=guest)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(press)
        with anyio.fail_after(5):
            while not await app.fixture.execute("main-process", PRESSED % number):
                await anyio.sleep(0.005)
        yield


def focused(state: State, since: int = 0) -> list[str]:
    """Which fields of the host got the focus, in order."""
    return [
        record.target
        for record in state.host.records("focus")
        if record.target != "window" and record.seq > since
    ]


def typed(state: State) -> dict[str, str]:
    """The keys that each document has seen."""
    found = {document.name: "".join(document.keys()) for document in state.documents}
    return {name: keys for name, keys in found.items() if keys}


def reached(state: State) -> list[str]:
    """The input that the host page's own listeners saw: a key that strays there is kept from them and brought home."""
    assert state.host.page is not None
    return [f"{seen.type} {seen.target} {seen.key!r}" for seen in state.host.page.seen if seen.type in INPUT]


async def click_guest(app: Stage, element: str, *, guest: int = 0) -> None:
    """The person clicks there, and is at the keyboard once everything is quiet."""
    await app.hands.click(*(await app.fixture.rects(guest)).on_screen(element))
    await app.fixture.settle()


async def click_host(app: Stage, element: str) -> None:
    await app.hands.click(*(await app.fixture.rects()).host_on_screen(element))


@guarded
class TestDuringASlowPress:
    async def test_they_click_another_field(self, app: Stage) -> None:
        place = (await app.fixture.rects()).host_on_screen("form")
        since = await app.fixture.settle()
        async with slow_press(app):
            await app.hands.click(*place)
            await app.hands.type("during", rate=40)
        await app.hands.type(" after", rate=40)
        state = await app.seen(since)
        assert (state.host.values["form"], state.host.values["textarea"]) == ("during after", "")
        assert focused(state) == ["form"]
        assert state.host.active == ["form"]
        assert typed(state) == {"host": "during after"}

    @pytest.mark.parametrize("where", ["another program", "another window of the app"])
    async def test_they_go_to_another_window_and_come_back(self, app: Stage, where: str) -> None:
        assert app.display is not None
        home = app.display.active_window()
        assert home is not None
        await app.fixture.focus_host("textarea", text="before after", caret=7)
        async with elsewhere(app.display) as other:
            if where == "another program":
                async with slow_press(app):
                    await other.activate()
                    await app.hands.type("away", rate=40)
                await app.fixture.settle()
                await app.hands.type("still", rate=40)
                assert (other.typed, other.times_left) == ("awaystill", 0)
            else:
                await app.fixture.sentinel(open=True)
                async with slow_press(app):
                    await app.fixture.sentinel(open=True, focus=True)
                    await app.hands.type("away", rate=40)
                await app.fixture.settle()
                await app.hands.type("still", rate=40)
                state = await app.seen()
                sentinel = state.document("sentinel")
                assert sentinel.values["sentinel"] == "awaystill"
                assert [e.type for e in state.window_log if e.window == "host" and e.type == "focus"][
                    1:
                ] == []
            app.display.activate(home)
            await app.display.wait_for_window(lambda window: window.id == home, active=True)
            await app.fixture.settle()
            await app.hands.type("here ", rate=40)
        state = await app.seen()
        assert state.host.values["textarea"] == "before here after"
        assert [
            document.name for document in state.documents if document.role == "guest" and document.keys()
        ] == []

    async def test_their_field_goes_away(self, app: Stage) -> None:
        await app.fixture.execute("host", DOOMED)
        since = await app.fixture.settle()
        async with slow_press(app):
            await app.fixture.execute("host", REMOVE)
            await app.hands.type("nowhere", rate=40)
        state = await app.seen(since)
        assert [
            document.name for document in state.documents if document.role == "guest" and document.keys()
        ] == []
        assert state.host.active == ["body"]
        assert focused(state) == []
        await click_host(app, "form")
        await app.hands.type("here", rate=40)
        state = await app.seen(since)
        assert (state.host.values["form"], focused(state)) == ("here", ["form"])

    async def test_the_app_gives_them_another_field(self, app: Stage) -> None:
        await app.fixture.execute("host", DOOMED)
        since = await app.fixture.settle()
        async with slow_press(app):
            await app.fixture.execute("host", f"({REMOVE}, document.getElementById('form-draft').focus(), 0)")
            await app.hands.type("during", rate=40)
        await app.hands.type(" after", rate=40)
        state = await app.seen(since)
        assert (state.host.values["form"], focused(state)) == ("during after", ["form"])
        assert typed(state) == {"host": "during after"}

    async def test_a_second_guest_is_pressed(self, app: Stage) -> None:
        since = await app.fixture.settle()
        await app.guest(1)
        async with slow_press(app):
            await app.click("text", guest=1)
            await app.hands.type("during", rate=40)
        await app.hands.type(" after", rate=40)
        state = await app.seen(since)
        assert state.host.values["textarea"] == "during after"
        assert typed(state) == {"host": "during after"}
        assert [state.guest(guest).count("button") for guest in (0, 1)] == [0, 0]
        assert [state.guest(guest).active for guest in (0, 1)] == [["text"], ["text"]]

    async def test_they_press_a_second_guest_themselves(self, app: Stage) -> None:
        place = (await app.fixture.rects(1)).on_screen("text")
        since = await app.fixture.settle()
        async with slow_press(app):
            await app.hands.click(*place)
            await app.hands.type("during", rate=40)
        await app.hands.type(" after", rate=40)
        state = await app.seen(since)
        assert state.guest(1).values["text"] == "during after"
        assert typed(state) == {"guest:1/main": "during after"}
        assert state.host.active == ["guest-1"]
        assert focused(state) in ([], ["guest-1"])


@raw
class TestDuringASlowPressRaw:
    async def test_what_they_type_waits_in_the_guest(self, app: Stage) -> None:
        since = await app.fixture.settle()
        async with slow_press(app):
            await app.hands.type("during", rate=40)
        state = await app.seen(since)
        assert typed(state) == {"guest:0/main": "during"}
        assert state.host.active == ["guest-0"]

    async def test_the_click_of_theirs_shows_no_fault(self, app: Stage) -> None:
        """The field that they click has the focus afterwards: a guard could bring back the old one."""
        place = (await app.fixture.rects()).host_on_screen("form")
        since = await app.fixture.settle()
        async with slow_press(app):
            await app.hands.click(*place)
            await app.hands.type("during", rate=40)
        state = await app.seen(since)
        assert typed(state) == {"host": "during"}
        assert state.host.active == ["form"]

    async def test_they_come_back_into_the_guest(self, app: Stage) -> None:
        assert app.display is not None
        home = app.display.active_window()
        assert home is not None
        async with elsewhere(app.display) as other:
            async with slow_press(app):
                await other.activate()
            app.display.activate(home)
            await app.display.wait_for_window(lambda window: window.id == home, active=True)
            await app.fixture.settle()
            await app.hands.type("here", rate=40)
        assert typed(await app.seen()) == {"guest:0/main": "here"}

    async def test_a_second_press_takes_the_keys_too(self, app: Stage) -> None:
        await app.click("text")
        await app.click("text", guest=1)
        await app.hands.type("keys", rate=40)
        assert typed(await app.seen()) == {"guest:1/main": "keys"}


#: What an agent may do while the person is in a guest; none of it presses.
Doing = Callable[[Stage, int], Awaitable[Any]]


async def presses(app: Stage, guest: int) -> None:
    await app.click("button", guest=guest)


async def keys(app: Stage, guest: int) -> None:
    for key in ("ArrowLeft", "Tab", "ctrl+a"):
        await app.key(key, guest=guest)


async def text(app: Stage, guest: int) -> None:
    await app.fixture.focus_guest("textarea", guest=guest)
    await app.insert("agent", guest=guest)


async def script(app: Stage, guest: int) -> None:
    focus = "document.getElementById('textarea').focus(); window.focus()"
    await app.send("Runtime.evaluate", {"expression": focus}, guest=guest)


AGENT: dict[str, Doing] = {"press": presses, "keys": keys, "text": text, "script": script}


@guarded
class TestThePersonGoesIntoAGuest:
    async def test_everything_they_type_arrives_there(self, app: Stage) -> None:
        since = await app.fixture.settle()
        await click_guest(app, "text")
        await app.hands.type("the person in the guest", rate=40)
        state = await app.seen(since)
        assert state.guest().values["text"] == "the person in the guest"
        assert reached(state) == []
        assert state.host.active == ["guest-0"]

    @pytest.mark.parametrize("action", list(AGENT))
    async def test_an_agent_at_the_other_guest_does_not_draw_them_away(self, app: Stage, action: str) -> None:
        await app.guest(1)
        await click_guest(app, "text")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._again, AGENT[action], app)
            await app.hands.type("the person types on and on", rate=25)
        state = await app.seen()
        assert state.guest(0).values["text"] == "the person types on and on"
        assert reached(state) == []
        assert state.host.active == ["guest-0"]

    async def _again(self, act: Doing, app: Stage) -> None:
        for _ in range(3):
            await act(app, 1)

    async def test_right_after_an_agents_press_in_the_same_guest(self, app: Stage) -> None:
        place = (await app.fixture.rects()).on_screen("textarea")
        await app.hands.move(*place)
        await app.click("text")
        await app.hands.click(*place)
        await app.fixture.settle()
        await app.hands.type("theirs", rate=40)
        state = await app.seen()
        assert state.guest().values["textarea"] == "theirs"
        assert typed(state) == {"guest:0/main": "theirs"}

    async def test_while_an_agents_slow_press_is_in_the_same_guest(self, app: Stage) -> None:
        place = (await app.fixture.rects()).on_screen("textarea")
        async with slow_press(app):
            await app.hands.click(*place)
        await app.hands.type("theirs", rate=40)
        state = await app.seen()
        assert typed(state) == {"guest:0/main": "theirs"}
        assert state.host.active == ["guest-0"]

    async def test_they_come_back_by_a_click(self, app: Stage) -> None:
        await click_guest(app, "text")
        await app.hands.type("there", rate=40)
        await app.click("button")
        await click_host(app, "form")
        await app.hands.type("here", rate=40)
        await app.click("button")
        await app.hands.type(" again", rate=40)
        state = await app.seen()
        assert (state.guest().values["text"], state.host.values["form"]) == ("there", "here again")
        assert state.guest().count("button") == 2

    async def test_the_app_takes_them_there(self, app: Stage) -> None:
        """The host calls `webview.focus()` on the person's behalf: that is the app's to decide."""
        await app.fixture.focus_guest("text")
        await app.fixture.execute("host", FOCUS_GUEST % 0)
        await app.fixture.settle()
        await app.hands.type("there", rate=40)
        state = await app.seen()
        assert (state.guest().values["text"], state.host.active) == ("there", ["guest-0"])

    async def test_the_app_takes_them_to_the_other_guest_during_a_slow_press(self, app: Stage) -> None:
        await app.fixture.focus_guest("text", guest=1)
        async with slow_press(app):
            with anyio.fail_after(2):
                while not await app.fixture.execute("host", AT_HOME):
                    await anyio.sleep(0.01)
            await app.fixture.execute("host", FOCUS_GUEST % 1)
            await app.hands.type("there", rate=40)
        await app.hands.type(" still", rate=40)
        state = await app.seen()
        assert (typed(state), state.host.active) == ({"guest:1/main": "there still"}, ["guest-1"])
        assert state.guest(1).values["text"] == "there still"


@raw
class TestThePersonGoesIntoAGuestRaw:
    async def test_their_own_click_shows_no_fault(self, app: Stage) -> None:
        await click_guest(app, "text")
        await app.hands.type("there", rate=40)
        assert typed(await app.seen()) == {"guest:0/main": "there"}

    async def test_nor_does_the_apps_choice(self, app: Stage) -> None:
        await app.fixture.focus_guest("text")
        await app.fixture.execute("host", FOCUS_GUEST % 0)
        await app.fixture.settle()
        await app.hands.type("there", rate=40)
        assert typed(await app.seen()) == {"guest:0/main": "there"}

    async def test_a_press_in_the_other_guest_draws_them_away(self, app: Stage) -> None:
        await click_guest(app, "text")
        await app.click("text", guest=1)
        await app.hands.type("stolen", rate=40)
        assert typed(await app.seen()) == {"guest:1/main": "stolen"}

    async def test_text_for_the_other_guest_lands_where_they_are(self, app: Stage) -> None:
        await click_guest(app, "text")
        await text(app, 1)
        assert (await app.seen()).guest(0).values["text"] == "agent"
