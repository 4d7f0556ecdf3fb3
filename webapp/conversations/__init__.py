"""Conversations and their messages: what was said, and in which order."""
