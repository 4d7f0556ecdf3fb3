"""Turns while they run: from the lease to the last event, their streams, and those who watch them."""
