"""Bounds on what one client may hold, each answered with a clear error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one guard.

    Attributes:
        message_bytes: largest message taken from a client (Chromium itself stops at 256 MiB).
        clients: connections at once.
        sessions: sessions of one client.
        pending: commands of one client without an answer.
        outgoing_bytes: unread bytes held for a client before its connection is ended.
        handshake_seconds: time for a connection to send its whole request.
        silent_seconds: time without a sign of life, not even the answer to a ping, after which the connection of a
            client is ended that holds something down in a guest or can keep its page waiting.
    """

    message_bytes: int = 100 * 1024 * 1024
    clients: int = 64
    sessions: int = 2000
    pending: int = 10_000
    outgoing_bytes: int = 128 * 1024 * 1024
    handshake_seconds: float = 10.0
    silent_seconds: float = 30.0


DEFAULT_LIMITS = Limits()
