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
    return [each for each in known if each != "web-contents-view" or int(version.partition(".")[0]) >= 30]
