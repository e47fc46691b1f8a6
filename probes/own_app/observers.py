"""Observers of an app from outside: one in an isolated world of each document, over a CDP connection of their own.

No domain is enabled and nothing is left on after a look, so that the app goes on as it would without them.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probes.landing.cdp_client import CdpClient, CdpClosedError, CdpError, Target, open_client
from probes.landing.observe import Document, Event, Snapshot
from probes.landing.schema import Place

SCRIPT = (Path(__file__).parent / "observer.js").read_text("utf-8")
WORLD = "focusguard-probe"
PAGE_TYPES = frozenset({"page", "webview", "other"})
#: What a field is called in a log: one that takes text, and a terminal's, which takes keys and lets no text in.
FIELD, TERMINAL = "field", "terminal"


class ObserverLost(Exception):
    """A document went away, or was loaded anew, while it was observed."""


@dataclass(frozen=True)
class Page:
    """A page of the app, as its DevTools list it."""

    target_id: str
    type: str
    url: str

    def __str__(self) -> str:
        return f"{self.type} {self.url[:100]}"


@dataclass(frozen=True)
class Watched:
    """A document with an observer in it.

    Attributes:
        target_id: Its page's, or for a frame with a process of its own the frame's.
        main: Whether it is the whole target and not a frame in it.
    """

    place: Place
    name: str
    target_id: str
    session: str
    context: int
    url: str
    main: bool


class Observers:
    """Everything that is seen of an app.

    Attributes:
        host, guest: Target ids of the two pages that a trial is about, once they are known.
        label: What the person's field is called in a log: `FIELD` or `TERMINAL`.
    """

    def __init__(self, client: CdpClient) -> None:
        self.host = ""
        self.guest = ""
        self.label = FIELD
        self.documents: list[Watched] = []
        self._client = client

    async def pages(self) -> list[Page]:
        """The app's pages, DevTools left out."""
        infos = (await self._client.send("Target.getTargets"))["targetInfos"]
        return [
            Page(info["targetId"], info["type"], info["url"])
            for info in infos
            if info["type"] in PAGE_TYPES and not info["url"].startswith("devtools:")
        ]

    async def versions(self) -> tuple[str, str]:
        """Electron's and Chromium's version, as the app says; empty where it does not."""
        told = await self._client.send("Browser.getVersion")
        found = [
            re.search(rf"{name}/([\d.]+)", f"{told['userAgent']} {told['product']}")
            for name in ("Electron", "Chrome")
        ]
        return found[0][1] if found[0] else "", found[1][1] if found[1] else ""

    async def install(self) -> None:
        """Puts an observer into every document that there is now."""
        attached = {target.target_id for target in self._client.attached.values()}
        for page in await self.pages():
            if page.target_id in attached:
                continue
            made = await self._client.send(
                "Target.attachToTarget", {"targetId": page.target_id, "flatten": True}
            )
            # Its frames with a process of their own, and theirs.
            await self._follow(made["sessionId"])
        self.documents = []
        for session, target in list(self._client.attached.items()):
            if target.type in PAGE_TYPES or target.type == "iframe":
                await self._install(session, target)
        self.documents.sort(key=lambda document: document.target_id != self.host)

    async def _follow(self, session: str) -> None:
        follow = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        known = set(self._client.attached)
        await self._client.send("Target.setAutoAttach", follow, session=session)
        for child, target in list(self._client.attached.items()):
            if child not in known and target.parent == session and target.type == "iframe":
                await self._follow(child)

    async def _install(self, session: str, target: Target) -> None:
        try:
            tree = (await self._client.send("Page.getFrameTree", session=session))["frameTree"]
            for number, frame in enumerate(_frames(tree)):
                world = await self._client.send(
                    "Page.createIsolatedWorld", {"frameId": frame["id"], "worldName": WORLD}, session=session
                )
                place = self._place(target, main=number == 0)
                name = f"{place} {frame['url'][:80]}"
                if number == 0 and target.target_id in (self.host, self.guest):
                    name = place
                taken = sum(document.name.partition(" #")[0] == name for document in self.documents)
                watched = Watched(
                    place,
                    f"{name} #{taken + 1}" if taken else name,
                    target.target_id,
                    session,
                    world["executionContextId"],
                    frame["url"],
                    number == 0,
                )
                await self._evaluate(watched, f"{SCRIPT}; 0")
                self.documents.append(watched)
        except CdpError as error:
            if target.target_id in (self.host, self.guest):
                raise ObserverLost(f"{target.type} {target.url}: {error}") from error
            # Any other may come and go: an advertisement's frame, a window that is closed.

    def _place(self, target: Target, *, main: bool) -> Place:
        root = target
        while root.parent is not None and root.parent in self._client.attached:
            root = self._client.attached[root.parent]
        if root.target_id == self.guest:
            if root is not target:
                return "cross-site-frame"
            return "guest" if main else "same-site-frame"
        return "other-guest" if root.type == "webview" else "host"

    def page(self, target_id: str) -> Watched:
        """The main document of a target.

        Raises:
            ObserverLost: It is not there any more.
        """
        for document in self.documents:
            if document.target_id == target_id and document.main:
                return document
        raise ObserverLost("the page is gone")

    def own_process_frames(self) -> list[Watched]:
        """The guest's frames that have a process of their own, as far as they are right below its page."""
        page = self.page(self.guest)
        return [
            document
            for document in self.documents
            if document.place == "cross-site-frame"
            and document.main
            and self._client.attached[document.session].parent == page.session
        ]

    async def call(self, document: Watched, method: str, *arguments: object) -> Any:
        """Calls a method of a document's observer.

        Raises:
            ObserverLost: The document is gone.
        """
        given = ", ".join(json.dumps(argument) for argument in arguments)
        return await self._evaluate(document, f"focusguardObserver.{method}({given})")

    async def begin(self) -> None:
        """Begins a new log in every document."""
        for document in self.documents:
            await self.call(document, "begin")

    async def look(self, since_ms: float) -> Snapshot:
        """What was seen since `begin`; times are counted from `since_ms`, milliseconds since the epoch.

        Raises:
            ObserverLost: The host or the guest is gone, or was loaded anew.
        """
        seen: list[Document] = []
        unreadable: list[str] = []
        for document in self.documents:
            try:
                state = await self.call(document, "look")
            except ObserverLost:
                if document.main and document.target_id in (self.host, self.guest):
                    raise
                unreadable.append(document.name)
                continue
            log = tuple(
                Event(
                    type=event["type"],
                    key=event["key"],
                    data=event["data"],
                    target=event["target"],
                    trusted=event["trusted"],
                    at_ms=round(event["t"] - since_ms, 1),
                )
                for event in state["log"]
            )
            seen.append(
                Document(
                    document.place, document.name, state["active"], state["hasFocus"], state["value"], log
                )
            )
        host = next(index for index, one in enumerate(self.documents) if one == self.page(self.host))
        name = self.documents[host].name
        return Snapshot(
            host=next(one for one in seen if one.name == name),
            others=tuple(one for one in seen if one.name != name),
            unreadable=tuple(unreadable),
        )

    async def offset_of(self, frame: Watched) -> tuple[float, float]:
        """Where a frame's content begins in the guest's viewport, in CSS pixels."""
        session = self.page(self.guest).session
        owner = await self._client.send("DOM.getFrameOwner", {"frameId": frame.target_id}, session=session)
        found = await self._client.send(
            "DOM.getBoxModel", {"backendNodeId": owner["backendNodeId"]}, session=session
        )
        x, y = found["model"]["content"][:2]
        return x, y

    async def send(self, target_id: str, method: str, params: dict[str, Any]) -> None:
        """Sends a command that no guard is near, as the controls do."""
        await self._client.send(method, params, session=self.page(target_id).session)

    async def restore(self) -> None:
        """Puts the fields' texts back where they were."""
        for document in self.documents:
            try:
                await self.call(document, "restore")
            except ObserverLost:
                continue

    async def _evaluate(self, document: Watched, expression: str) -> Any:
        try:
            answer = await self._client.send(
                "Runtime.evaluate",
                {"expression": expression, "contextId": document.context, "returnByValue": True},
                session=document.session,
            )
        except (CdpError, CdpClosedError) as error:
            raise ObserverLost(f"{document.name} is gone: {error}") from error
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise ObserverLost(
                f"{document.name}: {details.get('exception', {}).get('description', details['text'])}"
            )
        return answer["result"].get("value")


@asynccontextmanager
async def open_observers(url: str) -> AsyncIterator[Observers]:
    """Observes the app whose browser WebSocket is at `url`.

    Raises:
        CdpClosedError: Nobody answers there.
    """
    async with open_client(url) as client:
        yield Observers(client)


def _frames(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """The frames of a tree, its own first."""
    return [tree["frame"], *(frame for child in tree.get("childFrames", ()) for frame in _frames(child))]
