"""Keeps what memories say out of stored prompts: they are named there by id and revision, and filled in for a reader.

A forgotten memory thus leaves no copy in the account of a reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from sqlalchemy import select

from webapp.chat.sections import escape
from webapp.database import db
from webapp.memories.models import Memory, MemoryRevision

GONE = "[forgotten]"
_MARK = re.compile(r"\[\[memory (\d{1,10}) revision (\d{1,10})\]\]")


def mask(text: str, memories: Iterable[tuple[int, int, str]]) -> str:
    """A prompt's text with each of these memories (id, revision, content), where it stands, replaced by a mark."""
    for memory_id, revision, content in memories:
        mark = f"[[memory {memory_id} revision {revision}]]"
        text = text.replace(f"- {_line(content)}\n", f"- {mark}\n").replace(f">{escape(content.strip())}<", f">{mark}<")
    return text


def unmask(user_id: int, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stored prompt messages with the marks filled in from the user's memories."""
    wanted = {
        (int(found[1]), int(found[2])) for item in prompt for found in _MARK.finditer(str(item.get("content") or ""))
    }
    if not wanted:
        return prompt
    rows = db.session.execute(
        select(MemoryRevision.memory_id, MemoryRevision.revision, MemoryRevision.snapshot)
        .join(Memory, Memory.memory_id == MemoryRevision.memory_id)
        .where(Memory.user_id == user_id, Memory.memory_id.in_({memory_id for memory_id, _ in wanted}))
    ).all()
    said = {(memory_id, revision): fields.get("content") or GONE for memory_id, revision, fields in rows}

    def fill(found: re.Match[str]) -> str:
        return _line(said.get((int(found[1]), int(found[2])), GONE))

    return [
        {**item, "content": _MARK.sub(fill, item["content"])} if isinstance(item.get("content"), str) else item
        for item in prompt
    ]


def _line(content: str) -> str:
    return escape(" ".join(content.split()))
