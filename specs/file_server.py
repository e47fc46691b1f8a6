"""A server of one small file, which begins it and goes on when it is let, or breaks it off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import SocketAttribute, SocketStream

HEAD = """HTTP/1.1 200 OK\r
Content-Disposition: attachment; filename=note.txt\r
Content-Type: application/x-note\r
Content-Length: 5\r
Connection: close\r
\r
"""


class FileServer:
    """Serves `note.txt`, which says `hello`.

    Attributes:
        begun: how many have been begun.
        go_on: set when the rest may come.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/"
        self.begun = 0
        self.go_on = anyio.Event()

    async def serve(self, stream: SocketStream) -> None:
        """Answer one connection."""
        async with stream:
            asked = await stream.receive()
            await stream.send(HEAD.encode() + b"he")
            self.begun += 1
            await self.go_on.wait()
            if b"/cut" not in asked:
                await stream.send(b"llo")


@asynccontextmanager
async def file_server() -> AsyncIterator[FileServer]:
    """A server on a port of its own."""
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        serving = FileServer(listener.extra(SocketAttribute.local_port))
        tasks.start_soon(listener.serve, serving.serve)
        yield serving
        tasks.cancel_scope.cancel()
