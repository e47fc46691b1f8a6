"""Finding what is to be measured in an app: its guest, its host page, and a field in each."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import anyio

from focusguard.electron.errors import RigError
from focusguard.guard import BridgeMode
from probes.landing.cdp_client import CdpError, open_client
from probes.landing.schema import Embedding
from probes.own_app.observers import FIELD, ObserverLost, Observers, Page, Watched

#: Seconds for the app to have its guest, and the fields in both pages.
FIND_SECONDS = 15.0
#: How a guest may be shown for its input to be told from its host's.
EMBEDDINGS: tuple[Embedding, ...] = ("webview", "browser-view", "web-contents-view")


class NothingToMeasure(RigError):
    """The app has no such page or field, or several; the message lists what there is."""


@dataclass(frozen=True)
class App:
    """An app, and how what is measured is found in it.

    Attributes:
        path: The app's folder or main file; None for a packaged app, which is the runtime itself.
        host_field, guest_field: Selectors; the first field that is shown where there is none.
        guest: Part of the guest's URL, or its number (from 0) among the guests; the first where it is None.
        bridge: How the bridge gets into the app.
        seconds: How long guest and fields may take to come.
    """

    path: Path | None
    args: tuple[str, ...] = ()
    host_field: str | None = None
    guest: str | None = None
    guest_field: str | None = None
    bridge: BridgeMode = "preload"
    seconds: float = FIND_SECONDS


@dataclass(frozen=True)
class Found:
    """What is measured, as it was seen on a first look.

    Attributes:
        host, guest: The two pages; their ids are those of that start of the app.
        host_field, guest_field: The two fields, described.
    """

    embedding: Embedding
    host: Page
    guest: Page
    host_field: str
    guest_field: str


async def find(app: App, observers: Observers, guard_url: str) -> Found:
    """Finds guest, host and fields in an app that has just been started behind the guard.

    Raises:
        NothingToMeasure: One of them is not there, or not only once.
    """
    until = time.monotonic() + app.seconds
    while True:
        try:
            guest, embedding = await _find_guest(app, observers, guard_url)
            host = await _find_host(app, observers, guest)
            return await _found(app, observers, host, guest, embedding)
        except (NothingToMeasure, ObserverLost) as error:
            if time.monotonic() > until:
                raise NothingToMeasure(str(error)) from error
        except CdpError as error:
            if time.monotonic() > until:
                raise NothingToMeasure(f"the app's pages do not answer: {error}") from error
        await anyio.sleep(0.2)  # the app is still loading


async def find_again(app: App, observers: Observers, found: Found) -> None:
    """Finds the same pages and fields in another start of the app, and points the observers at them.

    Raises:
        NothingToMeasure: They do not come.
    """
    until = time.monotonic() + app.seconds
    while True:
        try:
            pages = await observers.pages()
            guest = _same(pages, found.guest, but="")
            host = _same(pages, found.host, but=guest.target_id)
            observers.guest = guest.target_id
            await _found(app, observers, host, guest, found.embedding)
            return
        except (NothingToMeasure, ObserverLost, CdpError) as error:
            if time.monotonic() > until:
                raise NothingToMeasure(f"the app is not as on the first look: {error}") from error
        await anyio.sleep(0.1)


async def choose_fields(app: App, observers: Observers) -> tuple[str, str]:
    """Has the observers of host and guest choose their fields; gives both described.

    Raises:
        NothingToMeasure: There is no such field, or more than one.
    """
    return (
        await _choose(observers, observers.page(observers.host), app.host_field, "host", observers.label),
        await _choose(observers, observers.page(observers.guest), app.guest_field, "guest", FIELD),
    )


async def _find_guest(app: App, observers: Observers, guard_url: str) -> tuple[Page, Embedding]:
    async with open_client(guard_url) as client:
        guests = (await client.send("FocusGuard.getStatus"))["guests"]
    wanted = app.guest
    if wanted is None:
        chosen = guests[:1]
    elif wanted.isdecimal():
        chosen = guests[int(wanted) :][:1]
    else:
        chosen = [guest for guest in guests if wanted in guest["url"]]
    pages = await observers.pages()
    if len(chosen) != 1:
        asked = "no guest" if wanted is None else f"{_count(len(chosen), 'guest')} for --guest {wanted}"
        told = [f"{guest['embedding']} {guest['url'][:100]}" for guest in guests]
        raise NothingToMeasure(
            f"{asked}; the guard's guests are:{_list(told)}\n"
            f"the app's pages are:{_list(pages)}\n"
            "A guest is a <webview>, or a view of a window that has a page of its own."
        )
    embedding = chosen[0]["embedding"]
    if embedding not in EMBEDDINGS:
        raise NothingToMeasure(
            f"the guest {chosen[0]['url'][:100]} is shown as {embedding}; only guests in the person's own window "
            f"({', '.join(EMBEDDINGS)}) are measured here"
        )
    page = next((page for page in pages if page.target_id == chosen[0]["targetId"]), None)
    if page is None:
        raise NothingToMeasure(f"the guest {chosen[0]['url'][:100]} has gone")
    return page, embedding


async def _find_host(app: App, observers: Observers, guest: Page) -> Page:
    """The page that has the person's field: there must be one only."""
    observers.host, observers.guest = "", guest.target_id
    pages = [
        page for page in await observers.pages() if page.type == "page" and page.target_id != guest.target_id
    ]
    await observers.install()
    documents = {document.target_id: document for document in observers.documents if document.main}
    having, listed = [], []
    for page in pages:
        document = documents.get(page.target_id)
        if document is None:
            listed.append(f"{page}: it does not answer")
            continue
        choice = await observers.call(document, "choose", app.host_field, FIELD)
        if choice["count"]:
            having.append(page)
        listed.append(f"{page}:{_list(await observers.call(document, 'candidates'), 4)}")
    if len(having) == 1:
        return having[0]
    what = "a field that takes text" if app.host_field is None else f"an element {app.host_field!r}"
    if not having:
        raise NothingToMeasure(
            f"no page of the app but its guest has {what}. The pages, and the fields that are shown in "
            f"them:{_list(listed)}\nName one with --host-field SELECTOR."
        )
    raise NothingToMeasure(
        f"{len(having)} pages of the app have {what}. The pages, and the fields that are shown in "
        f"them:{_list(listed)}\nName one that only the person's page has with --host-field SELECTOR."
    )


async def _found(app: App, observers: Observers, host: Page, guest: Page, embedding: Embedding) -> Found:
    observers.host = host.target_id
    await observers.install()
    fields = await choose_fields(app, observers)
    there = {page.target_id: page for page in await observers.pages()}
    for page in (host, guest):
        document = observers.page(page.target_id)
        if not (page.target_id in there and there[page.target_id].url):
            raise NothingToMeasure(f"{page} has no address yet, or is gone")
        if not await observers.call(document, "isLoaded"):
            raise NothingToMeasure(f"{page} is still loading")
    return Found(embedding, there[host.target_id], there[guest.target_id], *fields)


async def _choose(
    observers: Observers, document: Watched, selector: str | None, whose: str, label: str
) -> str:
    choice = await observers.call(document, "choose", selector, label)
    if choice["takesText"]:
        return str(choice["name"])
    if choice["count"] == 1:
        asked = f"an element {selector!r} that takes no text"
    else:
        asked = (
            "no field that takes text"
            if selector is None
            else f"{_count(choice['count'], 'element')} {selector!r}"
        )
    candidates = await observers.call(document, "candidates")
    raise NothingToMeasure(
        f"the {whose}'s page {document.url[:100]} has {asked}. The fields that are shown there:{_list(candidates)}\n"
        f"Name one with --{whose}-field SELECTOR."
    )


def _same(pages: list[Page], wanted: Page, *, but: str) -> Page:
    """The page that stands for one of another start: the same URL, or else the same without query and fragment."""
    alike = [page for page in pages if page.type == wanted.type and page.target_id != but]
    for shape in (str, _path_of):
        for page in alike:
            if shape(page.url) == shape(wanted.url):
                return page
    raise NothingToMeasure(f"no {wanted}; the app's pages are:{_list(pages)}")


def _path_of(url: str) -> str:
    return url.partition("#")[0].partition("?")[0]


def _count(number: int, noun: str) -> str:
    return f"no {noun}" if number == 0 else f"{number} {noun}s"


def _list(items: Iterable[object], indent: int = 2) -> str:
    return "".join(f"\n{' ' * indent}{item}" for item in items) or " none"
