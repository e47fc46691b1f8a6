"""What the app says to the bridge: which pages agents may see, and its sign that one is acting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from specs.guarded import Stage, key_event

pytestmark = [pytest.mark.electron, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]
BRIDGE = "process[Symbol.for('focusguard.bridge')]"
REFUSE = (
    f"{BRIDGE}.isGuest = (page) => (page.getType() === 'webview' ? false : undefined); {BRIDGE}.reconsider()"
)
ALLOW = f"{BRIDGE}.isGuest = null; {BRIDGE}.reconsider()"


class TestAPageThatAgentsMayNotSee:
    async def test_it_goes_with_what_is_down_and_comes_again(
        self, guarded: Stage, eventually: Eventually
    ) -> None:
        assert guarded.guard is not None
        since = await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        await guarded.send("Input.dispatchKeyEvent", {"type": "keyDown", **key_event("a")})
        await guarded.fixture.execute("main-process", REFUSE)
        try:
            await eventually(lambda: guarded.guard is not None and not guarded.guard.guests())
            refused = await guarded.try_send("Input.dispatchKeyEvent", {"type": "keyDown", **key_event("b")})
            assert refused is not None
            targets = (await guarded.client.send("Target.getTargets"))["targetInfos"]
            assert [each for each in targets if each["type"] == "page"] == []
            await eventually(lambda: keys_up(guarded, since))
            assert (await guarded.seen(since)).guest().keys() == ["a"]
        finally:
            await guarded.fixture.execute("main-process", ALLOW)
        await guarded.guard.wait_for_guests(1)
        await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        assert await guarded.key("c") is None
        assert (await guarded.seen()).guest().values["text"] == "c"

    async def test_a_rule_that_throws_is_none(self, guarded: Stage) -> None:
        assert guarded.guard is not None
        await guarded.fresh()
        code = f"{BRIDGE}.isGuest = () => {{ throw new Error('no'); }}; {BRIDGE}.reconsider()"
        await guarded.fixture.execute("main-process", code)
        try:
            assert await guarded.key("d") is None
            assert len(guarded.guard.guests()) == 1
        finally:
            await guarded.fixture.execute("main-process", ALLOW)


async def keys_up(on: Stage, since: int) -> bool:
    state = await on.fixture.state(since=since)
    return [record.key for record in state.guest().records("keyup")] == ["a"]


class TestTheSign:
    async def test_it_is_on_while_an_agent_acts(self, guarded: Stage, eventually: Eventually) -> None:
        await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        listen = "(page, acting) => { global.signs.push([page.getType(), acting]); }"
        code = f"global.signs = []; {BRIDGE}.onAgentActing = {listen}"
        await guarded.fixture.execute("main-process", code)
        try:
            assert await guarded.key("z") is None
            await eventually(lambda: off(guarded))  # whatever was done before is over
            await guarded.fixture.execute("main-process", "global.signs = []")
            await guarded.send("DOM.getDocument")
            assert await signs(guarded) == [], "looking is no acting"
            for letter in "abc":
                assert await guarded.key(letter) is None
            assert await signs(guarded) == [["webview", True]]
            await eventually(lambda: off(guarded))
            assert await signs(guarded) == [["webview", True], ["webview", False]]
        finally:
            await guarded.fixture.execute("main-process", f"{BRIDGE}.onAgentActing = null")

    async def test_one_that_throws_does_no_harm(self, guarded: Stage) -> None:
        await guarded.fresh()
        await guarded.fixture.focus_guest("text")
        code = f"{BRIDGE}.onAgentActing = () => {{ throw new Error('no'); }}"
        await guarded.fixture.execute("main-process", code)
        try:
            assert await guarded.key("e") is None
            assert (await guarded.seen()).guest().values["text"] == "e"
        finally:
            await guarded.fixture.execute("main-process", f"{BRIDGE}.onAgentActing = null")


async def signs(on: Stage) -> Any:
    return await on.fixture.execute("main-process", "return global.signs")


async def off(on: Stage) -> bool:
    return (await signs(on))[-1:] == [["webview", False]]
