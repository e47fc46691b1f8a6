"""What the guard decides. Pure: events in, commands out; no event loop, no socket, no clock."""
