"""Grok's data export: one JSON object with all conversations, each a tree of responses.

As the Portable AI Memory specification found it in real exports (importer mappings, section 5, 2026): everything is
wrapped twice, who spoke is written in four ways, and the dates of responses are MongoDB's.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from webapp.transfer.content import (
    Part,
    ReadConversation,
    ReadMessage,
    ReadProject,
    Role,
    count_omissions,
    instant,
    shown_path,
    text_or_none,
)
from webapp.transfer.readers.records import convert_records
from webapp.transfer.sources import Upload

_MAIN = re.compile(r"(?:^|/)prod-grok-backend\.json$", re.IGNORECASE)
_BEGINNING = re.compile(r'^\s*\{\s*"(?:conversations|projects|tasks|media_posts)"\s*:')
_CARDS = re.compile(r"<(?:grok|xai):\w[^<>]*>[^<]*(?:<(?!/?(?:grok|xai):)[^<]*)*</(?:grok|xai):\w+>")
"""What stands for a quotation or a search in a reply, and is a card on Grok's page."""


class Grok:
    """Reads Grok's export."""

    name, label = "grok", "Grok"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the file that Grok calls its backend is in it, or a file with such a conversation is it."""
        if upload.is_archive:
            return bool(_files(upload))
        if not _BEGINNING.match(upload.peek(upload.names[0])):
            return False
        try:
            _, first = next(upload.items_under(upload.names[0], "conversations"), ("", None))
        except ValueError:
            return False
        return isinstance(first, dict) and "conversation" in first and "responses" in first

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield conversations, and projects with their instructions."""
        for name in _files(upload) if upload.is_archive else upload.names:
            yield from convert_records(name, upload.items_under(name, "conversations", "projects"), _parts)


def _files(upload: Upload) -> list[str]:
    return [name for name in upload.names if _MAIN.search(name)]


def _parts(entry: tuple[str, Any]) -> Iterable[Part]:
    key, item = entry
    return _projects(item) if key == "projects" else [_conversation(item)]


def _conversation(item: Any) -> ReadConversation:
    conversation = item.get("conversation") if isinstance(item, dict) else None
    if not isinstance(conversation, dict) or not isinstance(item.get("responses"), list):
        raise ValueError("it has no messages")
    responses = [row.get("response") for row in item["responses"] if isinstance(row, dict)]
    rows = {str(row.get("_id") or index): row for index, row in enumerate(responses) if isinstance(row, dict)}
    leaf = conversation.get("leaf_response_id")
    path = shown_path(rows, "parent_response_id", leaf, lambda row: instant(row.get("create_time")))
    messages = [message for key in path if (message := _message(key, rows[key])) is not None]
    return ReadConversation(
        source_id=str(conversation.get("id") or ""),
        title=text_or_none(conversation.get("title")),
        messages=messages,
        created_at=instant(conversation.get("create_time")),
        updated_at=instant(conversation.get("modify_time")),
        is_pinned=bool(conversation.get("starred")),
        left_out=count_omissions(rows, path, len(messages)),
    )


def _message(key: str, row: dict[str, Any]) -> ReadMessage | None:
    text = _CARDS.sub("", text_or_none(row.get("message")) or "").strip()
    if not text:  # a picture that was made, of which the export has only a URL
        return None
    # Others than people are "assistant", "ASSISTANT", or the name of a model.
    is_person = str(row.get("sender") or "").lower() in ("human", "user")
    model = None if is_person else text_or_none(row.get("model"))
    role: Role = "user" if is_person else "assistant"
    thought = "" if is_person else text_or_none(row.get("thinking_trace")) or ""
    return ReadMessage(key, role, text, instant(row.get("create_time")), model, thought=thought)


def _projects(item: Any) -> Iterator[ReadProject]:
    if isinstance(item, dict) and (title := text_or_none(item.get("name"))):
        instructions = text_or_none(item.get("custom_personality")) or ""
        yield ReadProject(str(item.get("id") or title), title, instructions=instructions)
