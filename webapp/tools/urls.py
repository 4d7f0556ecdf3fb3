"""URLs that may be read: those that the user or a tool named before; pure."""

import re
from collections.abc import Iterable, Iterator

# Scheme, host and the rest; a host without a dot is never reached.
_LOOKS_LIKE_ONE = re.compile(r"(?<!\w)(?:https?://)?\w[\w-]{0,62}(?:\.[\w-]{1,63})+[^\s<>\"\\^`{}|]*", re.IGNORECASE)
_MAX_SIGNS = 6


def is_known(url: str, words: Iterable[str]) -> bool:
    """Return whether a URL, with or without scheme, occurs in a text; a model's own might leak secrets."""
    target = _bare(url)
    return any(target in _urls(text) for text in words)


def _urls(text: str) -> Iterator[str]:
    """Yield what looks like a URL, each also without trailing characters that may belong to the sentence."""
    for match in _LOOKS_LIKE_ONE.findall(text):
        for _ in range(_MAX_SIGNS):
            yield _bare(match)
            if not match or match[-1] not in ")]}>'*_.,;:!?":
                break
            match = match[:-1]


def _bare(url: str) -> str:
    host, slash, path = re.sub(r"^(?:https?://)?(?:www\.)?", "", url.strip(), flags=re.IGNORECASE).partition("/")
    return f"{host.lower()}{slash}{path}".removesuffix("/")
