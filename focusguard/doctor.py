"""What has to be there for the guard to work, looked at piece by piece: each finding says what to do about it.

Everything is bounded, and what is started (a display of its own, the app) is ended again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import anyio
import anyio.to_thread
from Xlib import display as xdisplay
from Xlib import error as xerror

from focusguard.bridge import BRIDGE_SCRIPT
from focusguard.bridge.link import BridgeLink, open_bridge_link
from focusguard.electron import input_method, inspector
from focusguard.electron.display import isolated_display
from focusguard.electron.errors import DisplayFailed, RigError, RuntimeMissing
from focusguard.electron.janitor import open_janitor
from focusguard.electron.launching import ElectronProcess, launch_electron, wait_for_port
from focusguard.electron.runtimes import (
    FUSE_ASAR_INTEGRITY,
    FUSE_NODE_INSPECTOR_ARGUMENTS,
    FUSE_NODE_OPTIONS,
    FUSE_ONLY_ASAR,
    Runtime,
    file_sha256,
    find_runtime,
    fuses_at,
)
from focusguard.groups import single_error
from focusguard.proxy.upstream import PipeUpstream, Upstream, WebSocketUpstream

#: Seconds for a program that only tells something, and for a display to answer.
ANSWER_SECONDS = 10.0
#: Seconds for a started app to answer on its CDP endpoint, and for the bridge in it to say hello.
START_SECONDS = 20.0
#: Seconds for an app that has closed its endpoint to end.
END_SECONDS = 2.0
#: An app that does nothing, for a look at the runtime where no app is given.
IDLE_APP = "require('electron').app.on('window-all-closed', () => {});\n"
#: Debian's packages for the libraries that Electron is usually found without.
LIBRARY_PACKAGES = {
    "libgtk-3.so.0": "libgtk-3-0",
    "libnss3.so": "libnss3",
    "libnspr4.so": "libnss3",
    "libasound.so.2": "libasound2",
    "libgbm.so.1": "libgbm1",
    "libXss.so.1": "libxss1",
    "libXtst.so.6": "libxtst6",
    "libatk-bridge-2.0.so.0": "libatk-bridge2.0-0",
}
#: What an input method's variable names, and the program that has to be there for it.
INPUT_METHODS = {"fcitx": "fcitx5", "fcitx5": "fcitx5", "ibus": "ibus-daemon"}

Bridge = Literal["preload", "app", "inject"]


class State(StrEnum):
    """How a finding ends.

    `NOTE`: it works, and there is something to know; `BAD`: something will not work.
    """

    OK = "ok"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what it is about, such as `fuses`.
        state: whether it works.
        found: what is there, in a sentence.
        advice: what to do about it; empty where there is nothing to do.
    """

    name: str
    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at.

    Attributes:
        runtime: the Electron, or the packaged app's executable.
        app: the app's folder or main file; None for a packaged app, and where none was given.
        given: whether an app was given at all.
    """

    runtime: Runtime
    app: Path | None
    given: bool


async def examine(
    electron: str | None, app: Path | None, *, bridge: Bridge = "preload"
) -> AsyncGenerator[Finding]:
    """Look at everything, one thing after the other.

    Args:
        electron: version or path of the Electron; the default where there is none.
        app: an app's folder or main file, or the executable of a packaged app.
        bridge: how the bridge is to get into the app, as in `focusguard.launch`.

    Yields:
        What was found, as soon as it is.
    """
    for finding in displays(await display(os.environ), await own_display()):
        yield finding
    yield input_methods(os.environ)
    try:
        subject = await anyio.to_thread.run_sync(subject_of, electron, app)
    except RuntimeMissing as error:
        yield Finding("runtime", State.BAD, "there is no Electron to start", str(error))
        return
    yield await anyio.to_thread.run_sync(runtime, subject.runtime)
    yield await anyio.to_thread.run_sync(libraries, subject.runtime.executable)
    yield await anyio.to_thread.run_sync(fuses, subject.runtime.executable, bridge)
    for finding in await starting(subject, bridge):
        yield finding


def subject_of(electron: str | None, app: Path | None) -> Subject:
    """What the given words mean: an app for an Electron, or a packaged app that brings its own.

    Raises:
        RuntimeMissing: there is no Electron.
        ValueError: `app` is neither.
    """
    if app is None:
        return Subject(find_runtime(electron), None, given=False)
    if (app / "package.json").is_file() or (app.is_file() and app.suffix in (".js", ".cjs", ".mjs", ".asar")):
        return Subject(find_runtime(electron), app, given=True)
    if app.is_dir() or not os.access(app, os.X_OK):
        raise ValueError(
            f"{app} is neither an app (a folder with a package.json, a script) nor an executable"
        )
    if electron is not None:
        raise ValueError(f"{app} is an executable, which brings its own Electron: leave --electron out")
    return Subject(find_runtime(app), None, given=True)


def runtime(chosen: Runtime) -> Finding:
    """Which Electron it is, and whether it still is what was installed."""
    what = f"Electron {chosen.version} ({chosen.source}) at {chosen.executable}"
    if chosen.source != "cache":
        return Finding("runtime", State.OK, f"{what}, sha256 {chosen.sha256[:12]}")
    if file_sha256(chosen.executable) != chosen.sha256:
        return Finding(
            "runtime",
            State.BAD,
            f"{what} is not what was installed: its sha256 is another",
            f"run `focusguard electron install {chosen.version} --force`",
        )
    return Finding("runtime", State.OK, f"{what}, its sha256 is that of the installation")


def libraries(executable: Path) -> Finding:
    """Whether the system has the libraries that the executable is linked with."""
    try:
        told = subprocess.run(
            ["ldd", str(executable)], capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("libraries", State.NOTE, f"they cannot be listed: {error}", "install ldd (libc-bin)")
    missing = re.findall(r"^\s*(\S+) => not found", told.stdout, re.MULTILINE)
    if missing:
        packages = sorted({LIBRARY_PACKAGES[name] for name in missing if name in LIBRARY_PACKAGES})
        others = [name for name in missing if name not in LIBRARY_PACKAGES]
        advice = f"run `apt-get install -y {' '.join(packages)}`" if packages else ""
        if others:
            advice += f"{'; ' if advice else ''}install the packages that have {', '.join(others)}"
        return Finding("libraries", State.BAD, f"missing: {', '.join(missing)}", advice)
    count = told.stdout.count(" => ")
    if count == 0:
        return Finding(
            "libraries",
            State.NOTE,
            f"{executable.name} is no program that is linked with any",
            "name the Electron executable itself where this is a script that starts it",
        )
    return Finding("libraries", State.OK, f"all {count} that {executable.name} is linked with")


def fuses(executable: Path, bridge: Bridge) -> Finding:
    """Whether the build lets the bridge in the way that was asked for."""
    try:
        found = fuses_at(executable)
    except (OSError, ValueError) as error:
        return Finding("fuses", State.NOTE, f"they cannot be read: {error}")
    if found is None and not _is_program(executable):
        advice = "name the Electron executable itself where this is a script that starts it"
        return Finding("fuses", State.NOTE, f"{executable.name} is no program that could have any", advice)
    if found is None:
        return Finding("fuses", State.OK, "the build has none, so nothing is switched off")
    options, inspect = found.get(FUSE_NODE_OPTIONS, True), found.get(FUSE_NODE_INSPECTOR_ARGUMENTS, True)
    switched = [
        f"NODE_OPTIONS {_on(options)}",
        f"--inspect {_on(inspect)}",
        f"ASAR integrity {_on(found.get(FUSE_ASAR_INTEGRITY, False))}",
    ]
    if found.get(FUSE_ONLY_ASAR, False):
        switched.append("only an app.asar is loaded")
    said = ", ".join(switched)
    if bridge == "preload" and not options:
        other = "use --bridge inject, or " if inspect else ""
        advice = (
            f"{other}have the app require process.env.FOCUSGUARD_BRIDGE before it is packaged (--bridge app)"
        )
        return Finding("fuses", State.BAD, said, advice)
    if bridge == "inject" and not inspect:
        advice = "have the app require process.env.FOCUSGUARD_BRIDGE before it is packaged (--bridge app)"
        return Finding("fuses", State.BAD, said, advice)
    if bridge == "app" and found.get(FUSE_ASAR_INTEGRITY, False):
        advice = "put the line that requires the bridge in before the app is packaged: a changed app.asar is refused"
        return Finding("fuses", State.NOTE, said, advice)
    return Finding("fuses", State.OK, said)


async def display(environment: Mapping[str, str]) -> Finding:
    """Whether the person's display answers."""
    name = environment.get("DISPLAY", "")
    if not name:
        if environment.get("WAYLAND_DISPLAY"):
            return Finding(
                "display",
                State.NOTE,
                "WAYLAND_DISPLAY is set and DISPLAY is not",
                "start Xwayland, or the app under `xvfb-run -a`: Wayland itself is not measured",
            )
        return Finding(
            "display",
            State.NOTE,
            "DISPLAY is not set, so an app is shown to nobody",
            "start the app under `xvfb-run -a`, or on a display of the rig",
        )
    fault = "it does not answer"
    with anyio.move_on_after(ANSWER_SECONDS):
        fault = await anyio.to_thread.run_sync(_try_display, name, abandon_on_cancel=True)
    if fault:
        return Finding(
            "display",
            State.BAD,
            f"DISPLAY is {name}: {fault}",
            "set DISPLAY to one that is running, or unset it",
        )
    return Finding("display", State.OK, f"DISPLAY is {name}, and answers")


async def own_display() -> Finding:
    """Whether a display of the rig can be started."""
    try:
        async with isolated_display(width=640, height=480):
            return Finding("isolated display", State.OK, "Xvfb and openbox start")
    except DisplayFailed as error:
        found, _, advice = str(error).partition("; ")
        return Finding("isolated display", State.BAD, found, advice or "install Xvfb and openbox anew")


def displays(shown: Finding, own: Finding) -> list[Finding]:
    """The two together: one of them is enough to show an app, and without either nothing is shown."""
    if own.state is State.BAD and shown.state is State.OK:
        advice = (
            f"needed for the probe, the soak, the pytest fixtures and the rest of this command: {own.advice}"
        )
        return [shown, replace(own, advice=advice)]
    if own.state is State.BAD and shown.state is State.NOTE:
        return [replace(shown, state=State.BAD), own]
    return [shown, own]


def input_methods(environment: Mapping[str, str]) -> Finding:
    """Which input method a person composes with, and whether it is there."""
    asked = {name: environment.get(name, "") for name in ("GTK_IM_MODULE", "XMODIFIERS")}
    said = ", ".join(f"{name}={value}" for name, value in asked.items() if value) or "none is asked for"
    there = [program for program in ("fcitx5", "ibus-daemon") if shutil.which(program) is not None]
    found = f"{said}; installed: {', '.join(there) or 'none'}"
    for name, value in asked.items():
        program = INPUT_METHODS.get(value.rpartition("=")[2])
        if program is not None and program not in there:
            package = "ibus" if program == "ibus-daemon" else input_method.PACKAGES
            return Finding(
                "input method",
                State.BAD,
                found,
                f"{name} is for {program}, which is not there: run `apt-get install -y {package}`, or unset {name}",
            )
    if asked["XMODIFIERS"] and not asked["GTK_IM_MODULE"]:
        return Finding(
            "input method", State.NOTE, found, "set GTK_IM_MODULE too: Electron composes through GTK's module"
        )
    return Finding("input method", State.OK, found)


async def starting(subject: Subject, bridge: Bridge) -> list[Finding]:
    """Whether the app starts, answers on its CDP endpoint and lets the bridge in: a short start out of sight."""
    findings: list[Finding] = []
    try:
        async with _started(subject, bridge) as (process, link), _upstream(process) as upstream:
            findings.append(await _endpoint(process, upstream))
            if subject.given:
                findings.append(await _bridge(process, link, bridge))
    except RigError as error:
        found, _, said = str(error).partition("; it said: ")
        advice = f"it said: {said}" if said else "see the findings above"
        findings.append(Finding("start", State.BAD, found, advice))
    return findings


@asynccontextmanager
async def _started(subject: Subject, bridge: Bridge) -> AsyncIterator[tuple[ElectronProcess, BridgeLink]]:
    async with AsyncExitStack() as stack:
        stack.enter_context(single_error())
        keeper = await stack.enter_async_context(open_janitor())
        app = subject.app
        if not subject.given:
            app = Path(stack.enter_context(TemporaryDirectory(prefix="focusguard-doctor-")))
            keeper.watch_path(app)
            stack.callback(keeper.release_path, app)
            (app / "package.json").write_text(json.dumps({"name": "idle", "main": "idle.cjs"}))
            (app / "idle.cjs").write_text(IDLE_APP)
        place = await stack.enter_async_context(isolated_display(janitor=keeper))
        link = await stack.enter_async_context(open_bridge_link(lambda _event: None, janitor=keeper))
        env = dict(link.env)
        if bridge != "app":
            del env["FOCUSGUARD_BRIDGE"]
        process = await stack.enter_async_context(
            launch_electron(
                subject.runtime,
                app,
                env=env,
                display=place,
                debugging="pipe" if subject.runtime.has_debugging_pipe else "port",
                require=BRIDGE_SCRIPT if bridge == "preload" else None,
                switches=[inspector.WAIT_SWITCH] if bridge == "inject" else (),
                await_port=False,
                janitor=keeper,
            )
        )
        if bridge == "inject":
            url = await inspector.wait_for_inspector(process.output_tail, lambda: process.returncode)
            await inspector.load(url, BRIDGE_SCRIPT, link.env, waiting=True)
        yield process, link


class _Answers:
    """A way to the app whose one question has been asked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.over = anyio.Event()
        self.product: str | None = None

    def take(self, data: bytes) -> None:
        """A message of the app."""
        message = json.loads(data)
        if message.get("id") == 1:
            self.product = str(message.get("result", {}).get("product", "a browser without a name"))
            self.over.set()


@asynccontextmanager
async def _upstream(process: ElectronProcess) -> AsyncIterator[_Answers]:
    """Ask who is there; the way stays open meanwhile, because an app ends when its pipe is closed."""
    upstream: Upstream
    if process.pipe is not None:
        answers, upstream = _Answers("CDP pipe"), PipeUpstream(*process.take_pipe())
    else:
        answers, upstream = _Answers("CDP port"), await WebSocketUpstream.open(await wait_for_port(process))
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await upstream.run(answers.take)
            answers.over.set()

        tasks.start_soon(run)
        upstream.send(b'{"id":1,"method":"Browser.getVersion"}')
        yield answers
        tasks.cancel_scope.cancel()


async def _endpoint(process: ElectronProcess, answers: _Answers) -> Finding:
    with anyio.move_on_after(START_SECONDS):
        await answers.over.wait()
    if answers.product is not None:
        return Finding(answers.name, State.OK, f"{answers.product} answers")
    with anyio.move_on_after(END_SECONDS):  # its pipe is closed before it has ended
        await process.wait()
    advice = "is it an Electron app, and the executable itself rather than a script that starts it?"
    return Finding(answers.name, State.BAD, f"nothing answers; {process.ending()}", advice)


async def _bridge(process: ElectronProcess, link: BridgeLink, bridge: Bridge) -> Finding:
    with anyio.move_on_after(START_SECONDS):
        while not link.connected and process.returncode is None:
            await anyio.sleep(0.02)
    if link.connected:
        return Finding("bridge", State.OK, f"loaded into the app ({bridge})")
    if process.returncode is not None:
        return Finding(
            "bridge", State.BAD, process.ending(), "see what the app says when it is started by hand"
        )
    others = "have the app require process.env.FOCUSGUARD_BRIDGE (--bridge app)"
    advice = {
        "preload": f"a packaged app ignores NODE_OPTIONS: try --bridge inject, or {others}",
        "inject": others,
        "app": "the app has to have `if (process.env.FOCUSGUARD_BRIDGE) require(process.env.FOCUSGUARD_BRIDGE)` "
        "in its main process, or try --bridge preload",
    }[bridge]
    return Finding("bridge", State.BAD, f"the app runs, and no bridge said hello ({bridge})", advice)


def _try_display(name: str) -> str:
    """Connect to a display; gives what went wrong."""
    try:
        xdisplay.Display(name).close()
    except (
        xerror.DisplayError,
        xerror.ConnectionClosedError,
        xerror.XauthError,
        OSError,
        OverflowError,
    ) as error:
        return str(error) or type(error).__name__
    return ""


def _is_program(executable: Path) -> bool:
    with executable.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"


def _on(on: bool) -> str:
    return "on" if on else "off"
