"""Presses: success means that the page got them, or that it cannot be known; seen by what the page has counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from specs.electron.fidelity.stage import Route, bundle_editor, open_guarded, open_plain

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

MOUSE = "Input.dispatchMouseEvent"
#: What a press can meet: things that give the page no `mousedown`, or none at all, among them.
THINGS = """<div style="position: fixed; left: 620px; top: 0; width: 250px; background: white; z-index: 9">
  <button id="plain">plain</button>
  <button id="disabled" disabled style="width: 100px">disabled</button>
  <div id="scroller" style="width: 100px; height: 60px; overflow: scroll"><div style="height: 500px">x</div></div>
  <div id="inert" inert style="height: 20px">inert</div>
  <div id="untouchable" style="pointer-events: none; height: 20px">none</div>
  <select id="list"><option>one<option>two</select>
  <input id="slider" type="range">
  <video id="film" controls style="display: block; width: 160px; height: 60px"></video>
  <embed id="plugin" type="application/x-nothing" style="display: block; width: 60px; height: 20px">
  <iframe id="inside" srcdoc="inside" style="display: block; width: 100px; height: 30px"></iframe>
  <iframe id="border" srcdoc="border" style="display: block; width: 100px; height: 30px; border: 12px solid"></iframe>
  <iframe id="padding" srcdoc="padding" style="display: block; width: 100px; height: 30px; padding: 12px"></iframe>
  <div id="shadow"></div>
  <iframe id="scaled" srcdoc="scaled" style="display: block; width: 60px; height: 20px; border: 12px solid;
    margin-bottom: 40px; transform: scale(1.5); transform-origin: 0 0"></iframe>
  <iframe id="turned" srcdoc="turned" style="display: block; width: 60px; height: 20px; border-left: 60px solid;
    transform: rotate(180deg)"></iframe>
  <iframe id="zoomed" srcdoc="zoomed" style="display: block; width: 60px; height: 20px; border: 12px solid;
    zoom: 1.5"></iframe>
</div>"""
PREPARE = f"""
document.body.insertAdjacentHTML('afterbegin', {THINGS!r});
const closed = document.getElementById('shadow').attachShadow({{ mode: 'closed' }});
closed.innerHTML = '<iframe srcdoc="closed" style="width: 100px; height: 30px"></iframe>';
window.presses = 0;
addEventListener('pointerdown', () => {{ window.presses += 1; }}, true);
"""
#: Where in the thing, as parts of its width and height.
PLACES: dict[str, tuple[float, float]] = {
    "plain": (0.5, 0.5),
    "disabled": (0.5, 0.5),
    "scroller": (0.96, 0.5),
    "inert": (0.5, 0.5),
    "untouchable": (0.5, 0.5),
    "slider": (0.5, 0.5),
    "film": (0.5, 0.9),
    "plugin": (0.5, 0.5),
    "inside": (0.5, 0.5),
    "border": (0.05, 0.5),
    "padding": (0.5, 0.1),
    "shadow": (0.5, 0.5),
    "list": (0.5, 0.5),
    "scaled": (0.08, 0.35),
    "turned": (0.75, 0.5),
    "zoomed": (0.08, 0.35),
}
#: What only a frame sees.
IN_FRAMES = ("inside", "shadow")


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_editor(tmp_path_factory.mktemp("editor"))


@asynccontextmanager
async def prepared(route: Any) -> AsyncIterator[Route]:
    async with route as opened:
        await opened.evaluate(f"(() => {{ {PREPARE} }})()")
        yield opened


async def press(route: Route, x: float, y: float) -> list[str]:
    """A click; the errors of its commands."""
    where = {"x": x, "y": y, "button": "left", "clickCount": 1}
    said = []
    for kind in ("mousePressed", "mouseReleased"):
        number = await route.client.post(MOUSE, {"type": kind, **where}, route.sessions["root"])
        reply = await route.client.reply(number)
        said.append(reply.get("error", {}).get("message", "")[:27])
    return said


async def middle_of(route: Route, name: str) -> tuple[float, float]:
    part = PLACES[name]
    box = await route.evaluate(
        f"(() => {{ const b = document.getElementById('{name}').getBoundingClientRect(); "
        "return [b.left, b.top, b.width, b.height]; })()"
    )
    return box[0] + box[2] * part[0], box[1] + box[3] * part[1]


async def test_whatever_it_meets_it_is_no_false_alarm(
    known_runtime: Runtime, display: Display, janitor: Janitor, editor: Path
) -> None:
    async with prepared(open_guarded(known_runtime, display, editor, janitor, "hidden")) as route:
        verdicts: dict[str, str] = {}
        reports: list[dict[str, Any]] = []
        assert route.guard is not None
        route.guard.watch(lambda report: reports.append(report.facts) if report.kind == "refusal" else None)
        for name in PLACES:
            before = await route.evaluate("presses")
            said = await press(route, *await middle_of(route, name))
            verdicts[name] = said[0] or ("seen" if await route.evaluate("presses") > before else "unseen")
        assert not reports
        hidden_from_the_page = {name for name, verdict in verdicts.items() if verdict == "unseen"}
        assert hidden_from_the_page <= {"film", *IN_FRAMES}
        assert "plain" not in hidden_from_the_page


async def test_the_one_that_nobody_got_is_named(
    runtime: Runtime, display: Display, janitor: Janitor, editor: Path
) -> None:
    said: dict[str, list[list[str]]] = {}
    for name, opened in (
        ("raw", open_plain(runtime, display, editor, janitor)),
        ("guarded", open_guarded(runtime, display, editor, janitor, "hidden")),
    ):
        async with prepared(opened) as route:
            await route.evaluate(
                "document.getElementById('plugin').remove()"
            )  # of which nothing can be known
            where = await middle_of(route, "plain")
            said[name] = [await press(route, *where)]
            for ignore in (True, False):
                await route.client.call(
                    "Input.setIgnoreInputEvents", {"ignore": ignore}, route.sessions["root"]
                )
                said[name].append(await press(route, *where))
            assert await route.evaluate("presses") == 2
    assert said["raw"] == [["", ""]] * 3, "the control: Chromium calls the second one a success"
    assert said["guarded"] == [["", ""], ["browser_input_not_delivered", ""], ["", ""]]
