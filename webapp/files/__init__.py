"""Attachments: stored once per content, read to text in a separate process, shown page by page."""
