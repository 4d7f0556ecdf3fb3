"""Telling other programs what happens: requests to addresses that a person names, and a stream of events."""
