"""Commonplace's own export, read like any other program's: conversations as last seen, and current memories."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from webapp.transfer.content import Omission, Part, ReadConversation, ReadMemory, ReadMessage
from webapp.transfer.field_values import day, instant, text_or_none
from webapp.transfer.json_text import object_in
from webapp.transfer.readers.records import convert_records
from webapp.transfer.sources import Upload

FORMAT = "commonplace-export"


class Commonplace:
    """Reads an export of an account."""

    name, label = "commonplace", "Commonplace"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the upload has this product's manifest."""
        if "manifest.json" not in upload.names:
            return False
        manifest = upload.first_item("manifest.json")
        return isinstance(manifest, dict) and manifest.get("format") == FORMAT

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield conversations, then memories that are still valid."""
        folders = _folder_names(rows(upload, "folders.jsonl"))
        name = "conversations.jsonl"
        yield from convert_records(name, rows(upload, name), lambda row: [_conversation(row, folders)])
        for row in rows(upload, "memories.jsonl"):
            text = text_or_none(row.get("content"))
            if text and not row.get("valid_to") and not row.get("is_archived") and not row.get("needs_review"):
                moment = instant(row.get("asserted_at") or row.get("created_at"))
                is_rule = row.get("memory_type") == "instruction"
                yield ReadMemory(text, moment, "instruction" if is_rule else "fact", until=day(row.get("until")))

    def wordings(self, upload: Upload) -> Iterator[str]:
        """Yield everything that its memories ever said, in whatever state they were, and the quotes behind them."""
        for name in ("memories.jsonl", "revisions.jsonl", "evidence.jsonl"):
            for row in rows(upload, name):
                snapshot = row.get("snapshot")
                content = snapshot.get("content") if isinstance(snapshot, dict) else row.get("content")
                yield from filter(None, (text_or_none(content), text_or_none(row.get("quote"))))


def rows(upload: Upload, name: str) -> Iterator[dict[str, Any]]:
    """Return the lines of one part of an export, empty for unreadable ones; none if the part is missing."""
    return map(object_in, upload.lines(name))


def _folder_names(lines: Iterable[dict[str, Any]]) -> dict[Any, str]:
    """Return the names of folders by their ids; of several with one name, the others have a number."""
    names: dict[Any, str] = {}
    counts = Counter[str]()
    for row in lines:
        if name := text_or_none(row.get("name")):
            counts[name] += 1
            names[row.get("folder_id")] = f"{name} ({counts[name]})" if counts[name] > 1 else name
    return names


def _conversation(row: dict[str, Any], folders: dict[Any, str]) -> ReadConversation:
    current = [message for message in row["messages"] if not message.get("superseded_by_id") and message["content"]]
    messages = [
        ReadMessage(
            str(m["message_id"]),
            m["role"],
            m["content"],
            instant(m["created_at"]),
            m.get("model"),
            spans=[(int(start), int(end), str(origin)) for start, end, origin in m.get("spans") or ()],
        )
        for m in current
    ]
    return ReadConversation(
        source_id=str(row.get("source_id") or row["conversation_id"]),
        title=text_or_none(row.get("title")),
        messages=messages,
        created_at=instant(row["created_at"]),
        updated_at=instant(row["updated_at"]),
        is_archived=bool(row.get("is_archived")),
        is_pinned=bool(row.get("is_pinned")),
        folder=folders.get(row.get("folder_id")),
        may_remember=bool(row.get("uses_memory", True)),
        left_out=+Counter({Omission.OTHER_VERSIONS: len(row["messages"]) - len(messages)}),
    )
