"""Markdown that is shown again and again: its HTML is cached for a while in this process."""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
from threading import Lock

from cachetools import LRUCache
from markupsafe import Markup

from webapp.markdown.rendering import render

CAPACITY = 4_000_000
"""The most characters of HTML in the cache."""
LARGEST = 100_000
"""A text with more characters of HTML is rendered each time: it would evict many others."""


class HtmlCache:
    """A cache of the HTML of texts; the least recently shown is evicted first. Keys are digests: no text is kept."""

    def __init__(self, capacity: int = CAPACITY, largest: int = LARGEST) -> None:
        self.largest = largest
        self._known: LRUCache[bytes, Markup] = LRUCache(capacity, getsizeof=len)
        self._lock = Lock()

    @property
    def size(self) -> int:
        """The characters in the cache."""
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
            with self._lock, suppress(ValueError):  # larger than the whole cache
                self._known[key] = html
        return html


_rendered = HtmlCache()


def render_stored(text: str) -> Markup:
    """Sanitised HTML of the Markdown of a stored message."""
    return _rendered.html(text)
