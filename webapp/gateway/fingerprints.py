"""Recognition of a history that a client sends back: its fingerprint, and whether a reply is the same; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

IMAGE = "[An image was sent here. It cannot be seen.]"
PICTURE = "[An image]"
"""The text of a message that consists of an image alone."""

TextLine = tuple[str, str]
"""A role, `user` or `assistant`, and what was said."""


def fingerprint(seed: str, lines: Iterable[TextLine], *, behind: str = "") -> str:
    """The lasting name of a history; `seed` tells apart equal ones, `behind` is the fingerprint of the lines before."""
    digest = bytes.fromhex(behind) if behind else hashlib.sha256(seed.encode()).digest()
    for role, text in lines:
        digest = hashlib.sha256(digest + f"{role}\n{normal(text)}".encode()).digest()
    return digest.hex()


def normal(text: str) -> str:
    """A text without what clients change when they send it back, and without the marks of images."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line for line in lines if line not in (IMAGE, PICTURE)).strip()


def says_the_same(stored: str, sent: str, *, is_partial: bool, gone: str) -> bool:
    """Return whether a client sent back a reply as it is stored.

    A reply that was cut short may be longer on either side. Of one that lost what was forgotten (at the mark `gone`)
    the client still has all.
    """
    mine, theirs = normal(stored), normal(sent)
    if mine == theirs:
        return True
    if is_partial and mine and theirs:
        return mine.startswith(theirs) or theirs.startswith(mine)
    if gone not in mine:
        return False
    rest = theirs
    for piece in mine.split(gone):
        _, found, rest = rest.partition(piece)
        if piece and not found:
            return False
    return True
