"""The rig: Electron runtimes, an isolated display, a person's input, launching that leaves nothing behind."""
