"""Electron starts on every known version, says how to reach it, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from websockets.asyncio.client import connect

from focusguard.electron import reaper
from focusguard.electron.display import Display
from focusguard.electron.errors import LaunchFailed, RuntimeMissing
from focusguard.electron.janitor import Janitor
from focusguard.electron.launching import ElectronProcess, launch_electron, node_require
from focusguard.electron.runtimes import Runtime, runtime_at

pytestmark = pytest.mark.electron

Said = Callable[[ElectronProcess], list[dict[str, Any]]]


async def ready(process: ElectronProcess, said: Said, eventually: Any) -> dict[str, Any]:
    """Waits for the page, and returns what the main process said about itself."""
    await eventually(lambda: any(item["event"] == "ready" for item in said(process)), seconds=30)
    return next(item for item in said(process) if item["event"] == "app")


async def ask_pipe(process: ElectronProcess, method: str) -> dict[str, Any]:
    assert process.pipe is not None
    reading, writing = process.pipe
    os.write(writing, json.dumps({"id": 1, "method": method}).encode() + b"\0")
    text = b""
    with anyio.fail_after(20):
        while not text.endswith(b"\0"):
            await anyio.wait_readable(reading)
            text += os.read(reading, 65536)
    answer: dict[str, Any] = json.loads(text[:-1])
    return answer


def listening_ports(process: ElectronProcess) -> set[int]:
    """The TCP ports on which a process group listens, as the system sees it."""
    inodes = set()
    for pid in process.group:
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(descriptor.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == "0A" and cells[9] in inodes:
                ports.add(int(cells[1].rsplit(":", 1)[1], 16))
    return ports


class TestEveryVersion:
    async def test_the_app_finds_itself(
        self,
        known_runtime: Runtime,
        rig_app: Path,
        display: Display,
        janitor: Janitor,
        said: Said,
        eventually: Any,
    ) -> None:
        async with launch_electron(
            known_runtime, rig_app, display=display, janitor=janitor, args=["--mine", "word"]
        ) as process:
            told = await ready(process, said, eventually)
            assert told == {
                "event": "app",
                "name": "Rig App",
                "version": "7.8.9",
                "path": str(rig_app),
                "argv": [str(known_runtime.executable), str(rig_app), "--mine", "word"],
                "userData": str(process.user_data_dir),
                "isMain": True,
                "packaged": False,
                "early": None,
            }
            assert listening_ports(process) == set()

    async def test_over_a_pipe(
        self,
        known_runtime: Runtime,
        rig_app: Path,
        display: Display,
        janitor: Janitor,
        said: Said,
        eventually: Any,
    ) -> None:
        if not known_runtime.has_debugging_pipe:
            with pytest.raises(LaunchFailed, match="launch it with debugging='port'"):
                async with launch_electron(known_runtime, rig_app, display=display, debugging="pipe"):
                    pass
            return
        async with launch_electron(
            known_runtime, rig_app, display=display, janitor=janitor, debugging="pipe"
        ) as process:
            answer = await ask_pipe(process, "Browser.getVersion")
            assert answer["result"]["product"] == f"Chrome/{known_runtime.chromium}"
            await ready(process, said, eventually)
            assert listening_ports(process) == set()
            descriptors = process.pipe
        assert process.pipe is None
        for descriptor in descriptors or ():
            with pytest.raises(OSError):
                os.fstat(descriptor)

    async def test_over_a_port(
        self, known_runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor
    ) -> None:
        async with launch_electron(
            known_runtime, rig_app, display=display, janitor=janitor, debugging="port"
        ) as process:
            assert process.debugging_url is not None
            assert process.debugging_url.startswith("ws://127.0.0.1:")
            async with connect(process.debugging_url) as socket:
                await socket.send('{"id": 1, "method": "Browser.getVersion"}')
                with anyio.fail_after(20):
                    answer = json.loads(await socket.recv())
            assert answer["result"]["product"] == f"Chrome/{known_runtime.chromium}"
            port = int(process.debugging_url.split(":")[2].split("/")[0])
            assert listening_ports(process) == {port}

    async def test_a_file_is_loaded_before_the_app(
        self,
        known_runtime: Runtime,
        rig_app: Path,
        display: Display,
        janitor: Janitor,
        said: Said,
        eventually: Any,
    ) -> None:
        early = rig_app.parent / 'a "quoted" \\ name.cjs'
        early.write_text("global.early = 'yes';\n")
        async with launch_electron(
            known_runtime, rig_app, display=display, janitor=janitor, require=early
        ) as process:
            assert (await ready(process, said, eventually))["early"] == "yes"

    async def test_nothing_stays(
        self, known_runtime: Runtime, rig_app: Path, display: Display, said: Said, eventually: Any
    ) -> None:
        async with launch_electron(known_runtime, rig_app, display=display, debugging="port") as process:
            await ready(process, said, eventually)
            folder = str(process.user_data_dir.parent)
            assert len(process.group) > 3
            assert process.pid in reaper.marked_processes("", [folder])
        assert process.returncode is not None
        assert process.group == []
        assert reaper.marked_processes("", [folder]) == []
        assert not process.user_data_dir.parent.exists()


class TestStopping:
    async def test_an_app_that_will_not_quit_is_killed(
        self, runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor, said: Said, eventually: Any
    ) -> None:
        main = rig_app / "start.js"
        main.write_text(main.read_text() + "app.on('before-quit', (event) => event.preventDefault());\n")
        async with launch_electron(runtime, rig_app, display=display, janitor=janitor) as process:
            await ready(process, said, eventually)
            assert await process.stop(grace=0.3) == -9
        assert process.group == []

    async def test_a_stopped_process_is_killed(
        self, runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor, said: Said, eventually: Any
    ) -> None:
        async with launch_electron(runtime, rig_app, display=display, janitor=janitor) as process:
            await ready(process, said, eventually)
            os.killpg(process.pid, signal.SIGSTOP)
            await process.stop(grace=0.2)
        assert process.group == []

    async def test_a_cancelled_owner_cleans_up(
        self, runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor, said: Said, eventually: Any
    ) -> None:
        seen: list[ElectronProcess] = []
        async with anyio.create_task_group() as group:

            async def own() -> None:
                async with launch_electron(runtime, rig_app, display=display, janitor=janitor) as process:
                    seen.append(process)
                    await anyio.sleep_forever()

            group.start_soon(own)
            await eventually(
                lambda: seen and any(item["event"] == "ready" for item in said(seen[0])), seconds=30
            )
            group.cancel_scope.cancel()
        assert seen[0].group == []
        assert not seen[0].user_data_dir.exists()

    async def test_waiting_for_the_app_s_own_end(
        self, runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor
    ) -> None:
        (rig_app / "start.js").write_text("require('electron').app.exit(7);\n")
        async with launch_electron(runtime, rig_app, display=display, janitor=janitor) as process:
            with anyio.fail_after(30):
                assert await process.wait() == 7


class TestFailing:
    async def test_an_app_that_throws_is_quoted(
        self, runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor
    ) -> None:
        if runtime.source not in ("cache", "registry"):
            pytest.skip("Electron's own default app shows a dialog instead")
        (rig_app / "start.js").write_text("throw new Error('out of tea');\n")
        with pytest.raises(LaunchFailed, match=r"ended with 1; it said: .*out of tea"):
            async with launch_electron(
                runtime, rig_app, display=display, janitor=janitor, debugging="port"
            ) as it:
                await it.wait()
                raise LaunchFailed(it.ending())  # the port was open before the app was loaded

    async def test_no_display_is_named(self, runtime: Runtime, rig_app: Path, janitor: Janitor) -> None:
        nowhere = {"DISPLAY": ":1234567", "WAYLAND_DISPLAY": "", "XDG_SESSION_TYPE": "x11"}
        with pytest.raises(LaunchFailed, match="there is no display"):
            async with launch_electron(
                runtime,
                rig_app,
                env=nowhere,
                janitor=janitor,
                debugging="port",
                args=["--ozone-platform=x11"],
            ) as process:
                await process.wait()
                raise LaunchFailed(process.ending())

    async def test_what_is_no_executable(self, rig_app: Path, tmp_path: Path) -> None:
        with pytest.raises(RuntimeMissing, match="not an executable"):
            async with launch_electron(tmp_path / "none", rig_app):
                pass
        script = tmp_path / "script"
        script.write_bytes(b"\x7fELF nonsense")
        script.chmod(0o755)
        with pytest.raises(LaunchFailed, match="could not be started"):
            async with launch_electron(script, rig_app):
                pass

    async def test_a_taken_pipe_cannot_be_taken_again(
        self, runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor
    ) -> None:
        async with launch_electron(
            runtime, rig_app, display=display, janitor=janitor, debugging="pipe"
        ) as process:
            taken = process.take_pipe()
            with pytest.raises(LaunchFailed, match="no debugging pipe"):
                process.take_pipe()
        for descriptor in taken:
            os.close(descriptor)  # still open: whoever took it closes it


class TestEnvironment:
    async def test_a_surrounding_electron_does_not_turn_it_into_node(
        self,
        runtime: Runtime,
        rig_app: Path,
        display: Display,
        janitor: Janitor,
        said: Said,
        eventually: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("ELECTRON_RUN_AS_NODE", "1")
        monkeypatch.setenv("NODE_OPTIONS", "--require /nowhere.cjs")
        async with launch_electron(runtime, rig_app, display=display, janitor=janitor) as process:
            await ready(process, said, eventually)

    async def test_a_main_file_may_be_named(
        self, runtime: Runtime, rig_app: Path, display: Display, janitor: Janitor, said: Said, eventually: Any
    ) -> None:
        async with launch_electron(
            runtime, rig_app / "start.js", display=display, janitor=janitor
        ) as process:
            assert (await ready(process, said, eventually))["isMain"] is True

    async def test_a_folder_with_an_executable_may_be_named(self, runtime: Runtime) -> None:
        found = await anyio.to_thread.run_sync(runtime_at, runtime.executable.parent)
        assert (found.version, found.chromium) == (runtime.version, runtime.chromium)

    def test_a_path_is_quoted_for_node(self) -> None:
        assert node_require(Path('/a b/c"d\\e.cjs')) == '--require "/a b/c\\"d\\\\e.cjs"'
