"""Markdown of replies as safe HTML, complete or while it streams."""

from webapp.markdown.rendering import render, render_stored
from webapp.markdown.streaming import StreamRenderer, Update, split_stable

__all__ = ["StreamRenderer", "Update", "render", "render_stored", "split_stable"]
