"""What a case is: something an agent can do, and how its input can be told from a person's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from probes.landing.schema import EMBEDDINGS, ROUTES, WINDOWS, Embedding, GuestFocus, Route, Window
from probes.landing.steps import Cdp, Pause, Session, Step

Kind = Literal["keys", "text", "press", "move", "wheel", "touch", "gesture", "drag", "none"]
HostField = Literal["textarea", "contenteditable", "shadow", "terminal", "form"]

RAW_ONLY: tuple[Route, ...] = ("raw",)
HEADFUL_ONLY: tuple[Window, ...] = ("headful",)
WEBVIEW_ONLY: tuple[Embedding, ...] = ("webview",)


@dataclass(frozen=True)
class Case:
    """One thing an agent can do.

    Attributes:
        name: Unique name; what is matched by `--case`.
        what: One sentence for a reader of the matrix.
        steps: What is sent, in order.
        kind: Which events in a log are this case's input.
        tokens: For keys and text, the values that only the agent types.
        setup: Sent before the observation begins (emulation, attributes); its effects are not the case's.
        cleanup: Sent when the trial is over, for buttons and touches that are still down.
        guest_focus: Where the guest's own focus is put beforehand.
        host_field: The field the person is in.
        routes, embeddings, windows: Where the case exists.
        during: The person types while the steps are repeated.
        loads: The guest loads a document; the trial waits for it.
        destructive: A renderer may be gone afterwards: run last, in an app that is thrown away.
        any_app: Needs nothing but a field in the guest (or its cross-site frame), and does no harm in an app that
            somebody uses.
        quick: Part of `--quick`.
    """

    name: str
    what: str
    steps: tuple[Step, ...]
    kind: Kind = "none"
    tokens: tuple[str, ...] = ()
    setup: tuple[Step, ...] = ()
    cleanup: tuple[Step, ...] = ()
    guest_focus: GuestFocus = "main"
    host_field: HostField = "textarea"
    routes: tuple[Route, ...] = ROUTES
    embeddings: tuple[Embedding, ...] = EMBEDDINGS
    windows: tuple[Window, ...] = WINDOWS
    during: bool = False
    loads: bool = False
    destructive: bool = False
    any_app: bool = False
    quick: bool = False

    @property
    def sessions(self) -> frozenset[Session]:
        """The sessions that the client needs."""
        return frozenset(
            step.session for step in (*self.setup, *self.steps, *self.cleanup) if isinstance(step, Cdp)
        )


def exists_in(case: Case, embedding: Embedding, window: Window, route: Route) -> bool:
    """Whether a cell is part of the plan at all."""
    return embedding in case.embeddings and window in case.windows and route in case.routes


def repeated(case: Case, times: int) -> Case:
    """A while-typing case with its steps repeated, a little apart as an agent would."""
    steps: list[Step] = []
    for index in range(times):
        steps += [*([Pause(40)] if index else []), *case.steps]
    return replace(case, steps=tuple(steps))
