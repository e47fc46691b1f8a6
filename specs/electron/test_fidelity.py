"""The fidelity corpus: what a page observes through the guard, in a guest without the person's focus, equals event by
event what the same commands give unguarded in a plain window that has the focus, in the same Electron.

Compared are the order of events, and of each its type, target, key, code, location, repeat, modifiers and locks,
keyCode, charCode, data, inputType, target ranges, isTrusted, whether it is cancelable and was cancelled, the field's
value and the caret at that moment, and `document.hasFocus()`; afterwards every field's value, the caret, the scroll
position, the editor's document and selection; and the reply to each command. No row may leave a trace in the host.

What is not a row, and why:

- Keys that open a select's list, which is a window of its own and would take the person's keys.
- Tab out of the page: a window's page begins anew then, and the person's focus must not follow it.
- While a frame inside the guest has the focus, a key that only CDP can express is sent by way of the main frame. Of
  that the page sees its windows' `focus` and `blur` where its own listeners were there before the first key, and a
  text field's `change` comes from the guard (not trusted) when the focus really leaves.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from focusguard.electron.display import Display, isolated_display
from focusguard.electron.install import ensure_runtime
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import DEFAULT, KNOWN, Runtime
from specs.electron.fidelity.compare import Comparison, compare
from specs.electron.fidelity.corpus import corpus, everything, part
from specs.electron.fidelity.keyboard import KEY
from specs.electron.fidelity.stage import Outcome, Route, Row, Window, bundle_editor, open_guarded, open_plain

pytestmark = [pytest.mark.electron, pytest.mark.fidelity]

#: Of a version other than the default, every so manieth row; FOCUSGUARD_FIDELITY=all takes all.
SAMPLE = 1 if os.environ.get("FOCUSGUARD_FIDELITY") == "all" else 9


PRESS = {
    "type": "keyDown",
    "key": "a",
    "code": "KeyA",
    "windowsVirtualKeyCode": 65,
    "text": "a",
    "unmodifiedText": "a",
}
RELEASE = {"type": "keyUp", "key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65}
#: What the comparison must not overlook.
CHANGES: dict[str, dict[str, Any]] = {
    "type": {"type": "rawKeyDown"},
    "key": {"key": "A"},
    "code": {"code": "KeyB"},
    "virtual key": {"windowsVirtualKeyCode": 66},
    "text": {"text": "b"},
    "repeat": {"autoRepeat": True},
    "location": {"location": 2},
    "keypad": {"isKeypad": True},
    "modifiers": {"modifiers": 8},
    "commands": {"commands": ["selectAll"]},
}


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_editor(tmp_path_factory.mktemp("editor"))


@pytest.fixture(scope="module")
async def second_display(janitor: Janitor) -> AsyncIterator[Display]:
    """The two windows may not share a display: each has the focus on its own, and a clipboard."""
    async with isolated_display(janitor=janitor) as shown:
        yield shown


class Stages:
    """Runs the same rows on both routes at once."""

    def __init__(self, displays: tuple[Display, Display], editor: Path, janitor: Janitor) -> None:
        self._plain, self._guarded = displays
        self._editor = editor
        self._janitor = janitor

    @asynccontextmanager
    async def both(self, runtime: Runtime) -> AsyncIterator[tuple[Route, Route]]:
        """Both routes side by side, their text areas ready."""
        async with (
            open_plain(runtime, self._plain, self._editor, self._janitor) as plain,
            open_guarded(runtime, self._guarded, self._editor, self._janitor, "hidden") as guarded,
        ):
            for route in (plain, guarded):
                await route.next({"field": "area"})
            yield plain, guarded

    async def compare_plain(self, runtime: Runtime, rows: Sequence[Row], others: Sequence[Row]) -> Comparison:
        """The control: two plain windows."""
        outcomes: dict[int, list[Outcome]] = {}

        async def run(number: int, display: Display, those: Sequence[Row]) -> None:
            async with open_plain(runtime, display, self._editor, self._janitor) as route:
                outcomes[number] = await route.run(those)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, 0, self._plain, rows)
            tasks.start_soon(run, 1, self._guarded, others)
        result = compare(rows, outcomes[0], outcomes[1])
        print(f"\nElectron {runtime.version}, two plain windows: {result.summary()}")
        return result

    async def compare(self, runtime: Runtime, rows: Sequence[Row], window: Window = "hidden") -> Comparison:
        outcomes: dict[str, list[Outcome]] = {}
        leaks: list[str] = []

        async def plain() -> None:
            async with open_plain(runtime, self._plain, self._editor, self._janitor) as route:
                outcomes["plain"] = await route.run(rows)

        async def guarded() -> None:
            async with open_guarded(runtime, self._guarded, self._editor, self._janitor, window) as route:
                outcomes["guarded"] = await route.run(rows)
                leaks.extend(await route.leaks())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(plain)
            tasks.start_soon(guarded)
        result = compare(rows, outcomes["plain"], outcomes["guarded"])
        print(f"\nElectron {runtime.version}, {window}: {result.summary()}")
        assert not leaks, f"the host page saw {leaks[:10]}"
        return result


@pytest.fixture
def stages(display: Display, second_display: Display, editor: Path, janitor: Janitor) -> Stages:
    return Stages((display, second_display), editor, janitor)


def check(result: Comparison) -> None:
    """Every row is equal; if not, the first differences."""
    shown = "\n".join(str(difference) for difference in result.differences[:12])
    assert result.equal == result.rows, f"{result.summary()}\n{shown}"


async def test_control_two_plain_windows_are_equal(stages: Stages, runtime: Runtime) -> None:
    rows = corpus()[::25]
    check(await stages.compare_plain(runtime, rows, rows))


async def test_control_every_difference_is_seen(stages: Stages, runtime: Runtime) -> None:
    rows: list[Row] = []
    others: list[Row] = []
    for name, changed in CHANGES.items():
        for kept, command in ((rows, PRESS), (others, {**PRESS, **changed})):
            kept.append(Row(name, "control", [(KEY, command), (KEY, RELEASE)]))
    spec = {"field": "area", "cancel": ["keypress"]}
    rows.append(Row("cancelled", "control", [(KEY, PRESS)]))
    others.append(Row("cancelled", "control", [(KEY, PRESS)], spec))
    rows.append(Row("nothing", "control", [(KEY, PRESS)]))
    others.append(Row("nothing", "control", []))
    result = await stages.compare_plain(runtime, rows, others)
    assert {difference.row.name for difference in result.differences} == {row.name for row in rows}


async def test_the_whole_corpus_in_a_hidden_window(stages: Stages, runtime: Runtime) -> None:
    rows = corpus()
    print(f"\n{len(rows)} rows for {len(everything())} ways in which client libraries send them")
    assert len(rows) > 3500
    check(await stages.compare(runtime, rows))


@pytest.mark.headful
async def test_a_part_of_it_in_a_window_where_the_person_has_the_focus(
    stages: Stages, runtime: Runtime
) -> None:
    check(await stages.compare(runtime, corpus()[::20], "headful"))


@pytest.mark.parametrize("version", [version for version in KNOWN if version != DEFAULT])
async def test_other_versions(stages: Stages, version: str) -> None:
    check(await stages.compare(ensure_runtime(version), part(SAMPLE)))


@pytest.mark.bench
async def test_how_long_a_key_press_takes(stages: Stages, runtime: Runtime) -> None:
    """Press and release, each waited for, guarded and in the plain page that has the focus, in turns."""
    async with stages.both(runtime) as (plain, guarded):
        seconds: dict[str, list[float]] = {"plain": [], "guarded": [], "borrowed": []}
        numpad = {"key": "ArrowLeft", "code": "Numpad4", "windowsVirtualKeyCode": 37, "location": 3}
        for number in range(330):
            for name, route, key in (
                ("plain", plain, PRESS),
                ("guarded", guarded, PRESS),
                ("borrowed", guarded, {"type": "rawKeyDown", **numpad}),
            ):
                start = time.perf_counter()
                for command in (key, {**key, "type": "keyUp", "text": ""}):
                    await route.client.call(KEY, command, route.sessions["root"])
                if number >= 30:
                    seconds[name].append(time.perf_counter() - start)
        for route in (plain, guarded):
            record = (await route.next(None))["main"]["log"]
            presses = [entry for entry in record if entry["type"] == "keypress"]
            assert len(presses) == 330
    middle = {name: statistics.median(values) * 1000 for name, values in seconds.items()}
    print(
        f"\nkey press (down and up) p50: plain {middle['plain']:.2f} ms, guarded {middle['guarded']:.2f} ms "
        f"({middle['guarded'] / middle['plain']:.2f}x), with a borrow {middle['borrowed']:.2f} ms "
        f"({middle['borrowed'] / middle['plain']:.2f}x)"
    )
