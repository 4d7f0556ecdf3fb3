"""What other services may read, with a service token."""
