"""What an agent does to a person's input method where there is no guard."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from focusguard.electron.display import isolated_display
from focusguard.electron.input_method import input_method
from focusguard.electron.janitor import Janitor
from focusguard.electron.person import Person
from focusguard.electron.runtimes import Runtime
from probes.fixture import run_fixture
from probes.landing.cdp_client import attach_guest, find_guest, focus_node, open_client

pytestmark = [pytest.mark.headful, pytest.mark.input_method, pytest.mark.anyio]


async def test_a_focused_field_in_the_guest_ends_all_composing(runtime: Runtime, janitor: Janitor) -> None:
    async with (
        isolated_display(janitor=janitor) as display,
        input_method("pinyin", display, janitor) as env,
        run_fixture(
            runtime, display=display, janitor=janitor, window="headful", debugging="port", env=env
        ) as fixture,
    ):
        person = Person(display)
        assert fixture.process is not None and fixture.process.debugging_url is not None
        assert fixture.opened is not None

        async def typed() -> str:
            await person.type("nihao ", rate=12.0)
            await anyio.sleep(0.5)
            await fixture.settle()
            return str((await fixture.state()).host.values["textarea"])

        await typed()  # the first word loads the dictionary
        await anyio.sleep(2)
        await fixture.focus_host("textarea", text="")
        await anyio.sleep(1)  # a change of the field makes the input method start afresh
        assert await typed() == "你好"
        url = fixture.opened.guests[0].url
        async with open_client(fixture.process.debugging_url) as client:
            session = (await attach_guest(client, await find_guest(client, url), url, frames=False)).root
            emulation = {"enabled": True}  # as every agent's client sets it
            await client.send("Emulation.setFocusEmulationEnabled", emulation, session=session)
            await focus_node(partial(client.send, session=session), "#text")
            await anyio.sleep(0.3)
            assert await typed() != "你好你好"
