"""Markdown of replies as safe HTML, complete or while it streams."""

from webapp.markdown.rendering import render
from webapp.markdown.splitting import split_stable
from webapp.markdown.stored import render_stored
from webapp.markdown.streaming import StreamRenderer, Update

__all__ = ["StreamRenderer", "Update", "render", "render_stored", "split_stable"]
