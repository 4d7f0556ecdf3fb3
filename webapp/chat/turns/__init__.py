"""Turns while they run, from the lease to the last event: their streams, and the viewers of those."""
