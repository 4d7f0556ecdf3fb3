"""The words of a summary in a language."""

from __future__ import annotations

from functools import partial

from webapp.i18n import LANGUAGES
from webapp.i18n.calendar import full_date
from webapp.i18n.request_language import gettext as _
from webapp.i18n.request_language import use_language
from webapp.journeys.report_content import ReportTexts


def texts_in(code: str) -> ReportTexts:
    """The texts of a summary in a language, and how its dates are written."""
    language = LANGUAGES[code]
    with use_language(code):
        return ReportTexts(
            language.tag,
            language.direction == "rtl",
            _("Summary of a conversation"),
            _("%(addressed)s of %(total)s topics covered", addressed="{addressed}", total="{total}"),
            _("Not covered yet."),
            _("Set aside, as you asked."),
            _("Two answers disagree: %(text)s", text="{text}"),
            _("You, %(said_at)s", said_at="{said_at}"),
            _("Made from what you said in Commonplace. Quotations are your own words."),
            partial(full_date, code=code),
        )
