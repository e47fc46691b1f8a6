"""The rig: Electron runtimes, an isolated display, a person's input, and launching that cleans up after itself."""
