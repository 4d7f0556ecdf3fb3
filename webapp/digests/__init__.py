"""Digests: the structured memory of one conversation, for prompts, for programs and for its owner."""
