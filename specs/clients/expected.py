"""What is not simply `ok`: the exact message, and what the same client gets without the guard."""

from __future__ import annotations

from dataclasses import dataclass

from specs.clients.driver import NOT_OFFERED


@dataclass(frozen=True)
class Expected:
    """A task's outcome through the guard, and without it."""

    guarded: str
    raw: str


ADVICE = "To do: use the same command on a guest's session, or leave it out."
NO_TAB = f"browser_refused: the app does not offer to open a guest (bridge.onOpenGuest). {ADVICE}"
WHOLE_APP = "default of the Browser domain: it would act on the whole app"
NO_QUIT = f"browser_refused: Browser.close is refused: {WHOLE_APP}. {ADVICE}"
#: Raw, a webview is no page: those clients see the host, and nothing else.
NO_PAGE = Expected("ok", "no page at that address")
NEITHER = Expected(NOT_OFFERED, NOT_OFFERED)

EXPECTED: dict[tuple[str, str], Expected] = {
    ("Playwright", "connect"): NO_PAGE,
    ("Playwright", "new tab"): Expected(
        f"BrowserContext.new_page: Protocol error (Target.createTarget): {NO_TAB}",
        "BrowserContext.new_page: Protocol error (Target.createTarget): Not supported",
    ),
    ("Playwright", "quit the browser"): NEITHER,
    ("Puppeteer", "connect"): NO_PAGE,
    ("Puppeteer", "new tab"): Expected(
        f"Protocol error (Target.createTarget): {NO_TAB} [object Object]",
        "Protocol error (Target.createTarget): Not supported",
    ),
    # Puppeteer passes over the refusal, and its connection has ended.
    ("Puppeteer", "quit the browser"): Expected("ok", "not seen: the app has ended"),
    ("chrome-remote-interface", "new tab"): Expected(NO_TAB, "Could not create new page"),
    ("chrome-remote-interface", "quit the browser"): Expected(
        f"{NO_QUIT} ([object Object])", "WebSocket connection closed"
    ),
}
