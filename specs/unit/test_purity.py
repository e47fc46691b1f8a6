"""The core decides without an event loop, a socket or a clock: read in its source, and seen when it is imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import focusguard

ROOT = Path(focusguard.__file__).parent
CORE = [ROOT / "errors.py", *sorted((ROOT / "cdp").glob("*.py")), *sorted((ROOT / "policy").glob("*.py"))]
#: Whatever waits, talks to somebody else or knows what time it is.
FORBIDDEN = frozenset(
    [
        "anyio",
        "asyncio",
        "concurrent",
        "http",
        "multiprocessing",
        "queue",
        "sched",
        "select",
        "selectors",
        "signal",
        "socket",
        "socketserver",
        "ssl",
        "subprocess",
        "threading",
        "time",
        "trio",
        "uvloop",
        "websockets",
    ]
)
#: The standard library's own doings with these are not the core's: files are read with `importlib.resources`.
BY_THE_LIBRARY = frozenset({"threading", "time"})
#: Parts of focusguard that are not pure.
SHELLS = (
    "focusguard.proxy",
    "focusguard.guard",
    "focusguard.cli",
    "focusguard.electron",
    "focusguard.bridge.",
)


def imported_by(source: str, package: str) -> set[str]:
    """The modules that a source names in an import, or as a text in `__import__` and `import_module`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(
                    [*package.split(".")[: len(package.split(".")) - node.level + 1], base]
                ).rstrip(".")
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("__import__", "import_module"):
                found |= {
                    arg.value
                    for arg in node.args
                    if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
                }
    return found


def impure(modules: set[str]) -> set[str]:
    """Those that the core may not import."""
    shells = {module for module in modules if module.startswith(SHELLS)}
    return shells | {module for module in modules if module.split(".")[0] in FORBIDDEN}


#: Imports modules while every import of a forbidden module out of focusguard fails, and tells what has come along.
FRESH = """
import builtins, importlib, sys
forbidden, names = set(sys.argv[1].split(",")), sys.argv[2].split(",")
real = builtins.__import__
def guarded(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if importer.split(".")[0] in ("focusguard", "stranger") and name.split(".")[0] in forbidden:
        raise ImportError(f"{importer} imports {name}")
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = guarded
for name in names:
    importlib.import_module(name)
print(",".join(sorted(m for m in sys.modules if m.split(".")[0] in forbidden or m.startswith("focusguard"))))
"""


def imported_fresh(names: list[str], path: Path = ROOT.parent) -> subprocess.CompletedProcess[str]:
    """Import modules in an interpreter that knows nothing yet."""
    command = [sys.executable, "-c", FRESH, ",".join(FORBIDDEN), ",".join(names)]
    return subprocess.run(command, capture_output=True, text=True, cwd=path, timeout=60, check=False)


def module_name(path: Path) -> str:
    """The name under which a file is imported."""
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


class TestSource:
    @pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(ROOT)))
    def test_it_imports_nothing_impure(self, path: Path) -> None:
        package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
        assert impure(imported_by(path.read_text("utf-8"), package)) == set()

    def test_the_whole_core_is_read(self) -> None:
        assert len(CORE) > 15
        assert {path.parent.name for path in CORE} == {"focusguard", "cdp", "policy"}

    @pytest.mark.parametrize(
        "source",
        [
            "import asyncio",
            "import asyncio.events as loop",
            "from anyio import sleep",
            "def f():\n    import time",
            "if True:\n    from socket import socket",
            "try:\n    import uvloop\nexcept ImportError:\n    pass",
            "import importlib\nimportlib.import_module('threading')",
            "__import__('subprocess')",
            "from focusguard.proxy.hub import Hub",
            "from ..proxy import hub",
            "from focusguard import guard",
        ],
    )
    def test_a_control_an_impure_import_is_seen(self, source: str) -> None:
        assert impure(imported_by(source, "focusguard.policy"))


class TestImported:
    def test_in_a_fresh_interpreter_nothing_impure_comes_along(self) -> None:
        names = [module_name(path) for path in CORE]
        result = imported_fresh(names)
        assert result.returncode == 0, result.stderr
        loaded = set(result.stdout.strip().split(","))
        assert set(names) <= loaded
        assert impure(loaded) <= BY_THE_LIBRARY

    def test_a_guard_can_be_made_and_spoken_to_there(self) -> None:
        program = (
            "from focusguard.policy.guard import Guard, Options\n"
            "from focusguard.policy.effects import ClientJoined\n"
            "guard = Guard(Options('1'))\n"
            "assert guard.start() and guard.handle(ClientJoined(1))\n"
            "import sys\n"
            "assert not {'asyncio', 'anyio', 'socket', 'websockets', 'subprocess'} & set(sys.modules)\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            cwd=ROOT.parent,
            timeout=60,
            check=False,
        )
        assert result.returncode == 0, result.stderr

    @pytest.mark.parametrize(
        "line", ["import time", "from asyncio import sleep", "def f(): import socket\nf()"]
    )
    def test_a_control_an_impure_module_cannot_be_imported(self, tmp_path: Path, line: str) -> None:
        (tmp_path / "stranger.py").write_text(f"{line}\n")
        result = imported_fresh(["stranger"], tmp_path)
        assert result.returncode != 0
        assert "ImportError: stranger imports" in result.stderr
