"""The bridge as an npm package: what an app gets from it, and that its types are those of what it gets."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from focusguard.bridge import BRIDGE_SCRIPT
from focusguard.cli import version

FOLDER = BRIDGE_SCRIPT.parent


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has installed it."""
    folder = tmp_path_factory.mktemp("app")
    (folder / "package.json").write_text('{"name": "app", "private": true}', "utf-8")
    run("npm", "install", "--no-audit", "--no-fund", "--offline", str(FOLDER), folder=folder)
    return folder


def described(app: Path) -> dict[str, Any]:
    """What it exports where no guard is."""
    code = """const bridge = require('focusguard-bridge');
    const kind = (value) => (value === null ? 'null' : typeof value);
    console.log(JSON.stringify(Object.fromEntries(Object.keys(bridge).map((name) => [name, kind(bridge[name])]))))"""
    return dict(json.loads(run("node", "-e", code, folder=app)))


def test_it_does_nothing_without_a_guard(app: Path) -> None:
    code = """const bridge = require('focusguard-bridge');
    bridge.reconsider();
    console.log(bridge.isAgentInput({ id: 1 }))"""
    assert run("node", "-e", code, folder=app) == "false\n"


def test_the_types_name_what_is_there(app: Path) -> None:
    text = (FOLDER / "index.d.ts").read_text("utf-8")
    typed = dict(re.findall(r"^    (?:readonly )?(\w+): (.*);$", text, re.MULTILINE))
    found = described(app)
    assert set(typed) == set(found)
    for name, kind in typed.items():
        wanted = "null" if kind.endswith("| null") else "number" if kind == "number" else "function"
        assert found[name] == wanted, name


def test_all_of_it_is_packed_and_of_this_version() -> None:
    (packed,) = json.loads(run("npm", "pack", "--dry-run", "--json", folder=FOLDER))
    names = {each["path"] for each in packed["files"]}
    sources = {path.name for path in FOLDER.iterdir() if path.suffix in (".js", ".cjs", ".ts")}
    assert names == sources | {"package.json"}
    assert packed["version"] == version()
