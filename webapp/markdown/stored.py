"""Markdown that is shown again and again: what it renders to is remembered for a while, in this process."""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
from threading import Lock

from cachetools import LRUCache
from markupsafe import Markup

from webapp.markdown.rendering import render

CAPACITY = 4_000_000
"""Characters of HTML remembered."""
LARGEST = 100_000
"""Characters of HTML past which a text is rendered each time: it would drive out many others."""


class Rendered:
    """The HTML of texts, the least recently shown given up first. Known by a digest, so that no text is kept."""

    def __init__(self, capacity: int = CAPACITY, largest: int = LARGEST) -> None:
        self.largest = largest
        self._known: LRUCache[bytes, Markup] = LRUCache(capacity, getsizeof=len)
        self._lock = Lock()

    @property
    def size(self) -> int:
        """Characters remembered."""
        return int(self._known.currsize)

    def html(self, text: str) -> Markup:
        """As `render`."""
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        html = render(text)
        if len(html) <= self.largest:
            with self._lock, suppress(ValueError):  # more than there is room for at all
                self._known[key] = html
        return html


_rendered = Rendered()


def render_stored(text: str) -> Markup:
    """Sanitised HTML of the Markdown of a stored message."""
    return _rendered.html(text)
