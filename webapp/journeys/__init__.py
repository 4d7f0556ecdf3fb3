"""Journeys: guided conversations, the points they should cover, and what is known about each."""
