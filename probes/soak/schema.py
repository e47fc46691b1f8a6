"""The document that a soak writes: `soak.json`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1


class Model(BaseModel):
    """Base: nothing that the schema does not know."""

    model_config = ConfigDict(extra="forbid")


class RuntimeFacts(Model):
    """The Electron that was measured."""

    electron: str
    chromium: str
    sha256: str


class Spread(Model):
    """Times in milliseconds."""

    p50: float
    p99: float
    max: float


class RawControl(Model):
    """The same typing with the same agents straight on Electron's own port."""

    keystrokes: int
    lost: int


class Moment(Model):
    """One thing on the timeline; times in milliseconds since the first keystroke.

    Attributes:
        what: for an action its name, for a borrow the method that needed it.
        held_ms: for a borrow, how long the person's focus was away.
        fine: for an action, whether its effect was seen in the guest.
    """

    kind: Literal["action", "borrow", "refusal", "report", "broken"]
    what: str
    at_ms: float
    ms: float = 0.0
    held_ms: float | None = None
    fine: bool | None = None
    agent: int | None = None


class ActionCount(Model):
    """One kind of action."""

    name: str
    press: bool
    done: int = 0
    missing: int = 0
    ms: Spread = Field(default_factory=lambda: Spread(p50=0, p99=0, max=0))


class Compositions(Model):
    """What became of a person's words, with a real input method.

    Attributes:
        compositions: of which the words are made: hangul closes one with every syllable.
        swallowed: words of which no composition began: the input method was dead.
        broken: words that began and did not arrive as they were meant.
        reported: how often the guard itself said that something of an input method was lost.
    """

    engine: str
    words: int
    compositions: int
    swallowed: int
    broken: int
    reported: int


class SoakResult(Model):
    """Everything that one soak measured.

    Attributes:
        effects_missing: actions whose effect was not seen in the guest.
        misdelivered: the person's keys seen in a guest.
        leaked: the agents' keys and text seen in the host.
        brought_home: the person's keys that fell into a borrow and were carried to their field.
        waited_ms: how long borrows waited for a gap between the person's keys.
        late_ms: how late keystrokes were sent, against the schedule: the machine, not the guard.
    """

    schema_version: int = SCHEMA_VERSION
    runtime: RuntimeFacts
    embedding: str
    host_field: str
    rate: float
    seed: int
    pace: str
    complete: bool
    incomplete_because: str = ""
    seconds: float
    keystrokes: int
    presses: int
    other_actions: int
    effects_missing: int
    refused: int
    lost: int
    out_of_order: int
    doubled: int
    misdelivered: int
    leaked: int
    brought_home: int
    borrow_ms: Spread
    waited_ms: Spread
    late_ms: Spread
    raw_control: RawControl | None
    compositions: Compositions | None = None
    actions: list[ActionCount]
    timeline: list[Moment]
    strokes_ms: list[float]

    @property
    def clean(self) -> bool:
        """Whether nobody lost anything and every action had its effect."""
        faults: tuple[int, ...] = (
            self.lost,
            self.out_of_order,
            self.doubled,
            self.misdelivered,
            self.leaked,
            self.effects_missing,
        )
        if self.compositions is not None:
            faults += (self.compositions.swallowed, self.compositions.broken)
        return self.complete and not any(faults)
