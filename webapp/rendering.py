"""Filters and functions of templates: dates in words, Markdown, model names; and serving assets."""

import hashlib
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Flask, Response, current_app, request, send_from_directory
from markupsafe import Markup, escape

from webapp.accounts.auth import current_identity
from webapp.accounts.preferences import THEMES
from webapp.errors import NotFound
from webapp.extensions import this_app
from webapp.http.compression import read_asset, reads_gzip
from webapp.http.forms import version_of
from webapp.i18n import LANGUAGES, date_texts, dates
from webapp.i18n.marks import N_
from webapp.i18n.request_language import FOLDER, init_request_language, language_of
from webapp.i18n.scripts import script_words
from webapp.markdown import render_stored
from webapp.providers.catalogue import cached_label
from webapp.templating import asset, init_templating
from webapp.text.words import search_form
from webapp.tour import answers

WINDOW = 1_000
"""The characters of a text that are looked through at a time for words to mark, twice as many where two parts meet."""
UNKNOWN_PAGE = "There is no such file."
TOUR_LABEL = N_("Screen tour, no language model")


def init_rendering(app: Flask) -> None:
    """Register filters, globals and the versioned asset route."""
    app.config["STATIC_VERSION"] = _static_version(Path(app.static_folder or "static"), FOLDER)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters.update(
        when=time_tag,
        day=day,
        short_day=short_day,
        markdown=render_stored,
        model_name=model_name,
        version=version_of,
    )
    app.jinja_env.globals.update(asset=asset)
    init_templating(app)
    init_request_language(app, _account_language)
    app.context_processor(_page_state)
    app.add_url_rule("/static/v-<version>/<path:filename>", "assets.static", _serve_asset)
    app.add_url_rule("/static/v-<version>/words/<code>.js", "words.static", _serve_words)


def time_tag(moment: datetime | None, *, exact: bool = False) -> Markup:
    """Return a <time> in everyday words, exact on hover; or `exact`, with day and minute."""
    if moment is None:
        return Markup("")
    zone = reader_zone()
    code = language_of(this_app()).code
    return _time_markup(moment.replace(tzinfo=moment.tzinfo or UTC), zone, datetime.now(zone).date(), code, exact)


def day(value: date) -> str:
    """Return a day in the reader's language: "3 May 2026"."""
    return date_texts.full_date(value, language_of(this_app()).code)


def short_day(value: date) -> str:
    """Return a day in the reader's language, without the year that is clear: "3 May"."""
    return date_texts.short_date(value, datetime.now(UTC).date(), language_of(this_app()).code)


@lru_cache(maxsize=8_192)
def _time_markup(moment: datetime, zone: tzinfo, today: date, code: str, exact: bool = False) -> Markup:
    local = moment.astimezone(zone)
    full = escape(date_texts.exact_moment(local, code))
    words = date_texts.describe_moment(local, today, code)
    if exact:
        words = f"{date_texts.full_date(local.date(), code)}, {local:%H:%M}"
    return Markup(f'<time datetime="{local.isoformat(timespec="seconds")}" title="{full}">{escape(words)}</time>')  # noqa: S704


def reader_zone() -> tzinfo:
    """Return the reader's time zone: this browser's, or else the account's."""
    identity = current_identity()
    stored = identity.settings.get("timezone") if identity is not None else None
    return dates.zone(request.cookies.get("tz") or stored)


def reader_theme() -> str:
    """Return the reader's theme: this browser's, or else the account's, or else the device's."""
    theme = request.cookies.get("theme", "")
    identity = current_identity()
    if theme not in THEMES and identity is not None:
        theme = identity.settings.get("theme", "")
    return theme if theme in THEMES else "system"


def _account_language() -> str:
    identity = current_identity()
    return identity.settings.get("language", "") if identity is not None else ""


def model_name(name: str) -> str:
    """Return a model's name under a reply; the screen tour says what it is."""
    return TOUR_LABEL if name == answers.MODEL else cached_label(name)


def highlight(text: str, words: str, around: int = 90) -> Markup:
    """Return the part of a text where the words occur, with each occurrence marked."""
    needle = search_form(words.strip())
    base = _find_near(text, needle)
    places = [(base + begin, base + stop) for begin, stop in _places(text[base : base + 2 * WINDOW], needle)]
    start = max(0, places[0][0] - around) if places else 0
    end = start + len(needle) + 2 * around
    marked, position = Markup("…" if start else ""), start
    for begin, stop in places:
        if stop > end:
            break
        marked += escape(text[position:begin]) + Markup("<mark>{}</mark>").format(text[begin:stop])
        position = stop
    return marked + escape(text[position:end]) + ("…" if end < len(text) else "")


def _find_near(text: str, needle: str) -> int:
    """Return where a part of a text begins that has the words: to fold it character by character takes long."""
    for start in range(0, len(text), WINDOW) if needle else ():
        if needle in search_form(text[start : start + 2 * WINDOW]):
            return start
    return 0


def _places(text: str, needle: str) -> list[tuple[int, int]]:
    """Return where words in their search form occur in a text, from character to character."""
    if not needle:
        return []
    forms = list(text.lower()) if text.isascii() else [search_form(char) for char in text]
    text_folded = "".join(forms)
    # The character of the text to which each one of its search form belongs.
    owner = [number for number, form in enumerate(forms) for _ in form]
    places, index = [], text_folded.find(needle)
    while index >= 0:
        places.append((owner[index], owner[index + len(needle) - 1] + 1))
        index = text_folded.find(needle, index + len(needle))
    return places


def _page_state() -> dict[str, Any]:
    is_closed = request.cookies.get("sidebar") == "closed"
    return {
        # Not Flask-Login's proxy: it would query the database again while an error page reports that it is away.
        "current_user": current_identity(),
        "theme": reader_theme(),
        "language": language_of(this_app()),
        "sidebar_state": "closed" if is_closed else "open",
    }


def _serve_asset(version: str, filename: str) -> Response:
    folder = current_app.static_folder or "static"
    asset_read = read_asset(Path(folder), filename, version if version == current_app.config["STATIC_VERSION"] else "")
    if asset_read is None:
        response = send_from_directory(folder, filename)
    else:
        text, packed, media_type = asset_read
        is_packed = packed is not None and reads_gzip()
        response = Response(packed if is_packed else text, mimetype=media_type)
        response.headers.update({"Vary": "Accept-Encoding", "Cache-Control": "no-cache"})
        if is_packed:
            response.headers["Content-Encoding"] = "gzip"
    if version == current_app.config["STATIC_VERSION"]:
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


def _serve_words(version: str, code: str) -> Response:
    """Return the texts that scripts show in a language; loaded before they run."""
    if code not in LANGUAGES:
        raise NotFound(UNKNOWN_PAGE)
    response = Response(script_words(code), mimetype="text/javascript")
    if version == current_app.config["STATIC_VERSION"]:
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


def _static_version(*folders: Path) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
