"""Queues, job specs and events for work outside of a request."""
