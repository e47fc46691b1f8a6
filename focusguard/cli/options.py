"""Options that several commands have."""

from __future__ import annotations

import click

#: Where `focusguard serve` listens unless it is told otherwise.
SERVE_PORT = 9333

PACE = click.option(
    "--pace",
    type=click.Choice(["between-keys", "at-once"]),
    default="between-keys",
    show_default=True,
    help="When the focus is borrowed while the person types.",
)
BRIDGE = click.option(
    "--bridge",
    type=click.Choice(["preload", "app", "inject", "none"]),
    default="preload",
    show_default=True,
    help="How the bridge gets into the app: before it, required by it, through the inspector, or not at all.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
