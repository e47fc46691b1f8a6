"""Loading the bridge into an app that does not do it itself: through the main process's Node inspector.

The inspector is an open door for every local process, so it is closed again from inside as soon as the code is in.
Measured on Electron 9.4, 22.3, 25.1 and 33.2: `--inspect-brk=0` stops before the app's first line, and the inspector
closes from inside. A packaged build can forbid it with a fuse (`nodeCliInspect`).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from focusguard.electron.errors import LaunchFailed

#: The switch that opens the inspector on a free port of loopback and waits before the app's first line.
WAIT_SWITCH = "--inspect-brk=0"
START_SECONDS = 30.0
ANSWER_SECONDS = 10.0

# `inspector.close()` would block the app until this side has disconnected; the other one does not wait.
_CLOSE = "setTimeout(() => process._debugEnd ? process._debugEnd() : require('inspector').close(), 10); 0"


async def wait_for_inspector(output: Callable[[], str], ended: Callable[[], int | None]) -> str:
    """The inspector's address, as the app prints it.

    Args:
        output: What the app has printed so far.
        ended: The app's exit code, None while it runs.

    Raises:
        LaunchFailed: It printed none; the build forbids the inspector, or the app ended.
    """
    with anyio.move_on_after(START_SECONDS):
        while True:
            code = ended()
            found = re.search(r"Debugger listening on (ws://\S+)", output())
            if found is not None:
                return found[1]
            if code is not None:
                raise LaunchFailed(f"the app ended with {code} before its Node inspector was open")
            await anyio.sleep(0.01)
    raise LaunchFailed(
        "the app opened no Node inspector: its build forbids it (fuse nodeCliInspect). "
        "Have the app require the bridge itself, or run without one (bridge='none')"
    )


async def load(url: str, script: Path, env: Mapping[str, str], *, waiting: bool) -> None:
    """Load a file into the main process, then close the inspector from inside.

    Args:
        url: The inspector's WebSocket.
        script: What to load with the main process's own `require`.
        env: Variables that the file finds in `process.env`.
        waiting: The app waits before its first line (`WAIT_SWITCH`), where there is no `require` earlier.

    Raises:
        LaunchFailed: The inspector cannot be reached, the file failed, or the inspector did not close.
    """
    try:
        connection = await connect(
            url, max_size=None, compression=None, ping_interval=None, open_timeout=ANSWER_SECONDS
        )
    except (OSError, TimeoutError, InvalidHandshake) as fault:
        raise LaunchFailed(f"no Node inspector answers at {url} ({fault})") from fault
    async with connection:
        ids = itertools.count(1)
        await _call(connection, ids, "Runtime.enable")
        if waiting:
            await _call(connection, ids, "Debugger.enable")
            await _call(connection, ids, "Runtime.runIfWaitingForDebugger")
            await _wait_for_pause(connection)
        code = f"Object.assign(process.env, {json.dumps(dict(env))}); require({json.dumps(str(script))}); 'loaded'"
        answer = await _call(connection, ids, "Runtime.evaluate", expression=code, includeCommandLineAPI=True)
        if answer.get("result", {}).get("value") != "loaded":
            details = answer.get("exceptionDetails", {})
            reason = details.get("exception", {}).get("description", details.get("text", "no reason given"))
            raise LaunchFailed(f"the bridge could not be loaded into the app: {reason}")
        await _call(connection, ids, "Runtime.evaluate", expression=_CLOSE, includeCommandLineAPI=True)
        await _call(connection, ids, "Debugger.disable")  # lets a waiting app go on
    await _check_closed(url)


async def _call(
    connection: ClientConnection, ids: itertools.count[int], method: str, **params: Any
) -> dict[str, Any]:
    number = next(ids)
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            await connection.send(json.dumps({"id": number, "method": method, "params": params}))
            while True:
                message = json.loads(await connection.recv())
                if message.get("id") == number:
                    result: dict[str, Any] = message.get("result", {})
                    return result
    except ConnectionClosed:
        return {}  # closing the inspector cuts the answer off
    except TimeoutError:
        raise LaunchFailed(
            f"the app's Node inspector did not answer {method} within {ANSWER_SECONDS:g} s"
        ) from None


async def _wait_for_pause(connection: ClientConnection) -> None:
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            while json.loads(await connection.recv()).get("method") != "Debugger.paused":
                pass
    except (ConnectionClosed, TimeoutError):
        raise LaunchFailed(
            "the app did not stop before its first line, so the bridge was not loaded"
        ) from None


async def _check_closed(url: str) -> None:
    port = int(re.search(r":(\d+)/", url)[1])  # type: ignore[index]
    with anyio.move_on_after(ANSWER_SECONDS):
        while True:
            try:
                stream = await anyio.connect_tcp("127.0.0.1", port)
            except OSError:
                return
            await stream.aclose()
            await anyio.sleep(0.02)
    raise LaunchFailed(f"the app's Node inspector on port {port} did not close again; end the app")
