"""Giving an empty account everything that an export of Commonplace holds."""
