"""What admins see and do: the state of the site, its users, its jobs."""
