"""Readers of files, one for each kind: bytes in, pages of text out; each imports its library when it is called."""
