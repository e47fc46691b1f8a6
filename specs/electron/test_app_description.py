"""`/json/protocol` of a real app: what its own port serves, with the guard's domain. Over a pipe, where the app has no
such route, and over a port."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import pytest

from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import launch_electron
from focusguard.electron.runtimes import Runtime
from focusguard.guard import attach, launch
from focusguard.proxy.description import DOMAIN

pytestmark = [pytest.mark.electron, pytest.mark.anyio]


async def protocol(base: str) -> Any:
    def get() -> Any:
        with urllib.request.urlopen(f"{base}/json/protocol", timeout=20) as answer:
            return json.load(answer)

    return await anyio.to_thread.run_sync(get)


async def test_it_is_the_apps_own(
    known_runtime: Runtime, display: Display, janitor: Janitor, rig_app: Path
) -> None:
    async with (
        launch_electron(
            known_runtime, rig_app, display=display, debugging="port", janitor=janitor
        ) as process,
        attach(process.debugging_url or "") as attached,
    ):
        raw = await protocol("http://" + urlsplit(process.debugging_url or "").netloc)
        over_port = await protocol(attached.endpoint)
    async with launch(known_runtime, rig_app, display=display, janitor=janitor) as launched:
        launched_one = await protocol(launched.endpoint)
    names = {domain["domain"] for domain in raw["domains"]}
    assert {"Page", "Input", "Target", "Runtime"} <= names and "FocusGuard" not in names
    assert over_port == launched_one == {**raw, "domains": [*raw["domains"], DOMAIN]}


async def test_over_a_pipe_without_a_bridge_it_is_refused_by_name(
    runtime: Runtime, display: Display, janitor: Janitor, rig_app: Path
) -> None:
    async with launch(runtime, rig_app, display=display, janitor=janitor, bridge="none") as guard:
        with pytest.raises(urllib.error.HTTPError) as caught:
            await protocol(guard.endpoint)
        assert caught.value.code == 501
        assert b"Use your client's own copy" in caught.value.read()
