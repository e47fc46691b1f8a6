"""One trial on an app of somebody's own: the same as on the fixture, seen by the observers that were put in."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from focusguard.groups import single_error
from probes.landing.actions import NoSuchThingError, Performer, Point
from probes.landing.cases import Case, repeated
from probes.landing.cdp_client import (
    CdpClosedError,
    CdpError,
    GuestSessions,
    attach_guest,
    open_client,
)
from probes.landing.observe import PERSON_KEYS, AgentInput, PersonInput, Snapshot, find_sightings, judge
from probes.landing.schema import Row
from probes.landing.steps import FIELD as ELEMENT
from probes.landing.steps import Session
from probes.landing.trial import (
    FRAME_KINDS,
    LATE_SECONDS,
    QUIET,
    REPEATS,
    TRIAL_SECONDS,
    TYPING_RATE,
    InvalidTrialError,
    act_while_typing,
    empty_row,
    fill,
    note_unknown,
    schedule_of,
)
from probes.own_app.finding import NothingToMeasure, choose_fields
from probes.own_app.observers import FIELD, ObserverLost, Watched
from probes.own_app.stage import OwnStage

#: Seconds for everything to be quiet, and for the person to be back in their field.
QUIET_SECONDS = 2.0
FOCUS_SECONDS = 1.0
#: What a control does beside commands: its field is left without the focus.
LEAVE = "leave"


async def run_own_trial(stage: OwnStage, case: Case) -> Row:
    """Runs one cell.

    Returns:
        Its row; an invalid one if the preparation failed, or a page was loaded anew meanwhile.
    """
    begin = time.monotonic()
    row = empty_row(stage.lane, case, "observed")
    row.evidence.nonce, row.evidence.pid = secrets.token_hex(8), stage.process.pid
    try:
        with anyio.fail_after(TRIAL_SECONDS):
            await _run(stage, case, row)
    except NoSuchThingError as error:
        row.status, row.evidence.reason = "unsupported", str(error)
    except (InvalidTrialError, NothingToMeasure, ObserverLost, CdpError, CdpClosedError) as error:
        row.status, row.evidence.reason = "invalid", _why(stage, error)
    except TimeoutError:
        row.status, row.evidence.reason = "invalid", f"not done within {TRIAL_SECONDS:g} s"
    row.evidence.ms = round((time.monotonic() - begin) * 1000)
    return row


def _why(stage: OwnStage, error: Exception) -> str:
    return str(error) if stage.process.returncode is None else stage.process.ending()


async def _run(stage: OwnStage, case: Case, row: Row) -> None:
    observers = stage.observers
    async with _prepared(stage, case) as performer:
        start_ms = time.time() * 1000
        await observers.begin()
        before = await observers.look(start_ms)
        _check(before, observers.label)
        mark, first_stroke = stage.front.mark(), len(stage.person.journal)
        during = PERSON_KEYS if case.during else ""
        try:
            if case.during:
                await act_while_typing(stage.person, performer, repeated(case, REPEATS))
            else:
                for step in case.steps:
                    await performer.perform(step)
        finally:
            row.reply, row.evidence.commands = performer.reply, performer.commands
        agent = AgentInput(case.kind, case.tokens)
        await _become_quiet(stage, agent, before, start_ms)
        await stage.person.type(PERSON_KEYS, rate=TYPING_RATE)
        after = await _settle(stage, start_ms)
        verdict = judge(
            before,
            after,
            agent,
            PersonInput(during, PERSON_KEYS),
            raised=stage.front.changes(mark),
            field_name=observers.label,
        )
        fill(row, verdict)
        if row.evidence.typed is not None:
            row.evidence.typed.schedule_ms = schedule_of(stage.person, first_stroke, start_ms)
        row.evidence.host_value = after.host.value
        row.evidence.guest_values = {
            document.name: document.value for document in after.others if document.value
        }
        note_unknown(row, case, performer)


@asynccontextmanager
async def _prepared(stage: OwnStage, case: Case) -> AsyncIterator[Performer]:
    """Fields, focus and the agent's sessions for a trial; the fields get their texts back afterwards."""
    observers = stage.observers
    await observers.install()
    await choose_fields(stage.app, observers)
    frame = await _frame_with_field(stage)
    if frame is None and (case.guest_focus == "cross-site" or "frame" in case.sessions):
        raise NoSuchThingError(
            "the guest has no frame of another site with a field that takes text and is shown"
        )
    within = (
        frame if frame is not None and case.guest_focus == "cross-site" else observers.page(observers.guest)
    )
    await observers.call(within, "enter")
    await _person_home(stage)
    if (await observers.call(within, "look"))["active"] != FIELD:
        raise InvalidTrialError(
            f"preparation: the agent's field in {within.url} does not keep the page's focus"
        )
    points = await _points(stage, frame)
    values = {"@guest": observers.guest}
    async with _sessions(stage, case, frame) as sessions:
        performer = Performer(sessions, _outside(stage), points, values)
        for step in case.setup:
            await performer.perform(step)
        failed = [command for command in performer.commands if command.reply != "ok"]
        if failed:
            raise InvalidTrialError(f"preparation: {failed[0].method} gave {failed[0].reply}")
        performer.commands.clear()
        await observers.begin()
        await _settle(stage, time.time() * 1000)
        try:
            yield performer
        finally:
            for step in case.cleanup:
                await performer.perform(step)
            await observers.restore()


async def _frame_with_field(stage: OwnStage) -> Watched | None:
    """The guest's first frame with a process of its own that has a field on the screen."""
    for frame in stage.observers.own_process_frames():
        if (await stage.observers.call(frame, "choose", None, FIELD))["count"]:
            return frame
    return None


async def _person_home(stage: OwnStage) -> None:
    """Puts the person into their field; by a real click where a script's focus does not bring the window's along."""
    observers = stage.observers
    page = observers.page(observers.host)
    for attempt in ("script", "click"):
        if attempt == "script":
            await observers.call(page, "enter")
        else:
            await _click_field(stage, page)
        with anyio.move_on_after(FOCUS_SECONDS):
            while True:
                state = await observers.call(page, "look")
                if state["active"] == observers.label and state["hasFocus"]:
                    return
                await anyio.sleep(0.02)
    raise InvalidTrialError(
        f"preparation: the person does not get into their field; the host's focus is on {state['active'] or 'nothing'}"
        + ("" if state["hasFocus"] else ", and its document does not have the window's")
    )


async def _click_field(stage: OwnStage, page: Watched) -> None:
    place = await stage.observers.call(page, "place")
    active = stage.display.active_window()
    window = next((window for window in stage.display.windows() if window.id == active), None)
    if window is None:
        raise InvalidTrialError("preparation: no window of the app is in front")
    scale = place["scale"]
    bar = window.height - place["inner"][1] * scale  # a menu bar above the page
    x = window.x + (place["x"] + place["width"] / 2) * scale
    y = window.y + bar + (place["y"] + place["height"] / 2) * scale
    await stage.person.click(round(x), round(y))


def _check(before: Snapshot, label: str) -> None:
    if before.host.active != label or not before.host.has_focus:
        raise InvalidTrialError(
            f"preparation: the person is not in their field but in {before.host.active or 'nothing'}"
        )


async def _points(stage: OwnStage, frame: Watched | None) -> dict[Session, dict[str, Point]]:
    """Middles of the guest's field, and of its frame's, in the viewport of each session."""
    observers = stage.observers
    points: dict[Session, dict[str, Point]] = {
        "root": {ELEMENT: await _middle(stage, observers.page(observers.guest))}
    }
    if frame is not None:
        label = f"cross-site.{ELEMENT}"
        (x, y), (left, top) = await _middle(stage, frame), await observers.offset_of(frame)
        points["root"][label] = (left + x, top + y)
        points["frame"] = {label: (x, y)}
    return points


async def _middle(stage: OwnStage, document: Watched) -> Point:
    place = await stage.observers.call(document, "place")
    return place["x"] + place["width"] / 2, place["y"] + place["height"] / 2


@asynccontextmanager
async def _sessions(
    stage: OwnStage, case: Case, frame: Watched | None
) -> AsyncIterator[GuestSessions | None]:
    if not case.sessions:
        yield None
        return
    guest = stage.observers.guest
    with single_error():
        async with open_client(stage.endpoint) as client:
            yield await attach_guest(
                client,
                guest,
                stage.observers.page(guest).url,
                frames="frame" in case.sessions,
                frame_id=frame.target_id if frame is not None else None,
                nested=False,
            )


def _outside(stage: OwnStage) -> Any:
    """Performs what a control does: a command on a page of the app that no guard is near."""

    async def perform(op: str, params: Mapping[str, Any]) -> str:
        given = dict(params)
        observers = stage.observers
        target = observers.host if given.pop("to") == "host" else observers.guest
        try:
            if op == LEAVE:
                await observers.call(observers.page(target), "leave")
            else:
                await observers.send(target, op, given)
        except CdpError as error:
            return f"error: {error}"
        return "ok"

    return perform


async def _become_quiet(stage: OwnStage, agent: AgentInput, before: Snapshot, start_ms: float) -> None:
    after = await _settle(stage, start_ms)
    if agent.kind in FRAME_KINDS:
        with anyio.move_on_after(LATE_SECONDS["headful"]):
            while not any(find_sightings(before, after, agent)):
                after = await _settle(stage, start_ms)


async def _settle(stage: OwnStage, start_ms: float) -> Snapshot:
    """Waits until nothing is logged any more; gives the last look."""
    last = await stage.observers.look(start_ms)
    with anyio.move_on_after(QUIET_SECONDS):
        while True:
            await anyio.sleep(QUIET[stage.lane.route])
            now = await stage.observers.look(start_ms)
            if now.weight == last.weight:
                return now
            last = now
    return last
