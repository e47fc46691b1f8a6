"""Performing a case: the steps of the table over a client's sessions, or in the app itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from probes.landing.cdp_client import CdpClosedError, CdpError, GuestSessions
from probes.landing.schema import Command
from probes.landing.steps import App, At, Cdp, Handle, Pause, Session, Step

METHOD_NOT_FOUND = -32601
Point = tuple[float, float]


class NoSuchThingError(Exception):
    """This version or embedding lacks what a case needs; the cell is unsupported."""


@dataclass
class Performer:
    """Sends the steps of one trial and keeps what was said about each.

    Attributes:
        sessions: The client's sessions; None where the case is done by the app alone.
        app: Performs an operation in the app: `(name, params) -> reply`.
        points: Middles of elements, in the viewport of each session.
        values: What `@name` in parameters stands for.
        commands: One entry per step that was sent.
    """

    sessions: GuestSessions | None
    app: Callable[[str, Mapping[str, Any]], Awaitable[str]]
    points: Mapping[Session, Mapping[str, Point]]
    values: dict[str, Any]
    commands: list[Command] = field(default_factory=list)
    started: float | None = None
    unknown: list[str] = field(default_factory=list)

    async def perform(self, step: Step) -> None:
        """Performs one step; an error reply is written down and is no error here.

        Raises:
            NoSuchThingError: If the step cannot be tried at all.
        """
        if isinstance(step, Pause):
            await anyio.sleep(step.ms / 1000)
            return
        if isinstance(step, App):
            params = self._resolve(step.params, "root")
            label, send = f"app.{step.op}", self.app(step.op, params)
            await self._note(label, "app", params, send)
            return
        if self.sessions is None:
            raise NoSuchThingError("the case needs a CDP client")
        session = self.sessions.session(step.session)
        if session is None and step.session != "browser":
            raise NoSuchThingError(f"the client has no session of its own on the {step.session}")
        params = await self._resolve_handles(step, session)
        params = self._resolve(params, step.session)
        send = self._send(step, params, session)
        await self._note(step.method, step.session, params, send)

    async def _send(self, step: Cdp, params: Mapping[str, Any], session: str | None) -> str:
        assert self.sessions is not None
        try:
            await self.sessions.client.send(step.method, params, session=session, timeout=step.patience)
        except CdpError as error:
            if error.code is None:
                return f"timeout: {error}"
            if error.code == METHOD_NOT_FOUND or "wasn't found" in str(error):
                self.unknown.append(step.method)
            return f"error {error.code}: {error}"
        except CdpClosedError as error:
            return f"error: {error}"
        return "ok"

    async def _note(self, method: str, session: str, params: Mapping[str, Any], send: Awaitable[str]) -> None:
        start = time.monotonic()
        self.started = self.started if self.started is not None else start
        reply = await send
        shown = {key: value for key, value in params.items() if key != "objectId"}
        ms = round((time.monotonic() - start) * 1000, 1)
        self.commands.append(Command(method=method, session=session, params=shown, reply=reply, ms=ms))

    async def _resolve_handles(self, step: Cdp, session: str | None) -> dict[str, Any]:
        params = dict(step.params)
        for name, value in params.items():
            if isinstance(value, Handle):
                assert self.sessions is not None
                found = await self.sessions.client.send(
                    "Runtime.evaluate", {"expression": value.expression}, session=session
                )
                params[name] = found["result"].get("objectId")
                if params[name] is None:
                    raise NoSuchThingError(f"{value.expression} gives no object")
        return params

    def _resolve(self, value: Any, session: Session) -> Any:
        if isinstance(value, At):
            point = self.points.get(session, {}).get(value.element)
            if point is None:
                raise NoSuchThingError(f"there is no {value.element} on the {session} session")
            return round(point[0 if value.axis == "x" else 1] + value.offset)
        if isinstance(value, str) and value.startswith("@"):
            if self.values.get(value) is None:
                raise NoSuchThingError(f"there is no {value[1:]}")
            return self.values[value]
        if isinstance(value, Mapping):
            return {key: self._resolve(item, session) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._resolve(item, session) for item in value]
        return value

    @property
    def reply(self) -> str:
        """All replies in one phrase: `ok`, or the first that is not."""
        return next((item.reply for item in self.commands if item.reply != "ok"), "ok")
