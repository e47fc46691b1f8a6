"""A real input method (fcitx5) on the isolated display, with a session bus and a configuration of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import anyio

from focusguard.electron.display import Display
from focusguard.electron.errors import InputMethodMissing
from focusguard.electron.janitor import Janitor, end_group

Engine = Literal["pinyin", "hangul", "anthy"]
PACKAGES = "fcitx5 fcitx5-frontend-gtk3 fcitx5-hangul fcitx5-chinese-addons fcitx5-anthy dbus dbus-bin"
START_SECONDS = 20.0
PROFILE = """[Groups/0]
Name=Default
Default Layout=us
DefaultIM={engine}

[Groups/0/Items/0]
Name={engine}
Layout=

[GroupOrder]
0=Default
"""
CONFIG = "[Behavior]\nActiveByDefault=True\nShareInputState=All\nPreeditEnabledByDefault=True\n"


def _check_installed() -> None:
    absent = [name for name in ("fcitx5", "dbus-daemon", "dbus-send") if shutil.which(name) is None]
    if absent:
        raise InputMethodMissing(f"not installed: {', '.join(absent)}; run `apt-get install -y {PACKAGES}`")


@asynccontextmanager
async def input_method(
    engine: Engine, display: Display, janitor: Janitor
) -> AsyncIterator[Mapping[str, str]]:
    """Starts it; yields the variables that an app needs to use it.

    Raises:
        InputMethodMissing: fcitx5 or the session bus is not installed.
    """
    _check_installed()
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True)))
        settings = home / "config" / "fcitx5"
        settings.mkdir(parents=True)
        (settings / "profile").write_text(PROFILE.format(engine=engine))
        (settings / "config").write_text(CONFIG)
        (home / "run").mkdir(mode=0o700)
        env = {
            **os.environ,
            **display.env,
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_RUNTIME_DIR": str(home / "run"),
        }

        async def start(command: list[str], stdout: int) -> anyio.abc.Process:
            process = await anyio.open_process(
                command, env=env, stdout=stdout, stderr=subprocess.DEVNULL, start_new_session=True
            )
            janitor.watch_group(process.pid)

            async def end() -> None:
                await end_group(process, grace=1.0)
                janitor.release_group(process.pid)

            stack.push_async_callback(end)
            return process

        bus = await start(["dbus-daemon", "--session", "--nofork", "--print-address=1"], subprocess.PIPE)
        assert bus.stdout is not None
        with anyio.fail_after(START_SECONDS):
            env["DBUS_SESSION_BUS_ADDRESS"] = (await bus.stdout.receive()).decode().strip()
            await start(["fcitx5", "--disable=wayland"], subprocess.DEVNULL)
            # Asking fcitx5-remote this early would start a second one, with the default configuration.
            ask = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/"]
            ask += ["org.freedesktop.DBus.NameHasOwner", "string:org.fcitx.Fcitx5"]
            while b"true" not in (await anyio.run_process(ask, env=env, check=False)).stdout:
                await anyio.sleep(0.1)
        yield {
            "DBUS_SESSION_BUS_ADDRESS": env["DBUS_SESSION_BUS_ADDRESS"],
            "GTK_IM_MODULE": "fcitx",
            "LANG": "C.UTF-8",
            "XDG_CONFIG_HOME": env["XDG_CONFIG_HOME"],
            "XMODIFIERS": "@im=fcitx",
        }
