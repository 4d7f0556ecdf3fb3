"""The wording of files that people export, in their language and time zone."""

from datetime import UTC, datetime

from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.db.base import db
from webapp.i18n import LANGUAGES, Language, dates
from webapp.i18n.calendar import moment
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, use_language
from webapp.memories.showing.texts import KINDS
from webapp.transfer.writers.conversation import FileTexts
from webapp.transfer.writers.memories import MemoryWording

_README = N_(
    """This is everything that Commonplace keeps for you.

manifest.json says what each file contains, schema.json what its lines look like: one JSON object per line, times
in UTC. Passwords, tokens and other people's data are not included. tombstones.jsonl contains hashes of what you had
forgotten; the originals cannot be read from them. tombstone_keys.jsonl contains their keys, so that it all stays
forgotten wherever you bring this file: with the keys, somebody could test a guess against the hashes. Keep the file
as you would a diary.
"""
)


def _settings(user_id: int) -> tuple[UserSettings, Language]:
    user = db.session.get(User, user_id)
    settings = UserSettings.of(user.settings if user is not None else None)
    return settings, LANGUAGES[settings.document_language]


def readme_for(user_id: int) -> str:
    """Return the README of an account's archive, in the user's language."""
    with use_language(_settings(user_id)[1].code):
        return _(_README)


def memory_wording_for(user_id: int) -> MemoryWording:
    """Return the headings of a user's memories as Markdown, in the user's language."""
    with use_language(_settings(user_id)[1].code):
        kinds = {kind: _(name) for kind, name in KINDS.items()}
        return MemoryWording(_("What is remembered"), kinds, _("until %(when)s", when="{when}"))


def texts_for(user_id: int) -> FileTexts:
    """Return the wording for a user by their settings: a job makes the file, and no browser names a language."""
    settings, language = _settings(user_id)
    zone = dates.zone(settings.timezone)

    def timestamp(at: datetime) -> str:
        return moment(at.replace(tzinfo=at.tzinfo or UTC).astimezone(zone), language.code)

    with use_language(language.code):
        return FileTexts(language.tag, language.direction, _("Conversation"), _("You"), _("Assistant"), timestamp)
