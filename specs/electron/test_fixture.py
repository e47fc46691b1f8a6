"""The fixture in a hidden window: its oracles see what they are asked about, whatever a renderer does."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import launch_electron
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE, Fixture, FixtureError, FixtureGone, open_fixture_control, run_fixture
from probes.landing.cdp_client import attach_guest, find_guest, open_client
from probes.landing.trial import WAKE
from probes.observed import Document, Embedding, State
from specs.embeddings import embeddings_of

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
PLACES = [
    "host",
    "host-frame",
    *(f"guest:0/{frame}" for frame in ("main", "same-site", "cross-site", "nested")),
]
LETTER = [{"type": kind, "keyCode": "q"} for kind in ("keyDown", "char", "keyUp")]
#: Changes everything that a reset has to bring back, in the guest's page.
DISORDER = """(() => {
  const byId = (id) => document.getElementById(id);
  byId('text').value = 'left over'; byId('textarea').value = 'more';
  byId('contenteditable').textContent = 'rich';
  byId('select').value = 'blue'; byId('checkbox').click(); byId('range').value = 40; byId('button').click();
  byId('link').click(); byId('scroll-area').scrollTop = 60; window.scrollTo(0, 200);
  byId('combobox').focus({ preventScroll: true });
  byId('combobox').dispatchEvent(new MouseEvent('mousedown'));
  return byId('combobox-list').hidden;
})()"""


@pytest.fixture(scope="module")
async def fixture(
    embedding: Embedding, runtime: Runtime, display: Display, janitor: Janitor
) -> AsyncIterator[Fixture]:
    """The app, hidden, with one guest in each embedding that this Electron has, in turn."""
    async with run_fixture(runtime, display=display, guests=0, debugging="port", janitor=janitor) as app:
        await app.open(embedding)
        yield app


@pytest.fixture(scope="module")
async def app(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Fixture]:
    """The app with a webview."""
    async with run_fixture(runtime, display=display, janitor=janitor) as started:
        yield started


def settled(document: Document) -> dict[str, Any]:
    """What a reset has to bring back, without what names the document itself."""
    return document.model_dump(exclude={"id", "log", "pid", "web_contents_id"})


async def test_the_app_has_the_embeddings_that_the_specs_run_on(app: Fixture, runtime: Runtime) -> None:
    assert list(app.hello.embeddings) == embeddings_of(runtime.version)


async def state_within(fixture: Fixture, seconds: float) -> State:
    started = time.monotonic()
    # The kernel needs a moment to take a process away.
    await anyio.sleep(0.2)
    state = await fixture.state()
    assert time.monotonic() - started < seconds
    return state


class TestEveryEmbedding:
    async def test_opens_with_all_its_documents(self, fixture: Fixture) -> None:
        await fixture.reset()
        state = await fixture.state()
        assert sorted(document.name for document in state.documents) == sorted(PLACES)
        assert all(document.ready and document.status == "alive" for document in state.documents)
        assert state.host.active == ["textarea"]
        assert not state.window().visible

    async def test_frames_of_another_site_have_a_process_of_their_own(self, fixture: Fixture) -> None:
        state = await fixture.state()
        pids = {frame: state.guest(0, frame).pid for frame in ("main", "same-site", "cross-site", "nested")}
        assert pids["main"] == pids["same-site"]
        assert len({state.host.pid, *pids.values()}) == 4

    async def test_has_room_for_the_guest_and_covers_no_host_field(self, fixture: Fixture) -> None:
        rects = await fixture.rects()
        assert rects.viewport.width >= 600
        assert rects.viewport.height >= 500
        top = rects.guest.y if rects.guest is not None else rects.viewport.height
        for name in ("textarea", "contenteditable", "shadow", "terminal", "form", "host-frame"):
            assert rects.host[name].y + rects.host[name].height <= top
        nested, cross = rects.frames["nested"].box, rects.frames["cross-site"].box
        assert cross.x < nested.x
        assert nested.x + nested.width <= cross.x + cross.width
        assert rects.in_frame("text", "nested") == rects.in_frame("text", "cross-site")

    async def test_logs_a_key_that_the_guest_is_sent(self, fixture: Fixture) -> None:
        await fixture.reset()
        opened = await fixture.describe()
        await fixture.focus_guest("text")
        if opened.embedding != "webview":
            # Chromium drops input to what was never shown, until somebody has it believe that it is looked at.
            await fixture.execute("main-process", WAKE)
        seq = await fixture.settle()
        await fixture.send_input_event(opened.guests[0].web_contents_id, LETTER)
        await fixture.settle()
        state = await fixture.state(since=seq)
        guest = state.guest()
        assert guest.keys(target="text") == ["q"]
        assert guest.values["text"] == "q"
        assert [record.data for record in guest.records("input")] == ["q"]
        assert all(record.trusted and record.caret == 1 for record in guest.records("input"))
        assert [document.name for document in state.having("keydown", "input")] == ["guest:0/main"]
        assert state.host.active == ["textarea"]

    async def test_logs_keys_on_the_sessions_of_frames(self, fixture: Fixture) -> None:
        await fixture.reset()
        opened = await fixture.describe()
        assert fixture.process is not None
        assert fixture.process.debugging_url is not None
        async with open_client(fixture.process.debugging_url) as client:
            url = opened.guests[0].url
            target = await find_guest(client, url)
            sessions = await attach_guest(client, target, url, frames=True)
            seq = await fixture.settle()
            for session, key in ((sessions.frame, "F8"), (sessions.nested, "F9")):
                assert session is not None
                event = {
                    "type": "rawKeyDown",
                    "key": key,
                    "code": key,
                    "windowsVirtualKeyCode": 110 + int(key[1]),
                }
                await client.send("Input.dispatchKeyEvent", event, session=session)
            await fixture.settle()
            state = await fixture.state(since=seq)
            await sessions.close()
        assert {document.name: document.keys() for document in state.having("keydown")} == {
            "guest:0/cross-site": ["F8"],
            "guest:0/nested": ["F9"],
        }

    async def test_reset_brings_everything_back(self, fixture: Fixture) -> None:
        first = await fixture.reset()
        before = await fixture.state()
        await fixture.execute("guest:0", DISORDER)
        await fixture.execute("guest:0/cross-site", "document.getElementById('button').click()")
        await fixture.focus_guest("contenteditable", frame="nested", text="deep")
        await fixture.execute(
            "host",
            "document.getElementById('form-send').click(); document.getElementById('notes').scrollTop = 40",
        )
        await fixture.focus_host("terminal")
        await fixture.focus_host("contenteditable", text="a person's", selection=(2, 6), direction="backward")
        await fixture.sentinel(open=True)
        await fixture.settle()
        spoilt = await fixture.state()
        assert spoilt.guest(0, "nested").values["contenteditable"] == "deep"
        assert spoilt.guest().active == ["cross-site"]
        assert spoilt.guest().count("button") == 1
        assert spoilt.guest().scrolls["window"].y > 0
        assert spoilt.host.active == ["contenteditable"]
        assert spoilt.host.count("submits") == 1
        assert spoilt.host.page is not None
        assert spoilt.host.page.terminal.reports == ["\x1b[I", "\x1b[O"]
        assert any(document.role == "sentinel" for document in spoilt.documents)

        second = await fixture.reset()
        after = await fixture.state()
        assert second.nonce != first.nonce
        assert (second.instance, second.pid) == (fixture.hello.instance, fixture.hello.pid)
        assert {document.frame for document in second.documents} == {
            place.rpartition("/")[2] for place in PLACES[1:]
        }
        assert [settled(document) for document in after.documents] == [
            settled(document) for document in before.documents
        ]
        assert [document.log for document in after.documents] == [[] for _ in after.documents]
        assert (after.before_input, after.window_log) == ([], [])

    async def test_a_frame_without_renderer_is_reported_and_made_whole(self, fixture: Fixture) -> None:
        await fixture.reset()
        pid = (await fixture.state()).guest(0, "cross-site").pid
        os.kill(pid, signal.SIGKILL)
        state = await state_within(fixture, 5)
        assert state.guest(0, "cross-site").status == "crashed"
        assert state.guest().status == "alive"
        # What is inside it goes too, sooner or later.
        assert ("cross-site", "gone") in {(sick.frame, sick.state) for sick in state.sick}
        assert {sick.frame for sick in state.sick} <= {"cross-site", "nested"}
        await fixture.reset()
        assert len((await fixture.state()).documents) == len(PLACES)

    async def test_a_guest_without_renderer_is_reported_and_made_anew(self, fixture: Fixture) -> None:
        await fixture.reset()
        pid = (await fixture.state()).guest().pid
        os.kill(pid, signal.SIGKILL)
        state = await state_within(fixture, 5)
        assert state.guest().status == "crashed"
        assert str(pid) in (state.guest().error or "")
        assert state.host.status == "alive"
        crashes = await fixture.crash_state()
        assert [(gone.role, gone.guest, gone.open) for gone in crashes.gone if gone.open] == [
            ("guest", 0, True)
        ]
        await fixture.reset()
        healed = await fixture.state()
        assert len(healed.documents) == len(PLACES)
        assert healed.guest().pid != pid
        assert not any(gone.open for gone in healed.gone)


class TestFocus:
    @pytest.mark.parametrize("frame", ["main", "same-site", "cross-site", "nested"])
    async def test_a_guest_gets_its_own_and_the_host_keeps_the_persons(
        self, fixture: Fixture, frame: str
    ) -> None:
        await fixture.reset()
        await fixture.focus_host("textarea", text="a draft", caret=3)
        answer = await fixture.focus_guest("text", frame=frame)  # type: ignore[arg-type]
        assert not answer.host_moved
        assert answer.host.active == ["textarea"]
        assert answer.document.active == ["text"]
        state = await fixture.state()
        assert state.host.selections["textarea"].start == 3
        assert state.host.records("blur") == []

    @pytest.mark.parametrize(
        ("field", "active"),
        [
            ("textarea", ["textarea"]),
            ("contenteditable", ["contenteditable"]),
            ("shadow", ["shadow-box", "shadow"]),
            ("terminal", ["terminal"]),
            ("form", ["form"]),
            ("frame", ["host-frame"]),
        ],
    )
    async def test_every_host_field_can_have_it(
        self, fixture: Fixture, field: str, active: list[str]
    ) -> None:
        await fixture.reset()
        await fixture.focus_host(field, text="abcdef", selection=(1, 4), direction="backward")  # type: ignore[arg-type]
        state = await fixture.state()
        assert state.host.active == active
        if field == "frame":
            assert state.document("host", frame="host-frame").selections["frame"].direction == "backward"
        elif field == "contenteditable":
            assert state.host.selection is not None
            assert (state.host.selection["anchorOffset"], state.host.selection["focusOffset"]) == (4, 1)
        else:
            chosen = state.host.selections[field]
            assert (chosen.start, chosen.end, chosen.direction) == (1, 4, "backward")

    async def test_a_guest_can_be_left_without_a_field(self, fixture: Fixture) -> None:
        await fixture.reset()
        await fixture.focus_guest("text", frame="nested")
        await fixture.focus_guest(frame="none")
        state = await fixture.state()
        assert state.guest().active == ["body"]


class TestStage:
    async def test_two_guests_share_no_renderer(self, app: Fixture) -> None:
        await app.open("webview", guests=2)
        await app.reset()
        state = await app.state()
        first, second = (
            {document.pid for document in state.documents if document.guest == index} for index in (0, 1)
        )
        assert (len(first), len(second)) == (3, 3)
        assert not first & second
        await app.destroy_guest(0)
        assert {document.guest for document in (await app.state()).documents} == {None, 1}
        assert (await app.add_guest()).index == 0
        with pytest.raises(FixtureError, match=r"^no-room"):
            await app.add_guest()
        await app.open("webview")

    async def test_a_stopped_renderer_holds_nothing_up(self, app: Fixture) -> None:
        await app.reset()
        pid = (await app.state()).guest(0, "nested").pid
        os.kill(pid, signal.SIGSTOP)
        try:
            state = await state_within(app, 6)
            assert state.guest(0, "nested").status == "stopped"
            assert {document.status for document in state.documents if document.frame != "nested"} == {
                "alive"
            }
            with pytest.raises(FixtureError, match=r"^stopped: document nested"):
                await app.reset()
        finally:
            os.kill(pid, signal.SIGCONT)
        await app.reset()

    async def test_reset_brings_a_guest_home(self, app: Fixture) -> None:
        opened = await app.describe()
        await app.navigate(f"{opened.origins.guests[0].cross}/guest/frame.html")
        assert (await app.state()).guest().url.endswith("frame.html")
        await app.reset()
        assert (await app.state()).guest().url == opened.guests[0].url
        await app.reload()
        assert len((await app.state()).documents) == len(PLACES)

    async def test_a_webview_takes_attributes_until_reset(self, app: Fixture) -> None:
        await app.reset()
        await app.webview_attribute("inert", "")
        inert = "document.getElementById('guest-0').hasAttribute('inert')"
        assert await app.execute("host", inert) is True
        await app.reset()
        assert await app.execute("host", inert) is False

    async def test_the_accelerators_are_there_and_count(self, app: Fixture) -> None:
        await app.reset()
        names = ["Ctrl+W", "Ctrl+R", "Ctrl+Q", "Ctrl+=", "Ctrl+-", "F5", "F11", "Ctrl+Shift+I"]
        assert (await app.state()).accelerators == dict.fromkeys(names, 0)
        click = "electron.Menu.getApplicationMenu().items[0].submenu.items.forEach((item) => item.click());"
        await app.execute("main-process", click)
        state = await app.state()
        assert state.accelerators == dict.fromkeys(names, 1)
        assert [event.accelerator for event in state.accelerator_log] == names

    async def test_an_unknown_embedding_or_op_is_named(self, app: Fixture) -> None:
        with pytest.raises(FixtureError, match=r"^unsupported: .*no embedding iframe"):
            await app.request("open", embedding="iframe", window="hidden")
        with pytest.raises(FixtureError, match="no such op: toString"):
            await app.request("toString")

    async def test_serves_the_loopback_interface_only(self, app: Fixture) -> None:
        port = int((await app.describe()).origins.host.rpartition(":")[2])
        rows = [line.split() for line in Path(f"/proc/{app.hello.pid}/net/tcp").read_text().splitlines()[1:]]
        rows += [
            line.split() for line in Path(f"/proc/{app.hello.pid}/net/tcp6").read_text().splitlines()[1:]
        ]
        listening = [
            row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port
        ]
        assert listening == ["0100007F"]

    async def test_a_late_record_of_the_last_trial_is_not_of_this_one(self, app: Fixture) -> None:
        await app.reset("first")
        # As a renderer would that was slow to send what it saw before the reset.
        await app.execute(
            "main-process",
            "const doc = Array.from(stage.registry.docs.values())[0];"
            "const late = { nonce: 'before', t: 0, type: 'keydown', trusted: true, target: 'text' };"
            "stage.registry.record(doc.id, late);",
        )
        state = await app.state()
        assert state.nonce == "first"
        assert [record["type"] for record in state.stale] == ["keydown"]
        assert not any(document.records("keydown") for document in state.documents)

    async def test_a_full_log_keeps_the_newest_and_says_so(self, app: Fixture) -> None:
        await app.reset()
        more = (
            "const doc = Array.from(stage.registry.docs.values())[0];"
            "const one = { nonce: null, t: 0, type: 'keydown', trusted: true, target: 'text' };"
            "for (let left = %d; left > 0; left -= 1) stage.registry.record(doc.id, one);"
        )
        await app.execute("main-process", more % 25_000)
        since = (await app.state(logs=False)).seq
        await app.execute("main-process", more % 3)
        assert (
            sum(len(document.records("keydown")) for document in (await app.state(since=since)).documents)
            == 3
        )
        with pytest.raises(FixtureError, match="log-full"):
            await app.state()
        await app.reset()
        assert not (await app.state()).forgotten


class TestControl:
    async def test_the_socket_is_for_this_user_alone(self) -> None:
        async with open_fixture_control() as control:
            assert stat.S_IMODE(control.path.stat().st_mode) == 0o600
            assert stat.S_IMODE(control.path.parent.stat().st_mode) == 0o700
            folder = control.path.parent
        assert not folder.exists()

    async def test_an_app_that_never_comes_is_named(self) -> None:
        async with open_fixture_control() as control:
            with pytest.raises(FixtureGone, match=r"no fixture connected within 0\.05 s"):
                await control.connected(timeout=0.05)

    async def test_an_app_that_quits_is_named(
        self, runtime: Runtime, display: Display, janitor: Janitor, eventually: Eventually
    ) -> None:
        async with run_fixture(runtime, display=display, guests=0, janitor=janitor) as leaving:
            process = leaving.process
            assert process is not None
            await leaving.quit()
            await eventually(lambda: process.returncode is not None)
            with pytest.raises(FixtureGone, match=r"^gone: "):
                await leaving.state()

    async def test_the_app_leaves_with_its_driver(
        self, runtime: Runtime, display: Display, janitor: Janitor
    ) -> None:
        async with (
            open_fixture_control() as control,
            launch_electron(runtime, FIXTURE, env=control.env, display=display, janitor=janitor) as process,
        ):
            await control.connected()
            await control.close()
            with anyio.fail_after(10):
                await process.wait()
