"""Keeps what memories, summaries and documents say out of stored prompts: they are named there, and filled in for a
reader.

A forgotten memory thus leaves no copy in the account of a reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import or_

from webapp.chat.sections import escape
from webapp.database import db
from webapp.memories.models import Memory, MemoryRevision
from webapp.memories.service import readable
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.service import scope_of

GONE = "[forgotten]"
DELETED = "[deleted]"
_ITEM = re.compile(r'(<item n="(\d+)" kind="[a-z]+")(?: source="[^"]*")?>.*?</item>', re.DOTALL)
_PASSAGE = re.compile(r"\[\[(message|chunk|document) (\d{1,10})\]\]")
_SUMMARY = re.compile(r"\[\[summary (\d{1,10})\]\]")
_MARK = re.compile(r"\[\[memory (\d{1,10}) revision (\d{1,10})\]\]")


def mask(text: str, memories: Iterable[tuple[int, int, str]]) -> str:
    """A prompt's text with each of these memories (id, revision, content), where it stands, replaced by a mark."""
    for memory_id, revision, content in memories:
        mark = f"[[memory {memory_id} revision {revision}]]"
        text = text.replace(f"- {_line(content)}\n", f"- {mark}\n").replace(f">{escape(content.strip())}<", f">{mark}<")
        text = text.replace(f"] {_line(content)} (", f"] {mark} (")  # a line of facts
    return text


def mask_passages(text: str, items: Sequence[tuple[str, int]]) -> str:
    """A prompt's text with its n-th reference item, if it is no memory, replaced by a mark of the n-th of `items`.

    What was said in a conversation that is deleted later thus leaves no copy either.
    """

    def fill(found: re.Match[str]) -> str:
        place = int(found[2]) - 1
        if place >= len(items) or items[place][0] == "memory":
            return found[0]
        kind, number = items[place]
        return f"{found[1]}>[[{kind} {number}]]</item>"

    return _ITEM.sub(fill, text)


def mask_summaries(text: str, summaries: Iterable[tuple[int, str]]) -> str:
    """A prompt's text with each of the conversation's summaries (chunk id, content) replaced by a mark."""
    for chunk_id, content in summaries:
        text = text.replace(f"- {escape(content.strip())}\n", f"- [[summary {chunk_id}]]\n")
    return text


def unmask_summaries(prompt: list[dict[str, Any]], summaries: Mapping[int, str]) -> list[dict[str, Any]]:
    """Stored prompt messages with the marks of summaries filled in, by chunk id, with what they say now."""

    def fill(found: re.Match[str]) -> str:
        said = summaries.get(int(found[1]))
        return escape(said.strip()) if said is not None else DELETED

    return [
        {**item, "content": _SUMMARY.sub(fill, item["content"])} if isinstance(item.get("content"), str) else item
        for item in prompt
    ]


def kept(
    message: Mapping[str, Any],
    stored: Mapping[tuple[str, str], int],
    asked: tuple[int, str] | None,
    hide: Callable[[str], str],
) -> dict[str, Any]:
    """A message of a prompt as it is stored: one of the conversation's, by (role, content), is named by its id.

    Of the message `asked` (id, content) only what the prompt puts before it is kept, with `hide`, as is all of others.
    """
    role, text = message["role"], message["content"]
    if message_id := stored.get((role, text)):
        return {"role": role, "message_id": message_id}
    if asked and role == "user" and asked[1] and text.endswith(asked[1]):
        return {"role": role, "message_id": asked[0], "content": hide(text.removesuffix(asked[1]))}
    return {"role": role, "content": hide(text)}


def unmask_passages(user_id: int, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stored prompt messages with the marks of passages filled in with what the user may see of them now."""
    wanted = {
        (found[1], int(found[2])) for item in prompt for found in _PASSAGE.finditer(str(item.get("content") or ""))
    }
    if not wanted:
        return prompt
    there = load_passages(wanted, scope_of(user_id))

    def fill(found: re.Match[str]) -> str:
        passage = there.get((found[1], int(found[2])))
        return escape(passage.content) if passage else DELETED

    return [
        {**item, "content": _PASSAGE.sub(fill, item["content"])} if isinstance(item.get("content"), str) else item
        for item in prompt
    ]


def unmask(user_id: int, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stored prompt messages with the marks filled in from what the user may read now.

    Of others' memories only the revision that they share now: what they said before is theirs.
    """
    wanted = {int(found[1]) for item in prompt for found in _MARK.finditer(str(item.get("content") or ""))}
    if not wanted:
        return prompt
    said = _said(user_id, wanted)

    def fill(found: re.Match[str]) -> str:
        return _line(said.get((int(found[1]), int(found[2])), GONE))

    return [
        {**item, "content": _MARK.sub(fill, item["content"])} if isinstance(item.get("content"), str) else item
        for item in prompt
    ]


def _said(user_id: int, memory_ids: Iterable[int]) -> dict[tuple[int, int], str]:
    """What memories that the user may read said, by id and revision."""
    rows = db.session.execute(
        readable(user_id)
        .join(MemoryRevision, MemoryRevision.memory_id == Memory.memory_id)
        .where(
            Memory.memory_id.in_(memory_ids),
            or_(Memory.user_id == user_id, MemoryRevision.revision == Memory.revision),
        )
        .with_only_columns(MemoryRevision.memory_id, MemoryRevision.revision, MemoryRevision.snapshot)
    ).all()
    return {(memory_id, revision): fields.get("content") or GONE for memory_id, revision, fields in rows}


def _line(content: str) -> str:
    return escape(" ".join(content.split()))
