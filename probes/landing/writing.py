"""Writes a result's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from probes.landing.report_html import render_html
from probes.landing.report_md import render_markdown
from probes.landing.schema import LandingResult


@dataclass(frozen=True)
class Files:
    """Where a result was written."""

    json: Path
    markdown: Path
    html: Path


def write_result(result: LandingResult, screenshots: Mapping[str, bytes], folder: Path) -> Files:
    """Writes `landing.json`, `landing.md`, `landing.html` and `screenshots/`, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(folder / "landing.json", folder / "landing.md", folder / "landing.html")
    _write(files.json, (result.model_dump_json(indent=1) + "\n").encode())
    _write(files.markdown, render_markdown(result).encode())
    _write(files.html, render_html(result, screenshots).encode())
    pictures = folder / "screenshots"
    if pictures.is_dir():
        for old in pictures.glob("*.png"):
            old.unlink()
    if screenshots:
        pictures.mkdir(exist_ok=True)
    for name, data in screenshots.items():
        _write(pictures / f"{name}.png", data)
    return files


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(data)
    temporary.replace(path)
