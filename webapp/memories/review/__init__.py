"""Memories that wait for the person, and the decisions."""
