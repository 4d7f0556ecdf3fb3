"""Bare web and e-mail addresses in a text, found as GitHub finds them; pure.

Unlike on GitHub, an address ends at CJK punctuation, which no space follows, and at characters that no address may
contain unescaped (brackets, bars); only http, https and mailto are found.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_WEB = r"(?:(?<![\w@/.])https?://|(?<![^\s*_~(])www\.)[^\s<>\[\]\"`\\^{|}\u3000-\u303f\uff00-\uffef]+"
_MAIL = r"(?<![\w.+:/@-])(?:mailto:)?[a-z0-9._+-]+@[a-z0-9_-]+(?:\.[a-z0-9_-]+)+"
_ADDRESS = re.compile(f"(?P<web>{_WEB})|{_MAIL}", re.IGNORECASE | re.ASCII)
_HOST = re.compile(r"(?:https?://)?([^/?#:]*)", re.IGNORECASE)
_ENTITY = re.compile(r"&[a-z0-9]+;$", re.IGNORECASE)
_LONGEST_ENTITY = 33
"""`&CounterClockwiseContourIntegral;`: looking back further would make the end of a URL cost quadratic time."""
_TRAILING = ".,:;!?'*_~"


class Address(NamedTuple):
    """The position of a URL in its text (end exclusive), and the target of a link to it."""

    start: int
    end: int
    target: str


def find_urls(text: str) -> Iterator[Address]:
    """Yield every URL in a text, in order."""
    if "://" not in text and "@" not in text and "www." not in text.lower():
        return
    for match in _ADDRESS.finditer(text):
        url = match.group()
        if match.group("web") is None:
            if url[-1] not in "-_":
                target = url if url[:7].lower() == "mailto:" else f"mailto:{url}"
                yield Address(match.start(), match.end(), target)
            continue
        url = _trim(url)
        is_named = url[:4].lower() == "www."
        if _is_host(url, is_named):
            target = f"http://{url}" if is_named else url
            yield Address(match.start(), match.start() + len(url), target)


def _is_host(url: str, is_named: bool) -> bool:
    """Return whether a URL has a valid host: no underscore in its last two parts, and another part after
    `www.`.
    """
    match = _HOST.match(url)
    parts = match.group(1).split(".") if match else []
    return not any("_" in part for part in parts[-2:]) and (not is_named or (len(parts) > 1 and parts[-1] != ""))


def _trim(url: str) -> str:
    """Return the URL without the punctuation of the sentence around it."""
    surplus = url.count(")") - url.count("(")
    end = len(url)
    while end:
        entity = _ENTITY.search(url, max(0, end - _LONGEST_ENTITY), end) if url[end - 1] == ";" else None
        if entity:
            end = entity.start()
            continue
        if url[end - 1] == ")" and surplus > 0:
            surplus -= 1
        elif url[end - 1] not in _TRAILING:
            break
        end -= 1
    return url[:end]
