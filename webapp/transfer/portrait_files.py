"""Portraits as PDF: what their page shows at that moment, made anew each time and kept nowhere."""

import base64
from datetime import UTC, datetime, tzinfo

from webapp.accounts.auth import current_user_id
from webapp.db.base import db, now
from webapp.errors import NotFound, Unavailable
from webapp.extensions import limiter, this_app
from webapp.files.subprocesses import run_bounded
from webapp.http.views import PageBlueprint, ViewResult, download
from webapp.i18n.date_texts import full_date
from webapp.i18n.dates import is_dated
from webapp.i18n.request_language import gettext as _, language_of
from webapp.memories.portrait.service import PortraitView, Source, portrait_of
from webapp.memories.web.picture_pages import title_of
from webapp.rendering import reader_zone
from webapp.spaces.service import view_space
from webapp.transfer.writers.portrait_data import PrintedPortrait, PrintedSource

blueprint = PageBlueprint("portrait_files", __name__, access="user")

WRITER = "webapp.transfer.writers.pdf"

limit_files = limiter.limit("20 per minute", key_func=lambda: f"portrait:{current_user_id()}")


@blueprint.get("/memories/portrait/pdf")
@limit_files
def own() -> ViewResult:
    """Return what is known of the person as a PDF."""
    return _file(portrait_of(current_user_id()), title_of(None))


@blueprint.get("/spaces/<int:space_id>/portrait/pdf")
@limit_files
def of_space(space_id: int) -> ViewResult:
    """Return the portrait of a space as a PDF, to its members."""
    user_id = current_user_id()
    return _file(portrait_of(user_id, space_id), title_of(view_space(user_id, space_id)))


def _file(portrait: PortraitView, title: str) -> ViewResult:
    if not portrait.sentences:
        raise NotFound("There is no portrait to download yet.")
    printed = _printable_portrait(portrait, title)
    db.session.remove()  # no connection is held while it is made
    data = run_bounded(WRITER, data=printed.as_json())
    if "pdf" not in data:
        raise Unavailable("The PDF could not be made. Try again in a moment.")
    day = now().astimezone(reader_zone()).date()
    return download(base64.b64decode(data["pdf"]), f"portrait-{day.isoformat()}.pdf", "application/pdf")


def _printable_portrait(portrait: PortraitView, title: str) -> PrintedPortrait:
    """Return the portrait in the reader's language and time zone."""
    zone, language = reader_zone(), language_of(this_app())
    numbers = {source.memory.memory_id: number for number, source in enumerate(portrait.sources, 1)}
    today = _day(now(), zone)
    date = _day(portrait.made_at, zone) if portrait.made_at else today
    return PrintedPortrait(
        title=title,
        heading=_("Portrait"),
        written=_("Written %(when)s from what is in use.", when=date),
        foot=f"{title} · {today}",
        rests_on=_("What it rests on"),
        sentences=[(item.text, [numbers[number] for number in item.memory_ids]) for item in portrait.sentences],
        sources=[_source(source, zone) for source in portrait.sources],
        tag=language.tag,
        is_rtl=language.direction == "rtl",
    )


def _source(source: Source, zone: tzinfo) -> PrintedSource:
    quotes = [
        (quoted.row.quote, f"{_day(quoted.row.said_at, zone)} · {quoted.title or _('New conversation')}")
        for quoted in source.quotes
    ]
    attribution = _("Shared by %(by)s", by=source.by) if source.by else ""
    return PrintedSource(source.memory.content, quotes, attribution)


def _day(moment: datetime, zone: tzinfo) -> str:
    if not is_dated(moment):
        return _("no date")
    return full_date(moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(zone).date(), language_of(this_app()).code)
