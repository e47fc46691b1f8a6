"""A program at the other end of an MCP server: JSON-RPC over standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

MODULES = Path(__file__).parents[1] / "node_modules"
#: The longest answer: a picture, bytes.
LINE_LIMIT = 1 << 24


class ToolFailed(Exception):
    """A tool's own error text."""


class Server:
    """A server in its process."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._last = 0

    async def start(self, program: str, *args: str) -> None:
        """Starts an npm package's program and says hello."""
        self._process = await asyncio.create_subprocess_exec(
            *("node", str(MODULES / program), *args),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            limit=LINE_LIMIT,
        )
        client = {"name": "spec", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        await self._request("initialize", hello)
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def tool(self, name: str, **args: Any) -> list[dict[str, Any]]:
        """Calls a tool; gives the parts of its answer."""
        result = await self._request("tools/call", {"name": name, "arguments": args})
        content: list[dict[str, Any]] = result["content"]
        if result.get("isError"):
            raise ToolFailed(text_of(content))
        return content

    async def stop(self) -> None:
        """Closes the line, upon which a server leaves."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    async def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        self._last += 1
        await self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        while line := await self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise ToolFailed(answer["error"]["message"])
                return dict(answer["result"])
        raise ToolFailed("the server has ended")

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()


def text_of(content: list[dict[str, Any]]) -> str:
    """The text in a tool's answer."""
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def picture_of(content: list[dict[str, Any]]) -> str:
    """The picture in a tool's answer, base64."""
    return str(next(part["data"] for part in content if part["type"] == "image"))
