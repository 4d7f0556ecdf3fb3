"""The contents of an account, part by part: in which file of an export each table is, in which order."""

from typing import Any

from webapp.audit.models import AuditEvent
from webapp.conversations.models import Conversation, Folder, MessageFeedback
from webapp.digests.models import ConversationMemory
from webapp.files.models import File
from webapp.journeys.models import ConversationReport, Journey, JourneyGuide, PointEvidence, PointMemory
from webapp.memories.models import (
    Memory,
    MemoryChangeSet,
    MemoryEvidence,
    MemoryRevision,
    MemoryTombstone,
    TombstoneKey,
)
from webapp.memories.portrait.models import Portrait
from webapp.retrieval.models import ConversationChunk, PassageVerdict, TurnReceipt
from webapp.saved_prompts.models import SavedPrompt
from webapp.schedules.models import Schedule
from webapp.sharing.models import ConversationShare
from webapp.spaces.models import Space
from webapp.transfer.account_rows import (
    conversation_lines,
    digest_lines,
    file_lines,
    in_conversations,
    journey_lines,
    of_memories,
    of_messages,
    own_points,
    point_lines,
    portrait_lines,
    report_lines,
    space_lines,
    tombstone_key_lines,
)
from webapp.transfer.export_rows import ExportFile, own_rows
from webapp.transfer.models import ImportSource
from webapp.usage.models import UsageRecord

DOCUMENTS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "document_id": {"type": "integer"},
            "title": {"type": "string"},
            "content": {"type": "string", "description": "Its text; a form feed ends each page but the last."},
            "pages": {"type": "integer", "description": "0 for a text without pages."},
            "digest": {
                "type": ["string", "null"],
                "description": "The SHA-256 of the file it was read from, and its name below files/; null for a text.",
            },
            "media_type": {"type": ["string", "null"]},
            "file_name": {"type": ["string", "null"]},
            "created_at": {"type": "string"},
            "parts": {"type": "array", "description": "The numbers of its parts in receipts."},
        },
    },
}
"""The documents in a space."""


PARTS: dict[str, ExportFile] = {
    "folders.jsonl": ExportFile("Folders for conversations.", Folder),
    "journeys.jsonl": ExportFile(
        "Journeys that you wrote for yourself.", Journey, journey_lines, {"versions": "array", "points": "array"}
    ),
    "files.jsonl": ExportFile(
        "Files and the text read of them; their bytes lie below files/.", File, file_lines, {"text": "array"}
    ),
    "spaces.jsonl": ExportFile(
        "Spaces that are yours, with instructions and their documents; the bytes of the originals lie below files/.",
        Space,
        space_lines,
        {"documents": DOCUMENTS, "portrait": "array"},
    ),
    "prompts.jsonl": ExportFile("Saved prompts that you made.", SavedPrompt),
    "portrait.jsonl": ExportFile(
        "What is known of you in prose, each sentence with the memories it rests on.",
        Portrait,
        portrait_lines,
        {"sentences": "array", "before": "array"},
    ),
    "schedules.jsonl": ExportFile("Messages that are sent at a time.", Schedule),
    "conversations.jsonl": ExportFile(
        "Conversations, each with all messages and their earlier versions.",
        Conversation,
        conversation_lines,
        {"tags": "array", "messages": "array"},
    ),
    "feedback.jsonl": ExportFile(
        "What you think of replies, and why.",
        MessageFeedback,
        own_rows(MessageFeedback, of_messages(MessageFeedback.message_id)),
    ),
    "sources.jsonl": ExportFile("Which conversations and spaces came from another program.", ImportSource),
    "summaries.jsonl": ExportFile(
        "Summaries of long conversations.",
        ConversationChunk,
        own_rows(ConversationChunk, in_conversations(ConversationChunk.conversation_id)),
    ),
    "digests.jsonl": ExportFile("Digests of conversations.", ConversationMemory, digest_lines, {"versions": "array"}),
    "change_sets.jsonl": ExportFile("What was done to memories, and by what.", MemoryChangeSet),
    "memories.jsonl": ExportFile("Memories in every state.", Memory),
    "evidence.jsonl": ExportFile(
        "The quotes that memories rest on.",
        MemoryEvidence,
        own_rows(MemoryEvidence, of_memories(MemoryEvidence.memory_id)),
    ),
    "revisions.jsonl": ExportFile(
        "Every earlier state of a memory.",
        MemoryRevision,
        own_rows(MemoryRevision, of_memories(MemoryRevision.memory_id)),
    ),
    "tombstone_keys.jsonl": ExportFile(
        "The keys of your tombstones, so that they hold where you take them.",
        TombstoneKey,
        tombstone_key_lines,
        {"key": "string"},
    ),
    "tombstones.jsonl": ExportFile("Keyed hashes of what was forgotten; they hold no text.", MemoryTombstone),
    "point_memories.jsonl": ExportFile(
        "What is known for the points of journeys.", PointMemory, point_lines(PointMemory)
    ),
    "point_evidence.jsonl": ExportFile(
        "The quotes that points rest on.", PointEvidence, own_rows(PointEvidence, own_points)
    ),
    "guides.jsonl": ExportFile(
        "How far the journeys of conversations are.",
        JourneyGuide,
        point_lines(JourneyGuide, in_conversations(JourneyGuide.conversation_id)),
    ),
    "reports.jsonl": ExportFile(
        "Summaries of journeys; the PDFs lie below reports/.", ConversationReport, report_lines, {"evidence": "array"}
    ),
    "receipts.jsonl": ExportFile(
        "What each reply looked at.", TurnReceipt, own_rows(TurnReceipt, of_messages(TurnReceipt.message_id))
    ),
    "verdicts.jsonl": ExportFile("What you said of passages under replies.", PassageVerdict),
    "shares.jsonl": ExportFile("Links you share; a link holds only where it was made.", ConversationShare),
    "usage.jsonl": ExportFile("Tokens that were spent.", UsageRecord),
    "audit.jsonl": ExportFile("Who did or read what in your account.", AuditEvent),
}
"""The files of an export, in the order in which they are written."""
