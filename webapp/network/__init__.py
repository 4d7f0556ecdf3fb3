"""Requests to hosts that somebody else names."""
