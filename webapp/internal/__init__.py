"""Reading by other services, with a service token."""
