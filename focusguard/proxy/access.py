"""Who may speak to the guard: checked before anything else, for plain HTTP and before a WebSocket upgrade alike."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

#: Where the WebSocket of the whole guard is.
BROWSER_PATH = "/devtools/browser/focusguard"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer that ends the connection."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one server.

    Attributes:
        port: the port that Host must name.
        token: what a client must show, in the path or as a bearer; None: nothing (`--no-token`).
    """

    port: int
    token: str | None

    def check(self, path: str, headers: Sequence[tuple[str, str]]) -> str | Refusal:
        """The path without the token, or why the request is refused.

        A web page can send requests here, but not without an Origin or under a loopback Host: a browser sets both
        (rebinding gives the attacker's name as Host).
        """
        found: dict[str, list[str]] = {}
        for name, value in headers:
            found.setdefault(name.lower(), []).append(value.strip())
        hosts = found.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return Refusal(403, f"Host must be 127.0.0.1:{self.port}")
        if "origin" in found:
            return Refusal(403, "requests of web pages are refused: leave Origin out")
        if self.token is None:
            return path
        head, slash, rest = path.removeprefix("/").partition("/")
        if _same(head, self.token):
            return slash + rest or "/"
        bearer = found.get("authorization", [""])
        if len(bearer) == 1 and _same(bearer[0], f"Bearer {self.token}"):
            return path
        return Refusal(403, "the guard's token is missing or wrong: use the endpoint as the guard printed it")

    @property
    def base(self) -> str:
        """Host, port and token, as in the endpoints that are handed out."""
        return f"127.0.0.1:{self.port}" + (f"/{self.token}" if self.token is not None else "")

    @property
    def browser_url(self) -> str:
        """The WebSocket of the whole guard."""
        return f"ws://{self.base}{BROWSER_PATH}"


def _same(shown: str, expected: str) -> bool:
    # What came over the wire need not be text; it is compared in constant time all the same.
    return hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), expected.encode())
