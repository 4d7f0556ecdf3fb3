"""Attachments: stored once by their content, read to text in a process of their own, shown page by page."""
