"""Markdown that is shown again and again: what it renders to is remembered for a while, in this process."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock

from markupsafe import Markup

from webapp.markdown.rendering import render

CAPACITY = 4_000_000
"""Characters of HTML remembered."""
LARGEST = 100_000
"""Characters of HTML past which a text is rendered each time: it would drive out many others."""


class Rendered:
    """The HTML of texts, the least recently shown given up first. Known by a digest, so that no text is kept."""

    def __init__(self, capacity: int = CAPACITY, largest: int = LARGEST) -> None:
        self.capacity, self.largest = capacity, largest
        self.size = 0
        self._known: OrderedDict[bytes, Markup] = OrderedDict()
        self._lock = Lock()

    def html(self, text: str) -> Markup:
        """As `render`."""
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        html = render(text)
        if len(html) <= self.largest:
            self._keep(key, html)
        return html

    def _keep(self, key: bytes, html: Markup) -> None:
        with self._lock:
            before = self._known.pop(key, None)
            self._known[key] = html
            self.size += len(html) - (len(before) if before is not None else 0)
            while self.size > self.capacity:
                _, oldest = self._known.popitem(last=False)
                self.size -= len(oldest)


_rendered = Rendered()


def render_stored(text: str) -> Markup:
    """Sanitised HTML of the Markdown of a stored message."""
    return _rendered.html(text)
