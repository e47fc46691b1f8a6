"""The soak: a person types on while agents do everything they can, and every keystroke and effect is counted."""
