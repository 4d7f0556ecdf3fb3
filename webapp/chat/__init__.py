"""Turns: the context of a reply, running it, streaming it."""
