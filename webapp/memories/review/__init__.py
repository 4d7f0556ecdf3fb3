"""What waits for the person, and their decisions."""
