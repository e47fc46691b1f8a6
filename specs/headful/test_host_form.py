"""A draft stands in a form of the host while an agent types in a guest: nothing of it is sent, nothing changes."""

from __future__ import annotations

import pytest

from probes.observed import Frame
from specs.guarded import FOCUS, INPUT, SessionName, Stage, guarded, raw, records

pytestmark = [pytest.mark.headful, pytest.mark.anyio]

DRAFT = "  Dear all,\u00a0draft ünsent "
CARET = 7
#: What a form, a list or an editor has a meaning for.
KEYS = (
    "Enter",
    "Escape",
    "Tab",
    "shift+Tab",
    " ",
    "ArrowLeft",
    "ArrowRight",
    "ArrowUp",
    "ArrowDown",
    "ctrl+a",
    "Backspace",
    "Delete",
    "ctrl+x",
    "ctrl+z",
)
#: Where an agent's session leads, and the field that has the guest's focus.
PLACES: tuple[tuple[SessionName, Frame], ...] = (
    ("root", "main"),
    ("root", "same-site"),
    ("root", "cross-site"),
    ("root", "nested"),
    ("frame", "cross-site"),
    ("nested", "nested"),
)


async def drafted(app: Stage) -> int:
    await app.fixture.focus_host("form", text=DRAFT, caret=CARET)
    return await app.fixture.settle()


async def untouched(app: Stage, since: int) -> None:
    """The host's form as `drafted` left it, and nothing in the host's log."""
    state = await app.seen(since)
    form = state.host.selections["form"]
    assert records(state.host, *INPUT, *FOCUS) == []
    assert state.host.values["form"] == DRAFT
    assert (form.start, form.end, state.host.active) == (CARET, CARET, ["form"])
    assert state.host.count("submits") == 0


@guarded
class TestKeysWithADraft:
    @pytest.mark.parametrize(("session", "frame"), PLACES)
    async def test_nothing_is_submitted_and_the_draft_is_the_same(
        self, app: Stage, session: SessionName, frame: Frame
    ) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest("text", frame=frame, text="agent's")
        errors = {key: await app.key(key, session=session) for key in KEYS}
        assert {key: error for key, error in errors.items() if error} == {}
        await untouched(app, since)
        state = await app.fixture.state(since=since)
        typed = [
            record.key
            for document in state.documents
            if document.role == "guest"
            for record in document.records("keydown")
        ]
        assert typed == [key.split("+")[-1] for key in KEYS]
        await app.hands.key("Return")
        state = await app.seen(since)
        assert state.host.page is not None
        assert (state.host.count("submits"), state.host.page.submitted) == (1, [DRAFT])

    async def test_the_same_where_nothing_in_the_guest_has_the_focus(self, app: Stage) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest(frame="none")
        for key in KEYS:
            await app.key(key)
        await untouched(app, since)
        await app.hands.key("Return")
        assert (await app.seen(since)).host.count("submits") == 1


@guarded
class TestTabAtTheEdges:
    """Where a Tab leaves the guest, the page loses it as it would in a browser, and the person's focus stays."""

    @pytest.mark.parametrize(
        ("key", "frame", "field"), [("shift+Tab", "main", "text"), ("Tab", "nested", "contenteditable")]
    )
    async def test_the_person_keeps_the_focus(self, app: Stage, key: str, frame: Frame, field: str) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest(field, frame=frame)
        assert await app.key(key) is None
        await untouched(app, since)
        assert (await app.fixture.state()).guest().active == ["body"]
        await app.hands.type("x")
        assert (await app.seen()).host.values["form"] == DRAFT[:CARET] + "x" + DRAFT[CARET:]


@raw
class TestKeysWithADraftRaw:
    async def test_the_draft_is_sent_and_eaten(self, app: Stage) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest("text", text="agent's")
        assert await app.key("Enter") is None
        assert await app.key("Backspace") is None
        state = await app.seen(since)
        assert state.host.count("submits") == 1
        assert state.host.values["form"] == DRAFT[: CARET - 1] + DRAFT[CARET:]
        assert state.guest().keys() == []

    async def test_tab_takes_the_person_to_another_field(self, app: Stage) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest("text", text="agent's")
        assert await app.key("Tab") is None
        assert (await app.seen(since)).host.active != ["form"]

    async def test_a_frames_own_session_shows_no_fault(self, app: Stage) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest("text", frame="cross-site", text="agent's")
        await app.send("Emulation.setFocusEmulationEnabled", {"enabled": True}, session="frame")
        for key in ("Enter", "Backspace"):
            assert await app.key(key, session="frame") is None
        await untouched(app, since)
        assert (await app.fixture.state()).guest(frame="cross-site").values["text"] == "agent'"


#: Guest focus on something that takes no text: which element, and how it is made.
NO_FIELD = {
    "body": "document.activeElement.blur()",
    "button": "document.getElementById('button').focus()",
    "checkbox": "document.getElementById('checkbox').focus()",
    "select": "document.getElementById('select').focus()",
    "range": "document.getElementById('range').focus()",
    "link": "document.getElementById('link').focus()",
    "read-only": "Object.assign(document.getElementById('text'), { readOnly: true }).focus()",
    "disabled": "Object.assign(document.getElementById('text'), { disabled: true }).focus()",
    "host of a frame": "document.getElementById('same-site').contentDocument.getElementById('button').focus()",
}
#: Without the caret, which would stay in the field and take text.
BUTTON = "(document.getElementById('button').focus(), getSelection().removeAllRanges(), 0)"
RESTORE = "Object.assign(document.getElementById('text'), { readOnly: false, disabled: false })"


@guarded
class TestTextForNothing:
    """The agent inserts text where nothing in the guest takes any: the reply does not claim that it did."""

    @pytest.mark.parametrize("what", list(NO_FIELD))
    async def test_it_is_refused_and_nothing_changes(self, app: Stage, what: str) -> None:
        since = await drafted(app)
        await app.fixture.execute("guest:0", f"({NO_FIELD[what]}, 0)")
        before = await app.fixture.state()
        try:
            error = await app.insert("nowhere")
            composed = await app.try_send(
                "Input.imeSetComposition", {"text": "nowhere", "selectionStart": 7, "selectionEnd": 7}
            )
            await untouched(app, since)
            state = await app.fixture.state(since=since)
        finally:
            await app.fixture.execute("guest:0", f"({RESTORE}, 0)")
        written = {document.name: records(document, "beforeinput", "input") for document in state.documents}
        assert {name: found for name, found in written.items() if found} == {}
        assert [document.values for document in state.documents] == [d.values for d in before.documents]
        assert error is not None and error.startswith("browser_input_not_delivered"), error
        assert composed is not None and composed.startswith("browser_input_not_delivered"), composed

    @pytest.mark.parametrize(
        ("session", "frame"),
        [("root", "cross-site"), ("frame", "cross-site"), ("root", "nested"), ("nested", "nested")],
    )
    async def test_the_same_in_a_frame(self, app: Stage, session: SessionName, frame: Frame) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest("text", frame=frame)
        await app.fixture.execute(f"guest:0/{frame}", BUTTON)
        await app.fixture.settle()
        error = await app.insert("nowhere", session=session)
        await untouched(app, since)
        state = await app.fixture.state(since=since)
        assert [document.name for document in state.having("beforeinput", "input")] == []
        assert error is not None and error.startswith("browser_input_not_delivered"), error

    async def test_where_a_field_has_the_focus_it_is_inserted(self, app: Stage) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest("text")
        assert await app.insert("somewhere") is None
        await untouched(app, since)
        assert (await app.fixture.state()).guest().values["text"] == "somewhere"


@raw
class TestTextForNothingRaw:
    async def test_the_reply_claims_an_insert_and_the_text_is_in_the_draft(self, app: Stage) -> None:
        since = await drafted(app)
        await app.fixture.focus_guest(frame="none")
        assert await app.insert("leaked") is None
        state = await app.seen(since)
        assert state.host.values["form"] == DRAFT[:CARET] + "leaked" + DRAFT[CARET:]
        assert state.guest().values["text"] == ""

    async def test_a_frames_own_session_claims_it_and_nothing_happens(self, app: Stage) -> None:
        await drafted(app)
        await app.fixture.focus_guest("text", frame="cross-site")
        await app.fixture.execute("guest:0/cross-site", BUTTON)
        since = await app.fixture.settle()
        assert await app.insert("nowhere", session="frame") is None
        state = await app.seen(since)
        assert [document.name for document in state.having("beforeinput", "input")] == []
