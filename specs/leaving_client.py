"""A CDP client in a process of its own, which can be killed, stopped, or told to go.

    python leaving_client.py ENDPOINT URL

It attaches to the guest at URL and says `attached`. Then it reads JSON lines from its standard input: `{"method",
"params", "wait"}` is sent on the guest's session (and answered for before `done` is said, unless `wait` is false);
`{"leave": "close"}` closes the connection in order, `{"leave": "reset"}` breaks it off.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from typing import Any

from websockets.sync.client import ClientConnection, connect


class Client:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.last = 0
        self.session: str | None = None

    def send(self, method: str, params: dict[str, Any], *, wait: bool = True) -> dict[str, Any]:
        self.last += 1
        message: dict[str, Any] = {"id": self.last, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        self.connection.send(json.dumps(message))
        while wait:
            reply = json.loads(self.connection.recv(timeout=10))
            if reply.get("id") == self.last:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return dict(reply["result"])
        return {}

    def attach(self, url: str) -> None:
        for _ in range(100):
            for info in self.send("Target.getTargets", {})["targetInfos"]:
                if info["url"].partition("#")[0] == url.partition("#")[0]:
                    params = {"targetId": info["targetId"], "flatten": True}
                    self.session = self.send("Target.attachToTarget", params)["sessionId"]
                    return
            time.sleep(0.05)
        raise RuntimeError(f"no target at {url}")

    def reset(self) -> None:
        """Ends the connection the way that a crashed machine does: no close frame, and a TCP reset."""
        self.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The library's reading thread shares the socket; only the last close sends the reset.
        self.connection.socket.shutdown(socket.SHUT_RD)
        self.connection.socket.close()


def say(what: str) -> None:
    print(what, flush=True)


def main(endpoint: str, url: str) -> None:
    with connect(endpoint, max_size=None, compression=None, proxy=None) as connection:
        client = Client(connection)
        client.attach(url)
        say("attached")
        for line in sys.stdin:
            order = json.loads(line)
            if order.get("leave") == "close":
                connection.close()
            elif order.get("leave") == "reset":
                client.reset()
            else:
                client.send(order["method"], order["params"], wait=order.get("wait", True))
            say("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
