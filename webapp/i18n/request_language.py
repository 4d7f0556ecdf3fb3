"""The reader's language, and translation into it during a request."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

from flask import Flask, g, has_app_context, has_request_context, request
from flask_babel import Babel, get_domain
from flask_babel.speaklater import LazyString
from werkzeug.datastructures import LanguageAccept

from webapp.i18n import LANGUAGES, SOURCE, Language
from webapp.i18n.marks import Sentence

COOKIE = "language"
PAGE_HEADER = "X-Language"
"""The language of the page that asks for a part of itself: it may have been open before another was chosen."""
FOLDER = Path(__file__).resolve().parent.parent / "translations"
_TAGS = {language.tag.lower(): language.code for language in LANGUAGES.values()}
# All variants of Portuguese and of Chinese get the one we have.
_TAGS |= {"pt": "pt", "zh": "zh"}

Chosen = Callable[[], str]
"""Returns the language set in the account of the person asking; empty if it is left to the browser."""


def init_request_language(app: Flask, get_choice: Chosen) -> None:
    """Give every request a language: its page's, the account's, this browser's, or the first it accepts."""

    def select() -> str:
        if not has_request_context():
            return str(g.get("language", SOURCE)) if has_app_context() else SOURCE
        code: str | None = g.get("language")
        if code is None:
            code = request.headers.get(PAGE_HEADER, "")
            if code not in LANGUAGES:
                code = get_choice() or request.cookies.get(COOKIE, "")
            if code not in LANGUAGES:
                code = _preferred_language(request.accept_languages)
            g.language = code
        return code

    app.extensions["reader_language"] = select
    Babel(app, locale_selector=select, default_translation_directories=str(FOLDER), configure_jinja=False)


def _preferred_language(accepted: LanguageAccept) -> str:
    """Return the first language of a browser's list that we have, whatever the region: "de-AT, en" is German."""
    for tag, quality in sorted(accepted, key=lambda item: -item[1]):
        wanted_tag = tag.lower().replace("_", "-")
        code = _TAGS.get(wanted_tag) or _TAGS.get(wanted_tag.split("-")[0])
        if code and quality > 0:
            return code
    return SOURCE


def language_of(app: Flask) -> Language:
    """Return the language of the person asking; that of the sources outside a request."""
    return LANGUAGES[app.extensions["reader_language"]()]


def forget_language() -> None:
    """Forget the language of this request, so that it is determined again, as when the reader has just changed it."""
    g.pop("language", None)
    g.pop("_flask_babel", None)


@contextmanager
def use_language(code: str) -> Iterator[None]:
    """Use this language inside the block, no matter who asks (in a job nobody does). English for an unknown code."""
    before = g.get("language")
    forget_language()
    g.language = code if code in LANGUAGES else SOURCE
    try:
        yield
    finally:
        forget_language()
        if before is not None:
            g.language = before


def catalog() -> Any:
    """Return the texts of the language of this request."""
    return get_domain().get_translations()


def gettext(message: str, /, **values: Any) -> str:
    """Return a text in the reader's language, with values in it."""
    return str(get_domain().gettext(message, **values)) if message else ""  # in the catalog "" is the header


def ngettext(message: str, plural: str, number: int, /, **values: Any) -> str:
    """Return a text about a number of things, in the reader's language; the number is in it as `%(num)s`."""
    return str(get_domain().ngettext(message, plural, number, **values))


def translate(text: str) -> str:
    """Return what a service said, in the reader's language; English if it has not been translated."""
    if isinstance(text, Sentence):
        values = {
            name: translate(value) if isinstance(value, Sentence) else value for name, value in text.values.items()
        }
        if text.plural:
            return str(catalog().ungettext(text.message, text.plural, text.number) % values)
        return gettext(text.message, **values)
    if not text or isinstance(text, LazyString):
        return str(text)
    return cast(str, catalog().ugettext(str(text)))


def about_field(message: str, field: str) -> str:
    """Return what is wrong with a field as a translated sentence, its name in front; empty without a translation."""
    values = {"field": field}
    if isinstance(message, Sentence):
        source, values = f"%(field)s {message.message}", {**message.values, **values}
    else:
        source = f"%(field)s {message.replace('%', '%%')}"
    text: str = catalog().ugettext(source)
    return text % values if text != source else ""


_VALUES = {"num": r"\d+", "number": r"\d+"}
"""The patterns of values by name, where a text that is stored in English is found again by its form."""


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
