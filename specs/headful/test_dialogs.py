"""Case 24: what a page asks for on an agent's account does not become a box over the person's work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.install import ensure_runtime
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.landing.cdp_client import attach_guest, find_guest, open_client
from probes.observed import Embedding
from specs.embeddings import newest_view
from specs.guarded import Stage, endpoint, guarded, raw, stage
from specs.headful.boxes import Boxes, undisturbed

pytestmark = [pytest.mark.electron, pytest.mark.headful, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]

#: Electron before 29 shows `alert` and `confirm` where nothing can keep them from it (docs/architecture.md).
KEPT = int(ensure_runtime().version.partition(".")[0]) >= 29
#: Before, a webview's page is left with a refusal that nothing tells it of.
TURNED_AWAY = int(ensure_runtime().version.partition(".")[0]) >= 30
#: What opens nothing in Electron anyway.
HARMLESS = {
    "prompt": "try { prompt('?') } catch (error) { String(error) }",
    "permission": "Notification.requestPermission()",
}
ON_PRESS = "document.querySelector('#button').onclick = () => { globalThis.said = String(%s('?')); }; 0"


async def said(app: Stage) -> Any:
    return await app.fixture.execute("guest:0", "globalThis.said || ''")


#: For so long after a press of theirs what a page asks for is the person's (permissions.cjs).
PERSONS_SECONDS = 1.6
FULLSCREEN = {
    "expression": "document.documentElement.requestFullscreen().then(() => 'full', (fault) => fault.name)",
    "userGesture": True,
    "awaitPromise": True,
    "returnByValue": True,
}


LONG = "everythingthatthepersontypesmeanwhile"
DRAW = "(function draw() { document.body.style.outline = `${Math.random()}px solid`; requestAnimationFrame(draw); })()"
ON_PRESS_WHOLE = (
    "document.querySelector('#button').onclick = () => document.documentElement.requestFullscreen(); 0"
)
HANDLER = (
    "electron.webContents.getAllWebContents().forEach((one) => one.session.setPermissionRequestHandler(%s))"
)
REFUSE = HANDLER % "(_page, _what, answer) => answer(false)"
ALLOW = HANDLER % "null"
#: What a page sees of a screen that something else has for a moment.
WATCH = """(() => {
  globalThis.unrest = [];
  const note = (what) => globalThis.unrest.push(what);
  for (const type of ['resize', 'blur', 'focus']) window.addEventListener(type, (event) => note(event.type));
  new ResizeObserver((all) => all.length && note(`${innerWidth} ${innerHeight}`)).observe(document.documentElement);
  const look = () => {
    if (document.fullscreenElement) note(document.fullscreenElement.localName);
    requestAnimationFrame(look);
  };
  return new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
    globalThis.unrest.length = 0;
    look();
    done(0);
  }, 50)));
})()"""


@guarded
class TestGuarded:
    async def test_the_person_gets_the_whole_screen(self, app: Stage, eventually: Eventually) -> None:
        await the_person_gets_it(app, eventually)

    @pytest.mark.parametrize("what", HARMLESS)
    async def test_others_open_nothing(self, app: Stage, display: Display, boxes: Boxes, what: str) -> None:
        front = display.active_window()
        ask = {"expression": HARMLESS[what], "userGesture": True, "awaitPromise": True}
        await app.send("Runtime.evaluate", ask)
        await undisturbed(app, display, boxes, front)

    async def test_a_page_that_objects_to_being_left_is_not_asked_about(
        self, app: Stage, display: Display, boxes: Boxes
    ) -> None:
        """Electron leaves it to the app (`will-prevent-unload`), and the page stays."""
        front = display.active_window()
        await app.click("text")
        assert await app.key("a") is None
        await app.send("Runtime.evaluate", {"expression": "onbeforeunload = () => 'really?'; 0"})
        try:
            answer = await app.send("Page.navigate", {"url": f"{app.url()}&next"})
            assert answer.get("errorText") == "net::ERR_ABORTED"
            await undisturbed(app, display, boxes, front)
        finally:
            await app.send("Runtime.evaluate", {"expression": "onbeforeunload = null"})

    @pytest.mark.parametrize("how", ["press", "script"])
    async def test_a_file_chooser_stays_shut(
        self, app: Stage, display: Display, boxes: Boxes, how: str
    ) -> None:
        front = display.active_window()
        if how == "press":
            await app.click("file")
        else:
            await app.send(
                "Runtime.evaluate",
                {"expression": "document.querySelector('#file').click()", "userGesture": True},
            )
        await undisturbed(app, display, boxes, front)

    async def test_the_persons_own_file_chooser_opens(
        self, app: Stage, boxes: Boxes, eventually: Eventually
    ) -> None:
        await app.click("file")
        await app.fixture.settle()
        assert boxes() == []
        await app.hands.click(*(await app.fixture.rects()).on_screen("file"))
        await eventually(boxes)
        assert boxes() == ["Open File"]


@guarded
class TestGuardedBoxes:
    __test__ = KEPT

    @pytest.mark.parametrize("box", ["alert", "confirm"])
    async def test_a_box_that_nobody_hears_of_is_dismissed(
        self, app: Stage, display: Display, boxes: Boxes, eventually: Eventually, box: str
    ) -> None:
        front = display.active_window()
        await app.send("Runtime.evaluate", {"expression": ON_PRESS % box})
        await app.click("button")
        await eventually(lambda: said(app))
        assert await said(app) == {"alert": "undefined", "confirm": "false"}[box]
        answer = await app.send("Runtime.evaluate", {"expression": f"String({box}('?'))"})
        assert answer["result"]["value"] == await said(app)
        await undisturbed(app, display, boxes, front)

    @pytest.mark.parametrize("box", ["alert", "confirm"])
    async def test_a_client_answers_it(
        self, app: Stage, display: Display, boxes: Boxes, eventually: Eventually, box: str
    ) -> None:
        front = display.active_window()
        await app.send("Page.enable")
        await app.send("Runtime.evaluate", {"expression": ON_PRESS % box})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.click, "button")  # the release is answered when the page runs on
            await eventually(lambda: waits(app))
            await app.hands.type("mine")
            await eventually(lambda: typed(app, "mine"))
            assert (boxes(), display.active_window()) == ([], front)
            await app.send("Page.handleJavaScriptDialog", {"accept": True})
        await eventually(lambda: said(app))
        assert await said(app) == {"alert": "undefined", "confirm": "true"}[box]
        assert boxes() == []

    @pytest.mark.parametrize("how", ["leaves", "disables"])
    async def test_it_does_not_wait_for_who_hears_of_it_no_more(
        self, app: Stage, display: Display, boxes: Boxes, eventually: Eventually, how: str
    ) -> None:
        front = display.active_window()
        await app.send("Runtime.evaluate", {"expression": ON_PRESS % "confirm"})
        target = await find_guest(app.client, app.url())
        async with anyio.create_task_group() as tasks:
            async with open_client(endpoint(app)) as other:
                hearing = await attach_guest(other, target, app.url(), frames=False)
                await other.send("Page.enable", session=hearing.root)
                tasks.start_soon(app.click, "button")
                await eventually(lambda: waits(app))
                if how == "disables":
                    await other.send("Page.disable", session=hearing.root)
                    await eventually(lambda: said(app), seconds=5)
            await eventually(lambda: said(app), seconds=5)
        assert await said(app) == "false"
        await undisturbed(app, display, boxes, front)

    @pytest.mark.parametrize("box", ["alert", "confirm"])
    async def test_the_persons_own_box_opens(
        self, app: Stage, boxes: Boxes, eventually: Eventually, box: str
    ) -> None:
        await app.send("Runtime.evaluate", {"expression": ON_PRESS % box})
        await app.hands.click(*(await app.fixture.rects()).on_screen("button"))
        await eventually(boxes)
        await app.hands.key("Return")
        await eventually(lambda: said(app))

    @pytest.mark.parametrize("box", ["alert", "confirm"])
    async def test_without_a_client_they_are_the_apps(
        self, app: Stage, boxes: Boxes, eventually: Eventually, box: str
    ) -> None:
        async with open_client(endpoint(app)):
            await app.fixture.execute("guest:0", f"setTimeout(() => {box}('?')), 0")
            await eventually(boxes)


async def waits(app: Stage) -> bool:
    """Whether the page stands still before a dialog."""
    return await app.try_send("Runtime.evaluate", {"expression": "1"}, timeout=0.3) is not None


async def typed(app: Stage, text: str) -> bool:
    return bool(await app.fixture.execute("host", "document.querySelector('#textarea').value") == text)


@guarded
class TestTheWholeScreen:
    async def test_an_agent_does_not_get_it(self, app: Stage, display: Display, boxes: Boxes) -> None:
        await anyio.sleep(PERSONS_SECONDS)
        front = display.active_window()
        before = (await app.seen()).window().bounds
        await app.fixture.execute("host", WATCH)
        await app.send("Runtime.evaluate", {**FULLSCREEN, "awaitPromise": False})
        await undisturbed(app, display, boxes, front)
        assert (await app.seen()).window().bounds == before
        assert await app.fixture.execute("host", "globalThis.unrest.splice(0)") == []

    async def test_the_person_types_on(self, app: Stage) -> None:
        """A host that draws while a webview in it has the screen takes the focus from everything else."""
        await anyio.sleep(PERSONS_SECONDS)
        await app.fixture.execute("host", DRAW)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.hands.type, LONG)
            for _ in range(6):
                await app.send("Runtime.evaluate", {**FULLSCREEN, "awaitPromise": False})
                await anyio.sleep(0.6)
        assert (await app.seen()).host.values["textarea"] == LONG

    @pytest.mark.skipif(not TURNED_AWAY, reason="nothing tells the page")
    async def test_nor_does_it_wait_for_it(self, app: Stage) -> None:
        await anyio.sleep(PERSONS_SECONDS)
        before = (await app.seen()).window().bounds
        for _ in range(2):
            await app.send("Runtime.evaluate", FULLSCREEN, timeout=3)
        assert await app.fixture.execute("guest:0", "!document.fullscreenElement")
        assert (await app.seen()).window().bounds == before

    @pytest.mark.skipif(not TURNED_AWAY, reason="nothing tells the page")
    async def test_the_person_gets_it_after_an_agent(self, app: Stage, eventually: Eventually) -> None:
        await anyio.sleep(PERSONS_SECONDS)
        await app.send("Runtime.evaluate", {**FULLSCREEN, "awaitPromise": False})
        await app.fixture.settle()
        await the_person_gets_it(app, eventually)

    async def test_a_screen_that_the_person_has_stays_theirs(
        self, app: Stage, eventually: Eventually
    ) -> None:
        before = (await app.seen()).window().bounds
        await app.send("Runtime.evaluate", {"expression": ON_PRESS_WHOLE})
        await app.hands.click(*(await app.fixture.rects()).on_screen("button"))
        await eventually(lambda: bounds_changed(app, before))
        await anyio.sleep(PERSONS_SECONDS)
        other = "document.querySelector('#text').requestFullscreen(); 0"
        await app.send("Runtime.evaluate", {"expression": other, "userGesture": True})
        assert await bounds_changed(app, before)
        while await app.fixture.execute("guest:0", "!!document.fullscreenElement"):
            await app.fixture.execute("guest:0", "document.exitFullscreen()")
        await eventually(lambda: bounds_are(app, before))


@pytest.mark.only(newest_view(ensure_runtime().version), "window")
class TestTheWholeScreenOfOthers:
    """The same in pages beside the host's own."""

    async def test_the_person_gets_it_after_an_agent(
        self,
        embedding: Embedding,
        runtime: Runtime,
        display: Display,
        janitor: Janitor,
        eventually: Eventually,
    ) -> None:
        async with stage("guarded", runtime, display, janitor, embedding=embedding) as app:
            await app.fresh()
            front = display.active_window()
            before = (await app.seen()).window().bounds
            await app.fixture.execute("host", WATCH)
            for _ in range(2):
                await app.send("Runtime.evaluate", FULLSCREEN, timeout=3)
            await app.hands.type("mine")
            state = await app.seen()
            assert (state.host.values["textarea"], display.active_window()) == ("mine", front)
            assert state.window().bounds == before
            assert await app.fixture.execute("host", "globalThis.unrest") == []
            if embedding != "window":  # whose bounds are its own
                await the_person_gets_it(app, eventually)


@raw
class TestRaw:
    async def test_an_agent_takes_the_whole_screen(self, app: Stage, eventually: Eventually) -> None:
        before = (await app.seen()).window().bounds
        answer = await app.send("Runtime.evaluate", FULLSCREEN)
        assert answer["result"]["value"] == "full"
        await eventually(lambda: bounds_changed(app, before))
        await leave_fullscreen(app, eventually, before)

    async def test_after_a_refusal_the_person_does_not_get_it(self, app: Stage) -> None:
        """Electron tells the page nothing of it, so that the next request waits behind the first."""
        before = (await app.seen()).window().bounds
        await app.guest()
        await app.fixture.execute("main-process", REFUSE)
        await app.send("Runtime.evaluate", {**FULLSCREEN, "awaitPromise": False})
        await app.fixture.settle()
        await app.fixture.execute("main-process", ALLOW)
        await app.send("Runtime.evaluate", {"expression": ON_PRESS_WHOLE})
        await app.hands.click(*(await app.fixture.rects()).on_screen("button"))
        await anyio.sleep(1)
        assert not await bounds_changed(app, before)
        await app.fixture.destroy_guest()
        await app.fixture.add_guest()

    @pytest.mark.parametrize("box", ["alert", "confirm"])
    async def test_a_box_takes_the_persons_keys(
        self, app: Stage, display: Display, boxes: Boxes, eventually: Eventually, box: str
    ) -> None:
        front = display.active_window()
        await app.guest()
        await app.fixture.execute("guest:0", f"setTimeout(() => {box}('?')), 0")
        await eventually(lambda: display.active_window() != front)
        await app.hands.type("mine")
        assert boxes() != []
        assert (await app.fixture.state()).host.values["textarea"] == ""

    async def test_a_file_chooser_takes_the_persons_keys(
        self, app: Stage, display: Display, boxes: Boxes, eventually: Eventually
    ) -> None:
        front = display.active_window()
        await app.click("file")
        await eventually(lambda: display.active_window() != front)
        await app.hands.type("mine")
        assert boxes() == ["Open File"]
        assert (await app.fixture.state()).host.values["textarea"] == ""


async def bounds_changed(app: Stage, before: Any) -> bool:
    return bool((await app.seen()).window().bounds != before)


async def bounds_are(app: Stage, before: Any) -> bool:
    return not await bounds_changed(app, before)


async def the_person_gets_it(app: Stage, eventually: Eventually) -> None:
    before = (await app.seen()).window().bounds
    await app.send("Runtime.evaluate", {"expression": ON_PRESS_WHOLE})
    await app.hands.click(*(await app.fixture.rects()).on_screen("button"))
    await eventually(lambda: bounds_changed(app, before))
    await leave_fullscreen(app, eventually, before)
    await app.send("Runtime.evaluate", {"expression": "document.querySelector('#button').onclick = null"})


async def leave_fullscreen(app: Stage, eventually: Eventually, before: Any) -> None:
    """The window is as it was."""
    await app.fixture.execute("guest:0", "document.exitFullscreen()")
    await eventually(lambda: bounds_are(app, before))
