"""The history of memories, and its undoing."""
