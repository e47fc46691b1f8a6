"""A small CDP client over a WebSocket, the same for both routes: Electron's own port, and the guard.

It is an agent's client and nothing more: what it reads is never used for a verdict.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

#: Electron 9 calls a webview's frames webviews too.
FRAME_TYPES = frozenset({"iframe", "webview"})
GUEST_TYPES = frozenset({"webview", "page", "other"})


class CdpError(Exception):
    """An error reply, or none in time.

    Attributes:
        code: CDP's error code; None when there was no reply.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class CdpClosedError(Exception):
    """The connection is gone."""


@dataclass
class Target:
    """A target that the client is attached to."""

    target_id: str
    session_id: str
    type: str
    url: str
    parent: str | None = None


@dataclass
class CdpClient:
    """One connection with any number of flat sessions."""

    connection: ClientConnection
    attached: dict[str, Target] = field(default_factory=dict)
    on_event: Callable[[dict[str, Any]], None] | None = None
    _ids: Any = field(default_factory=lambda: itertools.count(1))
    _waiting: dict[int, tuple[anyio.Event, list[dict[str, Any]]]] = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _closed: bool = False

    async def send(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        timeout: float = 5.0,
    ) -> dict[str, Any]:
        """Sends a command and waits for its reply.

        Args:
            method: The command.
            params: Its parameters.
            session: The session's id; None is the browser's.
            timeout: Seconds to wait at most.

        Returns:
            The reply's `result`.

        Raises:
            CdpError: On an error reply, or on none in time.
            CdpClosedError: If the connection is gone.
        """
        if self._closed:
            raise CdpClosedError("the connection is closed")
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": dict(params or {})}
        if session is not None:
            message["sessionId"] = session
        event, box = anyio.Event(), list[dict[str, Any]]()
        self._waiting[number] = (event, box)
        try:
            with anyio.fail_after(timeout):
                await self.connection.send(json.dumps(message))
                await event.wait()
        except TimeoutError:
            raise CdpError(f"no reply within {timeout:g} s") from None
        except ConnectionClosed as error:
            raise CdpClosedError(str(error)) from error
        finally:
            self._waiting.pop(number, None)
        if not box:
            raise CdpClosedError("the connection was closed before a reply")
        reply = box[0]
        if "error" in reply:
            problem = reply["error"]
            raise CdpError(str(problem.get("message", problem)), problem.get("code"))
        result: dict[str, Any] = reply.get("result", {})
        return result

    async def read(self) -> None:
        """Reads until the connection is closed."""
        try:
            async for text in self.connection:
                self._take(json.loads(text))
        except ConnectionClosed:
            pass
        finally:
            self._closed = True
            for event, _ in self._waiting.values():
                event.set()
            self._notify()

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            waiting = self._waiting.get(message["id"])
            if waiting is not None:
                waiting[1].append(message)
                waiting[0].set()
            return
        if self.on_event is not None:
            self.on_event(message)
        params = message.get("params", {})
        if message.get("method") == "Target.attachedToTarget":
            info = params["targetInfo"]
            self.attached[params["sessionId"]] = Target(
                info["targetId"], params["sessionId"], info["type"], info["url"], message.get("sessionId")
            )
            self._notify()
        elif message.get("method") == "Target.detachedFromTarget":
            self.attached.pop(params.get("sessionId", ""), None)
            self._notify()
        elif message.get("method") == "Target.targetInfoChanged":
            for target in self.attached.values():
                if target.target_id == params["targetInfo"]["targetId"]:
                    target.url = params["targetInfo"]["url"]
            self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_attached(self, wanted: Callable[[Target], bool], timeout: float) -> Target | None:
        """Waits until a fitting target is attached; None if none is in time."""
        with anyio.move_on_after(timeout):
            while not self._closed:
                found = next((target for target in self.attached.values() if wanted(target)), None)
                if found is not None:
                    return found
                await self._changed.wait()
        return None


@dataclass
class GuestSessions:
    """An agent's sessions on one guest: its root, its cross-site frame, and the frame inside that."""

    client: CdpClient
    target_id: str
    url: str
    root: str
    frame: str | None = None
    nested: str | None = None

    def session(self, name: str) -> str | None:
        """The session id for a case's session name; None is the browser's."""
        return {"root": self.root, "frame": self.frame, "nested": self.nested, "browser": None}[name]

    async def close(self) -> None:
        """Detaches, so that nothing this client set outlives a trial."""
        for session in (self.nested, self.frame, self.root):
            if session is not None:
                with anyio.move_on_after(1.0):
                    try:
                        await self.client.send("Target.detachFromTarget", {"sessionId": session}, timeout=0.9)
                    except (CdpError, CdpClosedError):
                        continue


@asynccontextmanager
async def open_client(endpoint: str) -> AsyncIterator[CdpClient]:
    """Connects to a browser endpoint (`ws://…/devtools/browser/…`).

    Raises:
        CdpClosedError: If nobody answers there.
    """
    try:
        connection = await connect(
            endpoint, max_size=None, compression=None, open_timeout=10, close_timeout=1, proxy=None
        )
    except (OSError, WebSocketException, TimeoutError) as error:
        raise CdpClosedError(f"cannot connect to {endpoint}: {error}") from error
    client = CdpClient(connection)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.read)
        try:
            yield client
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await connection.close()
            tasks.cancel_scope.cancel()


async def find_guest(client: CdpClient, url: str, *, timeout: float = 10.0) -> str:
    """The target id of the page at `url`.

    Raises:
        CdpError: If the endpoint shows none in time.
    """
    until = time.monotonic() + timeout
    while True:
        infos = (await client.send("Target.getTargets"))["targetInfos"]
        for info in infos:
            if info["type"] in GUEST_TYPES and same_page(info["url"], url):
                return str(info["targetId"])
        if time.monotonic() > until:
            shown = ", ".join(f"{info['type']} {info['url']}" for info in infos) or "nothing"
            raise CdpError(f"no target at {url}; the endpoint shows {shown}")
        await anyio.sleep(0.1)


async def attach_guest(
    client: CdpClient,
    target_id: str,
    url: str,
    *,
    frames: bool,
    frame_id: str | None = None,
    nested: bool = True,
    timeout: float = 3.0,
) -> GuestSessions:
    """Attaches flat to a guest, and to its cross-site frames on demand, as client libraries do.

    Args:
        client: The agent's.
        target_id: The guest's.
        url: The guest's.
        frames: Whether to attach to a frame.
        frame_id: Target id of the frame; the first that comes where it is None.
        nested: Whether to attach to the frame inside it, too.
        timeout: Seconds for each of the two.
    """
    root = (await client.send("Target.attachToTarget", {"targetId": target_id, "flatten": True}))["sessionId"]
    sessions = GuestSessions(client, target_id, url, root)
    if frames:
        follow = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        await client.send("Target.setAutoAttach", follow, session=root)
        frame = await client.wait_attached(
            lambda item: (
                item.parent == root and item.type in FRAME_TYPES and frame_id in (None, item.target_id)
            ),
            timeout,
        )
        if frame is not None:
            sessions.frame = frame.session_id
        if frame is not None and nested:
            await client.send("Target.setAutoAttach", follow, session=frame.session_id)
            inside = await client.wait_attached(
                lambda item: (
                    item.parent in (frame.session_id, root)
                    and item.type in FRAME_TYPES
                    and item.session_id != frame.session_id
                ),
                timeout,
            )
            sessions.nested = inside.session_id if inside is not None else None
    return sessions


async def focus_node(send: Callable[[str, dict[str, Any]], Awaitable[Any]], selector: str) -> None:
    """`DOM.focus` on an element, as client libraries reach it; `send` is on a session of its page."""
    root = (await send("DOM.getDocument", {"depth": 0}))["root"]["nodeId"]
    found = await send("DOM.querySelector", {"nodeId": root, "selector": selector})
    await send("DOM.focus", {"nodeId": found["nodeId"]})


def same_page(one: str, other: str) -> bool:
    """Whether two URLs are one document, apart from the fragment."""
    return one.partition("#")[0] == other.partition("#")[0]
