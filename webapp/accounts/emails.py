"""The canonical spelling of an e-mail address, by which accounts are found."""

import re
import unicodedata

from webapp.i18n.marks import say

MAX_EMAIL = 254

# Without "=?", after which mail software decodes words: ann would have any number of names such as `=?x?q?=61nn?=`.
_LOCAL = re.compile(r"(?:(?!=\?)[^\s@\"(),:;<>\[\\\]\x00-\x1f\x7f]){1,64}")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def spelling(text: str) -> str:
    """Return the address as accounts are stored with it: in lower case, with an ASCII domain; also if it is none."""
    local, _, domain = unicodedata.normalize("NFKC", text).strip().lower().rpartition("@")
    try:
        return f"{local}@{domain.encode('idna').decode('ascii')}"
    except UnicodeError:
        return f"{local}@"


def normalise_email(text: str) -> str:
    """Return the spelling of what may become an account's address, of one label too. Raises ValueError."""
    address = spelling(text)
    local, _, domain = address.rpartition("@")
    if not _LOCAL.fullmatch(local) or not all(map(_LABEL.fullmatch, domain.split("."))):
        raise ValueError("must look like name@example.org")
    if len(address) > MAX_EMAIL:
        raise ValueError(say("is longer than %(max_email)s characters", max_email=MAX_EMAIL))
    return address
