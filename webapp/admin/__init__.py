"""Administration: the state of the site, its users, its jobs."""
