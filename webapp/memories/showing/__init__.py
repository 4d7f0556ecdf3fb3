"""Views of memories for people."""
