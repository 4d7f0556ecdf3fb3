"""Exports: a job writes what was requested; its owner can download it for a day, and then it is deleted."""

import json
import zipfile
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Select, select

from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.accounts.service import time_zone_of, today_of
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.background import time_slices
from webapp.background.queues import enqueue_after_commit
from webapp.background.time_slices import Slice, Work
from webapp.conversations.current_messages import current
from webapp.conversations.models import Message
from webapp.conversations.service import get_conversation
from webapp.db.base import add_row, db, now, reads_only, write_transaction
from webapp.errors import Conflict, Invalid, NotFound, require
from webapp.http.paging import read_rows
from webapp.http.validation import MAX_ID, Page, PageQuery
from webapp.i18n import LANGUAGES, Language, dates
from webapp.i18n.date_texts import numeric_moment
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, use_language
from webapp.memories.models import Memory, MemoryEvidence, MemoryTombstone
from webapp.memories.showing.texts import KINDS
from webapp.memories.store.copies import statements_withdrawn
from webapp.memories.store.forgetting import pre_forget
from webapp.transfer import account_tables, storage
from webapp.transfer.account_tables import PARTS
from webapp.transfer.models import Export
from webapp.transfer.schemas import NewExport
from webapp.transfer.writers import conversation as conversations, memories
from webapp.transfer.writers.conversation import FileTexts
from webapp.transfer.writers.memories import MemoryWording

LIFETIME = timedelta(days=1)
MAX_CONCURRENT = 3
FORMATS = {
    "account": ("zip",),
    "conversation": ("markdown", "json", "html", "pdf"),
    "memories": ("markdown", "text", "json", "mem"),
}
"""What can be exported in which formats; the first format is the default."""
_FILES = {
    "markdown": ("md", "text/markdown"),
    "text": ("txt", "text/plain"),
    "json": ("json", "application/json"),
    "html": ("html", "text/html"),
    "pdf": ("pdf", "application/pdf"),
    "mem": ("mem.zip", "application/zip"),
    "zip": ("zip", "application/zip"),
}


def create_export(user_id: int, fields: NewExport, *, by_job: bool = True) -> Export:
    """Request an export. Raises NotFound, Invalid for a format that does not fit, Conflict for too many at once."""
    form = fields.format or FORMATS[fields.what][0]
    if form not in FORMATS[fields.what]:
        raise Invalid.field("format", "must be one of %(names)s", names=", ".join(FORMATS[fields.what]))
    if fields.what == "conversation":
        if fields.conversation_id is None:
            raise Invalid.field("conversation_id", "says which conversation; it is missing")
        get_conversation(user_id, fields.conversation_id)
    pending = _exports_of(user_id).where(Export.status == "waiting").limit(MAX_CONCURRENT)
    if len(db.session.scalars(pending).all()) >= MAX_CONCURRENT:
        raise Conflict("%(at_once)s exports are already being made. Wait for one to finish.", at_once=MAX_CONCURRENT)
    row = Export(
        user_id=user_id,
        what=fields.what,
        format=form,
        conversation_id=fields.conversation_id if fields.what == "conversation" else None,
    )
    add_row(row)
    audit.record(user_id, Action.EXPORT_MADE, fields.what)
    if by_job:
        enqueue_after_commit("export", export_id=row.export_id)
    return row


def get_export(user_id: int, export_id: int) -> Export:
    """Return one of the user's exports. Raises NotFound."""
    row = db.session.scalar(_exports_of(user_id).where(Export.export_id == export_id))
    return require(row, "There is no such export.")


def list_exports(user_id: int, query: PageQuery) -> Page[Export]:
    """Return the user's exports, newest first. Raises Invalid for a foreign cursor."""
    return read_rows("exports", query, _exports_of(user_id), Export.export_id, scope=user_id)


def download(user_id: int, export_id: int) -> Export:
    """Return an export whose file can be downloaded now. Raises NotFound, Conflict while it is being made."""
    row = get_export(user_id, export_id)
    if row.status == "waiting":
        raise Conflict("This export is still being made.")
    if row.status != "ready" or row.stored_as is None or (row.expires_at and row.expires_at <= now()):
        raise NotFound("This export no longer exists.")
    audit.record(user_id, Action.EXPORT_DOWNLOADED, row.what)
    return row


def make(export_id: int, *, seconds: float | None = None) -> str:
    """Write the file of an export, for a slice; returns its status. Safe to run twice: only one result is kept."""
    error = None
    with reads_only():
        row = db.session.get(Export, export_id)
        if row is None or row.status != "waiting":
            return row.status if row else "gone"
        form = row.format
        work = partial(_write, row.user_id, row.what, form, row.conversation_id)
        try:
            result = time_slices.advance(("export", export_id, row.created_at), work, Slice(seconds))
        except NotFound:
            result, error = ("", "", 0), N_("The conversation was deleted.")
    if result is None:
        with write_transaction():
            enqueue_after_commit("export", export_id=export_id)
        return "waiting"
    name, stem, size = result
    with write_transaction():
        export = db.session.get(Export, export_id, with_for_update=True)
        if export is None or export.status != "waiting":
            storage.drop(name)
            return export.status if export else "gone"
        export.stored_as, export.error = name or None, error
        export.status = "failed" if error else "ready"
        export.filename, export.media_type = f"{stem}.{_FILES[form][0]}", _FILES[form][1]
        export.size, export.expires_at = min(size, MAX_ID), now() + LIFETIME
        return export.status


def purge(moment: datetime) -> int:
    """Delete the files of expired exports, some hundreds at most; returns how many."""
    rows = db.session.scalars(
        select(Export).where(Export.status == "ready", Export.expires_at < moment).limit(200)
    ).all()
    for row in rows:
        storage.drop_file_of(row)
        row.status = "expired"
    db.session.flush()
    return len(rows)


def _write(user_id: int, what: str, form: str, conversation_id: int | None) -> Work[tuple[str, str, int]]:
    """Write what was requested; returns its name in the storage, the stem of its own, and its size. Raises NotFound."""
    if what == "account":
        return (yield from _write_account(user_id))
    if what == "conversation":
        stem, data = conversation_as(user_id, conversation_id or 0, form)
    else:
        stem, data = f"memories-{today_of(user_id)}", _memories(user_id, form)
    with storage.open_new_file() as (name, file):
        return name, stem, file.write(data)


def _write_account(user_id: int) -> Work[tuple[str, str, int]]:
    """Write everything in an account."""
    with storage.open_new_file() as (name, file):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            with use_language(_settings(user_id)[1].code):
                archive.writestr("README.txt", _(_README))
            archive.writestr(
                "manifest.json", json.dumps(account_tables.manifest(user_id), ensure_ascii=False, indent=2)
            )
            archive.writestr("schema.json", json.dumps(account_tables.schema(), indent=2))
            for part in PARTS:
                with archive.open(part, "w", force_zip64=True) as member:
                    for line in account_tables.lines(user_id, part):
                        member.write(line.encode())
                        yield None
            for path, pdf in account_tables.reports(user_id):
                archive.writestr(path, pdf)
            for member_name, pieces in account_tables.stored_files(user_id):
                with archive.open(zipfile.ZipInfo(member_name, now().timetuple()[:6]), "w", force_zip64=True) as member:
                    for piece in pieces:  # stored, not deflated: most kinds of file are compressed already
                        member.write(piece)
                        yield None
        return name, f"commonplace-{today_of(user_id)}", file.seek(0, 2)


def conversation_as(user_id: int, conversation_id: int, form: str) -> tuple[str, bytes]:
    """Return the stem of a file name for one of the user's conversations, and the file's bytes. Raises NotFound."""
    row = get_conversation(user_id, conversation_id)
    messages = db.session.scalars(
        select(Message).where(current(conversation_id), Message.content != "").order_by(Message.message_id)
    ).all()
    wording = conversations.FileTexts() if form == "json" else texts_for(user_id)
    transcript = conversations.ExportedConversation(row.title or wording.untitled, row.created_at, messages, wording)
    if form == "pdf":
        from webapp.transfer.writers.pdf import as_pdf

        return transcript.file_stem, as_pdf(transcript)
    writers = {"markdown": conversations.as_markdown, "json": conversations.as_json, "html": conversations.as_html}
    return transcript.file_stem, writers[form](transcript).encode()


def _memories(user_id: int, form: str) -> bytes:
    """Return the memories in use; in the bundle and in JSON, also those that were replaced or archived."""
    statement = select(Memory).where(Memory.user_id == user_id, Memory.needs_review.is_(False))
    if form in ("markdown", "text"):
        statement = statement.where(Memory.valid_to.is_(None), Memory.is_archived.is_(False))
    rows = db.session.scalars(statement.order_by(Memory.memory_id)).all()
    quotes: dict[int, list[str]] = {}
    subquery = select(Memory.memory_id).where(Memory.user_id == user_id)
    for memory_id, quote in db.session.execute(
        select(MemoryEvidence.memory_id, MemoryEvidence.quote).where(MemoryEvidence.memory_id.in_(subquery))
    ):
        quotes.setdefault(memory_id, []).append(quote)
    if form == "mem":
        stones = select(MemoryTombstone).where(MemoryTombstone.user_id == user_id)
        return memories.as_bundle(rows, db.session.scalars(stones).all())
    if form == "markdown":
        return memories.as_markdown(rows, quotes, memory_wording_for(user_id)).encode()
    text = memories.as_text(rows, time_zone_of(user_id)) if form == "text" else memories.as_json(rows, quotes)
    return text.encode()


def _exports_of(user_id: int) -> Select[Export]:
    return select(Export).where(Export.user_id == user_id)


@pre_forget.connect
@statements_withdrawn.connect
def _end_exports(_sender: Any, *, user_id: int, **_: Any) -> None:
    """End the user's exports, including those being written."""
    rows = db.session.scalars(
        select(Export).where(Export.user_id == user_id, Export.status.in_(("waiting", "ready"))).with_for_update()
    ).all()
    for row in rows:
        storage.drop_file_of(row)
        row.status, row.error = "expired", N_("Deleted, because something has been forgotten since. Export again.")


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
        return numeric_moment(at.replace(tzinfo=at.tzinfo or UTC).astimezone(zone), language.code)

    with use_language(language.code):
        return FileTexts(language.tag, language.direction, _("Conversation"), _("You"), _("Assistant"), timestamp)
