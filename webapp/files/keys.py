"""Storage keys that belong to files: a bucket may hold other things, too; pure."""

from __future__ import annotations

import re

_KEY = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{62})(?:\.pictures/[^/]+)?")


def digest_of(key: str) -> str | None:
    """The content that a key belongs to, directly or through a picture; None for keys that are not ours."""
    found = _KEY.fullmatch(key)
    return found.group(2) if found else None
