"""The I/O around the pure guard: the server for clients, the ways to the app, and the hub between them."""
