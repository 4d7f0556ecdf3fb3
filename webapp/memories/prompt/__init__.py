"""The memories that every prompt contains."""
