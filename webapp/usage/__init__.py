"""Tokens and prices by reply and by background work, and what people may spend."""
