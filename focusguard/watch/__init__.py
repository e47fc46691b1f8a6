"""Watching a guard that runs: what a watcher knows (`state`), how it looks (`view`), and the client (`connection`)."""
