"""A real terminal in the host page: xterm.js, as npm installs it."""

from __future__ import annotations

import json
from pathlib import Path

from focusguard.electron.errors import RigError
from probes.fixture import Fixture

PACKAGE = Path(__file__).resolve().parents[2] / "node_modules" / "@xterm" / "xterm"
#: Opens it in the gap that the fixture's own fields leave, and keeps what it would send to a program.
OPEN = """(() => {
  const style = document.createElement('style');
  style.textContent = %(css)s;
  document.head.append(style);
  const box = document.createElement('div');
  box.style.cssText = 'position:absolute;left:944px;top:104px;width:304px;height:64px;overflow:hidden';
  document.body.append(box);
  const terminal = new Terminal({ cols: 36, rows: 3 });
  terminal.open(box);
  terminal.onData((data) => {
    window.fixtureXterm.sent += data;
    terminal.write(data);
  });
  window.fixtureXterm = { sent: '' };
  terminal.textarea.dataset.field = 'xterm';
})()"""


async def place_xterm(fixture: Fixture) -> None:
    """Open a terminal in the host page.

    Raises:
        RigError: xterm.js is not installed.
    """
    library, css = PACKAGE / "lib" / "xterm.js", PACKAGE / "css" / "xterm.css"
    if not library.exists():
        raise RigError("xterm.js is not installed; run `make tools`")
    await fixture.execute("host", f"{library.read_text('utf-8')}\n;0")
    await fixture.execute("host", OPEN % {"css": json.dumps(css.read_text("utf-8"))})


async def sent_by_xterm(fixture: Fixture) -> str:
    """All that the person has typed, as the program in the terminal gets it."""
    return str(await fixture.execute("host", "window.fixtureXterm.sent"))
