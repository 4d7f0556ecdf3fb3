"""Tokens and costs of replies and background work, and how much people may spend."""
