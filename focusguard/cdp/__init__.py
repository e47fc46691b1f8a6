"""The protocol's pure side: message envelopes, sessions and targets. No I/O."""
