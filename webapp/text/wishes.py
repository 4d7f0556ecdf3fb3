"""The beginnings of wishes for every answer: "Always in metric units", "From now on, no lists"; pure."""

from __future__ import annotations

import re

_WISH = re.compile(
    r"^\W*(?:(?:oh|and|so|also|please|btw|und|bitte|et|y)\W+)*(?:always|never|from\s+now\s+on|immer|nie|ab\s+jetzt|toujours|"
    r"jamais|siempre|nunca|sempre|mai(?!\s+(?:\d|ist|war|wird))|altijd|nooit),?\s+\w+",
    re.IGNORECASE,
)


def is_wish(text: str) -> bool:
    """Return whether a text begins like a wish for every answer; in seven languages."""
    return _WISH.match(text) is not None
