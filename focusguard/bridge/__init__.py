"""The link between the guard and its companion inside the Electron app."""

from pathlib import Path

BRIDGE_SCRIPT = Path(__file__).with_name("electron") / "bridge.cjs"
"""What an app requires, or what `NODE_OPTIONS=--require` names."""

__all__ = ["BRIDGE_SCRIPT"]
