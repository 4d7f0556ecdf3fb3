"""The ShareGPT format: an array of conversations, each a list of turns by `human` and `gpt`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from webapp.transfer.content import Part, ReadConversation, ReadMessage, Unreadable, text_or_none
from webapp.transfer.sources import ImportRefused, Upload

_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant"}


class ShareGPT:
    """Reads files in the ShareGPT format."""

    name, label = "sharegpt", "ShareGPT"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the first item is a list of turns with `from` and `value`."""
        return any(_is_conversation(upload.first_item(name)) for name in _files(upload)[:2])

    def read(self, upload: Upload) -> Iterator[Part]:
        """The conversations."""
        for name in _files(upload):
            try:
                for number, item in enumerate(upload.items(name), 1):
                    if _is_conversation(item):
                        yield _conversation(item)
                    else:
                        yield Unreadable(f"{name}, conversation {number}", "it has no turns")
            except ImportRefused:
                raise
            except ValueError as error:
                yield Unreadable(name, str(error))


def _files(upload: Upload) -> list[str]:
    return [name for name in upload.names if name.lower().endswith(".json")]


def _is_conversation(item: Any) -> bool:
    turns = item.get("conversations") if isinstance(item, dict) else None
    return isinstance(turns, list) and bool(turns) and isinstance(turns[0], dict) and "value" in turns[0]


def _conversation(item: dict[str, Any]) -> ReadConversation:
    messages = []
    for number, turn in enumerate(item["conversations"]):
        role = _ROLES.get(str(turn.get("from")).lower()) if isinstance(turn, dict) else None
        text = text_or_none(turn.get("value")) if role else None
        if role and text:
            messages.append(ReadMessage(str(number), role, text))  # type: ignore[arg-type]  # one of two words
    # Many of these files have no ids: the same words are the same conversation.
    digest = hashlib.sha256(json.dumps(item["conversations"], sort_keys=True).encode()).hexdigest()[:32]
    return ReadConversation(
        source_id=str(item.get("id") or digest),
        title=text_or_none(item.get("title")),
        messages=messages,
        left_out=len(item["conversations"]) - len(messages),
    )
