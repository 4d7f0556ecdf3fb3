"""Lets other programs get a token for the memory server, with a person's consent: OAuth 2.1."""
