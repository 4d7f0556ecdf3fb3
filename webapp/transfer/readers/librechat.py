"""LibreChat's export: one conversation per file, its messages as a flat list with parents, or as a tree."""

from collections.abc import Iterator
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import (
    Part,
    ReadConversation,
    ReadFile,
    ReadMessage,
    Role,
    count_omissions,
    instant,
    shown_path,
    text_or_none,
)
from webapp.transfer.readers.records import as_dict, as_list, picture_from_url, read_records, split_thought, text_file
from webapp.transfer.sources import Upload


class LibreChat:
    """Reads LibreChat's export."""

    name, label = "librechat", "LibreChat"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the first JSON file is a conversation of LibreChat's."""
        return upload.has_record(upload.json_names, _is_conversation)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the conversations: one per file, or several in an array."""
        yield from read_records(upload, upload.json_names, _is_conversation, lambda item: [_conversation(item)])


def _is_conversation(item: Any) -> bool:
    return isinstance(item, dict) and "conversationId" in item and ("messages" in item or "messagesTree" in item)


def _conversation(item: Any) -> ReadConversation:
    if not _is_conversation(item):
        raise ValueError(N_("it is not a conversation of LibreChat's"))
    trees = item.get("messages") or item.get("messagesTree") or []
    if not isinstance(trees, list):
        raise ValueError(N_("it has no messages"))
    rows: dict[str, dict[str, Any]] = {}
    stack: list[tuple[Any, str | None]] = [(row, None) for row in reversed(trees)]
    while stack:
        row, parent = stack.pop()
        if not isinstance(row, dict):
            continue
        key = str(row.get("messageId") or len(rows))
        if key in rows:
            key = f"{key}-{len(rows)}"
        rows[key] = row | {"parentMessageId": parent or row.get("parentMessageId")}
        stack += [(child, key) for child in as_list(row.get("children"))[::-1]]
    path = shown_path(rows, "parentMessageId", None, lambda row: instant(row.get("createdAt")))
    messages = [message for key in path if (message := _message(key, rows[key])) is not None]
    return ReadConversation(
        source_id=str(item["conversationId"]),
        title=text_or_none(item.get("title")),
        messages=messages,
        created_at=messages[0].at if messages else None,
        updated_at=messages[-1].at if messages else None,
        left_out=count_omissions(rows, path, len(messages)),
    )


def _message(key: str, row: dict[str, Any]) -> ReadMessage | None:
    text = text_or_none(row.get("text")) or "\n\n".join(_parts(row.get("content"), "text")).strip()
    is_user = row.get("isCreatedByUser") or str(row.get("sender")).lower() == "user"
    text, thought = (text, "") if is_user else split_thought(text)
    thought = thought or "\n\n".join(_parts(row.get("content"), "think"))
    if not text or row.get("error"):  # a message in place of a reply when the model failed
        return None
    model = None if is_user else text_or_none(row.get("model")) or text_or_none(row.get("sender"))
    role: Role = "user" if is_user else "assistant"
    return ReadMessage(key, role, text, instant(row.get("createdAt")), model, list(_attachments(row)), thought)


def _attachments(row: dict[str, Any]) -> Iterator[ReadFile]:
    """Yield pictures in data URLs, and the text extracted from documents; the export has no other bytes."""
    for part in map(as_dict, as_list(row.get("content"))):
        image = part.get("image_url")
        if file := picture_from_url(as_dict(image).get("url") if isinstance(image, dict) else image):
            yield file
    for item in map(as_dict, as_list(row.get("files"))):
        if file := text_file(item.get("text"), item.get("filename")):
            yield file


def _parts(content: Any, kind: str) -> Iterator[str]:
    """Yield the texts of the parts of a kind."""
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if not isinstance(part, dict) or part.get("type") != kind:
            continue
        text = part.get(kind)
        if isinstance(text, dict):
            text = text.get("value")
        if isinstance(text, str):
            yield text
