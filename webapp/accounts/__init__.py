"""People: accounts, sessions, API tokens, site settings."""
