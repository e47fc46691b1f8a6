"""The landing probe on an app that knows nothing of it: observers of its own, put in from outside."""
