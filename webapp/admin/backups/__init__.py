"""Backups: everything an installation has to keep, in one file from which any database can be filled."""
