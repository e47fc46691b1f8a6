"""The line between a spec and a driver: one JSON object a line, in order. See specs/clients/driver.py."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable
from typing import Any


async def serve(tasks: object) -> None:
    """Does one task after the other until standard input closes.

    Args:
        tasks: Has a method for each task; one that is not there is not offered by the client.
    """
    while line := await asyncio.to_thread(sys.stdin.readline):
        order = json.loads(line)
        answer: dict[str, Any]
        try:
            task: Callable[..., Any] | None = getattr(tasks, order["task"], None)
            if task is None:
                raise NotImplementedError("not offered by the client")
            value = task(**order["args"])
            if inspect.isawaitable(value):
                value = await value
            answer = {"id": order["id"], "ok": True, "value": value}
        except Exception as error:
            answer = {"id": order["id"], "ok": False, "error": str(error) or type(error).__name__}
        print(json.dumps(answer), flush=True)
