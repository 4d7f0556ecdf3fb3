"""Backups: everything an installation has to keep in one file that any database can be filled from."""
