"""What the person has selected, in every kind of field, outlives whatever an agent does in a guest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from probes.observed import Document, HostField, State
from specs.guarded import FOCUS, INPUT, SessionName, Stage, guarded, raw, records, shown

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

#: Long enough to scroll in the field; the selection is in what is out of sight above.
TEXT = "".join(f"line {number} of the person's text\n" for number in range(30))
SELECTED = (12, 47)
FIELDS: tuple[HostField, ...] = ("textarea", "contenteditable", "shadow", "terminal", "frame")
SCROLL = """(() => {
  for (const id of ['textarea', 'contenteditable', 'notes']) document.getElementById(id).scrollTop = 60;
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(0))));
})()"""
Doing = Callable[[Stage], Awaitable[Any]]


def press(element: str, frame: str = "main", session: SessionName = "root") -> Doing:
    async def act(app: Stage) -> None:
        await app.click(element, frame=frame, session=session)

    return act


def key(combination: str, frame: str = "main", session: SessionName = "root") -> Doing:
    async def act(app: Stage) -> None:
        await app.fixture.focus_guest("text", frame=frame)
        assert await app.key(combination, session=session) is None

    return act


def text(frame: str = "main", session: SessionName = "root") -> Doing:
    async def act(app: Stage) -> None:
        await app.fixture.focus_guest("text", frame=frame)
        assert await app.insert("the agent's", session=session) is None

    return act


async def navigate(app: Stage) -> None:
    """To a page whose field takes the focus by itself."""
    script = "onload = () => { window.focus(); document.querySelector('input').focus() }"
    page = f"<input autofocus><script>{script}</script>"
    await app.send("Page.navigate", {"url": f"data:text/html,{page}"})
    await app.fixture.execute(
        "main-process",
        "const contents = stage.guest(0).contents; const end = Date.now() + 5000;"
        "while ((contents.isLoading() || !contents.getURL().startsWith('data:')) && Date.now() < end)"
        " await new Promise((resolve) => setTimeout(resolve, 10));",
    )


async def many(app: Stage) -> None:
    """A click, a Tab, some text and keys, one after the other without a pause."""
    await app.click("text")
    await app.key("Tab")
    await app.insert("one")
    await app.click("button")
    await app.click("text", frame="cross-site")
    await app.key("x")


ACTIONS: dict[str, Doing] = {
    "press": press("text"),
    "press in a frame": press("text", frame="cross-site"),
    "press on a frame's session": press("text", frame="cross-site", session="frame"),
    "tab": key("Tab"),
    "text": text(),
    "text on a frame's session": text(frame="cross-site", session="frame"),
    "navigation": navigate,
    "all of it": many,
}


def place(document: Document) -> dict[str, Any]:
    """Everything that belongs to the person's place in a document."""
    return {
        "active": document.active,
        "values": document.values,
        "selections": {name: vars(selection) for name, selection in document.selections.items()},
        "selection": document.selection,
        "scrolls": {name: (scroll.x, scroll.y) for name, scroll in document.scrolls.items()},
    }


def where(field: HostField) -> str:
    return "host-frame" if field == "frame" else "host"


def document_of(state: State, field: HostField) -> Document:
    return state.document("host", frame="host-frame") if field == "frame" else state.host


def places(state: State) -> dict[str, Any]:
    assert state.host.page is not None
    return {
        "host": place(state.host),
        "frame": place(state.document("host", frame="host-frame")),
        "terminal": (state.host.page.terminal.data, state.host.page.terminal.reports),
    }


async def selected(app: Stage, field: HostField) -> State:
    """The person has selected something backwards in a field, and has scrolled."""
    await app.fixture.focus_host(field, text=TEXT, selection=SELECTED, direction="backward")
    await app.fixture.execute("host", SCROLL)
    return await app.seen()


@guarded
class TestTheSelectionStays:
    @pytest.mark.parametrize("action", list(ACTIONS))
    @pytest.mark.parametrize("field", FIELDS)
    async def test_the_place_is_the_same_and_the_next_key_goes_there(
        self, app: Stage, field: HostField, action: str
    ) -> None:
        before = await selected(app, field)
        await ACTIONS[action](app)
        after = await app.seen(before.seq)
        assert places(after) == places(before)
        hosts = [document for document in after.documents if document.role == "host"]
        assert [records(document, *INPUT, *FOCUS) for document in hosts] == [[], []]
        await app.hands.type("x")
        typed = await app.seen(after.seq)
        keys = [
            f"{document.name} {shown(one)}"
            for document in typed.documents
            for one in document.records("keydown")
        ]
        assert keys == [f"{where(field)} keydown {field} 'x'"]
        if field != "terminal":  # its page takes what is typed out of the field
            text, (start, end) = document_of(before, field).values[field], SELECTED
            assert document_of(typed, field).values[field] == text[:start] + "x" + text[end:]


@raw
class TestTheSelectionRaw:
    @pytest.mark.parametrize("field", FIELDS)
    async def test_a_press_takes_the_focus_and_the_next_key(self, app: Stage, field: HostField) -> None:
        before = await selected(app, field)
        await app.click("text")
        await app.hands.type("x")
        after = await app.seen(before.seq)
        assert after.host.active == ["guest-0"]
        assert after.guest().keys() == ["x"]
        reports = after.host.page.terminal.reports if after.host.page is not None else None
        assert reports == (["\x1b[I", "\x1b[O"] if field == "terminal" else [])

    async def test_text_replaces_the_selection(self, app: Stage) -> None:
        before = await selected(app, "textarea")
        await ACTIONS["text"](app)
        after = await app.seen(before.seq)
        assert after.host.values["textarea"] == TEXT[: SELECTED[0]] + "the agent's" + TEXT[SELECTED[1] :]

    async def test_tab_takes_the_person_to_the_next_field(self, app: Stage) -> None:
        before = await selected(app, "textarea")
        await ACTIONS["tab"](app)
        assert (await app.seen(before.seq)).host.active == ["contenteditable"]

    @pytest.mark.parametrize("action", ["text on a frame's session", "navigation"])
    async def test_no_fault_is_shown(self, app: Stage, action: str) -> None:
        before = await selected(app, "textarea")
        await app.send("Emulation.setFocusEmulationEnabled", {"enabled": True}, session="frame")
        await ACTIONS[action](app)
        assert places(await app.seen(before.seq)) == places(before)
