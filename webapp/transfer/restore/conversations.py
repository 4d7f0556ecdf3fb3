"""Conversations with all their messages and versions, and their digests."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import insert

from webapp.conversations.models import Conversation, Message, MessageReasoning
from webapp.conversations.signals import messages_changed
from webapp.db.base import add_row, db
from webapp.digests.models import ConversationMemory, ConversationMemoryVersion
from webapp.files.models import MODES, MessageFile
from webapp.memories.store.tombstones import tombstone_set
from webapp.transfer.models import ImportedMessage, ImportItem, ImportSource
from webapp.transfer.restore.values import RestoreBatch, attributes, is_id

_LINKS = {"message_id", "conversation_id", "parent_id", "reply_to_id", "superseded_by_id"}
_MOVED = {"conversation_id", "space_id", "folder_id", "journey_id", "extracted_through", "tags", "is_temporary"}


def conversations(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore conversations as they were; no background work is due for them. Raises ValueError."""
    for line in lines:
        row = Conversation(
            user_id=batch.user_id,
            space_id=batch.new("space", line.get("space_id")),
            folder_id=batch.new("folder", line.get("folder_id")),
            journey_id=batch.journey(line),
            **attributes(Conversation, line, _MOVED | {"message_count", "has_files"}),
        )
        if row.space_id is None and line.get("space_id") is not None:
            row.persona = None
        row.tags = [tag for tag in line.get("tags") or () if isinstance(tag, str)]
        row.message_count, row.has_files = 0, False
        add_row(row)
        batch.note("conversation", [(line.get("conversation_id"), row.conversation_id)])
        count = _messages(batch, row, line)
        db.session.add(
            ImportItem(
                import_id=batch.import_id,
                kind="conversation",
                outcome="imported",
                target_id=row.conversation_id,
                message_count=count,
            )
        )
    db.session.flush()


def _messages(batch: RestoreBatch, row: Conversation, line: dict[str, Any]) -> int:
    lines = [item for item in line.get("messages") or () if isinstance(item, dict)]
    messages: list[Message] = []
    tombstones = tombstone_set(batch.user_id)
    for entry in lines:
        message = Message(conversation_id=row.conversation_id, **attributes(Message, entry, _LINKS))
        if message.status == "streaming":
            message.status = "interrupted"
        if message.role == "user":
            message.spans = [*tombstones.add_quotes(message.content, message.spans)] or None
        messages.append(message)
    db.session.add_all(messages)
    db.session.flush()
    pairs = list(zip(lines, messages, strict=True))
    new = {entry["message_id"]: message.message_id for entry, message in pairs if is_id(entry.get("message_id"))}
    batch.note("message", new.items())
    for entry, message in pairs:
        message.parent_id = new.get(entry.get("parent_id") or 0)
        message.reply_to_id = new.get(entry.get("reply_to_id") or 0)
        if entry.get("superseded_by_id") is not None:  # if its successor is gone, it supersedes itself
            message.superseded_by_id = new.get(entry["superseded_by_id"], message.message_id)
    db.session.flush()
    for entry, message in pairs:
        if entry.get("reasoning"):
            thought = {"content": entry["reasoning"], "duration_ms": entry.get("reasoning_ms") or 0}
            values = attributes(MessageReasoning, thought, {"message_id"})
            db.session.add(MessageReasoning(message_id=message.message_id, **values))
    _files(batch, row, pairs)
    sources = [
        {
            "message_id": message.message_id,
            "conversation_id": row.conversation_id,
            "import_id": batch.import_id,
            "source_id": entry["source_id"][:64],
        }
        for entry, message in pairs
        if isinstance(entry.get("source_id"), str)
    ]
    if sources:
        db.session.execute(insert(ImportedMessage), sources)
    row.message_count = sum(message.superseded_by_id is None for message in messages)
    message_ids = [new_id for old, new_id in new.items() if old <= (line.get("extracted_through") or 0)]
    row.extracted_through = max(message_ids, default=None)
    if messages:
        messages_changed.send(None, conversation=row, first_id=messages[0].message_id)
    row.extraction_due = row.summary_due = False
    db.session.flush()
    return len(messages)


def _files(batch: RestoreBatch, row: Conversation, pairs: Iterable[tuple[dict[str, Any], Message]]) -> None:
    """Attach the files of messages again, as far as they were restored."""
    for entry, message in pairs:
        attached = {}
        for file in entry.get("files") or ():
            new = batch.new("file", file.get("file_id"))
            if new is not None:
                attached[new] = file.get("mode") if file.get("mode") in MODES else "whole"
        for file_id, mode in attached.items():
            db.session.add(
                MessageFile(
                    message_id=message.message_id, file_id=file_id, conversation_id=row.conversation_id, mode=mode
                )
            )
        row.has_files = row.has_files or bool(attached)
        files = (message.custom_payload or {}).get("files")
        if isinstance(files, list):
            rows = [
                {**file, "file_id": new}
                for file in files
                if isinstance(file, dict) and (new := batch.new("file", file.get("file_id")))
            ]
            message.custom_payload = {**(message.custom_payload or {}), "files": rows}
    db.session.flush()


_IMPORTED = {"conversation": "conversation", "project": "space", "document": "document"}
"""What the parts of other programs' exports become, by their kinds."""


def sources(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the sources of things that were imported from other programs, so that importing them again finds them."""
    for line in lines:
        origin = str(line.get("origin") or "")[:120]
        kind = _IMPORTED.get((origin.split(":") + [""])[1])
        target_id = batch.new(kind, line.get("target_id")) if kind else None
        if target_id:  # an existing row can be replaced: what it named is gone, as the account was empty
            db.session.merge(ImportSource(user_id=batch.user_id, origin=origin, target_id=target_id))
    db.session.flush()


def digests(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore digests with their versions."""
    for line in lines:
        conversation_id = batch.new("conversation", line.get("conversation_id"))
        if conversation_id is None:
            continue
        values = attributes(ConversationMemory, line, {"id", "conversation_id"})
        row = add_row(ConversationMemory(conversation_id=conversation_id, **values))
        for version in line.get("versions") or ():
            fields = attributes(ConversationMemoryVersion, version, {"version_id", "conversation_memory_id"})
            db.session.add(ConversationMemoryVersion(conversation_memory_id=row.id, **fields))
    db.session.flush()
