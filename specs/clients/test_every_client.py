"""Unmodified clients do their everyday tasks through the guard while the person types: 12 real keys a second.

Where an outcome is not `ok`, the control shows what the same client gets from an app that no guard is near.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from specs.clients.driver import CLIENTS
from specs.clients.expected import EXPECTED, Expected
from specs.clients.tasks import MARKS, TASKS, Scene, open_scene

pytestmark = MARKS

BY_NAME = {client.name: client for client in CLIENTS}


@pytest.fixture(scope="module")
async def scene(
    request: pytest.FixtureRequest,
    runtime: Runtime,
    display: Display,
    janitor: Janitor,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Scene]:
    """One app and one client for all tasks of a route."""
    route, name = request.param
    folder = tmp_path_factory.mktemp("client")
    async with open_scene(route, BY_NAME[name], runtime, display, janitor, folder) as opened:
        yield opened


def _on(route: str, names: Iterable[str]) -> pytest.MarkDecorator:
    cases = [pytest.param((route, name), id=name) for name in names]
    return pytest.mark.parametrize("scene", cases, indirect=True, scope="module")


@pytest.mark.parametrize("task", list(TASKS))
@_on("guarded", BY_NAME)
async def test_guarded(scene: Scene, task: str) -> None:
    expected = EXPECTED.get((scene.client.name, task), Expected("ok", "ok"))
    assert await scene.run(TASKS[task]) == expected.guarded


@_on("raw", sorted({name for name, _ in EXPECTED}))
async def test_raw_control(scene: Scene) -> None:
    expected = {task: EXPECTED[name, task].raw for name, task in EXPECTED if name == scene.client.name}
    found = {task: await scene.run(TASKS[task]) for task in TASKS if task in expected}
    assert found == expected
