"""Shared fixtures: a runtime, an isolated display, and waiting for a condition instead of for a while."""

from __future__ import annotations

import inspect
import json
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from hypothesis import HealthCheck, settings

from focusguard.electron.display import Display, isolated_display
from focusguard.electron.install import ensure_runtime, install_runtime
from focusguard.electron.janitor import Janitor, open_janitor
from focusguard.electron.launching import ElectronProcess
from focusguard.electron.runtimes import KNOWN, Runtime, cached_runtime
from probes.observed import Embedding
from specs.embeddings import embeddings_of

Eventually = Callable[..., Awaitable[Any]]

#: Folders of specs that are short and start no app.
LAST = ("proxy", "unit")

# How long an example takes says more of the machine than of the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A shell starts what runs in its background with SIGINT ignored, and so would be whatever a spec interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: A small app with one window; its page says what it sees, one JSON document per line, on standard output.
APP_MAIN = """'use strict';
const { app, BrowserWindow, Menu } = require('electron');
function say(what) {
  process.stdout.write('PAGE ' + (typeof what === 'string' ? what : JSON.stringify(what)) + '\\n');
}
say({ event: 'app', name: app.getName(), version: app.getVersion(), path: app.getAppPath(),
  argv: process.argv, userData: app.getPath('userData'),
  isMain: require.main === module, packaged: app.isPackaged, early: global.early || null });
app.on('ready', () => {
  Menu.setApplicationMenu(null); // its bar would be part of the window's height
  const window = new BrowserWindow({ width: 600, height: 400, useContentSize: true });
  window.webContents.on('console-message', (event, level, message) => {
    say(message === undefined ? event.message : message);
  });
  window.loadFile('page.html');
});
"""
APP_PAGE = """<!doctype html><meta charset="utf-8"><title>rig app</title>
<body style="margin: 0; background: #3366cc">
<textarea style="position: absolute; left: 20px; top: 20px; width: 300px; height: 100px"></textarea>
<div style="height: 3000px"></div>
<script>
  'use strict';
  const field = document.querySelector('textarea');
  const say = (what) => console.log(JSON.stringify(what));
  for (const type of ['keydown', 'keyup', 'mousedown', 'mouseup', 'mousemove', 'dblclick']) {
    addEventListener(type, (event) => say({ event: type, key: event.key, code: event.code,
      repeat: event.repeat, x: event.clientX, y: event.clientY, button: event.button,
      buttons: event.buttons, trusted: event.isTrusted }), true);
  }
  addEventListener('scroll', () => say({ event: 'scroll', y: scrollY }), true);
  field.addEventListener('input', () => say({ event: 'input', value: field.value }));
  field.focus();
  say({ event: 'ready' });
</script>
"""


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def runtime() -> Runtime:
    """The Electron that everything is measured on; FOCUSGUARD_ELECTRON names another."""
    return ensure_runtime()


@pytest.fixture(scope="session", params=list(KNOWN))
def known_runtime(request: pytest.FixtureRequest) -> Runtime:
    """Every known Electron, in turn; one that is not here yet is installed."""
    return cached_runtime(request.param) or install_runtime(request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Specs that take an `embedding` run once for each that this Electron has and the `only` mark lets through."""
    chosen = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "embedding" not in metafunc.fixturenames or "embedding" in chosen:
        return
    only = metafunc.definition.get_closest_marker("only")
    found = [each for each in embeddings_of(ensure_runtime().version) if only is None or each in only.args]
    metafunc.parametrize("embedding", found, indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what applies to no embedding of this Electron (the header says which it lacks).

    What needs an app comes first: the many short ones fill up what is left of the workers' time at the end.
    """
    lacking = [item for item in items if _of_no_embedding(item)]
    if lacking:
        config.hook.pytest_deselected(items=lacking)
        items[:] = [item for item in items if item not in lacking]
    items.sort(key=lambda item: LAST.index(folder) + 1 if (folder := item.path.parent.name) in LAST else 0)


def _of_no_embedding(item: pytest.Item) -> bool:
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return not isinstance(params.get("embedding", ""), str)


@pytest.fixture(scope="module")
def embedding(request: pytest.FixtureRequest) -> Embedding:
    """How the app shows its guest."""
    chosen: Embedding = request.param
    return chosen


@pytest.fixture(scope="session")
async def janitor() -> AsyncIterator[Janitor]:
    async with open_janitor() as keeper:
        yield keeper


@pytest.fixture(scope="session")
async def display(janitor: Janitor) -> AsyncIterator[Display]:
    """One isolated display for the whole run."""
    async with isolated_display(janitor=janitor) as shown:
        yield shown


@pytest.fixture
def eventually() -> Eventually:
    """Waits until a condition holds, bounded; returns what it gave."""

    async def wait(condition: Callable[[], Any], *, seconds: float = 10.0, what: str = "") -> Any:
        value: Any = None
        with anyio.move_on_after(seconds):
            while True:
                value = condition()
                if inspect.isawaitable(value):
                    value = await value
                if value:
                    return value
                await anyio.sleep(0.01)
        said = what or " ".join(inspect.getsource(condition).split())
        raise AssertionError(f"did not come true within {seconds:g} s (last: {value!r}): {said}")

    return wait


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for TMPDIR of a program that is run; a socket's path in it must not be longer than 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="fg", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def rig_app(tmp_path: Path) -> Iterator[Path]:
    """A small app with one window and one text field, which reports the events that its page sees."""
    folder = tmp_path / "rig app"
    folder.mkdir()
    manifest = {"name": "rig-app", "productName": "Rig App", "version": "7.8.9", "main": "start.js"}
    (folder / "package.json").write_text(json.dumps(manifest))
    (folder / "start.js").write_text(APP_MAIN)
    (folder / "page.html").write_text(APP_PAGE)
    yield folder


@pytest.fixture
def said() -> Callable[[ElectronProcess], list[dict[str, Any]]]:
    """What the rig app has reported so far."""

    def read(process: ElectronProcess) -> list[dict[str, Any]]:
        lines = process.output_tail(1 << 22).split("\n")[:-1]
        return [json.loads(line.removeprefix("PAGE ")) for line in lines if line.startswith("PAGE {")]

    return read


def pytest_report_header() -> list[str]:
    try:
        found = ensure_runtime()
    except Exception as error:
        return [f"electron: none ({error})"]
    lacking = sorted(set(get_args(Embedding)) - set(embeddings_of(found.version)))
    return [
        f"electron: {found.version} ({found.source}, sha256 {found.sha256[:12]})"
        + (f", has no {', '.join(lacking)}: its specs are left out" if lacking else "")
    ]
