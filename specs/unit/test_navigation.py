"""Commands after which a page may focus something: watched, so that the person's field keeps its input method."""

from __future__ import annotations

from specs.unit.strokes import (
    HELD,
    KEY,
    RETURNED,
    begin,
    key,
    key_arrives,
    lingers,
)


class TestFocusCommands:
    """DOM.focus: nobody is told when it takes the input method from the person's field, so it is watched."""

    def test_the_person_is_looked_after(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "DOM.focus", {"nodeId": 3}, session="S1")
        t.bridge.gets("borrow.begin", take=False).answers(HELD)
        t.app.gets("DOM.focus", {"nodeId": 3}, session="S1").answers()
        agent.hears(1, {}, session="S1")
        lingers(t, guest)
        t.silence()

    def test_it_keeps_its_place_among_keys(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "DOM.focus", {"nodeId": 3}, session="S1")
        agent.says(2, KEY, key("a"), session="S1")
        t.bridge.gets("borrow.begin").answers(HELD)
        focusing = t.app.gets("DOM.focus", session="S1")
        t.app.takes_quietly()
        assert not t.app.calls
        focusing.answers()
        agent.hears(1, {}, session="S1")
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        lingers(t, guest)
        t.silence()

    def test_while_the_person_composes_it_is_refused(self) -> None:
        t, _, agent = begin()
        agent.says(1, "DOM.focus", {"nodeId": 3}, session="S1")
        t.bridge.gets("borrow.begin").answers({"state": "composing"})
        agent.hears_error(1, "browser_user_composing", session="S1")
        t.silence()


class TestNavigations:
    """A page may focus itself after them: they are watched, and input does not wait for them."""

    def test_a_navigation(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        t.bridge.gets("borrow.begin", take=False).answers(HELD)
        going = t.app.gets("Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        agent.says(2, KEY, key("a"), session="S1")
        key_arrives(t, guest)
        agent.hears(2, {}, session="S1")
        going.answers({"frameId": "G1"})
        agent.hears(1, {"frameId": "G1"}, session="S1")
        t.rings(1.0)
        t.bridge.gets("borrow.end", lease=1).answers(RETURNED)
        t.bridge.gets("host.repair").answers({"nudged": True})
        t.silence()

    def test_a_reload_goes_through_the_bridge(self) -> None:
        t, guest, agent = begin()
        agent.says(1, "Page.reload", {"ignoreCache": True}, session="S1")
        t.bridge.gets("borrow.begin").answers(HELD)
        asked = t.bridge.gets("guest.reload", webContentsId=guest.web_contents_id, ignoreCache=True)
        asked.answers({})
        agent.hears(1, {}, session="S1")
        t.app.takes_quietly()
        assert not t.app.calls
        t.rings(1.0)
        t.bridge.gets("borrow.end").answers(RETURNED)
        t.bridge.gets("host.repair").answers({"nudged": False})
        t.silence()

    def test_a_late_pane_does_not_keep_a_page_from_loading(self) -> None:
        t, _, agent = begin()
        agent.says(1, "Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        t.bridge.gets("borrow.begin").fails("too late", "pane-unavailable")
        t.app.gets("Page.navigate", session="S1").answers({"frameId": "G1"})
        agent.hears(1, session="S1")
        t.silence()

    def test_a_composition_does(self) -> None:
        t, _, agent = begin()
        agent.says(1, "Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        t.bridge.gets("borrow.begin").answers({"state": "composing"})
        agent.hears_error(1, "browser_user_composing", session="S1")
        t.silence()

    def test_a_guest_that_goes_while_it_navigates(self) -> None:
        t, _guest, agent = begin()
        agent.says(1, "Page.navigate", {"url": "http://guest.test/2"}, session="S1")
        t.bridge.gets("borrow.begin").answers(HELD)
        t.app.gets("Page.navigate", session="S1")
        t.app.says("Target.targetDestroyed", {"targetId": "G1"})
        agent.hears_error(1, "browser_error: the target closed", session="S1")
        agent.hears_event("Target.detachedFromTarget")
        t.rings(1.0)
        t.bridge.gets("borrow.end", lease=1).answers(RETURNED)
        t.bridge.gets("host.repair").fails("there is no such page", "no-such-target")
        t.silence()
