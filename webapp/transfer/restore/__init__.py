"""Restoring everything in a Commonplace export to an empty account."""
