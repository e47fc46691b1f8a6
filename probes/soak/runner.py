"""Runs a soak: one person, an agent for each guest, one app behind the guard; then the raw control."""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import anyio

import focusguard
from focusguard.electron.display import Display, isolated_display
from focusguard.electron.input_method import Engine, input_method
from focusguard.electron.janitor import Janitor, open_janitor
from focusguard.electron.launching import launch_electron
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime
from focusguard.groups import first_error
from focusguard.policy.borrow import Pace
from focusguard.policy.effects import Report
from probes.fixture import FIXTURE, Fixture, FixtureError, open_fixture_control
from probes.landing.cdp_client import (
    CdpClient,
    CdpClosedError,
    CdpError,
    attach_guest,
    find_guest,
    open_client,
)
from probes.observed import Embedding, HostField, Record, State
from probes.soak.actions import ACTIONS, Action, Agent, seen
from probes.soak.composing import WORDS, Composed, compositions, judge
from probes.soak.counting import count, missing, spread
from probes.soak.schema import ActionCount, Compositions, Moment, RawControl, RuntimeFacts, SoakResult, Spread
from probes.soak.xterm import place_xterm, sent_by_xterm

#: The person types letters, agents never do: whose a keystroke is, shows wherever it lands.
LETTERS = string.ascii_lowercase
#: Keystrokes after which the person's text is read and cleared, so that no field grows without end.
BATCH = 250
#: What the guard itself says when an input method has lost something of the person's.
REPORTED = ("bridge.key.lost", "bridge.input-method.silent", "bridge.composition.broken")
WARM_UP_SECONDS = 2.0
#: How uneven somebody composes: a key comes up to a fifth of the gap early or late.
JITTER = 0.4
#: Where a key in the host page has not reached the person's field: the page itself, and the element of a guest.
NO_FIELD = frozenset({"body", "iframe"})
#: Of so many missing keystrokes in a batch it is said what was seen around them, so many milliseconds before and after.
MOST_EXPLAINED = 3
AROUND_MS = 120.0
#: Seconds for the last keystrokes to arrive.
SETTLE_SECONDS = 10.0

Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class Plan:
    """What a soak shall do.

    Attributes:
        rate: keystrokes per second.
        guests: guests, and agents.
        control: whether the raw control follows.
        input_method: what the person composes words with, instead of typing letters.
    """

    runtime: Runtime
    embedding: Embedding = "webview"
    host_field: HostField = "textarea"
    keystrokes: int = 1000
    rate: float = 25.0
    seed: int = 1
    pace: Pace = "between-keys"
    guests: int = 2
    control: bool = True
    input_method: Engine | None = None


@dataclass
class Tally:
    """What has been seen so far."""

    counts: dict[str, ActionCount]
    spent: dict[str, list[float]] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    strokes_ms: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)
    held_ms: list[float] = field(default_factory=list)
    waited_ms: list[float] = field(default_factory=list)
    brought_home: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    misdelivered: int = 0
    leaked: int = 0
    typed: int = 0
    refused: int = 0
    reported: int = 0
    words: list[Composed] = field(default_factory=list)
    began: float = 0.0

    def now(self) -> float:
        """Milliseconds since the first keystroke."""
        return (anyio.current_time() - self.began) * 1000


async def run(plan: Plan, progress: Progress) -> SoakResult:
    """Run the soak and its raw control."""
    began = anyio.current_time()
    async with AsyncExitStack() as stack:
        janitor = await stack.enter_async_context(open_janitor())
        display = await stack.enter_async_context(isolated_display(janitor=janitor))
        env: Mapping[str, str] = {}
        if plan.input_method is not None:
            env = await stack.enter_async_context(input_method(plan.input_method, display, janitor))
        tally = Tally({action.name: ActionCount(name=action.name, press=action.press) for action in ACTIONS})
        because, control = "", None
        try:
            async with _guarded(plan, display, janitor, tally, env) as (fixture, endpoint):
                await _soak(plan, fixture, endpoint, display, tally, progress)
            if plan.control:
                control = await _control(plan, display, janitor, progress)
        except* (FixtureError, CdpClosedError) as troubles:
            because = str(first_error(troubles))
    return _result(plan, tally, control, because, anyio.current_time() - began)


def _result(plan: Plan, tally: Tally, control: RawControl | None, because: str, seconds: float) -> SoakResult:
    for name, spent in tally.spent.items():
        tally.counts[name].ms = Spread(**spread(spent))
    done = list(tally.counts.values())
    return SoakResult(
        runtime=RuntimeFacts(
            electron=plan.runtime.version, chromium=plan.runtime.chromium or "", sha256=plan.runtime.sha256
        ),
        embedding=plan.embedding,
        host_field=plan.host_field,
        rate=plan.rate,
        seed=plan.seed,
        pace=plan.pace,
        complete=not because,
        incomplete_because=because,
        seconds=round(seconds, 1),
        keystrokes=tally.typed,
        presses=sum(each.done for each in done if each.press),
        other_actions=sum(each.done for each in done if not each.press),
        effects_missing=sum(each.missing for each in done),
        refused=tally.refused,
        lost=tally.lost,
        out_of_order=tally.out_of_order,
        doubled=tally.doubled,
        misdelivered=tally.misdelivered,
        leaked=tally.leaked,
        brought_home=tally.brought_home,
        borrow_ms=Spread(**spread(tally.held_ms)),
        waited_ms=Spread(**spread(tally.waited_ms)),
        late_ms=Spread(**spread(tally.late_ms)),
        raw_control=control,
        compositions=_compositions(plan, tally),
        actions=[each for each in done if each.done],
        timeline=tally.moments,
        strokes_ms=tally.strokes_ms,
    )


def _compositions(plan: Plan, tally: Tally) -> Compositions | None:
    if plan.input_method is None:
        return None
    return Compositions(
        engine=plan.input_method,
        words=sum(each.words for each in tally.words),
        compositions=sum(each.compositions for each in tally.words),
        swallowed=sum(each.swallowed for each in tally.words),
        broken=sum(each.broken for each in tally.words),
        reported=tally.reported,
    )


# -- the apps --
@asynccontextmanager
async def _guarded(
    plan: Plan, display: Display, janitor: Janitor, tally: Tally, env: Mapping[str, str]
) -> AsyncIterator[tuple[Fixture, str]]:
    async with (
        open_fixture_control(janitor=janitor) as control,
        focusguard.launch(
            plan.runtime,
            FIXTURE,
            env={**control.env, **env},
            display=display,
            pace=plan.pace,
            janitor=janitor,
        ) as guard,
    ):
        fixture = await control.connected()
        await _open(plan, fixture)
        guard.watch(lambda report: _note(report, tally))
        yield fixture, guard.ws_endpoint


@asynccontextmanager
async def _raw(plan: Plan, display: Display, janitor: Janitor) -> AsyncIterator[tuple[Fixture, str]]:
    async with (
        open_fixture_control(janitor=janitor) as control,
        launch_electron(
            plan.runtime, FIXTURE, env=control.env, display=display, debugging="port", janitor=janitor
        ) as process,
    ):
        fixture = await control.connected()
        await _open(plan, fixture)
        assert process.debugging_url is not None
        yield fixture, process.debugging_url


async def _open(plan: Plan, fixture: Fixture) -> None:
    await fixture.open(plan.embedding, window="headful", guests=plan.guests)
    if plan.host_field == "xterm":
        await place_xterm(fixture)


def _note(report: Report, tally: Tally) -> None:
    if not tally.began:
        return
    facts = report.facts
    if report.kind == "borrow":
        held, waited = float(facts.get("heldMs", 0)), float(facts.get("waitedMs", 0))
        if facts.get("returned"):
            tally.held_ms.append(held)
        tally.waited_ms.append(waited)
        tally.brought_home += int(facts.get("broughtHome", 0))
        what = str(facts.get("method", ""))
        tally.moments.append(Moment(kind="borrow", what=what, at_ms=tally.now(), ms=waited, held_ms=held))
    elif report.kind in REPORTED:
        tally.reported += 1
        tally.moments.append(Moment(kind="report", what=report.kind, at_ms=tally.now()))
    elif report.kind == "refusal":
        tally.refused += 1
        tally.moments.append(Moment(kind="refusal", what=str(facts.get("code", "")), at_ms=tally.now()))


# -- the soak --
async def _soak(
    plan: Plan, fixture: Fixture, endpoint: str, display: Display, tally: Tally, progress: Progress
) -> None:
    person = Person(display)
    await fixture.reset()
    await fixture.focus_host(plan.host_field, text="")
    if plan.input_method is not None:
        await person.type(WORDS[plan.input_method][0][0], plan.rate)
        await anyio.sleep(WARM_UP_SECONDS)  # the first word loads the dictionary
        await fixture.focus_host(plan.host_field, text="")
        await anyio.sleep(WARM_UP_SECONDS)  # and a change of the field makes the input method start afresh
    async with AsyncExitStack() as stack:
        alone = anyio.Lock()
        agents = [
            await _agent(plan, fixture, await stack.enter_async_context(open_client(endpoint)), number, alone)
            for number in range(plan.guests)
        ]
        turn = anyio.Lock()
        over = anyio.Event()
        actions = [each for each in ACTIONS if each.since <= (plan.runtime.major or each.since)]
        async with anyio.create_task_group() as tasks:

            def come() -> None:
                for agent in agents:
                    tasks.start_soon(_act, agent, actions, tally, over, turn)

            try:
                if plan.input_method is not None:
                    await _compose(plan, plan.input_method, fixture, person, tally, turn, come, progress)
                else:
                    come()
                    await _type(plan, fixture, person, tally, turn, progress)
            finally:
                over.set()
                await person.release_all()


async def _agent(plan: Plan, fixture: Fixture, client: CdpClient, number: int, alone: anyio.Lock) -> Agent:
    opened = fixture.opened
    assert opened is not None
    url = opened.guests[number].url
    sessions = await attach_guest(client, await find_guest(client, url), url, frames=False)
    return Agent(fixture, client, sessions, number, plan.seed, alone)


async def _type(
    plan: Plan, fixture: Fixture, person: Person, tally: Tally, turn: anyio.Lock, progress: Progress
) -> None:
    chance = random.Random(plan.seed)
    tally.began = anyio.current_time()
    while tally.typed < plan.keystrokes:
        text = "".join(chance.choices(LETTERS, k=min(BATCH, plan.keystrokes - tally.typed)))
        since = (await fixture.state(logs=False)).seq
        started = anyio.current_time()
        strokes = await person.type(text, plan.rate, jitter=0.3, seed=plan.seed + tally.typed)
        downs = [stroke for stroke in strokes if stroke.kind == "key-down"]
        first = downs[0].at_ns
        offset = (started - tally.began) * 1000
        for number, stroke in enumerate(downs):
            at = (stroke.at_ns - first) / 1e6
            tally.strokes_ms.append(round(offset + at, 1))
            tally.late_ms.append(max(0.0, at - number * 1000 / plan.rate))
        tally.typed += len(text)
        # Agents pause between two of their actions while the batch is read: what is late must still be counted to it.
        async with turn:
            times = [(person.epoch_ns + stroke.at_ns) / 1e6 for stroke in downs]
            await _read(plan, fixture, text, times, since, tally)
        done = tally.counts.values()
        progress(tally.typed, sum(each.done for each in done), tally.lost + tally.misdelivered + tally.leaked)


async def _compose(
    plan: Plan,
    engine: Engine,
    fixture: Fixture,
    person: Person,
    tally: Tally,
    turn: anyio.Lock,
    come: Callable[[], None],
    progress: Progress,
) -> None:
    """The person composes word after word without a pause, and the field is read when they have done.

    The agents come when a word has been composed: see docs/bridge-protocol.md on pauses.
    """
    chance = random.Random(plan.seed)
    words: list[tuple[str, str]] = []
    while sum(len(keys) for keys, _ in words) < plan.keystrokes:
        words.append(chance.choice(WORDS[engine]))
    meant = [text for _, text in words]
    tally.began = anyio.current_time()
    since = (await fixture.state(logs=False)).seq
    before = await _written(fixture, await fixture.state(since=since), plan.host_field)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch_progress, plan, tally, progress)
        await person.type(words[0][0], plan.rate, jitter=JITTER, seed=plan.seed)
        come()
        await anyio.sleep(1 / plan.rate)
        rest = "".join(keys for keys, _ in words[1:])
        await person.type(rest, plan.rate, jitter=JITTER, seed=plan.seed)
        tasks.cancel_scope.cancel()
    tally.typed += len(words[0][0]) + len(rest)
    async with turn:
        whole = before + "".join(meant)
        with anyio.move_on_after(WARM_UP_SECONDS):
            while await _written(fixture, await fixture.state(since=since), plan.host_field) != whole:
                await anyio.sleep(0.05)
        state = await fixture.state(since=since)
        began = len(state.host.records("compositionstart"))
        got = (await _written(fixture, state, plan.host_field))[len(before) :]
    due = sum(compositions(engine, word) for word in meant)
    judged = judge(meant, got, began, due)
    tally.words.append(judged)
    if judged.swallowed or judged.broken:
        what = f"meant {''.join(meant)!r}, got {got!r}"
        tally.moments.append(Moment(kind="broken", what=what, at_ms=tally.now()))
    _count_strays(state, tally, composing=True)


async def _watch_progress(plan: Plan, tally: Tally, progress: Progress) -> None:
    """What has been typed by now, by the schedule."""
    while True:
        done = sum(each.done for each in tally.counts.values())
        progress(min(plan.keystrokes, int(tally.now() / 1000 * plan.rate)), done, 0)
        await anyio.sleep(0.5)


async def _read(
    plan: Plan, fixture: Fixture, text: str, times: Sequence[float], since: int, tally: Tally
) -> None:
    """Count what became of a batch; of what is missing, note what was seen around it."""
    got: list[str] = []
    state = await fixture.state(since=since)
    with anyio.move_on_after(SETTLE_SECONDS):
        while len(got) < len(text):
            state = await fixture.state(since=since)
            got = _host_letters(state)
            if len(got) < len(text):
                await anyio.sleep(0.05)
    counted = count(list(text), got)
    tally.lost += counted.lost
    tally.doubled += counted.doubled
    tally.out_of_order += counted.out_of_order
    _count_strays(state, tally)
    written = await _written(fixture, state, plan.host_field)
    if counted.clean and not written.endswith(text):
        # Every key came, and yet the field did not take every character.
        got = list(written[-len(text) :])
        tally.lost += max(1, sum((Counter(text) - Counter(got)).values()))
    for place in missing(text, got)[:MOST_EXPLAINED]:
        what = f"{text[place]!r} is missing: {_around(state, times[place])}"
        tally.moments.append(Moment(kind="broken", what=what, at_ms=tally.now()))


def _around(state: State, at: float) -> str:
    """What every page and the main process saw around a moment, in milliseconds from it."""
    seen = [
        (record.t - at, f"{each.role} {each.frame} {record.type} {record.target} {record.key or ''}")
        for each in state.documents
        for record in each.records()
        if abs(record.t - at) < AROUND_MS
    ]
    seen += [
        (record.t - at, f"main {record.role} {record.type} {record.key}")
        for record in state.before_input
        if abs(record.t - at) < AROUND_MS
    ]
    return "; ".join(f"{after:+.0f} {what}" for after, what in sorted(seen))


def _count_strays(state: State, tally: Tally, *, composing: bool = False) -> None:
    """Count what is seen where it does not belong: the person's letters in a guest, an agent's input in the host."""
    for document in state.documents:
        if document.role == "guest":
            keys = document.records("keydown")
            tally.misdelivered += sum(
                1 for each in keys if each.key and each.key in LETTERS and not each.ctrl
            )
        elif document.role == "host":
            inputs = document.records("keydown", "input")
            tally.leaked += sum(1 for each in inputs if _of_agent(each, composing=composing))


def _host_letters(state: State) -> list[str]:
    return [
        str(record.key)
        for document in state.documents
        if document.role == "host"
        for record in document.records("keydown")
        if (record.key or "?") in LETTERS and not record.ctrl and record.target not in NO_FIELD
    ]


def _of_agent(record: Record, *, composing: bool) -> bool:
    """The person types letters and nothing else, unless they compose; agents type digits, Tab and Ctrl+A."""
    if record.type == "keydown" and composing:
        return bool(record.ctrl) or (record.key or "").isdigit() or record.key == "Tab"
    if record.type == "keydown":
        return bool(record.ctrl) or (record.key or "") not in LETTERS
    return any(character.isdigit() for character in record.data or "")


async def _written(fixture: Fixture, state: State, name: HostField) -> str:
    """What has been typed into a field; terminals hand it on to their programs."""
    if name == "xterm":
        return await sent_by_xterm(fixture)
    if name == "terminal":
        return state.host.page.terminal.data if state.host.page else ""
    return "".join(
        str(document.values.get(name, "")) for document in state.documents if document.role == "host"
    )


async def _act(
    agent: Agent, actions: Sequence[Action], tally: Tally, over: anyio.Event, turn: anyio.Lock
) -> None:
    weights = [action.weight for action in actions]
    while not over.is_set():
        action = agent.chance.choices(actions, weights)[0]
        await _perform(agent, action, tally)
        async with turn:
            pass


async def _perform(agent: Agent, action: Action, tally: Tally) -> None:
    counted, started = tally.counts[action.name], tally.now()
    fine = True
    try:
        effect = await action.perform(agent)
        spent = tally.now() - started
        if effect is not None:
            fine = await seen(effect)
    except CdpError as refusal:
        spent, fine = tally.now() - started, False
        what = f"{action.name}: {refusal}"[:200]
        tally.moments.append(Moment(kind="refusal", what=what, at_ms=tally.now(), agent=agent.guest))
    counted.done += 1
    counted.missing += not fine
    tally.spent.setdefault(action.name, []).append(spent)
    tally.moments.append(
        Moment(kind="action", what=action.name, at_ms=started, ms=spent, fine=fine, agent=agent.guest)
    )


# -- the control --
async def _control(plan: Plan, display: Display, janitor: Janitor, progress: Progress) -> RawControl:
    """The same typing with an agent that presses straight on Electron's own port: what is lost without the guard."""
    chance = random.Random(plan.seed)
    typed = lost = 0
    async with _raw(plan, display, janitor) as (fixture, endpoint):
        person = Person(display)
        async with open_client(endpoint) as client:
            agent = await _agent(plan, fixture, client, 0, anyio.Lock())
            while typed < plan.keystrokes:
                await fixture.reset()
                await fixture.focus_host(plan.host_field, text="")
                text = "".join(chance.choices(LETTERS, k=min(BATCH, plan.keystrokes - typed)))
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_press_on, agent)
                    await person.type(text, plan.rate, jitter=0.3, seed=plan.seed + typed)
                    tasks.cancel_scope.cancel()
                await fixture.settle()
                lost += count(list(text), _host_letters(await fixture.state())).lost
                typed += len(text)
                progress(typed, 0, 0)
    return RawControl(keystrokes=typed, lost=lost)


async def _press_on(agent: Agent) -> None:
    while True:
        await agent.click("button")
        await anyio.sleep(0.1)
