"""Why Chrome DevTools MCP has the page loaded anew as it connects: until then its numbers are not one element's."""

from __future__ import annotations

from pathlib import Path

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from probes.observed import Embedding
from specs.clients.driver import CLIENTS
from specs.clients.tasks import MARKS, Scene
from specs.guarded import Route, stage

pytestmark = MARKS


@pytest.mark.parametrize(("route", "kind"), [("guarded", "webview"), ("raw", "window")])
async def test_a_number_is_one_elements_after_a_reload(
    route: Route, kind: Embedding, runtime: Runtime, display: Display, janitor: Janitor, tmp_path: Path
) -> None:
    """The same on both routes; without the guard in windows, as it takes no webview for a page."""
    (client,) = (each for each in CLIENTS if each.name == "Chrome DevTools MCP")
    async with stage(route, runtime, display, janitor, guests=2, embedding=kind) as on:
        scene = Scene(on, client, tmp_path)
        try:
            (driver,) = await scene.drivers(1)
            before, after = await driver.ask("numbers", **scene.address())
        finally:
            await scene.close()
        assert len(set(before)) < len(before)
        assert len(set(after)) == len(after)
