"""Starts Electron so that nothing of it stays: a process group, a profile and a janitor of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Literal

import anyio
from anyio.abc import Process

from focusguard.electron import reaper
from focusguard.electron.display import FOREIGN_VARIABLES, Display
from focusguard.electron.errors import LaunchFailed
from focusguard.electron.janitor import Janitor, end_group, janitor_or_own
from focusguard.electron.runtimes import Runtime, runtime_at

#: Seconds until "DevTools listening on" must have been seen.
START_SECONDS = 45.0
#: Bytes of the app's own output that an error message may quote.
TAIL = 8192
#: Set by a program that is Electron itself, and would turn the app into plain Node.
INHERITED_TRAPS = ("ELECTRON_RUN_AS_NODE", "ELECTRON_NO_ASAR", "NODE_OPTIONS", "NODE_PATH")
#: Moves the two ends of the pipe to 3 and 4, where Chromium looks for them, and becomes the app.
#: (`pass_fds` keeps numbers as they are; `preexec_fn` is not safe in a program with threads.)
ONTO_3_AND_4 = """
import fcntl, os, sys
high = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for number in sys.argv[1:3]:
    os.close(int(number))
for number, target in zip(high, (3, 4)):
    os.dup2(number, target)
    os.close(number)
os.execv(sys.argv[3], sys.argv[3:])
"""


class ElectronProcess:
    """A running Electron. Made by `launch_electron`.

    Attributes:
        runtime: What was started.
        user_data_dir: Its profile, a temporary folder.
        debugging_url: The browser's WebSocket in port mode, else None.
        pipe: In pipe mode (descriptor to read from, descriptor to write to), both blocking; messages are JSON
            that ends with a NUL byte. Closed with the process unless `take_pipe` was called. None otherwise.
    """

    def __init__(
        self, process: Process, runtime: Runtime, folder: Path, pipe: tuple[int, int] | None
    ) -> None:
        self.runtime = runtime
        self.user_data_dir = folder / "profile"
        self.debugging_url: str | None = None
        self.pipe = pipe
        self._process = process
        self._log = folder / "output.log"

    @property
    def pid(self) -> int:
        """The browser process's id, which is the process group's too."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code; negative for a signal, None while it runs."""
        return self._process.returncode

    @property
    def group(self) -> list[int]:
        """The living processes of its group."""
        return reaper.group_members(self.pid)

    def output_tail(self, size: int = TAIL) -> str:
        """The end of what it wrote to standard output and error."""
        try:
            with self._log.open("rb") as stream:
                stream.seek(max(0, stream.seek(0, os.SEEK_END) - size))
                return stream.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def ending(self) -> str:
        """Why it is not running, or not answering, in one sentence for an error message."""
        state = "is running" if self.returncode is None else f"ended with {self.returncode}"
        said = json.dumps(self.output_tail(1500).strip())
        return f"Electron {self.runtime.version} {state}; it said: {said}{_hint(self.output_tail())}"

    def take_pipe(self) -> tuple[int, int]:
        """Hands over the pipe's descriptors: who took them closes them.

        Raises:
            LaunchFailed: It was not started in pipe mode, or the pipe has been taken.
        """
        if self.pipe is None:
            raise LaunchFailed("there is no debugging pipe to take; launch with debugging='pipe'")
        pipe, self.pipe = self.pipe, None
        return pipe

    async def wait(self) -> int:
        """Waits until it has ended.

        Returns:
            The exit code.
        """
        return await self._process.wait()

    async def stop(self, *, grace: float = 3.0) -> int | None:
        """Ends the whole process group and waits for it.

        Args:
            grace: Seconds that it has to quit by itself before it is killed.

        Returns:
            The exit code.
        """
        await end_group(self._process, grace=grace)
        return self._process.returncode

    def close_pipe(self) -> None:
        """Closes the pipe's descriptors if they have not been taken."""
        if self.pipe is not None:
            for descriptor in self.pipe:
                with suppress(OSError):
                    os.close(descriptor)
            self.pipe = None


@asynccontextmanager
async def launch_electron(
    runtime: Runtime | Path,
    app: Path | None,
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    display: Display | None = None,
    debugging: Literal["pipe", "port", "none"] = "none",
    require: Path | None = None,
    switches: Sequence[str] = (),
    await_port: bool = True,
    janitor: Janitor | None = None,
) -> AsyncIterator[ElectronProcess]:
    """Starts Electron, and ends it with everything that it started on leaving.

    Args:
        runtime: What to start: a `Runtime`, or the path of an executable.
        app: The app's folder or main file; None for a packaged app.
        args: The app's own arguments and switches, after its path.
        env: Variables over those of this process and of the display.
        display: Where to show it; the display of this process's environment where there is none.
        debugging: How its DevTools protocol is reached. `port`: a free one; it listens when this returns.
        require: A file that Node loads before the app (`NODE_OPTIONS=--require`); a packaged app refuses it.
        switches: Electron's and Node's own switches, before the app's path.
        await_port: In port mode, wait until it listens; False leaves that to `wait_for_port`.
        janitor: Ends it if this process is killed; one is started where none is given.

    Yields:
        The process.

    Raises:
        LaunchFailed: It cannot be started this way, or it ended before it was ready.
    """
    chosen = runtime if isinstance(runtime, Runtime) else runtime_at(runtime)
    if debugging == "pipe" and not chosen.has_debugging_pipe:
        raise LaunchFailed(
            f"Electron {chosen.version} does not answer on a debugging pipe; "
            "launch it with debugging='port' instead"
        )
    async with AsyncExitStack() as stack:
        keeper = await stack.enter_async_context(janitor_or_own(janitor))
        folder = Path(tempfile.gettempdir()) / f"focusguard-electron-{os.urandom(6).hex()}"
        keeper.watch_path(folder)
        stack.callback(keeper.release_path, folder)
        stack.callback(reaper.remove_path, folder)
        folder.mkdir(mode=0o700)
        (folder / "profile").mkdir()
        command = [str(chosen.executable), *_switches(folder, debugging, display), *switches]
        command += [str(app.absolute())] if app is not None else []
        command += args
        process = await _start(
            command, folder, _environment(env, display, require), keeper, chosen, piped=debugging == "pipe"
        )
        stack.push_async_callback(_stop, process, keeper)
        if debugging == "port" and await_port:
            await wait_for_port(process)
        yield process


def node_require(file: Path) -> str:
    """The value for `NODE_OPTIONS` that has Node load a file first, whatever characters its path has."""
    text = str(file.absolute()).replace("\\", "\\\\").replace('"', '\\"')
    return f'--require "{text}"'


def _switches(folder: Path, debugging: str, display: Display | None) -> list[str]:
    switches = [f"--user-data-dir={folder / 'profile'}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        switches.append("--no-sandbox")  # Chromium refuses to run as root with its sandbox on
    if debugging == "pipe":
        switches.append("--remote-debugging-pipe")
    elif debugging == "port":
        switches.append("--remote-debugging-port=0")
    if display is not None:
        # An X server in memory has no graphics card; newer versions would look for a Wayland compositor.
        switches += ["--disable-gpu", "--ozone-platform=x11"]
    return switches


def _environment(
    env: Mapping[str, str] | None, display: Display | None, require: Path | None
) -> dict[str, str]:
    drop = INHERITED_TRAPS if display is None else (*INHERITED_TRAPS, *FOREIGN_VARIABLES)
    result = {name: value for name, value in os.environ.items() if name not in drop}
    result |= display.env if display is not None else {}
    result |= env or {}
    if require is not None:
        result["NODE_OPTIONS"] = f"{result.get('NODE_OPTIONS', '')} {node_require(require)}".strip()
    return result


async def _start(
    command: list[str], folder: Path, env: dict[str, str], keeper: Janitor, runtime: Runtime, *, piped: bool
) -> ElectronProcess:
    theirs: tuple[int, ...] = ()
    ours: tuple[int, int] | None = None
    if piped:
        from_us, to_them = os.pipe()
        to_us, from_them = os.pipe()
        theirs, ours = (from_us, from_them), (to_us, to_them)
        command = [sys.executable, "-I", "-S", "-c", ONTO_3_AND_4, str(from_us), str(from_them), *command]
    try:
        with (folder / "output.log").open("wb") as output:
            # Into a file and not a pipe: an app must not come to a halt because nobody reads what it says.
            process = await anyio.open_process(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**env, **keeper.env},
                start_new_session=True,
                pass_fds=theirs,
            )
    except OSError as error:
        for descriptor in ours or ():
            os.close(descriptor)
        raise LaunchFailed(f"{runtime.executable} could not be started: {error}") from error
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    keeper.watch_group(process.pid)
    return ElectronProcess(process, runtime, folder, ours)


async def _stop(process: ElectronProcess, keeper: Janitor) -> None:
    try:
        await process.stop()
    finally:
        process.close_pipe()
        keeper.release_group(process.pid)


async def wait_for_port(process: ElectronProcess) -> str:
    """Waits until an app that was launched in port mode listens, and notes its `debugging_url`.

    Raises:
        LaunchFailed: It ended before, or did not listen in time.
    """
    with anyio.move_on_after(START_SECONDS):
        while True:
            ended = process.returncode is not None
            found = re.search(r"DevTools listening on (ws://\S+)", process.output_tail(1 << 20))
            if found is not None:
                process.debugging_url = found[1]
                return found[1]
            if ended:
                raise LaunchFailed(f"no debugging port was opened: {process.ending()}")
            await anyio.sleep(0.01)
    raise LaunchFailed(f"no debugging port was opened within {START_SECONDS:g} s: {process.ending()}")


def _hint(output: str) -> str:
    if "error while loading shared libraries" in output:
        return "; a system library is missing: run `make setup` as root, or install Electron's libraries"
    if "Missing X server" in output or "cannot open display" in output.lower():
        return "; there is no display: set DISPLAY, run it under `xvfb-run -a`, or pass one made by isolated_display"
    if "SUID sandbox" in output or "No usable sandbox" in output:
        return "; Chromium's sandbox cannot be set up here: pass --no-sandbox in args if you trust the app"
    return ""
