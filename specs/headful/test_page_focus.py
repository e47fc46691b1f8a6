"""Case 16: the agent's page believes that it has the focus, the person has it, and no client ends another's belief."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probes.landing.cdp_client import find_guest, open_client
from specs.guarded import FOCUS, Stage, endpoint, guarded, key_event, raw, records

pytestmark = [pytest.mark.electron, pytest.mark.headful, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
Send = Callable[..., Awaitable[dict[str, Any]]]

FRAME = """new Promise((resolve) => {
  requestAnimationFrame(() => resolve(true));
  setTimeout(resolve, 300, false);
})"""
EMULATION = "Emulation.setFocusEmulationEnabled"


@asynccontextmanager
async def client(on: Stage) -> AsyncIterator[Send]:
    """One more client, with a session on the guest."""
    async with open_client(endpoint(on)) as connected:
        target = await find_guest(connected, on.url())
        params = {"targetId": target, "flatten": True}
        session = (await connected.send("Target.attachToTarget", params))["sessionId"]

        async def send(method: str, **params: Any) -> dict[str, Any]:
            return await connected.send(method, params, session=session)

        yield send


async def has_focus(on: Stage, document: str = "guest:0") -> bool:
    return bool(await on.fixture.execute(document, "document.hasFocus()"))


async def painted(on: Stage) -> bool:
    """Whether the guest is given a frame; its own timers may not run while it is frozen."""
    return await on.fixture.execute("guest:0", FRAME) is True


@guarded
class TestGuarded:
    async def test_the_page_has_it_and_the_person_too(self, app: Stage) -> None:
        await app.click("text")
        await app.fixture.settle()
        since = (await app.fixture.state(logs=False)).seq
        assert await has_focus(app)
        await app.hands.type("mine")
        assert await app.key("a") is None
        answer = await app.send("Runtime.evaluate", {"expression": "document.hasFocus()"})
        assert answer["result"]["value"] is True
        assert await has_focus(app)
        state = await app.seen(since)
        assert state.host.values["textarea"] == "mine"
        assert state.host.has_focus
        assert state.guest().values["text"] == "a"
        assert records(state.guest(), *FOCUS) == []

    async def test_frames_have_it_with_the_page(self, app: Stage) -> None:
        await app.fixture.focus_guest("text", frame="cross-site")
        assert await app.key("a") is None
        assert await has_focus(app)
        assert await has_focus(app, "guest:0/cross-site")
        assert (await app.fixture.state(logs=False)).host.active == ["textarea"]

    async def test_a_clients_wish_survives_another_client(self, app: Stage, eventually: Eventually) -> None:
        assert not await has_focus(app)
        async with client(app) as first:
            await first(EMULATION, enabled=True)
            async with client(app) as second:
                assert await has_focus(app)
                for enabled in (True, False):
                    await second(EMULATION, enabled=enabled)
                    assert await has_focus(app)
                await second(EMULATION, enabled=True)
            answer = await first("Runtime.evaluate", expression="document.hasFocus()")
            assert answer["result"]["value"] is True
            assert await has_focus(app)

        async def lost() -> bool:
            return not await has_focus(app)

        await eventually(lost)

    async def test_what_the_guard_turned_on_ends_with_the_last_client(
        self, app: Stage, eventually: Eventually
    ) -> None:
        await app.fixture.focus_guest("text")
        async with client(app) as watching:
            async with client(app) as typing:
                await typing("Input.dispatchKeyEvent", type="keyDown", **key_event("k"))
            # Its key goes up, and the other client is still there.

            async def up() -> bool:
                return bool((await app.fixture.state()).guest().records("keyup"))

            await eventually(up)
            await watching("Runtime.evaluate", expression="1")
            assert await has_focus(app)

        async def lost() -> bool:
            return not await has_focus(app)

        await eventually(lost)
        assert (await app.fixture.state()).guest().values["text"] == "k"

    async def test_a_guest_that_was_frozen_is_painted_again(self, app: Stage, eventually: Eventually) -> None:
        async with client(app) as freezing:
            await freezing("Page.setWebLifecycleState", state="frozen")
            await freezing("Page.setWebLifecycleState", state="active")
            await eventually(lambda: painted(app))
            await freezing("Page.setWebLifecycleState", state="frozen")
        await eventually(lambda: painted(app))


@raw
class TestRaw:
    async def test_a_guest_that_was_frozen_stays_unpainted(self, app: Stage) -> None:
        async with client(app) as freezing:
            await freezing("Page.setWebLifecycleState", state="frozen")
            await freezing("Page.setWebLifecycleState", state="active")
            assert not await painted(app)
        await app.fixture.window("hide")
        await app.fixture.window("show")

    async def test_another_client_ends_it(self, app: Stage) -> None:
        async with client(app) as first, client(app) as second:
            await first(EMULATION, enabled=True)
            await second(EMULATION, enabled=True)
            assert await has_focus(app)
            await second(EMULATION, enabled=False)
            assert not await has_focus(app)
            await first(EMULATION, enabled=True)  # no help: it has been on all the time, says its session
            major = int(app.fixture.hello.electron.partition(".")[0])
            assert await has_focus(app) is (major < 33)
