"""The canonical spelling of an e-mail address, by which accounts are found."""

import re
import unicodedata

from webapp.i18n.marks import say

MAX_EMAIL = 254

# Without "=?", after which mail software decodes words: ann would have any number of names such as `=?x?q?=61nn?=`.
_LOCAL = re.compile(r"(?:(?!=\?)[^\s@\"(),:;<>\[\\\]\x00-\x1f\x7f]){1,64}")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def normalise_email(text: str) -> str:
    """Return the address in lower case with an ASCII domain, of one label too. Raises ValueError."""
    local, separator, domain = unicodedata.normalize("NFKC", text).strip().lower().rpartition("@")
    try:
        domain = domain.encode("idna").decode("ascii")
    except UnicodeError:
        domain = ""
    if not separator or not _LOCAL.fullmatch(local) or not all(map(_LABEL.fullmatch, domain.split("."))):
        raise ValueError("must look like name@example.org")
    if len(local) + 1 + len(domain) > MAX_EMAIL:
        raise ValueError(say("is longer than %(max_email)s characters", max_email=MAX_EMAIL))
    return f"{local}@{domain}"
