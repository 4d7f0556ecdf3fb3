"""Claude's data export: conversations, projects with their documents, and what Claude remembered.

The export does not say which conversation belongs to which project, so conversations are imported outside of projects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from webapp.transfer.content import (
    Part,
    ReadConversation,
    ReadMemory,
    ReadMessage,
    ReadProject,
    Unreadable,
    instant,
    shown_path,
    text_or_none,
)
from webapp.transfer.readers.attachments import text_file
from webapp.transfer.sources import ImportRefused, Upload

_CONVERSATIONS = re.compile(r"(?:^|/)conversations\.json$")
_PROJECTS = re.compile(r"(?:^|/)projects(?:\.json|/[^/]+\.json)$")
_MEMORIES = re.compile(r"(?:^|/)memories\.json$")
_LARGE = 256 * 1024**2
_ATTACHED = 20_000
"""An attachment's text of at most this many characters stays in its message; a longer one becomes a text file."""


class Claude:
    """Reads Claude's export."""

    name, label = "claude", "Claude"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether a conversation with `chat_messages` is in it, or Claude's memories are."""
        for name in upload.names:
            if upload.is_archive and not (_CONVERSATIONS.search(name) or _MEMORIES.search(name)):
                continue
            item = upload.first_item(name)
            if isinstance(item, dict) and ("chat_messages" in item or "conversations_memory" in item):
                return True
        return False

    def read(self, upload: Upload) -> Iterator[Part]:
        """Projects, conversations, memories."""
        names = upload.names
        for name in sorted(name for name in names if _PROJECTS.search(name)):
            yield from _projects(upload, name)
        for name in names:
            if _PROJECTS.search(name) or (upload.is_archive and not _CONVERSATIONS.search(name)):
                continue
            if _MEMORIES.search(name) or not name.lower().endswith(".json"):
                continue
            yield from _conversations(upload, name)
        for name in names:
            if _MEMORIES.search(name) or (not upload.is_archive and not _CONVERSATIONS.search(name)):
                yield from _memories(upload, name)


def _conversations(upload: Upload, name: str) -> Iterator[Part]:
    try:
        for number, item in enumerate(upload.items(name), 1):
            if isinstance(item, dict) and "conversations_memory" in item:
                continue
            try:
                yield _conversation(item)
            except Exception as error:  # whatever is wrong with one, the others are still read
                title = text_or_none(item.get("name")) if isinstance(item, dict) else None
                place = f"“{title}”" if title else f"{name}, conversation {number}"
                yield Unreadable(
                    place, str(error) if isinstance(error, ValueError) else "it is not as Claude writes it"
                )
    except ImportRefused:
        raise
    except ValueError as error:
        yield Unreadable(name, str(error))


def _conversation(item: Any) -> ReadConversation:
    if not isinstance(item, dict) or not isinstance(item.get("chat_messages"), list):
        raise ValueError("it has no messages")
    rows = {str(row.get("uuid") or at): row for at, row in enumerate(item["chat_messages"]) if isinstance(row, dict)}
    leaf = item.get("current_leaf_message_uuid")
    path = shown_path(rows, "parent_message_uuid", leaf, lambda row: instant(row.get("created_at")))
    messages = [message for key in path if (message := _message(key, rows[key])) is not None]
    return ReadConversation(
        source_id=str(item.get("uuid") or ""),
        title=text_or_none(item.get("name")),
        messages=messages,
        created_at=instant(item.get("created_at")),
        updated_at=instant(item.get("updated_at")),
        is_pinned=bool(item.get("is_starred")),
        left_out=len(rows) - len(messages),
    )


def _message(key: str, row: dict[str, Any]) -> ReadMessage | None:
    blocks = row.get("content") if isinstance(row.get("content"), list) else []
    texts = [block["text"] for block in blocks or [] if isinstance(block, dict) and _is_text(block)]
    text = "\n\n".join(texts).strip() or text_or_none(row.get("text")) or ""
    files = []
    for attached in row.get("attachments") or []:
        content = text_or_none(attached.get("extracted_content")) if isinstance(attached, dict) else None
        if content:
            title = attached.get("file_name") or "attachment"
            whole = text_file(content, title) if len(content) > _ATTACHED else None
            files += [whole] if whole else []
            text += f"\n\n[{title}]" if whole else f"\n\n[{title}]\n\n{content}"
    for file in row.get("files") or []:
        if isinstance(file, dict) and file.get("file_name"):
            text += f"\n\n[{file['file_name']}]"
    if not text.strip():
        return None
    role = "user" if row.get("sender") == "human" else "assistant"
    return ReadMessage(key, role, text.strip(), instant(row.get("created_at")), None, files)  # type: ignore[arg-type]  # one of two words


def _is_text(block: dict[str, Any]) -> bool:
    return block.get("type") in ("text", "voice_note") and isinstance(block.get("text"), str)


def _projects(upload: Upload, name: str) -> Iterator[Part]:
    try:
        found = json.loads(upload.text(name, _LARGE))
    except ImportRefused:
        raise
    except (ValueError, RecursionError):
        yield Unreadable(name, "the file is damaged or was cut off")
        return
    for item in found if isinstance(found, list) else [found]:
        if not isinstance(item, dict) or not text_or_none(item.get("name")):
            continue
        documents = [
            (str(doc.get("filename") or "Document"), doc["content"])
            for doc in item.get("docs") or []
            if isinstance(doc, dict) and text_or_none(doc.get("content"))
        ]
        yield ReadProject(
            source_id=str(item.get("uuid") or item["name"]),
            name=item["name"].strip(),
            description=text_or_none(item.get("description")) or "",
            instructions=text_or_none(item.get("prompt_template")) or "",
            documents=documents,
        )


def _memories(upload: Upload, name: str) -> Iterator[Part]:
    try:
        found = json.loads(upload.text(name, _LARGE))
    except ImportRefused:
        raise
    except (ValueError, RecursionError):
        yield Unreadable(name, "the file is damaged or was cut off")
        return
    for item in found if isinstance(found, list) else [found]:
        if not isinstance(item, dict):
            continue
        for text in statements(item.get("conversations_memory")):
            yield ReadMemory(text)
        for project, remembered in (item.get("project_memories") or {}).items():
            for text in statements(remembered):
                yield ReadMemory(text, project=str(project))


def statements(text: Any) -> list[str]:
    """The statements of a summary in Markdown: its sentences, without headings, emphasis and list marks."""
    if not isinstance(text, str):
        return []
    found = []
    for raw in text.splitlines():
        line = re.sub(r"\*\*|__|`", "", raw).strip()
        if not line or line.startswith("#") or line.endswith(":") or not re.search(r"[.!?。]|\w\s+\w", line):
            continue
        if re.fullmatch(r"\*\*[^*]+\*\*", raw.strip()):
            continue
        line = re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", line)
        found += [part.strip() for part in re.split(r"(?<=[.!?。])\s+(?=[^a-z])", line) if len(part.strip()) > 3]
    return found
