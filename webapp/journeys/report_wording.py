"""The words of a summary in a language."""

from __future__ import annotations

from functools import partial

from webapp.journeys.report_content import Wording
from webapp.languages import LANGUAGES
from webapp.languages.calendar import in_full
from webapp.languages.speaking import gettext as _
from webapp.languages.speaking import speaking


def wording_in(code: str) -> Wording:
    """The texts of a summary in a language, and how its dates are written."""
    language = LANGUAGES[code]
    with speaking(code):
        return Wording(
            language.tag,
            language.direction == "rtl",
            _("Summary of a conversation"),
            _("%(addressed)s of %(total)s topics covered", addressed="{addressed}", total="{total}"),
            _("Not covered yet."),
            _("Set aside, as you asked."),
            _("Two answers disagree: %(text)s", text="{text}"),
            _("You, %(said_at)s", said_at="{said_at}"),
            _("Made from what you said in Commonplace. Quotations are your own words."),
            partial(in_full, code=code),
        )
