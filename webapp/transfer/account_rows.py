"""The rows of an account, as an export writes them: which are whose, and what stands with a row of another table."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, LargeBinary, Select, select

from webapp.conversations.models import Conversation, Message, MessageReasoning
from webapp.db.base import Base, db, table_of
from webapp.digests.models import ConversationMemory, ConversationMemoryVersion
from webapp.files.models import File, FilePage, MessageFile
from webapp.journeys.models import (
    ConversationPoint,
    ConversationReport,
    Journey,
    JourneyVersion,
    PointEvidence,
    PointMemory,
    ReportEvidence,
)
from webapp.memories.models import Memory, MemoryTombstone
from webapp.memories.portrait import service as portraits
from webapp.memories.portrait.models import Portrait
from webapp.memories.portrait.subjects import Members, Person
from webapp.memories.store.tombstones import keys_of
from webapp.spaces.models import DocumentChunk, Space, SpaceDocument, SpaceMember
from webapp.transfer.models import ImportedMessage

BATCH = 200
UNEXPORTED = frozenset(
    {
        *("embedding", "embedding_model", "password_hash", "token", "user_id", "statement_hash"),
        *("extraction_due", "index_due", "summary_due", "indexed_through", "report_due", "memory_version"),
        *("deleted_at", "shared_live_until", "before_change", "draft_of", "owner_id", "author_id", "sealed"),
    }
)
"""Columns that are never exported: they are secrets, can be computed again, or only mean something here."""

Rows = Iterator[dict[str, Any]]
Row = TypeVar("Row", bound=Base)


Condition = Callable[[int], ColumnElement[bool]]
"""Makes, from the id of a user, the condition for rows that are theirs."""


@dataclass(frozen=True)
class ExportFile:
    """One file of an export: what it contains, the table its lines come from, and how a user's lines are read.

    Without a reader they are the rows with the user's id, or those that `whose` tells. `extra`: more fields, with their
    JSON type or schema.
    """

    description: str
    model: type[Base]
    reader: Callable[[int], Rows] | None = None
    extra: dict[str, str | dict[str, Any]] = field(default_factory=dict)
    whose: Condition | None = None

    def read(self, user_id: int) -> Rows:
        """Yield a user's lines."""
        return self.reader(user_id) if self.reader else own_rows(self.model, user_id, self.whose)


def dump(row: Any) -> dict[str, Any]:
    """Return a row's columns by name, without those that are never exported."""
    fields = {}
    for attribute in row.__mapper__.column_attrs:
        column = attribute.columns[0]
        if isinstance(column, Column) and is_exported(column):
            fields[column.name] = getattr(row, attribute.key)
    return fields


def is_exported(column: Any) -> bool:
    """Return whether a column is part of an export."""
    return column.name not in UNEXPORTED and column.computed is None and not isinstance(column.type, LargeBinary)


def walk(model: type[Row], condition: ColumnElement[bool]) -> Iterator[Row]:
    """Yield the rows that meet a condition by key, in batches that no session holds any more."""
    *_, column = table_of(model).primary_key.columns  # before it, if there is more, comes the user's id
    key = getattr(model, column.key)
    page = select(model).where(condition).order_by(key).limit(BATCH)
    last: Any = None
    while rows := db.session.scalars(page if last is None else page.where(key > last)).all():
        last = getattr(rows[-1], column.key)
        db.session.expunge_all()
        yield from rows


def own_rows(model: Any, user_id: int, whose: Condition | None = None) -> Rows:
    """Return the rows with the user's id, or that meet a condition made from it."""
    return map(dump, walk(model, whose(user_id) if whose else model.user_id == user_id))


def own_conversations(user_id: int) -> Select[int]:
    """Return the ids of the user's conversations, without deleted and temporary ones."""
    return select(Conversation.conversation_id).where(
        Conversation.user_id == user_id, Conversation.deleted_at.is_(None), Conversation.is_temporary.is_(False)
    )


def in_conversations(column: Any) -> Condition:
    """Return a condition for rows of the user's conversations."""
    return lambda user_id: column.in_(own_conversations(user_id))


def of_memories(column: Any) -> Condition:
    """Return a condition for rows of the user's memories."""
    return lambda user_id: column.in_(select(Memory.memory_id).where(Memory.user_id == user_id))


def of_messages(column: Any) -> Condition:
    """Return a condition for rows of messages in the user's conversations."""
    return lambda user_id: column.in_(
        select(Message.message_id).where(Message.conversation_id.in_(own_conversations(user_id)))
    )


def conversation_lines(user_id: int) -> Rows:
    """Yield the conversations, each with its messages."""
    journeys = dict(db.session.execute(select(Journey.journey_id, Journey.slug)).all())
    for row in walk(Conversation, Conversation.conversation_id.in_(own_conversations(user_id))):
        conversation_id = row.conversation_id
        messages_query = select(Message).where(Message.conversation_id == conversation_id).order_by(Message.message_id)
        sources = select(ImportedMessage.message_id, ImportedMessage.source_id).where(
            ImportedMessage.conversation_id == conversation_id
        )
        source = dict(db.session.execute(sources).all())
        attached: dict[int, list[dict[str, Any]]] = {}
        files = select(MessageFile).where(MessageFile.conversation_id == conversation_id).order_by(MessageFile.file_id)
        for file in db.session.scalars(files) if row.has_files else ():
            attached.setdefault(file.message_id, []).append({"file_id": file.file_id, "mode": file.mode})
        messages = []
        rows = db.session.scalars(messages_query).all()
        thought = select(MessageReasoning).join(Message, Message.message_id == MessageReasoning.message_id)
        thoughts = {
            part.message_id: {"reasoning": part.content, "reasoning_ms": part.duration_ms}
            for part in db.session.scalars(thought.where(Message.conversation_id == conversation_id))
        }
        for message in rows:
            fields: dict[str, Any] = {}
            fields |= thoughts.get(message.message_id, {})
            if message.message_id in source:
                fields["source_id"] = source[message.message_id]
            if message.message_id in attached:
                fields["files"] = attached[message.message_id]
            messages.append(dump(message) | fields)
            db.session.expunge(message)
        yield dump(row) | {"journey": journeys.get(row.journey_id or 0), "tags": row.tags, "messages": messages}


def journey_lines(user_id: int) -> Rows:
    """Yield the user's own journeys, each with its versions and points."""
    for row in walk(Journey, Journey.owner_id == user_id):
        versions = select(JourneyVersion).where(JourneyVersion.journey_id == row.journey_id)
        points = select(ConversationPoint).where(ConversationPoint.journey_id == row.journey_id)
        yield dump(row) | {
            "versions": [dump(item) for item in db.session.scalars(versions.order_by(JourneyVersion.number))],
            "points": [dump(item) for item in db.session.scalars(points.order_by(ConversationPoint.point_id))],
        }


def own_spaces(user_id: int) -> Select[int]:
    """Return the ids of the spaces a user owns."""
    return select(SpaceMember.space_id).where(SpaceMember.user_id == user_id, SpaceMember.role == "owner")


DOCUMENT_FIELDS = ("document_id", "title", "content", "pages", "digest", "media_type", "file_name", "created_at")


def space_lines(user_id: int) -> Rows:
    """Yield the spaces that the user owns, each with its documents and the portrait as its members can read it."""
    for row in walk(Space, Space.space_id.in_(own_spaces(user_id))):
        statement = select(SpaceDocument).where(SpaceDocument.space_id == row.space_id)
        documents = []
        for document in db.session.scalars(statement.order_by(SpaceDocument.document_id)):
            parts = select(DocumentChunk.document_chunk_id).where(DocumentChunk.document_id == document.document_id)
            fields = {name: getattr(document, name) for name in DOCUMENT_FIELDS}
            documents.append(fields | {"parts": list(db.session.scalars(parts.order_by(DocumentChunk.position)))})
        stored = portraits.row_of(Members(row.space_id))
        portrait = portraits.valid_sentences(Members(row.space_id), stored.sentences) if stored else []
        yield dump(row) | {"documents": documents, "portrait": portrait}


def file_lines(user_id: int) -> Rows:
    """Yield the files, each with the text of its pages."""
    for row in walk(File, File.user_id == user_id):
        pages = select(FilePage.page, FilePage.text).where(FilePage.file_id == row.file_id).order_by(FilePage.page)
        yield dump(row) | {"text": [text for _, text in db.session.execute(pages)]}


def digest_lines(user_id: int) -> Rows:
    """Yield the digests, each with its versions."""
    for row in walk(ConversationMemory, ConversationMemory.conversation_id.in_(own_conversations(user_id))):
        history = select(ConversationMemoryVersion).where(ConversationMemoryVersion.conversation_memory_id == row.id)
        versions = db.session.scalars(history.order_by(ConversationMemoryVersion.version))
        yield dump(row) | {"versions": [dump(item) for item in versions]}


def portrait_lines(user_id: int) -> Rows:
    """Yield the portrait with the sentences that its owner can read now."""
    for line in own_rows(Portrait, user_id):
        yield line | {name: portraits.valid_sentences(Person(user_id), line[name]) for name in ("sentences", "before")}


def point_lines(model: Any, whose: Condition | None = None) -> Callable[[int], Rows]:
    """Return a reader of rows about points, with the slugs by which another installation can find journey and point."""

    def read(user_id: int) -> Rows:
        names = select(ConversationPoint.point_id, ConversationPoint.slug, Journey.slug).join(Journey)
        slugs = {point_id: (journey, point) for point_id, point, journey in db.session.execute(names)}
        for line in own_rows(model, user_id, whose):
            journey, point = slugs.get(line["point_id"] or 0, (None, None))
            yield line | {"journey": journey, "point": point}

    return read


def report_lines(user_id: int) -> Rows:
    """Yield the summaries of journeys, each with its evidence."""
    for row in walk(ConversationReport, ConversationReport.conversation_id.in_(own_conversations(user_id))):
        rests = select(ReportEvidence.evidence_id).where(ReportEvidence.report_id == row.report_id)
        evidence = list(db.session.scalars(rests.order_by(ReportEvidence.evidence_id)))
        yield dump(row) | {"evidence": evidence, "file": report_path(row.conversation_id)}


def tombstone_key_lines(user_id: int) -> Rows:
    """Yield the keys that the user's tombstones were made with."""
    statement = select(MemoryTombstone.key_id).where(MemoryTombstone.user_id == user_id).distinct()
    names = set(db.session.scalars(statement))
    for name, key in sorted(keys_of(user_id).items()):
        if name in names:
            yield {"key_id": name, "key": key.hex()}


def report_path(conversation_id: int) -> str:
    """Return the path in an export of the PDF summary for a conversation's journey."""
    return f"reports/conversation-{conversation_id}.pdf"


def own_points(user_id: int) -> ColumnElement[bool]:
    """Return a condition for evidence of what is known for points."""
    return PointEvidence.point_memory_id.in_(select(PointMemory.point_memory_id).where(PointMemory.user_id == user_id))
