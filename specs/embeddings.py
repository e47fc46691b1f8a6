"""Which embeddings an Electron has: what specs are parametrised with."""

from __future__ import annotations

from typing import get_args

from probes.observed import Embedding

#: Embeddings that lie in a window of the app's own page, in a tree of their own.
VIEWS: tuple[Embedding, ...] = ("browser-view", "web-contents-view")


def embeddings_of(version: str) -> list[Embedding]:
    """The embeddings of an Electron version; the fixture's spec holds this against what the app says.

    `WebContentsView` came with Electron 30 (https://www.electronjs.org/blog/migrate-to-webcontentsview).
    """
    known: tuple[Embedding, ...] = get_args(Embedding)
    return [each for each in known if each != "web-contents-view" or _has_newest(version)]


def newest_view(version: str) -> Embedding:
    """The kind of view that apps are written with for an Electron version; the older one is made of it since 30."""
    return "web-contents-view" if _has_newest(version) else "browser-view"


def _has_newest(version: str) -> bool:
    return int(version.partition(".")[0]) >= 30
