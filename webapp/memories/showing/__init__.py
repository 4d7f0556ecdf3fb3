"""How memories are shown to people."""
