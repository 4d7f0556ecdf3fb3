"""What of memory every prompt contains."""
