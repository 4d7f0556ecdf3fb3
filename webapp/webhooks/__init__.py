"""Tells other programs what happens: by requests to URLs that a person names, and by a stream of events."""
