"""Real servers and small helpers for the tests: a private MariaDB, a private Redis, a live copy of the application."""
