"""Verdicts of the landing probe, from crafted states: nothing runs here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.landing.cases import Kind
from probes.landing.observe import (
    AgentInput,
    Document,
    Event,
    PersonInput,
    Snapshot,
    Verdict,
    find_sightings,
    judge,
)
from probes.landing.schema import Place

KEYS = AgentInput("keys", ("q", "w", "e"))
TEXT = AgentInput("text", ("agent",))


def key(
    letter: str, *, target: str = "textarea", types: tuple[str, ...] = ("keydown", "input", "keyup")
) -> list[Event]:
    return [
        Event(
            kind, key="" if kind == "input" else letter, data=letter if kind == "input" else "", target=target
        )
        for kind in types
    ]


def typed(text: str, target: str = "textarea") -> list[Event]:
    return [event for letter in text for event in key(letter, target=target)]


def document(place: Place, log: list[Event] = [], *, name: str = "", active: str = "") -> Document:  # noqa: B006
    return Document(place, name or place, active=active, has_focus=place == "host", log=tuple(log))


def host(log: list[Event] = [], *, active: str = "textarea", value: str = "") -> Document:  # noqa: B006
    return replace(document("host", log, active=active), value=value)


BEFORE = Snapshot(host(), (document("guest"), document("cross-site-frame"), document("other-guest")))


def after(host_log: list[Event] = [], *, active: str = "textarea", **logs: list[Event]) -> Snapshot:  # noqa: B006
    places: dict[str, Place] = {"guest": "guest", "frame": "cross-site-frame", "other": "other-guest"}
    return Snapshot(
        host(host_log, active=active),
        tuple(document(place, logs.get(name, [])) for name, place in places.items()),
    )


def verdict(
    seen: Snapshot,
    agent: AgentInput = KEYS,
    person: str | None = None,
    *,
    during: str = "",
    field: str = "textarea",
) -> Verdict:
    given = None if person is None else PersonInput(during, person)
    return judge(BEFORE, seen, agent, given, field_name=field)


class DescribeLanding:
    def it_is_where_the_log_has_the_agents_keys(self) -> None:
        assert verdict(after(guest=typed("qwe"))).landing == ("guest",)
        assert verdict(after(frame=typed("qwe"))).landing == ("cross-site-frame",)
        assert verdict(after(typed("qwe"))).landing == ("host",)

    def it_can_be_several_places_at_once(self) -> None:
        assert verdict(after(typed("q"), guest=typed("we"))).landing == ("host", "guest")

    def it_is_nowhere_when_no_log_has_them(self) -> None:
        assert verdict(after()).landing == ("nowhere",)

    def it_is_empty_for_a_command_without_input(self) -> None:
        assert verdict(after(), AgentInput("none")).landing == ()

    def it_names_the_menu(self) -> None:
        seen = replace(after(), accelerators={"Ctrl+R": 1})
        assert verdict(seen).landing == ("app-menu",)
        assert verdict(seen).leaked_inputs == ("Ctrl+R → app-menu",)

    def it_does_not_count_what_was_there_before(self) -> None:
        before = Snapshot(host(), (document("guest", typed("q")),))
        seen = Snapshot(host(), (document("guest", typed("q")),))
        assert judge(before, seen, KEYS, None).landing == ("nowhere",)

    def it_counts_a_document_that_was_loaded_anew_from_its_first_event(self) -> None:
        before = Snapshot(host(), (document("guest", [Event("focus"), Event("blur")]),))
        seen = Snapshot(host(), (document("guest", typed("q")),))
        assert judge(before, seen, KEYS, None).landing == ("guest",)

    def it_ignores_events_that_a_script_made(self) -> None:
        forged = [replace(event, trusted=False) for event in typed("qwe")]
        assert verdict(after(guest=forged)).landing == ("nowhere",)

    def it_ignores_the_persons_keys(self) -> None:
        assert verdict(after(typed("1234567890"))).landing == ("nowhere",)

    def it_sees_text_that_arrives_letter_by_letter(self) -> None:
        letters = [Event("input", data=letter) for letter in "agent"]
        assert verdict(after(guest=letters), TEXT).landing == ("guest",)

    @pytest.mark.parametrize(
        ("kind", "event"),
        [
            ("press", "mousedown"),
            ("move", "mousemove"),
            ("wheel", "wheel"),
            ("touch", "touchstart"),
            ("gesture", "pointerdown"),
            ("drag", "drop"),
        ],
    )
    def it_knows_pointer_events_by_kind(self, kind: Kind, event: str) -> None:
        assert verdict(after(guest=[Event(event)]), AgentInput(kind)).landing == ("guest",)

    def it_is_crashed_when_a_renderer_is_gone(self) -> None:
        found = verdict(replace(after(), gone=("guest:0: crashed",)), TEXT)
        assert found.landing == ("crashed",)
        assert found.focus_kept is None
        assert found.stolen == 0


class DescribeLeaked:
    def it_counts_inputs_and_not_events(self) -> None:
        assert verdict(after(typed("qwe"))).leaked == 3
        assert verdict(after(typed("qqwe"))).leaked == 4

    def it_counts_a_key_of_which_only_one_event_leaked(self) -> None:
        assert verdict(after(key("q", types=("keyup",)))).leaked == 1

    def it_counts_a_composition_by_its_steps(self) -> None:
        agent = AgentInput("text", ("agent", "ag"))
        log = [
            Event("compositionupdate", data="ag"),
            Event("input", data="ag"),
            Event("compositionupdate", data="agent"),
            Event("input", data="agent"),
            Event("compositionend", data="agent"),
            Event("input", data="agent"),
        ]
        assert verdict(after(log), agent).leaked == 3

    def it_counts_text_of_which_only_a_part_leaked(self) -> None:
        assert verdict(after([Event("input", data="ag")]), TEXT).leaked == 1

    def it_counts_text_without_any_event(self) -> None:
        seen = Snapshot(host(value="draft agent"), BEFORE.others)
        assert verdict(seen, TEXT).leaked_inputs == ("agent → host",)

    def it_counts_another_guest(self) -> None:
        assert verdict(after(other=typed("qwe"))).leaked_inputs == (
            "q → other-guest",
            "w → other-guest",
            "e → other-guest",
        )

    def it_counts_each_press_once(self) -> None:
        press = [Event(kind) for kind in ("pointerdown", "mousedown", "pointerup", "mouseup", "click")]
        assert verdict(after(press), AgentInput("press")).leaked == 1

    def it_is_none_within_the_guest(self) -> None:
        assert verdict(after(guest=typed("q"), frame=typed("w"))).leaked == 0


class DescribeStolen:
    def it_is_none_when_all_arrived_in_order(self) -> None:
        found = verdict(after(typed("1234567890")), person="1234567890")
        assert found.stolen == 0
        assert found.typed is not None
        assert found.typed.arrived == "1234567890"

    def it_counts_what_is_missing(self) -> None:
        assert verdict(after(typed("124567890")), person="1234567890").stolen == 1

    def it_counts_what_is_out_of_order(self) -> None:
        assert verdict(after(typed("1243567890")), person="1234567890").stolen == 1

    def it_says_where_the_others_went(self) -> None:
        found = verdict(after(typed("12"), guest=typed("345")), person="12345")
        assert found.stolen == 3
        assert found.typed is not None
        assert found.typed.elsewhere == {"guest": "345"}

    def it_counts_keys_in_another_field_of_the_host(self) -> None:
        assert verdict(after(typed("123", target="contenteditable")), person="123").stolen == 3

    def it_tells_during_from_after(self) -> None:
        found = verdict(after(typed("13") + typed("123")), person="123", during="123")
        assert found.typed is not None
        assert (found.typed.missing_during, found.typed.missing_after) == (1, 0)

    def it_reports_a_key_that_arrived_twice(self) -> None:
        found = verdict(after(typed("1223")), person="123")
        assert found.stolen == 0
        assert found.typed is not None
        assert found.typed.surplus == 1

    def it_is_not_disturbed_by_a_leak_in_the_same_field(self) -> None:
        found = verdict(after(typed("1q2w3e")), person="123")
        assert (found.stolen, found.leaked) == (0, 3)

    def it_reads_a_terminal_from_its_key_presses(self) -> None:
        log = [Event("keydown", key=letter, target="terminal") for letter in "123"]
        assert verdict(after(log), person="123", field="terminal").stolen == 0

    def it_is_inferred_from_the_focus_in_a_hidden_window(self) -> None:
        assert verdict(after()).stolen == 0
        assert verdict(after(active="guest-0")).stolen == 1


class DescribeFocus:
    def it_is_kept_when_nothing_moved(self) -> None:
        found = verdict(after())
        assert (found.focus_kept, found.focus.story) == (True, "kept")

    def it_is_restored_when_it_left_and_came_back(self) -> None:
        found = verdict(after([Event("blur", target="textarea"), Event("focus", target="textarea")]))
        assert (found.focus_kept, found.focus.story) == (True, "restored")

    def it_is_moved_when_another_element_has_it(self) -> None:
        found = verdict(after(active="guest-0"))
        assert (found.focus_kept, found.focus.story) == (False, "moved")

    def it_is_moved_when_the_document_lost_it(self) -> None:
        seen = replace(after(), host=replace(host(), has_focus=False))
        assert verdict(seen).focus_kept is False


def test_a_key_before_the_page_counts_as_the_hosts() -> None:
    early = Document("host", "host, before the page", log=(Event("before-input-event", key="q"),))
    seen = Snapshot(host(), (*BEFORE.others, early))
    assert [sighting.document for sighting in find_sightings(BEFORE, seen, KEYS)] == ["host, before the page"]
    assert verdict(seen).leaked == 1
