"""Open WebUI's export of chats: a JSON array, each chat a tree of messages below `chat.history`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.transfer.parts import (
    Part,
    ReadConversation,
    ReadFile,
    ReadMessage,
    Unreadable,
    branch,
    instant,
    newest_leaf,
    text_or_none,
)
from webapp.transfer.readers.attached import listed, mapped, of_text, of_url
from webapp.transfer.sources import Refused, Upload

_HIDDEN = re.compile(r"<details type=\"(?:reasoning|tool_calls|code_interpreter)\"[^>]*>.*?</details>", re.DOTALL)


class OpenWebUI:
    """Reads Open WebUI's export."""

    name, label = "openwebui", "Open WebUI"

    def looks_like(self, upload: Upload) -> bool:
        """Whether a chat with a history is in it."""
        return any(_is_chat(upload.first_item(name)) for name in _files(upload)[:3])

    def read(self, upload: Upload) -> Iterator[Part]:
        """The chats."""
        for name in _files(upload):
            try:
                for number, item in enumerate(upload.items(name), 1):
                    try:
                        yield _conversation(item)
                    except Exception as error:  # whatever is wrong with one, the others are read
                        reason = str(error) if isinstance(error, ValueError) else "it is not as Open WebUI writes it"
                        yield Unreadable(f"{name}, chat {number}", reason)
            except Refused:
                raise
            except ValueError as error:
                yield Unreadable(name, str(error))


def _files(upload: Upload) -> list[str]:
    return [name for name in upload.names if name.lower().endswith(".json")]


def _is_chat(item: Any) -> bool:
    chat = item.get("chat") if isinstance(item, dict) else None
    return isinstance(chat, dict) and ("history" in chat or "messages" in chat)


def _conversation(item: Any) -> ReadConversation:
    if not _is_chat(item):
        raise ValueError("it has no history")
    chat = item["chat"]
    history = chat.get("history") or {}
    rows = history.get("messages") if isinstance(history.get("messages"), dict) else {}
    if not rows:
        rows = {
            str(row.get("id") or at): row for at, row in enumerate(chat.get("messages") or []) if isinstance(row, dict)
        }
        path = list(rows)
    else:
        rows = {key: row for key, row in rows.items() if isinstance(row, dict)}
        parents = {key: row.get("parentId") for key, row in rows.items()}
        times = {key: float(row.get("timestamp") or 0) for key, row in rows.items()}
        leaf = history.get("currentId")
        path = branch(parents, leaf if leaf in rows else newest_leaf(parents, times))
    messages = [message for key in path if (message := _message(key, rows[key])) is not None]
    return ReadConversation(
        source_id=str(item.get("id") or ""),
        title=text_or_none(item.get("title")) or text_or_none(chat.get("title")),
        messages=messages,
        created_at=instant(item.get("created_at")),
        updated_at=instant(item.get("updated_at")),
        is_archived=bool(item.get("archived")),
        is_pinned=bool(item.get("pinned")),
        left_out=len(rows) - len(messages),
    )


def _message(key: str, row: dict[str, Any]) -> ReadMessage | None:
    content = row.get("content")
    if isinstance(content, list):
        content = "\n\n".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    text = _HIDDEN.sub("", content or "").strip()
    if not text:
        text = "\n\n".join(_output(row.get("output"))).strip()
    if not text or row.get("role") not in ("user", "assistant"):
        return None
    model = text_or_none(row.get("model")) if row["role"] == "assistant" else None
    return ReadMessage(key, row["role"], text, instant(row.get("timestamp")), model, list(_attached(row)))


def _attached(row: dict[str, Any]) -> Iterator[ReadFile]:
    """Pictures in data URLs, and the text that was read of documents; other bytes are in no export."""
    for part in listed(row.get("content")):
        if found := of_url(mapped(mapped(part).get("image_url")).get("url")):
            yield found
    for item in map(mapped, listed(row.get("files"))):
        inner = mapped(item.get("file"))
        name = item.get("name") or inner.get("filename")
        said = mapped(inner.get("data")).get("content") or item.get("content")
        if found := of_url(item.get("url"), name) or of_text(said, name):
            yield found


def _output(items: Any) -> Iterator[str]:
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and item.get("type") == "message":
            for part in item.get("content") or []:
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    yield part["text"]
