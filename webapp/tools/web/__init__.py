"""Searching the web and reading pages, with what an admin has set up."""
