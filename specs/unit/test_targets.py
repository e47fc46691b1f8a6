"""The target tree: what clients are shown of the app."""

from __future__ import annotations

from typing import Any

import pytest

from focusguard.cdp.targets import (
    CONTEXT_ID,
    DEFAULT_FILTER,
    Child,
    Embedding,
    Guest,
    TargetTree,
    passes,
    shown_page,
    shown_tab,
    tab_id,
)
from specs.unit.transcript import target


def tree() -> TargetTree:
    """A guest with a frame, a guest that clients do not know of yet, a host."""
    made = TargetTree()
    for target_id in ("HOST", "G1", "G2"):
        made.infos[target_id] = target(target_id)
    made.guests["G1"] = Guest(target("G1"), web_contents_id=5, ready=True)
    made.guests["G1"].children["F1"] = Child(target("F1", "iframe"), "S", "G1")
    made.guests["G2"] = Guest(target("G2"), web_contents_id=6)
    made.guests["G2"].children["F2"] = Child(target("F2", "iframe"), "S", "G2")
    return made


class TestTree:
    @pytest.mark.parametrize(("target_id", "guest"), [("G1", "G1"), ("F1", "G1")])
    def test_a_guest_and_what_is_below_it(self, target_id: str, guest: str) -> None:
        found = tree().guest_of(target_id)
        assert found is not None
        assert found.target_id == guest

    @pytest.mark.parametrize("target_id", ["HOST", "G2", "F2", "tab-G1", "invented", ""])
    def test_everything_else_does_not_exist(self, target_id: str) -> None:
        assert tree().guest_of(target_id) is None

    def test_ready_ones_only(self) -> None:
        assert [guest.target_id for guest in tree().ready()] == ["G1"]

    def test_by_electrons_number(self) -> None:
        found = tree().by_web_contents(6)
        assert found is not None
        assert found.target_id == "G2"
        assert tree().by_web_contents(7) is None

    @pytest.mark.parametrize("embedding", Embedding)
    def test_only_a_webview_is_an_inner_web_contents(self, embedding: Embedding) -> None:
        assert Guest(target("G"), embedding).inner is (embedding is Embedding.WEBVIEW)


class TestShown:
    """What the app says of a target, less what clients must not know."""

    INFO: dict[str, Any] = target("G1", browserContextId="PARTITION", openerId="HOST", pid=7, subtype="x")

    def test_a_webview_is_a_page_in_the_one_context(self) -> None:
        assert shown_page(Guest(self.INFO), attached=True) == {
            "targetId": "G1",
            "type": "page",
            "title": "title of G1",
            "url": "http://guest.test/G1",
            "canAccessOpener": False,
            "subtype": "x",
            "attached": True,
            "browserContextId": CONTEXT_ID,
        }

    def test_its_tab_is_beside_it(self) -> None:
        tab = shown_tab(Guest(self.INFO), attached=False)
        assert (tab["targetId"], tab["type"], tab["attached"]) == (tab_id("G1"), "tab", False)


class TestFilter:
    """Target.TargetFilter: the first entry that matches decides; none lets nothing through."""

    @pytest.mark.parametrize(
        ("filter_", "through"),
        [
            (DEFAULT_FILTER, {"page", "iframe", "worker"}),
            ((), set()),
            (({},), {"browser", "tab", "page", "iframe", "worker"}),
            (({"exclude": True},), set()),
            (({"type": "page"},), {"page"}),
            (({"type": "page", "exclude": False},), {"page"}),
            (({"type": "page", "exclude": True}, {}), {"browser", "tab", "iframe", "worker"}),
            (({"type": "page"}, {"type": "page", "exclude": True}), {"page"}),
            (({"type": "page", "exclude": True}, {"type": "page"}), set()),
        ],
    )
    def test_it(self, filter_: tuple[dict[str, Any], ...], through: set[str]) -> None:
        types = {"browser", "tab", "page", "iframe", "worker"}
        assert {each for each in types if passes(filter_, each)} == through
