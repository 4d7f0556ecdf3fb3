"""The words of a file about a conversation, in the language and the time zone of whoever asked for it."""

from __future__ import annotations

from datetime import UTC, datetime

from webapp import dates
from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.database import db
from webapp.languages import LANGUAGES
from webapp.languages.calendar import moment
from webapp.languages.speaking import gettext as _
from webapp.languages.speaking import speaking
from webapp.transfer.writers.conversation import Wording


def wording_for(user_id: int) -> Wording:
    """The words for a user, as their settings say: a job makes the file, which no browser asks for a language."""
    user = db.session.get(User, user_id)
    settings = UserSettings.of(user.settings if user is not None else None)
    language = LANGUAGES[settings.document_language]
    zone = dates.zone(settings.timezone)

    def noted(at: datetime) -> str:
        return moment(at.replace(tzinfo=at.tzinfo or UTC).astimezone(zone), language.code)

    with speaking(language.code):
        return Wording(language.tag, language.direction, _("Conversation"), _("You"), _("Assistant"), noted)
