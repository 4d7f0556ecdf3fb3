"""Notifies other programs of events: by requests to URLs that a person names, and on an event stream."""
