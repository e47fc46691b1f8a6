"""What is not simply `ok`: the exact message, and what the same client gets without the guard."""

from __future__ import annotations

from dataclasses import dataclass

from specs.clients.driver import NOT_OFFERED


@dataclass(frozen=True)
class Expected:
    """A task's outcome through the guard, and without it."""

    guarded: str
    raw: str


NO_TAB = (
    "browser_refused: the app does not offer to open a guest (bridge.onOpenGuest)."
    " To do: let the app set onOpenGuest (docs/bridge-protocol.md), or work in a guest that is open."
)
DATA = '{"code": "browser_refused", "retryable": false}'
NO_QUIT = (
    "browser_refused: Browser.close is refused: the app belongs to the person."
    " To do: close the connection instead."
)
#: Raw, a webview is no page: those clients see the host, and nothing else.
NO_PAGE = Expected("ok", "no page at that address")
MCP_ERROR = "### Error\nError: browserBackend.callTool: Protocol error (Target.createTarget): "
ONE_CLICK = "not seen: (1, 1) instead of (2, 1)"
NEITHER = Expected(NOT_OFFERED, NOT_OFFERED)


def _shown_whole(message: str) -> str:
    """An error as cdp-use shows it: the protocol's object."""
    return str({"code": -32000, "message": message, "data": DATA})


EXPECTED: dict[tuple[str, str], Expected] = {
    ("Playwright", "connect"): NO_PAGE,
    ("Playwright", "new tab"): Expected(
        f"BrowserContext.new_page: Protocol error (Target.createTarget): {NO_TAB}",
        "BrowserContext.new_page: Protocol error (Target.createTarget): Not supported",
    ),
    ("Playwright", "quit the browser"): NEITHER,
    ("Puppeteer", "connect"): NO_PAGE,
    ("Puppeteer", "new tab"): Expected(
        f"Protocol error (Target.createTarget): {NO_TAB} {DATA}",
        "Protocol error (Target.createTarget): Not supported",
    ),
    # Puppeteer passes over the refusal, and its connection has ended.
    ("Puppeteer", "quit the browser"): Expected("ok", "not seen: the app has ended"),
    ("chrome-remote-interface", "new tab"): Expected(NO_TAB, "Could not create new page"),
    ("chrome-remote-interface", "quit the browser"): Expected(
        f"{NO_QUIT} ({DATA})", "WebSocket connection closed"
    ),
    # What is no JSON, pychrome does not show; nor can it reach a frame of another process.
    ("pychrome", "connect"): NO_PAGE,
    ("pychrome", "fill in a cross-site frame"): Expected(NOT_OFFERED, "no page at that address"),
    ("pychrome", "new tab"): Expected(
        "Expecting value: line 1 column 1 (char 0)", "Expecting value: line 1 column 1 (char 0)"
    ),
    ("pychrome", "quit the browser"): Expected(
        f"calling method: Browser.close error: {NO_QUIT}", "no page at that address"
    ),
    ("cdp-use", "connect"): NO_PAGE,
    ("cdp-use", "new tab"): Expected(_shown_whole(NO_TAB), "{'code': -32000, 'message': 'Not supported'}"),
    ("cdp-use", "quit the browser"): Expected(_shown_whole(NO_QUIT), "WebSocket connection closed"),
    # One press that says it is the second; text without keys; no frames of another process: all its own.
    ("agent-browser", "double-click"): Expected(ONE_CLICK, ONE_CLICK),
    ("agent-browser", "fill in a cross-site frame"): Expected("Frame not found", "Frame not found"),
    ("agent-browser", "new tab"): Expected(
        f"CDP error (Target.createTarget): {NO_TAB}",
        "CDP error (Target.createTarget): Not supported",
    ),
    ("agent-browser", "quit the browser"): NEITHER,
    ("Playwright MCP", "connect"): NO_PAGE,
    ("Playwright MCP", "scroll"): NEITHER,
    ("Playwright MCP", "new tab"): Expected(f"{MCP_ERROR}{NO_TAB}", f"{MCP_ERROR}Not supported"),
    ("Playwright MCP", "quit the browser"): NEITHER,
    ("Chrome DevTools MCP", "connect"): NO_PAGE,
    ("Chrome DevTools MCP", "scroll"): NEITHER,
    ("Chrome DevTools MCP", "new tab"): Expected(
        f"Error: Protocol error (Target.createTarget): {NO_TAB} {DATA}",
        "Error: Protocol error (Target.createTarget): Not supported",
    ),
    ("Chrome DevTools MCP", "quit the browser"): NEITHER,
}
