"""Reports for clients that watch the guard (`FocusGuard.getReports`): what goes on, and nothing of what is typed.

The latest are kept, and a client takes them when it likes: one that is slow or stands still costs nobody anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

#: How many are kept; whoever asks too seldom misses the oldest.
KEPT = 500
#: As much of a text as is kept, characters: clients choose the names of methods.
LONGEST = 200

#: What of each kind of report is kept. A fact that is not named here stays out: it may be what somebody has typed, as
#: the key of `bridge.key.lost`, or say it, as a page's question or an error of the app.
FACTS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(names.split())
    for kind, names in {
        "action": "client targetId method type verdict way frameId heldMs waitedMs broughtHome code",
        "app.garbled": "bytes",
        "app.unread": "outstanding",
        "borrow": "method returned reason heldMs waitedMs broughtHome",
        "bridge.borrow.settled": "lease again broughtHome",
        "bridge.composition": "hostWebContentsId open active",
        "bridge.composition.broken": "hostWebContentsId how",
        "bridge.download.begun": "webContentsId guid saved",
        "bridge.download.changed": "webContentsId guid state totalBytes receivedBytes",
        "bridge.focus.person": "hostWebContentsId where",
        "bridge.focus.reclaimed": "webContentsId hostWebContentsId broughtHome",
        "bridge.input-method.silent": "hostWebContentsId",
        "bridge.joined": "version pid electron chromium",
        "bridge.key.lost": "hostWebContentsId",
        "bridge.target.changed": "webContentsId",
        "bridge.target.gone": "webContentsId",
        "bridge.target.refused": "webContentsId",
        "chooser.kept": "targetId",
        "client.joined": "client target",
        "client.left": "client",
        "dialog.answered": "targetId type accept",
        "download.kept": "targetId url",
        "download.unguarded": "client behavior",
        "fault": "method on",
        "guard.started": "product",
        "guest.crashed": "targetId status",
        "guest.gone": "targetId",
        "guest.ready": "targetId url embedding",
        "guest.unattached": "targetId client",
        "guest.unknown": "targetId",
        "guest.unreachable": "targetId",
        "refusal": "client method code",
        "release.failed": "method",
        "upstream.lost": "reason",
    }.items()
}


class Reports:
    """The latest reports, numbered from 1."""

    def __init__(self) -> None:
        self._kept: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._last = 0

    def add(self, kind: str, facts: Mapping[str, Any]) -> None:
        """Keep one."""
        self._last += 1
        names = FACTS.get(kind, ())
        kept = {name: _plain(name, facts[name]) for name in names if facts.get(name) is not None}
        self._kept.append({"number": self._last, "kind": kind, "facts": kept})

    def after(self, number: float) -> dict[str, Any]:
        """Those after a number, oldest first; how many are not there any more; and the number of the last one."""
        oldest = self._last - len(self._kept) + 1
        found = [each for each in self._kept if each["number"] > number]
        return {"reports": found, "missed": int(max(0, oldest - 1 - max(0, number))), "last": self._last}


def address(url: str) -> str:
    """A page's address without what may have been typed: its query, its fragment, a password, a page in the URL."""
    scheme, colon, rest = url.partition(":")
    if not rest.startswith("//"):
        return _short(url) if scheme in ("about", "") or not colon else f"{scheme}:…"
    host, slash, path = _short(rest[2:]).partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _short(text: str) -> str:
    """What stands before a query or a fragment."""
    cut = min((at for at in map(text.find, "?#") if at >= 0), default=len(text))
    return f"{text[: cut + 1]}…" if text[cut + 1 :] else text[:cut]


def _plain(name: str, value: Any) -> str | float | bool:
    if isinstance(value, (bool, int, float)):
        return value
    text = address(str(value)) if name == "url" else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
