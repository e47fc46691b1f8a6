"""Measures every client at every task and writes docs/clients.md.

.venv/bin/python -m specs.clients.table
"""

from __future__ import annotations

import datetime
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from focusguard.electron.display import isolated_display
from focusguard.electron.install import ensure_runtime
from focusguard.electron.janitor import open_janitor
from focusguard.electron.runtimes import Runtime
from specs.clients.driver import CLIENTS, NOT_OFFERED, Client
from specs.clients.tasks import RATE, TASKS, open_scene

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
HEAD = """# Clients

Unmodified clients, driven through the guard by their own public API while a person types into the host with real
keystrokes ({rate:g} a second). Each outcome is read from the pages' own logs, never from what the client says, and
after each task the host's text is compared with what was typed. This page is generated:
`.venv/bin/python -m specs.clients.table` measures and writes it. `specs/clients/test_every_client.py` holds every
outcome on each run of the specs.

Electron {electron}, Chromium {chromium}, measured {day}. Keys typed meanwhile: {keys}, lost: 0.

- **ok**: the page shows exactly what the client was asked for.
- **–**: the client's API has no way to ask for it.
- a number: the client's message, below, with what it gets from the same app when no guard is near.

*quit the browser* is ok when the app is still there. The last row is the control: whether the client finds the guest
at all on the app's own debugging port.
"""
FAULTS = """## Faults of their own

- **Chrome DevTools MCP** has the page loaded anew here as it connects. In a page that was there before, its snapshots
  give one number to several elements, and it presses the last of them, which may be in a frame: *type* gets
  `not seen: '' instead of 'By the agent'` then, and the same without the guard, in a window of its own
  (`specs/clients/test_devtools_numbers.py`).
- **Playwright MCP** waits for ever for its own list of tabs where one page hangs, with and without the guard
  (`specs/clients/test_sick_guests.py`).
"""
#: What was tried and is no client here, and why.
NOT_AMONG = """## Not among them

- **chromium-bidi** (157.0.8090-0, in Puppeteer 25.16.0: `protocol: 'webDriverBiDi'` of `connect`): it connects, clicks,
  types, uploads and drags, but after a navigation it throws where its program cannot catch it (`TypeError: Cannot
  read properties of undefined (reading 'executionContextId')`), which ends the program; caught by force, the page does
  not load any more. Without the guard, in a window of its own: the same. Electron's own security warnings end it
  too (`More value is provided`).
- **Selenium** (selenium-webdriver 4.49.0, `debuggerAddress`; chromedriver 131.0.6778.264, `--disable-build-check`, as
  the package registries carry none for this Chromium; the guard with `--no-token`, as it can show none): its WebSocket
  says `Host: 127.0.0.1`, without the port, which the guard refuses: `session not created from disconnected: unable to
  connect to renderer`. Through a relay that adds the port it connects, lists, clicks, types and takes pictures.
"""


@dataclass
class Measured:
    """What a client has got.

    Attributes:
        guarded: Outcome by task.
        raw: The same without the guard, of what is not `ok`.
        keys: That the person has typed meanwhile.
    """

    client: Client
    guarded: dict[str, str] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    keys: int = 0


async def measure(runtime: Runtime) -> tuple[list[Measured], str]:
    """All clients, and the version of Chromium."""
    found: list[Measured] = []
    chromium = ""
    async with open_janitor() as janitor, isolated_display(janitor=janitor) as display:
        for client in CLIENTS:
            results = Measured(client)
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
                where = (client, runtime, display, janitor, Path(name))
                async with open_scene("guarded", *where) as scene:
                    chromium = scene.fixture.hello.chromium
                    for task, act in TASKS.items():
                        results.guarded[task] = await scene.run(act)
                    results.keys = scene.keys
                async with open_scene("raw", *where) as scene:
                    results.raw["connect"] = await scene.run(TASKS["connect"])
                    for task, outcome in results.guarded.items():
                        if outcome not in ("ok", NOT_OFFERED) and task not in results.raw:
                            results.raw[task] = await scene.run(TASKS[task])
            found.append(results)
            print(
                f"{client.name} {client.version}: {list(results.guarded.values()).count('ok')} ok",
                file=sys.stderr,
            )
    return found, chromium


def page(found: list[Measured], electron: str, chromium: str) -> str:
    """The page as Markdown."""
    day = datetime.date.today().isoformat()
    keys = sum(results.keys for results in found)
    lines = [HEAD.format(rate=RATE, electron=electron, chromium=chromium, day=day, keys=f"{keys:,}")]
    lines.append(
        "| task | " + " | ".join(f"{each.client.name} {each.client.version}" for each in found) + " |"
    )
    lines.append("| --- |" + " --- |" * len(found))
    notes: list[str] = []
    for task in TASKS:
        cells = []
        for results in found:
            outcome = results.guarded[task]
            if outcome not in ("ok", NOT_OFFERED):
                notes.append(
                    f"{len(notes) + 1}. **{results.client.name}, {task}**: `{shown(outcome)}`"
                    f" Without the guard: `{shown(results.raw[task])}`"
                )
            cells.append({"ok": "ok", NOT_OFFERED: "–"}.get(outcome, f"[{len(notes)}](#messages)"))
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    control = " | ".join(results.raw["connect"] for results in found)
    lines.append(f"| *connect, without the guard* | {control} |")
    return "\n".join([*lines, "", "## Messages", "", *notes, "", FAULTS, NOT_AMONG])


def shown(message: str) -> str:
    """A message on one line, as code."""
    return " ".join(message.split()).replace("`", "'")


def main() -> None:
    """Measures and writes."""
    runtime = ensure_runtime()
    found, chromium = anyio.run(measure, runtime)
    PAGE.write_text(page(found, runtime.version, chromium), "utf-8")


if __name__ == "__main__":
    main()
