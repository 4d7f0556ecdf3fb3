"""Texts that are kept in English, for programs and logs, told in the reader's language: found again by their forms."""

import re
from collections.abc import Iterable
from functools import cache

from webapp.i18n.request_language import gettext

_VALUES = {"num": r"\d+", "number": r"\d+"}


def values_in(form: str, text: str) -> dict[str, str] | None:
    """Return the values of a form in a text (`%(num)s`, `%(number)s`: digits); None if it has another form."""
    match = _pattern(form).fullmatch(text)
    return match.groupdict() if match else None


def translate_stored(text: str, forms: Iterable[str]) -> str:
    """Return a text of one of these forms, the first that fits, in the reader's language; empty for one of none."""
    for form in forms:
        if (values := values_in(form, text)) is not None:
            return gettext(form, **values)
    return ""


@cache
def _pattern(form: str) -> re.Pattern[str]:
    parts = re.split(r"%\((\w+)\)s", form)
    return re.compile(
        "".join(
            f"(?P<{part}>{_VALUES.get(part, '.+')})" if odd % 2 else re.escape(part) for odd, part in enumerate(parts)
        )
    )
