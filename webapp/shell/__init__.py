"""Wires the application: what every process needs, what is served, and its upkeep."""
