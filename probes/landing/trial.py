"""One trial: reset, preparation, action, quiet, the person's keys, and a look at what the fixture logged."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, get_args

import anyio

from focusguard.electron.person import Person
from focusguard.groups import single_error
from probes import observed
from probes.fixture import Fixture, FixtureError
from probes.landing.actions import NoSuchThingError, Performer, Point
from probes.landing.cases import Case, repeated
from probes.landing.cdp_client import (
    CdpClosedError,
    CdpError,
    GuestSessions,
    attach_guest,
    find_guest,
    open_client,
)
from probes.landing.observe import (
    PERSON_KEYS,
    AgentInput,
    PersonInput,
    Snapshot,
    Verdict,
    find_sightings,
    judge,
)
from probes.landing.schema import Evidence, Row, Status
from probes.landing.snapshots import active_name, gone_renderers, snapshot_of
from probes.landing.stage import Lane, Stage
from probes.landing.steps import FIELD, Cdp, Session

TRIAL_SECONDS = 25.0
TYPING_RATE = 50.0  # keys per second after the action
DURING_RATE = 20.0  # and while it goes on
REPEATS = 3
LOAD_SECONDS = 4.0
MAX_SIGHTINGS = 24
DRAFT = "draft "

AUTOFOCUS_PAGE = "data:text/html,<title>autofocus</title><input id=text data-field=text autofocus>"
WAKE = """
    const { contents } = stage.guest(0);
    contents.debugger.attach('1.3');
    try {
      await contents.debugger.sendCommand('Emulation.setFocusEmulationEnabled', { enabled: true });
      await stage.takesInput(contents);
      await contents.debugger.sendCommand('Emulation.setFocusEmulationEnabled', { enabled: false });
    } finally { contents.debugger.detach(); }
    return null;
"""
# Chromium hands these to a page with its next frame, and a hidden page makes one in a second.
FRAME_KINDS = frozenset({"move", "wheel", "touch", "gesture"})
LATE_SECONDS = {"hidden": 2.5, "headful": 0.3}
QUIET = {"raw": 0.05, "guarded": 0.08}  # the guard looks again 50 ms after it has given the focus back


class InvalidTrialError(Exception):
    """The preparation failed; the agent did nothing."""


class NeedsFreshAppError(Exception):
    """The app is in no state for another trial."""


@dataclass
class Prepared:
    """A trial that is ready for the agent's first command."""

    performer: Performer
    state: observed.State
    mark: int


async def run_trial(stage: Stage, case: Case) -> Row:
    """Runs one cell.

    Returns:
        Its row; an invalid one if the preparation failed.

    Raises:
        NeedsFreshAppError: If the app answers no more; there is no row.
    """
    begin = time.monotonic()
    nonce = secrets.token_hex(8)
    row = empty_row(stage.lane, case, "observed")
    row.evidence.nonce, row.evidence.instance = nonce, stage.fixture.hello.instance
    row.evidence.pid = stage.fixture.hello.pid
    try:
        with anyio.fail_after(TRIAL_SECONDS):
            await _run(stage, case, nonce, row)
    except NoSuchThingError as error:
        row.status, row.evidence.reason = "unsupported", str(error)
    except (InvalidTrialError, CdpError, CdpClosedError) as error:
        row.status, row.evidence.reason = "invalid", str(error)
    except TimeoutError:
        row.status, row.evidence.reason = "invalid", f"not done within {TRIAL_SECONDS:g} s"
    except NeedsFreshAppError:
        ended = await _exit_code(stage)
        if ended is None:
            raise
        # The agent's command brought the whole app down: a result, and no preparation was at fault.
        row.landing, row.evidence.gone = ["crashed"], [f"the app: ended with {ended}"]
    row.evidence.ms = round((time.monotonic() - begin) * 1000)
    return row


def empty_row(lane: Lane, case: Case, status: Status, reason: str = "") -> Row:
    """A row that says nothing yet."""
    return Row(
        case=case.name,
        embedding=lane.embedding,
        window=lane.window,
        route=lane.route,
        guest_focus=case.guest_focus,
        landing=[],
        leaked=0,
        stolen=0,
        focus_kept=None,
        reply="",
        status=status,
        evidence=Evidence(what=case.what, reason=reason),
    )


async def _exit_code(stage: Stage) -> int | None:
    process = stage.fixture.process
    if process is not None:
        with anyio.move_on_after(3.0):
            return await process.wait()
    return None


async def _run(stage: Stage, case: Case, nonce: str, row: Row) -> None:
    async with _prepared(stage, case, nonce) as ready:
        performer, person = ready.performer, PersonInput()
        start_ms = time.time() * 1000
        first_stroke = len(stage.person.journal) if stage.person is not None else 0
        try:
            if case.during and stage.person is not None:
                person = PersonInput(during=PERSON_KEYS)
                await act_while_typing(stage.person, performer, repeated(case, REPEATS))
            else:
                for step in case.steps:
                    await performer.perform(step)
        finally:
            row.reply, row.evidence.commands = performer.reply, performer.commands
        await _become_quiet(stage, case, ready.state)
        if stage.person is not None:
            person = PersonInput(person.during, PERSON_KEYS)
            await stage.person.type(PERSON_KEYS, rate=TYPING_RATE)
            await _settle(stage)
        after = ready.state if stage.blind else await _look(stage.fixture)
        verdict = judge(
            snapshot_of(ready.state, case.host_field, since_ms=start_ms),
            snapshot_of(after, case.host_field, since_ms=start_ms),
            AgentInput(case.kind, case.tokens),
            person if stage.person is not None else None,
            raised=stage.front.changes(ready.mark),
            field_name=case.host_field,
        )
        fill(row, verdict)
        _fill_state(row, ready.state, after, case)
        if stage.person is not None and row.evidence.typed is not None:
            row.evidence.typed.schedule_ms = schedule_of(stage.person, first_stroke, start_ms)
        if stage.person is None and not (row.evidence.gone or row.evidence.host_reloaded):
            row.evidence.next_key = await _next_key(stage, after.seq)
        note_unknown(row, case, performer)


@asynccontextmanager
async def _prepared(stage: Stage, case: Case, nonce: str) -> AsyncIterator[Prepared]:
    fixture = stage.fixture
    try:
        acknowledged = await fixture.reset(nonce)
        await _wake(stage, acknowledged)
        text = DRAFT if case.host_field == "form" else None
        await fixture.focus_host(case.host_field, text=text, caret=len(text) if text else None)
        frame = case.guest_focus
        await fixture.focus_guest(FIELD, frame=frame)
        points = await _points(fixture)
    except FixtureError as error:
        raise InvalidTrialError(f"preparation: {error}") from error
    async with _sessions(stage, case) as sessions:
        performer = Performer(sessions, _app(fixture), points, _values(stage, sessions))
        for step in case.setup:
            await performer.perform(step)
        if case.loads and case.setup:
            await _wait_loaded(stage)  # the person is back in their field after the agent's first navigation
            await fixture.focus_host(case.host_field, text=text, caret=len(text) if text else None)
        failed = [command for command in performer.commands if command.reply != "ok"]
        if failed:
            raise InvalidTrialError(f"preparation: {failed[0].method} gave {failed[0].reply}")
        performer.commands.clear()
        try:
            await fixture.settle(quiet=0.03, timeout=2.0)
            state = await fixture.state()
        except FixtureError as error:
            raise InvalidTrialError(f"preparation: {error}") from error
        _check(stage, case, state, nonce)
        try:
            yield Prepared(performer, state, stage.front.mark())
        finally:
            # What was left down goes up again while its client is still there.
            for step in case.cleanup:
                await performer.perform(step)


async def _wake(stage: Stage, acknowledged: observed.Acknowledged) -> None:
    """Has a hidden view painted once: until then Chromium drops its input, whatever the route."""
    if stage.headful or stage.lane.embedding == "webview":
        return
    page = next(item.id for item in acknowledged.documents if (item.guest, item.frame) == (0, "main"))
    if page != stage.awake:
        await stage.fixture.execute("main-process", WAKE)
        stage.awake = page


def _check(stage: Stage, case: Case, state: observed.State, nonce: str) -> None:
    """Refuses to go on where the person is not in their field, or the trial is not the fixture's."""
    if state.nonce != nonce or state.instance != stage.fixture.hello.instance:
        raise InvalidTrialError(f"preparation: the fixture is in trial {state.nonce}, not {nonce}")
    host = state.host
    if active_name(host) != case.host_field:
        raise InvalidTrialError(
            f"preparation: the host's focus is on {'/'.join(host.active)}, not {case.host_field}"
        )
    if stage.headful:
        if not host.has_focus:
            raise InvalidTrialError("preparation: the host's document does not have the window's focus")
        active, windows = stage.display.active_window(), stage.display.windows()
        title = next((window.title for window in windows if window.id == active), "none")
        if title != host.title:
            raise InvalidTrialError(f"preparation: the active window is {title!r}, not {host.title!r}")


@asynccontextmanager
async def _sessions(stage: Stage, case: Case) -> AsyncIterator[GuestSessions | None]:
    if not case.sessions:
        yield None
        return
    opened = stage.fixture.opened
    assert opened is not None
    url = opened.guests[0].url
    frames = bool(case.sessions & {"frame", "nested"})
    with single_error():
        async with open_client(stage.endpoint) as client:
            target = await find_guest(client, url)
            yield await attach_guest(client, target, url, frames=frames)


def _values(stage: Stage, sessions: GuestSessions | None) -> dict[str, Any]:
    opened = stage.fixture.opened
    assert opened is not None
    origin = opened.origins.guests[0].main
    return {
        "@guest": sessions.target_id if sessions is not None else None,
        "@guest-url": f"{opened.guests[0].url}&again=1",
        "@other-url": f"{origin}/guest/frame.html?frame=main",
        "@autofocus-url": AUTOFOCUS_PAGE,
        "@window": 1,
    }


async def _points(fixture: Fixture) -> dict[Session, dict[str, Point]]:
    """Middles of the guest's elements: frames' elements as `frame.element`, seen from each session."""
    rects = await fixture.rects()
    points: dict[Session, dict[str, Point]] = {name: {} for name in get_args(Session)}
    own: dict[str, Session] = {"cross-site": "frame", "nested": "nested"}
    for frame, part in rects.frames.items():
        for name in part.elements:
            label = name if frame == "main" else f"{frame}.{name}"
            points["root"][label] = rects.element(name, frame).centre
            if frame in own:
                points[own[frame]][label] = rects.in_frame(name, frame).centre
    return points


def _app(fixture: Fixture) -> Any:
    """Performs what a case does in the app's main process."""

    async def perform(op: str, params: Mapping[str, Any]) -> str:
        assert fixture.opened is not None
        given = dict(params)
        if op in ("send_input_event", "web_contents_insert_text") and given.pop("to", "guest") == "host":
            given["webContentsId"] = fixture.opened.host.web_contents_id
        elif op in ("send_input_event", "web_contents_insert_text"):
            given["webContentsId"] = fixture.opened.guests[0].web_contents_id
        try:
            await fixture.request(op, **given)
        except FixtureError as error:
            return f"error: {error}"
        return "ok"

    return perform


async def act_while_typing(person: Person, performer: Performer, case: Case) -> None:
    """Performs a case from the person's third key on."""
    begin = len(person.journal)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: person.type(PERSON_KEYS, rate=DURING_RATE))
        while len(person.journal) < begin + 4:  # two keys are down and up again
            await anyio.sleep(0.005)
        for step in case.steps:
            await performer.perform(step)


async def _become_quiet(stage: Stage, case: Case, before: observed.State) -> None:
    if case.loads:
        await _wait_loaded(stage, before)
    await _settle(stage)
    if case.kind in FRAME_KINDS and not stage.blind:
        earlier, agent = snapshot_of(before, case.host_field), AgentInput(case.kind, case.tokens)
        with anyio.move_on_after(LATE_SECONDS[stage.lane.window]):
            while not any(find_sightings(earlier, await _snapshot(stage, case), agent)):
                await _settle(stage)
    if case.destructive:
        with anyio.move_on_after(2.0):
            while not gone_renderers(await stage.fixture.crash_state()):
                await anyio.sleep(0.05)


async def _settle(stage: Stage) -> None:
    """Waits until nothing is logged any more."""
    try:
        await stage.fixture.settle(quiet=QUIET[stage.lane.route], timeout=2.0)
    except FixtureError as error:
        if not str(error).startswith("not-quiet"):
            raise NeedsFreshAppError(str(error)) from error


async def _wait_loaded(stage: Stage, before: observed.State | None = None) -> None:
    """Waits until the guest's documents stay the same and are ready, or are gone because the host was reloaded."""
    last: list[str] = []
    steady = 0
    with anyio.move_on_after(LOAD_SECONDS):
        while steady < 3:
            await anyio.sleep(0.06)
            try:
                documents = (await stage.fixture.state(logs=False)).documents
            except FixtureError:
                continue  # a document went away while it was asked
            guests = [item for item in documents if item.role == "guest"]
            ids = [item.id for item in guests if item.ready and item.status == "alive"]
            hosts = [item.id for item in documents if item.role == "host" and item.frame == "main"]
            done = (
                len(ids) == len(guests)
                if guests
                else before is not None and hosts not in ([], [before.host.id])
            )
            steady = steady + 1 if done and ids == last else 0
            last = ids


async def _look(fixture: Fixture) -> observed.State:
    try:
        return await fixture.state()
    except FixtureError as error:
        raise NeedsFreshAppError(str(error)) from error


async def _snapshot(stage: Stage, case: Case) -> Snapshot:
    return snapshot_of(await _look(stage.fixture), case.host_field)


async def _next_key(stage: Stage, since: int) -> str:
    """Where a key goes that is given to the window's focused widget: Chromium's own routing, no X server."""
    code = """
        const debug = stage.host.webContents.debugger;
        debug.attach('1.3');
        try {
          const key = { key: '0', code: 'Digit0', windowsVirtualKeyCode: 48 };
          await debug.sendCommand('Input.dispatchKeyEvent', { type: 'keyDown', text: '0', ...key });
          await debug.sendCommand('Input.dispatchKeyEvent', { type: 'keyUp', ...key });
        } finally { debug.detach(); }
        return null;
    """
    try:
        with anyio.fail_after(2.0):
            await stage.fixture.execute("main-process", code)
            await stage.fixture.settle(quiet=0.02, timeout=1.0)
            state = await stage.fixture.state(since=since)
    except (FixtureError, TimeoutError) as error:
        return f"unknown: {str(error) or 'no answer'}"
    for document in state.documents:
        for record in document.records("keydown"):
            if record.key == "0":
                return f"{document.name} {record.target}"
    return "nowhere"


def schedule_of(person: Person, first: int, start_ms: float) -> list[float]:
    """When the keys were pressed, in milliseconds since `start_ms`."""
    return [
        round((stroke.at_ns + person.epoch_ns) / 1e6 - start_ms, 1)
        for stroke in person.journal[first:]
        if stroke.kind == "key-down"
    ]


def fill(row: Row, verdict: Verdict) -> None:
    """Writes a verdict into its row."""
    evidence = row.evidence
    row.landing, row.leaked, row.stolen = list(verdict.landing), verdict.leaked, verdict.stolen
    row.focus_kept = verdict.focus_kept
    evidence.sightings = list(verdict.sightings[:MAX_SIGHTINGS])
    evidence.sightings_left_out = max(0, len(verdict.sightings) - MAX_SIGHTINGS)
    evidence.leaked_inputs, evidence.focus, evidence.typed = (
        list(verdict.leaked_inputs),
        verdict.focus,
        verdict.typed,
    )


def note_unknown(row: Row, case: Case, performer: Performer) -> None:
    """Marks a row none of whose commands this version knows."""
    tried = {step.method for step in case.steps if isinstance(step, Cdp)}
    if tried and tried <= set(performer.unknown):
        row.status = "unsupported"
        row.evidence.reason = f"no such method: {', '.join(sorted(tried))}"


def _fill_state(row: Row, before: observed.State, after: observed.State, case: Case) -> None:
    evidence = row.evidence
    host = after.host
    evidence.host_reloaded = host.id != before.host.id
    evidence.host_value = str(host.values.get(case.host_field, ""))
    if host.page is not None:
        evidence.counters |= {f"host {name}": count for name, count in host.page.counters.items() if count}
        evidence.focus.page_events = [
            f"{event.type} {event.target}" for event in host.page.seen if event.type in ("focus", "blur")
        ]
    for document in after.documents:
        if document.role != "guest":
            continue
        values = {
            name: value for name, value in document.values.items() if value not in ("", False, "red", "0", 0)
        }
        if values:
            evidence.guest_values[document.name] = ", ".join(
                f"{name}: {value}" for name, value in values.items()
            )
        if document.page is not None:
            evidence.counters |= {
                f"{document.name} {name}": n for name, n in document.page.counters.items() if n
            }
    evidence.counters |= {name: count for name, count in after.accelerators.items() if count}
    evidence.gone = list(snapshot_of(after, case.host_field).gone)
