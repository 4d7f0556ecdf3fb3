"""Readers of files, one for each kind: bytes in, pages of text out, with what could not be read.

They run in a process of their own (`webapp.files.text_extraction`), so each imports its library when it is called.
"""
