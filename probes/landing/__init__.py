"""The landing probe: where every kind of agent input lands, and what it does to the person's focus."""
