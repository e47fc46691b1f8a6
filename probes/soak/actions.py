"""What the agents of a soak do. Each action says how its effect shows in the guest's own page, read past the guard."""

from __future__ import annotations

import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio

from probes.fixture import Fixture, FixtureError
from probes.landing.cdp_client import CdpClient, CdpError, GuestSessions, attach_guest, find_guest, focus_node
from probes.observed import Frame

#: Seconds in which an effect must show.
EFFECT_SECONDS = 5.0
#: Seconds in which an action that was refused for a moment is tried again, as its error asks for.
RETRY_SECONDS = 8.0

Effect = Callable[[], Awaitable[bool]]
#: Performs the action and gives what shows its effect; None where there is nothing in the page to see.
Perform = Callable[["Agent"], Awaitable[Effect | None]]


@dataclass(frozen=True)
class Action:
    """One kind of action.

    Attributes:
        weight: how often it is chosen, against the others.
        since: Electron's first major version in which it opens no box over the person's work.
    """

    name: str
    perform: Perform
    press: bool = False
    weight: int = 4
    since: int = 0


class Agent:
    """One client on one guest.

    Attributes:
        alone: taken by an agent whose guest is away for a moment.
    """

    def __init__(
        self,
        fixture: Fixture,
        client: CdpClient,
        sessions: GuestSessions,
        guest: int,
        seed: int,
        alone: anyio.Lock,
    ) -> None:
        self.alone = alone
        self.fixture = fixture
        self.client = client
        self.guest = guest
        self.sessions = sessions
        self.chance = random.Random(f"{seed}/{guest}")
        self.marks = itertools.count(1)

    async def at(self, element: str) -> tuple[float, float]:
        """The centre of an element, CSS pixels of the guest, with the page scrolled back to its beginning."""
        await self.scroll_back()
        box = await self.page(
            f"(() => {{ const box = document.getElementById({element!r}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        return float(box[0]), float(box[1])

    async def scroll_back(self) -> None:
        """Chromium finds the frame under a press by what was painted last, so a scroll has to be painted first."""
        await self.page(
            "(async () => {"
            " const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
            " if (scrollX || scrollY) { scrollTo(0, 0); for (let n = 0; n < 3; n += 1) await painted(); }"
            "})()"
        )

    def mark(self) -> str:
        """A text that no person types and no other action uses: digits."""
        return f"{self.guest}{next(self.marks):05d}"

    async def page(self, code: str, frame: str = "main") -> Any:
        """What the guest's page says, through the fixture and not through what is measured."""
        return await self.fixture.execute(f"guest:{self.guest}/{frame}", code)

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """A command on the guest's root session; one that is refused for a moment is sent again."""
        until = anyio.current_time() + RETRY_SECONDS
        while True:
            try:
                return await self.client.send(method, params, session=self.sessions.root, timeout=15)
            except CdpError as refusal:
                retryable = str(refusal).startswith(
                    ("browser_user_composing", "browser_focus_guard_unavailable")
                )
                if not retryable or anyio.current_time() > until:
                    raise
                await anyio.sleep(0.05)

    async def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """One mouse event."""
        event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1, **more}
        await self.send("Input.dispatchMouseEvent", event)

    async def click(self, element: str, **more: Any) -> None:
        """Press and release on an element."""
        x, y = await self.at(element)
        await self.mouse("mousePressed", x, y, **more)
        await self.mouse("mouseReleased", x, y, **more)

    async def key(self, key: str, code: str, virtual: int, text: str = "", modifiers: int = 0) -> None:
        """Press and release a key."""
        event = {"key": key, "code": code, "windowsVirtualKeyCode": virtual, "modifiers": modifiers}
        down = {"type": "keyDown", "text": text, **event} if text else {"type": "rawKeyDown", **event}
        await self.send("Input.dispatchKeyEvent", down)
        await self.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    async def count(self, name: str) -> int:
        """One of the page's own counters."""
        return int(await self.page(f"window.fixturePage.snapshot().counters[{name!r}] || 0"))

    async def run(self, code: str) -> Any:
        """Run a script in the guest, through the guard as any client does."""
        answer = await self.send("Runtime.evaluate", {"expression": code, "returnByValue": True})
        return answer["result"].get("value")

    async def empty_focus(self) -> None:
        """Have nothing in the guest's page focused."""
        await self.run("document.activeElement && document.activeElement.blur()")

    async def focus(self, element: str, frame: Frame = "main") -> None:
        """Give an element the guest's own focus; one in a frame by a press, for the frame may have its own process."""
        if frame == "main":
            await focus_node(self.send, f"#{element}")
            return
        await self.scroll_back()
        if frame == "cross-site":  # until it is drawn, after each load, a press goes to the page around it
            await self.fixture.frames_take_input(self.guest)
        x, y = (await self.fixture.rects(self.guest)).element(element, frame).centre
        await self.mouse("mousePressed", x, y)
        await self.mouse("mouseReleased", x, y)


async def seen(effect: Effect) -> bool:
    """Whether an effect shows in time."""
    with anyio.move_on_after(EFFECT_SECONDS):
        while True:
            try:
                if await effect():
                    return True
            except FixtureError:
                pass  # the page is on its way to another one
            await anyio.sleep(0.01)
    return False


# -- presses --
def _counts(element: str, counter: str, **more: Any) -> Perform:
    async def perform(agent: Agent) -> Effect:
        before = await agent.count(counter)
        await agent.click(element, **more)

        async def effect() -> bool:
            return await agent.count(counter) > before

        return effect

    return perform


def _focuses(element: str) -> Perform:
    async def perform(agent: Agent) -> Effect:
        await agent.empty_focus()
        await agent.click(element)

        async def effect() -> bool:
            return bool(await agent.page("document.activeElement.dataset.field || ''"))

        return effect

    return perform


async def _double(agent: Agent) -> Effect:
    before = await agent.count("button-double")
    await agent.click("button")
    await agent.click("button", clickCount=2)

    async def effect() -> bool:
        return await agent.count("button-double") > before

    return effect


async def _range(agent: Agent) -> Effect:
    await agent.page("document.getElementById('range').value = 0")
    x, y = await agent.at("range")
    await agent.mouse("mousePressed", x - 20, y)
    await agent.mouse("mouseMoved", x, y, buttons=1)
    await agent.mouse("mouseMoved", x + 20, y, buttons=1)
    await agent.mouse("mouseReleased", x + 20, y)

    async def effect() -> bool:
        return int(await agent.page("document.getElementById('range').value")) > 50

    return effect


async def _tap(agent: Agent) -> Effect:
    since = (await agent.fixture.state(logs=False)).seq
    x, y = await agent.at("button")
    await agent.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    await agent.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    async def effect() -> bool:
        # Without touch emulation Chromium makes no click of it, raw neither: the touches themselves are the effect.
        state = await agent.fixture.state(since=since)
        return bool(state.document("guest", guest=agent.guest).records("touchend"))

    return effect


# -- keys and text --
async def _keys(agent: Agent) -> Effect:
    await agent.focus("text")
    text = agent.mark()
    for digit in text:
        await agent.key(digit, f"Digit{digit}", ord(digit), digit)

    async def effect() -> bool:
        return text in str(await agent.page("document.getElementById('text').value"))

    return effect


def _insert(field: str, frame: Frame = "main") -> Perform:
    async def perform(agent: Agent) -> Effect:
        await agent.focus(field, frame)
        text = agent.mark()
        await agent.send("Input.insertText", {"text": text})

        async def effect() -> bool:
            content = "(e => e.value === undefined ? e.textContent : e.value)"
            found = await agent.page(f"{content}(document.querySelector('[data-field={field}]'))", frame)
            return text in str(found)

        return effect

    return perform


async def _replace(agent: Agent) -> Effect:
    await agent.focus("text")
    text = agent.mark()
    await agent.key("a", "KeyA", 65, modifiers=2)
    await agent.send("Input.insertText", {"text": text})

    async def effect() -> bool:
        return bool(await agent.page("document.getElementById('text').value") == text)

    return effect


async def _tab(agent: Agent) -> Effect:
    await agent.focus("text")
    await agent.key("Tab", "Tab", 9)

    async def effect() -> bool:
        return bool(await agent.page("document.activeElement.id") == "textarea")

    return effect


# -- focus by script, pages, and the rest --
async def _dom_focus(agent: Agent) -> Effect:
    await agent.empty_focus()
    await focus_node(agent.send, "#textarea")

    async def effect() -> bool:
        return bool(await agent.page("document.activeElement.id") == "textarea")

    return effect


async def _script_focus(agent: Agent) -> Effect:
    await agent.empty_focus()
    code = "window.focus(); document.getElementById('combobox').focus()"
    await agent.send("Runtime.evaluate", {"expression": code, "userGesture": True})

    async def effect() -> bool:
        return bool(await agent.page("document.activeElement.id") == "combobox")

    return effect


async def _wheel(agent: Agent) -> Effect:
    await agent.page("document.getElementById('scroll-area').scrollTop = 0")
    x, y = await agent.at("scroll-area")
    await agent.send(
        "Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": 40}
    )

    async def effect() -> bool:
        return float(await agent.page("document.getElementById('scroll-area').scrollTop")) > 0

    return effect


async def _reload(agent: Agent) -> Effect:
    before = await agent.page("performance.timeOrigin")
    await agent.send("Page.reload")
    return _another_document(agent, before)


async def _navigate(agent: Agent) -> Effect:
    before, address = await agent.page("[performance.timeOrigin, location.href.replace(/(#|&visit=).*/, '')]")
    await agent.send("Page.navigate", {"url": f"{address}&visit={agent.mark()}"})
    return _another_document(agent, before)


async def _back(agent: Agent) -> Effect | None:
    history = await agent.send("Page.getNavigationHistory")
    if not history["currentIndex"]:
        return None
    entry = history["entries"][history["currentIndex"] - 1]
    await agent.send("Page.navigateToHistoryEntry", {"entryId": entry["id"]})

    async def effect() -> bool:
        ready = "document.readyState === 'complete' && window.fixturePage ? location.href : ''"
        return bool(await agent.page(ready) == entry["url"])

    return effect


def _another_document(agent: Agent, before: float) -> Effect:
    async def effect() -> bool:
        now = "document.readyState === 'complete' && window.fixturePage ? performance.timeOrigin : 0"
        origin = await agent.page(now)
        return bool(origin and origin != before)

    return effect


async def _focus_itself(agent: Agent) -> Effect:
    """The page takes the focus again and again, as pages with timers do."""
    await agent.empty_focus()
    code = """(() => {
      let left = window.timesLeft = 10;
      const timer = setInterval(() => {
        window.focus();
        document.getElementById(left % 2 ? 'text' : 'textarea').focus();
        window.timesLeft = --left;
        if (!left) clearInterval(timer);
      }, 20);
    })()"""
    await agent.send("Runtime.evaluate", {"expression": code})

    async def effect() -> bool:
        # Which field it ends in is not asked: while the person composes, a restless page is kept from more of it.
        focused = "/^text/.test(document.activeElement.id)"
        return bool(await agent.page(f"window.timesLeft === 0 && {focused}"))

    return effect


async def _recreate(agent: Agent) -> Effect:
    """The app closes the guest and opens another one, and the agent goes on there."""
    async with agent.alone:
        await agent.fixture.destroy_guest(agent.guest)
        opened = await agent.fixture.add_guest()
        target = await find_guest(agent.client, opened.url)
        agent.sessions = await attach_guest(agent.client, target, opened.url, frames=False)

    async def effect() -> bool:
        answer = await agent.send("Runtime.evaluate", {"expression": "document.readyState"})
        return bool(answer["result"]["value"] == "complete")

    return effect


async def _download(agent: Agent) -> None:
    """What the page downloads is cancelled where nobody has said where to save it."""
    await agent.run(
        "(() => { const link = document.createElement('a'); link.download = 'note.txt';"
        " link.href = 'data:application/octet-stream,hello'; link.click(); })()"
    )


async def _file_chooser(agent: Agent) -> None:
    await agent.click("file")


async def _dialog(agent: Agent) -> Effect:
    answer = await agent.send("Runtime.evaluate", {"expression": "confirm('really?')", "userGesture": True})

    async def effect() -> bool:
        return answer["result"].get("value") is False

    return effect


async def _screenshot(agent: Agent) -> None:
    await agent.send("Page.captureScreenshot", {"format": "jpeg", "quality": 20})


async def _front(agent: Agent) -> None:
    await agent.send("Page.bringToFront")
    await agent.client.send("Target.activateTarget", {"targetId": agent.sessions.target_id}, timeout=15)


async def _emulation(agent: Agent) -> None:
    await agent.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
    await agent.send("Emulation.setFocusEmulationEnabled", {"enabled": False})


ACTIONS: tuple[Action, ...] = (
    Action("press-button", _counts("button", "button"), press=True, weight=10),
    Action("press-checkbox", _counts("checkbox", "checkbox"), press=True),
    Action("press-link", _counts("link", "link"), press=True, weight=2),
    Action("press-text", _focuses("text"), press=True, weight=8),
    Action("press-contenteditable", _focuses("contenteditable"), press=True),
    Action("double-press", _double, press=True),
    Action("drag-range", _range, press=True),
    Action("tap", _tap, press=True, weight=2),
    Action("keys", _keys, weight=4),
    Action("insert-text", _insert("textarea"), weight=6),
    Action("insert-text.same-site-frame", _insert("text", "same-site"), weight=3),
    Action("insert-text.cross-site-frame", _insert("text", "cross-site"), weight=3),
    Action("select-all-replace", _replace, weight=4),
    Action("tab", _tab, weight=3),
    Action("dom-focus", _dom_focus, weight=3),
    Action("script-focus", _script_focus, weight=3),
    Action("wheel", _wheel, weight=3),
    Action("reload", _reload, weight=1),
    Action("navigate", _navigate, weight=1),
    Action("history-back", _back, weight=1),
    Action("page-focuses-itself", _focus_itself, weight=2),
    Action("recreate-guest", _recreate, weight=1),
    Action("download", _download, weight=1),
    Action("file-chooser", _file_chooser, press=True, weight=1),
    Action("dialog", _dialog, weight=1, since=29),
    Action("screenshot", _screenshot, weight=2),
    Action("bring-to-front", _front, weight=3),
    Action("focus-emulation", _emulation, weight=3),
)
