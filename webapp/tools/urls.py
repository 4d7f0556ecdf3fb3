"""The allowed forms and sources of a URL; pure."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

MAX_URL_LENGTH = 2_000
# Scheme, host and the rest; a host without a dot is never reached.
_LOOKS_LIKE_ONE = re.compile(r"(?<!\w)(?:https?://)?\w[\w-]{0,62}(?:\.[\w-]{1,63})+[^\s<>\"\\^`{}|]*", re.IGNORECASE)
_MAX_SIGNS = 6
_BREAKS = re.compile(r"[\x00-\x20\x7f\\<>\"{}|^`]")


class UrlRejected(ValueError):
    """A URL that may not be reached; the message is a sentence."""


def check_url(url: str) -> str:
    """Return a URL that may be requested, without its fragment. Raises UrlRejected."""
    if len(url) > MAX_URL_LENGTH or _BREAKS.search(url):
        raise UrlRejected("This is not a web address.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UrlRejected("This is not a web address.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UrlRejected("Only addresses that begin with http:// or https:// can be opened.")
    if parts.username is not None or parts.password is not None:
        raise UrlRejected("Addresses with a name and password in them are not opened.")
    if port == 0:
        raise UrlRejected("This is not a web address.")
    return parts._replace(fragment="").geturl()


def is_known(url: str, words: Iterable[str]) -> bool:
    """Return whether a URL, with or without scheme, occurs in a text; a model's own might leak secrets."""
    target = _bare(url)
    return any(target in _addresses(text) for text in words)


def _addresses(text: str) -> Iterator[str]:
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
