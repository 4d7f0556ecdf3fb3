"""Markdown of replies as safe HTML, complete or while it streams."""

from webapp.markdown.cache import render_stored
from webapp.markdown.rendering import render
from webapp.markdown.splits import split_stable
from webapp.markdown.streaming import StreamRenderer, Update

__all__ = ["StreamRenderer", "Update", "render", "render_stored", "split_stable"]
