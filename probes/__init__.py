"""What measures: the fixture's driver, and the probes that use it."""
