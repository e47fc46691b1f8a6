"""Downloads that an agent's page begins are saved where its client said, or cancelled; nobody is asked where to."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from focusguard.electron.display import Display
from specs.file_server import FileServer, file_server
from specs.guarded import Stage, guarded, raw
from specs.headful.boxes import Boxes, undisturbed

pytestmark = [pytest.mark.electron, pytest.mark.headful, pytest.mark.anyio]

Eventually = Callable[..., Awaitable[Any]]

SET = "Browser.setDownloadBehavior"
ON_PRESS = """document.querySelector('#button').onclick = () => {
  const link = document.createElement('a');
  link.href = 'data:application/octet-stream,hello';
  link.download = 'note.txt';
  link.click();
}; 0"""
#: Neither has a file yet when the other one is given a name.
IN_FRAMES = """for (const number of [1, 2]) {
  const frame = document.createElement('iframe');
  frame.hidden = true;
  frame.src = 'URL' + number;
  document.body.append(frame);
} 0"""


async def begins_one(app: Stage) -> None:
    """The agent's press makes the page begin a download."""
    await app.send("Runtime.evaluate", {"expression": ON_PRESS})
    await app.click("button")


@pytest.fixture
async def server() -> AsyncIterator[FileServer]:
    async with file_server() as serving:
        yield serving


@guarded
class TestGuarded:
    async def test_it_is_cancelled_where_nobody_said_where_to(
        self, app: Stage, display: Display, boxes: Boxes, eventually: Eventually
    ) -> None:
        front = display.active_window()
        assert app.guard is not None
        kept: list[Any] = []
        app.guard.watch(lambda report: kept.append(report.facts) if report.kind == "download.kept" else None)
        await begins_one(app)
        await eventually(lambda: kept)
        assert [each["suggestedFilename"] for each in kept] == ["note.txt"]
        await undisturbed(app, display, boxes, front)

    @pytest.mark.parametrize("behavior", ["allow", "allowAndName"])
    async def test_it_is_saved_where_the_client_said(
        self,
        app: Stage,
        display: Display,
        boxes: Boxes,
        eventually: Eventually,
        tmp_path: Path,
        behavior: str,
    ) -> None:
        front = display.active_window()
        await app.client.send(SET, {"behavior": behavior, "downloadPath": str(tmp_path)})
        try:
            for number in (1, 2):
                await begins_one(app)
                await eventually(lambda number=number: saved(tmp_path) == ["hello"] * number)
        finally:
            await app.client.send(SET, {"behavior": "default"})
        names = sorted(path.name for path in tmp_path.iterdir())
        if behavior == "allow":
            assert names == ["note (1).txt", "note.txt"]
        else:
            assert [len(uuid.UUID(name).hex) for name in names] == [32, 32]
        await undisturbed(app, display, boxes, front)

    async def test_two_of_one_name_at_once_are_two_files(
        self, app: Stage, boxes: Boxes, server: FileServer, eventually: Eventually, tmp_path: Path
    ) -> None:
        await app.client.send(SET, {"behavior": "allow", "downloadPath": str(tmp_path)})
        try:
            await app.send("Runtime.evaluate", {"expression": IN_FRAMES.replace("URL", server.url)})
            await eventually(lambda: server.begun == 2)
            server.go_on.set()
            await eventually(lambda: saved(tmp_path) == ["hello", "hello"])
        finally:
            await app.client.send(SET, {"behavior": "default"})
        assert sorted(path.name for path in tmp_path.iterdir()) == ["note (1).txt", "note.txt"]
        assert boxes() == []

    async def test_one_that_breaks_off_is_told_as_canceled(
        self, app: Stage, boxes: Boxes, server: FileServer, eventually: Eventually, tmp_path: Path
    ) -> None:
        states: list[str] = []

        def hear(event: dict[str, Any]) -> None:
            if event["method"] == "Browser.downloadProgress":
                states.append(event["params"]["state"])

        app.client.on_event = hear
        saving = {"behavior": "allow", "downloadPath": str(tmp_path), "eventsEnabled": True}
        await app.client.send(SET, saving)
        try:
            await app.send("Runtime.evaluate", {"expression": f"location.assign('{server.url}cut')"})
            await eventually(lambda: server.begun == 1)
            server.go_on.set()
            await eventually(lambda: "canceled" in states)
        finally:
            app.client.on_event = None
            await app.client.send(SET, {"behavior": "default"})
        assert states[-1] == "canceled"
        assert "completed" not in states
        assert list(tmp_path.iterdir()) == []
        assert boxes() == []

    async def test_one_that_begins_when_its_agent_has_just_left(
        self, app: Stage, display: Display, boxes: Boxes, server: FileServer, eventually: Eventually
    ) -> None:
        front = display.active_window()
        late = f"setTimeout(() => location.assign('{server.url}'), 1500); 0"
        await app.send("Runtime.evaluate", {"expression": late})
        await (await app.guest()).close()
        await eventually(lambda: server.begun == 1)
        await undisturbed(app, display, boxes, front)

    async def test_the_persons_own_is_asked_about(
        self, app: Stage, boxes: Boxes, eventually: Eventually
    ) -> None:
        await app.send("Runtime.evaluate", {"expression": ON_PRESS})
        await app.hands.click(*(await app.fixture.rects()).on_screen("button"))
        await eventually(boxes)


@raw
class TestRaw:
    async def test_a_box_takes_the_persons_keys(
        self, app: Stage, boxes: Boxes, eventually: Eventually
    ) -> None:
        await begins_one(app)
        await eventually(boxes)
        await app.hands.type("mine")
        assert (await app.seen()).host.values["textarea"] == ""


def saved(folder: Path) -> list[str]:
    """What the files in a folder say; one that is still being written has another name, or says nothing."""
    return [path.read_text("utf-8") for path in folder.iterdir()]
