"""The contents of an account, part by part: which rows are whose, in which file of an export, in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Select, select

from webapp.audit.models import AuditEvent
from webapp.conversations.models import Conversation, Folder, Message, MessageFeedback, MessageReasoning
from webapp.db.base import db
from webapp.digests.models import ConversationMemory, ConversationMemoryVersion
from webapp.files.models import File, FilePage, MessageFile
from webapp.journeys.models import (
    ConversationPoint,
    ConversationReport,
    Journey,
    JourneyGuide,
    JourneyVersion,
    PointEvidence,
    PointMemory,
    ReportEvidence,
)
from webapp.memories.models import (
    Memory,
    MemoryChangeSet,
    MemoryEvidence,
    MemoryRevision,
    MemoryTombstone,
    TombstoneKey,
)
from webapp.memories.portrait import service as portraits
from webapp.memories.portrait.models import Portrait
from webapp.memories.store.tombstone_secrets import keys_of
from webapp.retrieval.models import ConversationChunk, PassageVerdict, TurnReceipt
from webapp.saved_prompts.models import SavedPrompt
from webapp.schedules.models import Schedule
from webapp.sharing.models import ConversationShare
from webapp.spaces.models import DocumentChunk, Space, SpaceDocument, SpaceMember
from webapp.transfer.export_rows import ExportFile, Rows, dump, own_rows, walk
from webapp.transfer.line_schemas import DOCUMENTS
from webapp.transfer.models import ImportedMessage, ImportSource
from webapp.usage.models import UsageRecord


def own_conversations(user_id: int) -> Select[int]:
    """The ids of the user's conversations, without deleted and temporary ones."""
    return select(Conversation.conversation_id).where(
        Conversation.user_id == user_id, Conversation.deleted_at.is_(None), Conversation.is_temporary.is_(False)
    )


def _in_conversations(column: Any) -> Callable[[int], ColumnElement[bool]]:
    return lambda user_id: column.in_(own_conversations(user_id))


def _of_memories(column: Any) -> Callable[[int], ColumnElement[bool]]:
    return lambda user_id: column.in_(select(Memory.memory_id).where(Memory.user_id == user_id))


def _of_messages(column: Any) -> Callable[[int], ColumnElement[bool]]:
    return lambda user_id: column.in_(
        select(Message.message_id).where(Message.conversation_id.in_(own_conversations(user_id)))
    )


def _conversations(user_id: int) -> Rows:
    journeys = dict(db.session.execute(select(Journey.journey_id, Journey.slug)).all())
    mine = select(Conversation).where(Conversation.conversation_id.in_(own_conversations(user_id)))
    for row in walk(mine, Conversation.conversation_id):
        where = row.conversation_id
        said = select(Message).where(Message.conversation_id == where).order_by(Message.message_id)
        sources = select(ImportedMessage.message_id, ImportedMessage.source_id).where(
            ImportedMessage.conversation_id == where
        )
        source = dict(db.session.execute(sources).all())
        attached: dict[int, list[dict[str, Any]]] = {}
        files = select(MessageFile).where(MessageFile.conversation_id == where).order_by(MessageFile.file_id)
        for file in db.session.scalars(files) if row.has_files else ():
            attached.setdefault(file.message_id, []).append({"file_id": file.file_id, "mode": file.mode})
        messages = []
        rows = db.session.scalars(said).all()
        thought = select(MessageReasoning).join(Message, Message.message_id == MessageReasoning.message_id)
        thoughts = {
            found.message_id: {"reasoning": found.content, "reasoning_ms": found.duration_ms}
            for found in db.session.scalars(thought.where(Message.conversation_id == where))
        }
        for message in rows:
            more: dict[str, Any] = {}
            more |= thoughts.get(message.message_id, {})
            if message.message_id in source:
                more["source_id"] = source[message.message_id]
            if message.message_id in attached:
                more["files"] = attached[message.message_id]
            messages.append(dump(message) | more)
            db.session.expunge(message)
        yield dump(row) | {"journey": journeys.get(row.journey_id or 0), "tags": row.tags, "messages": messages}


def _journeys(user_id: int) -> Rows:
    for row in walk(select(Journey).where(Journey.owner_id == user_id), Journey.journey_id):
        versions = select(JourneyVersion).where(JourneyVersion.journey_id == row.journey_id)
        points = select(ConversationPoint).where(ConversationPoint.journey_id == row.journey_id)
        yield dump(row) | {
            "versions": [dump(item) for item in db.session.scalars(versions.order_by(JourneyVersion.number))],
            "points": [dump(item) for item in db.session.scalars(points.order_by(ConversationPoint.point_id))],
        }


def own_spaces(user_id: int) -> Select[int]:
    """The ids of the spaces a user owns."""
    return select(SpaceMember.space_id).where(SpaceMember.user_id == user_id, SpaceMember.role == "owner")


def _spaces(user_id: int) -> Rows:
    for row in walk(select(Space).where(Space.space_id.in_(own_spaces(user_id))), Space.space_id):
        mine = select(SpaceDocument).where(SpaceDocument.space_id == row.space_id)
        documents = []
        for document in db.session.scalars(mine.order_by(SpaceDocument.document_id)):
            parts = select(DocumentChunk.document_chunk_id).where(DocumentChunk.document_id == document.document_id)
            documents.append(
                {
                    "document_id": document.document_id,
                    "title": document.title,
                    "content": document.content,
                    "pages": document.pages,
                    "digest": document.digest,
                    "media_type": document.media_type,
                    "file_name": document.file_name,
                    "created_at": document.created_at,
                    "parts": list(db.session.scalars(parts.order_by(DocumentChunk.position))),
                }
            )
        yield dump(row) | {"documents": documents}


def _files(user_id: int) -> Rows:
    for row in walk(select(File).where(File.user_id == user_id), File.file_id):
        pages = select(FilePage.page, FilePage.text).where(FilePage.file_id == row.file_id).order_by(FilePage.page)
        yield dump(row) | {"text": [text for _, text in db.session.execute(pages)]}


def _digests(user_id: int) -> Rows:
    mine = select(ConversationMemory).where(ConversationMemory.conversation_id.in_(own_conversations(user_id)))
    for row in walk(mine, ConversationMemory.id):
        kept = select(ConversationMemoryVersion).where(ConversationMemoryVersion.conversation_memory_id == row.id)
        versions = db.session.scalars(kept.order_by(ConversationMemoryVersion.version))
        yield dump(row) | {"versions": [dump(item) for item in versions]}


def _portrait(user_id: int) -> Rows:
    """Yield the portrait with the sentences that its owner can read now."""
    for line in own_rows(Portrait, Portrait.user_id)(user_id):
        yield line | {name: portraits.holding(user_id, line[name]) for name in ("sentences", "before")}


def _on_points(
    model: Any, key: Any, condition: Callable[[int], ColumnElement[bool]] | None = None
) -> Callable[[int], Rows]:
    """A reader of rows about points, with the slugs by which another installation can find journey and point."""

    def read(user_id: int) -> Rows:
        names = select(ConversationPoint.point_id, ConversationPoint.slug, Journey.slug).join(Journey)
        slugs = {point_id: (journey, point) for point_id, point, journey in db.session.execute(names)}
        for line in own_rows(model, key, condition)(user_id):
            journey, point = slugs.get(line["point_id"] or 0, (None, None))
            yield line | {"journey": journey, "point": point}

    return read


def _reports(user_id: int) -> Rows:
    mine = select(ConversationReport).where(ConversationReport.conversation_id.in_(own_conversations(user_id)))
    for row in walk(mine, ConversationReport.report_id):
        rests = select(ReportEvidence.evidence_id).where(ReportEvidence.report_id == row.report_id)
        evidence = list(db.session.scalars(rests.order_by(ReportEvidence.evidence_id)))
        yield dump(row) | {"evidence": evidence, "file": report_path(row.conversation_id)}


def _tombstone_keys(user_id: int) -> Rows:
    used = select(MemoryTombstone.key_id).where(MemoryTombstone.user_id == user_id).distinct()
    names = set(db.session.scalars(used))
    for name, key in sorted(keys_of(user_id).items()):
        if name in names:
            yield {"key_id": name, "key": key.hex()}


def report_path(conversation_id: int) -> str:
    """The path in an export of the PDF summary for a conversation's journey."""
    return f"reports/conversation-{conversation_id}.pdf"


def _own_points(user_id: int) -> ColumnElement[bool]:
    return PointEvidence.point_memory_id.in_(select(PointMemory.point_memory_id).where(PointMemory.user_id == user_id))


PARTS: dict[str, ExportFile] = {
    "folders.jsonl": ExportFile("Folders for conversations.", Folder, own_rows(Folder, Folder.folder_id)),
    "journeys.jsonl": ExportFile(
        "Journeys that you wrote for yourself.", Journey, _journeys, {"versions": "array", "points": "array"}
    ),
    "files.jsonl": ExportFile(
        "Files and the text read of them; their bytes lie below files/.", File, _files, {"text": "array"}
    ),
    "spaces.jsonl": ExportFile(
        "Spaces that are yours, with instructions and their documents; the bytes of the originals lie below files/.",
        Space,
        _spaces,
        {"documents": DOCUMENTS},
    ),
    "prompts.jsonl": ExportFile(
        "Saved prompts that you made.", SavedPrompt, own_rows(SavedPrompt, SavedPrompt.saved_prompt_id)
    ),
    "portrait.jsonl": ExportFile(
        "What is known of you in prose, each sentence with the memories it rests on.",
        Portrait,
        _portrait,
        {"sentences": "array", "before": "array"},
    ),
    "schedules.jsonl": ExportFile(
        "Messages that are sent at a time.", Schedule, own_rows(Schedule, Schedule.schedule_id)
    ),
    "conversations.jsonl": ExportFile(
        "Conversations, each with all messages and their earlier versions.",
        Conversation,
        _conversations,
        {"tags": "array", "messages": "array"},
    ),
    "feedback.jsonl": ExportFile(
        "What you think of replies, and why.",
        MessageFeedback,
        own_rows(MessageFeedback, MessageFeedback.message_id, _of_messages(MessageFeedback.message_id)),
    ),
    "sources.jsonl": ExportFile(
        "Which conversations and spaces came from another program.",
        ImportSource,
        own_rows(ImportSource, ImportSource.origin),
    ),
    "summaries.jsonl": ExportFile(
        "Summaries of long conversations.",
        ConversationChunk,
        own_rows(ConversationChunk, ConversationChunk.chunk_id, _in_conversations(ConversationChunk.conversation_id)),
    ),
    "digests.jsonl": ExportFile("Digests of conversations.", ConversationMemory, _digests, {"versions": "array"}),
    "change_sets.jsonl": ExportFile(
        "What was done to memories, and by what.",
        MemoryChangeSet,
        own_rows(MemoryChangeSet, MemoryChangeSet.change_set_id),
    ),
    "memories.jsonl": ExportFile("Memories in every state.", Memory, own_rows(Memory, Memory.memory_id)),
    "evidence.jsonl": ExportFile(
        "The quotes that memories rest on.",
        MemoryEvidence,
        own_rows(MemoryEvidence, MemoryEvidence.evidence_id, _of_memories(MemoryEvidence.memory_id)),
    ),
    "revisions.jsonl": ExportFile(
        "Every earlier state of a memory.",
        MemoryRevision,
        own_rows(MemoryRevision, MemoryRevision.revision_id, _of_memories(MemoryRevision.memory_id)),
    ),
    "tombstone_keys.jsonl": ExportFile(
        "The keys of your tombstones, so that they hold where you take them.",
        TombstoneKey,
        _tombstone_keys,
        {"key": "string"},
    ),
    "tombstones.jsonl": ExportFile(
        "Keyed hashes of what was forgotten; they hold no text.",
        MemoryTombstone,
        own_rows(MemoryTombstone, MemoryTombstone.digest),
    ),
    "point_memories.jsonl": ExportFile(
        "What is known for the points of journeys.", PointMemory, _on_points(PointMemory, PointMemory.point_memory_id)
    ),
    "point_evidence.jsonl": ExportFile(
        "The quotes that points rest on.",
        PointEvidence,
        own_rows(PointEvidence, PointEvidence.evidence_id, _own_points),
    ),
    "guides.jsonl": ExportFile(
        "How far the journeys of conversations are.",
        JourneyGuide,
        _on_points(JourneyGuide, JourneyGuide.conversation_id, _in_conversations(JourneyGuide.conversation_id)),
    ),
    "reports.jsonl": ExportFile(
        "Summaries of journeys; the PDFs lie below reports/.", ConversationReport, _reports, {"evidence": "array"}
    ),
    "receipts.jsonl": ExportFile(
        "What each reply looked at.",
        TurnReceipt,
        own_rows(TurnReceipt, TurnReceipt.receipt_id, _of_messages(TurnReceipt.message_id)),
    ),
    "verdicts.jsonl": ExportFile(
        "What you said of passages under replies.", PassageVerdict, own_rows(PassageVerdict, PassageVerdict.verdict_id)
    ),
    "shares.jsonl": ExportFile(
        "Links you share; a link holds only where it was made.",
        ConversationShare,
        own_rows(ConversationShare, ConversationShare.share_id),
    ),
    "usage.jsonl": ExportFile("Tokens that were spent.", UsageRecord, own_rows(UsageRecord, UsageRecord.usage_id)),
    "audit.jsonl": ExportFile(
        "Who did or read what in your account.", AuditEvent, own_rows(AuditEvent, AuditEvent.event_id)
    ),
}
"""The files of an export, in the order in which they are written."""
