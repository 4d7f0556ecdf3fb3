"""Turns: a user message, the reply to it, and everything that happens in between."""
