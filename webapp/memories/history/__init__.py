"""What was done to memories, and undoing it."""
