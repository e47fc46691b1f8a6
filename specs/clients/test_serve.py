"""`focusguard serve` with real apps: one endpoint, whatever becomes of the app, and nothing that stays."""

from __future__ import annotations

import os
import signal
import socket
import stat
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from focusguard.electron import reaper
from focusguard.electron.display import Display
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import launch_electron
from focusguard.electron.runtimes import Runtime
from probes.fixture import FIXTURE
from probes.landing.cdp_client import open_client
from specs.commands import Command, started

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]


async def guests(serve: Command) -> list[str]:
    """What a client sees that connects to the endpoint as it was printed first."""
    async with open_client(serve.objects[0]["wsEndpoint"]) as client:
        infos = (await client.send("Target.getTargets"))["targetInfos"]
        return [info["url"] for info in infos if info["type"] == "page"]


async def status(serve: Command) -> int:
    """The HTTP status of the endpoint."""

    def ask() -> int:
        try:
            with urllib.request.urlopen(f"{serve.objects[0]['endpoint']}/json/version", timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code

    return await anyio.to_thread.run_sync(ask)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
    return port


async def test_it_comes_back_after_the_app_was_killed_and_sigterm_leaves_nothing(
    runtime: Runtime, display: Display, tmp_path: Path, temporary: Path, eventually: Eventually
) -> None:
    tokens = tmp_path / "state" / "token"
    arguments = ["serve", "--json", "--port", "0", "--restart", "--token-file", str(tokens)]
    env = {**display.env, "TMPDIR": str(temporary)}
    async with started(tmp_path, *arguments, "--", str(runtime.executable), str(FIXTURE), env=env) as serve:
        await eventually(lambda: serve.events("app.guarded"), seconds=60)
        await eventually(lambda: serve.events("guest.ready"))
        assert stat.S_IMODE(tokens.stat().st_mode) == 0o600
        assert tokens.read_text().strip() in serve.objects[0]["endpoint"]
        first, seen = serve.events("app.guarded")[0]["pid"], await guests(serve)
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: serve.events("app.ended"))
        assert await status(serve) == 503
        await eventually(lambda: len(serve.events("app.guarded")) == 2, seconds=60)
        await eventually(lambda: len(serve.events("guest.ready")) == 2)
        second = serve.events("app.guarded")[1]["pid"]
        assert second != first
        assert len(await guests(serve)) == len(seen) == 1
        serve.process.terminate()
        assert await serve.ends() == 0
        assert serve.objects[-1] == {"stopped": "terminated"}
        assert serve.complaints == ""
    for pid in (first, second):
        assert reaper.group_members(pid) == []
    assert list(temporary.glob("focusguard-*")) == []


async def test_it_guards_each_app_that_opens_the_port(
    runtime: Runtime, display: Display, janitor: Janitor, tmp_path: Path, eventually: Eventually
) -> None:
    port, inspector = free_port(), free_port()
    arguments = ["--attach", str(port), "--inspector", f"http://127.0.0.1:{inspector}"]
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    async with started(tmp_path, "serve", "--json", "--port", "0", *arguments, env=env) as serve:
        await eventually(lambda: serve.events("app.awaited"), seconds=20)
        assert serve.objects[0]["tokenFile"] == str(tmp_path / "state" / "focusguard" / "token")
        assert await status(serve) == 503
        for turn in (1, 2):
            switches = [f"--remote-debugging-port={port}", f"--inspect=127.0.0.1:{inspector}"]
            async with launch_electron(
                runtime, FIXTURE, display=display, switches=switches, janitor=janitor
            ) as app:
                await eventually(
                    lambda turn=turn, app=app: (
                        app.returncode is not None or len(serve.events("app.guarded")) == turn
                    ),
                    seconds=60,
                )
                assert app.returncode is None, app.ending()
                guarded = serve.events("app.guarded")[-1]
                assert (guarded["mode"], guarded["pid"]) == ("bridge", app.pid)
                await eventually(lambda: guests(serve), seconds=20)
            await eventually(lambda turn=turn: len(serve.events("app.ended")) == turn, seconds=20)
            assert await status(serve) == 503
        serve.process.send_signal(signal.SIGINT)
        assert await serve.ends() == 130
        assert serve.objects[-1] == {"stopped": "interrupted"}
        assert serve.complaints.split() == ["interrupted"]


async def test_an_app_that_is_not_there(tmp_path: Path) -> None:
    arguments = [
        "--port",
        "0",
        "--token-file",
        str(tmp_path / "token"),
        "--restart",
        "--",
        str(tmp_path / "no-app"),
    ]
    async with started(tmp_path, "serve", "--json", *arguments) as serve:
        assert await serve.ends() == 1
        assert str(tmp_path / "no-app") in serve.complaints
        assert str(tmp_path / "no-app") in serve.objects[-1]["stopped"]
