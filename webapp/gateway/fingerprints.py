"""Recognition of a history that a client sends back: its fingerprint, and whether a reply is the same; pure."""

import hashlib
from collections.abc import Iterable

IMAGE = "[An image was sent here. It cannot be seen.]"
PICTURE = "[An image]"
"""The text of a message that consists of an image alone."""

TextLine = tuple[str, str]
"""A role, `user` or `assistant`, and what was said."""


def fingerprint(seed: str, lines: Iterable[TextLine], *, origin: str = "") -> str:
    """Return the lasting name of a history; `seed` tells apart equal ones, `origin` is that of the lines before."""
    digest = bytes.fromhex(origin) if origin else hashlib.sha256(seed.encode()).digest()
    for role, text in lines:
        digest = hashlib.sha256(digest + f"{role}\n{normalise(text)}".encode()).digest()
    return digest.hex()


def normalise(text: str) -> str:
    """Return a text without details that clients change when they send it back, and without marks of images."""
    return "\n".join(line for line in text.replace("\r\n", "\n").split("\n") if line not in (IMAGE, PICTURE)).strip()


def is_same_reply(stored: str, sent: str, *, is_partial: bool, placeholder: str) -> bool:
    """Return whether a client sent back a reply as stored, cut short on either side, or before forgetting."""
    own_text, other_text = normalise(stored), normalise(sent)
    if own_text == other_text:
        return True
    if is_partial and own_text and other_text:
        return own_text.startswith(other_text) or other_text.startswith(own_text)
    if placeholder not in own_text:
        return False
    rest = other_text
    for piece in own_text.split(placeholder):
        _, separator, rest = rest.partition(piece)
        if piece and not separator:
            return False
    return True
