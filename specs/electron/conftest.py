"""The app in a hidden window, by the two ways in which an agent reaches it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.runtimes import Runtime
from specs.guarded import Stage, stage


@pytest.fixture(scope="module")
async def guarded(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Stage]:
    async with stage("guarded", runtime, display, janitor, window="hidden") as running:
        yield running


@pytest.fixture(scope="module")
async def raw(runtime: Runtime, display: Display, janitor: Janitor) -> AsyncIterator[Stage]:
    async with stage("raw", runtime, display, janitor, window="hidden") as running:
        yield running
