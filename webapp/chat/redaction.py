"""Redaction of replies before they are stored: of what was forgotten or withdrawn while it was being written."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import or_, select

from webapp.db.base import db
from webapp.memories.models import Memory, MemoryVersion
from webapp.memories.rules.paraphrases import ForgottenStatements, without_repeats
from webapp.memories.store.copies import FORGOTTEN_MARK, redact_value, replace_copies
from webapp.memories.store.tombstones import recent_tombstone_sets
from webapp.spaces.service import active_members, spaces_of

CLOCK_DIFFERENCE = timedelta(minutes=5)
"""How far apart the clocks of two machines may be."""


@dataclass(frozen=True, slots=True)
class PromptMemories:
    """The memories that a prompt held, by id, with their content, and the version of the user's memory before the
    prompt was made; None if nothing is known about the prompt any more. `of_others` tells whether some that were found
    are other people's."""

    memories: Sequence[tuple[int, str]] = ()
    version: int | None = None
    of_others: bool = False


@dataclass(frozen=True, slots=True)
class TurnScope:
    """The person, place and beginning of a turn; `version` is that of the user's memory now, locked by the caller."""

    user_id: int
    space_id: int | None
    began_at: datetime
    version: int


def redact(
    text: str, thoughts: str, tool_calls: list[dict[str, Any]], seen: PromptMemories, scope: TurnScope
) -> tuple[str, str, list[dict[str, Any]]]:
    """Remove from a reply, its reasoning and its tool calls everything in its prompt that must no longer be shown."""
    removals = _withdrawn_memories(seen.memories, scope) if seen.of_others or scope.space_id is not None else []
    tombstone_sets = []
    if seen.version != scope.version:
        removals += _forgotten_memories(seen.memories)
        users = {scope.user_id}
        if seen.version is None and scope.space_id is not None:
            # The turn's process died: it is not known which memories the prompt held.
            users.update(active_members(scope.space_id))
        tombstone_sets = recent_tombstone_sets(users, scope.began_at - CLOCK_DIFFERENCE)
    if not removals and not tombstone_sets:
        return text, thoughts, tool_calls
    ids = {memory_id for memory_id, _ in removals}
    texts = {content for _, content in removals}
    longest_first, statements = sorted(texts, key=len, reverse=True), ForgottenStatements(texts)

    def clear(text: str) -> str:
        text = without_repeats(replace_copies(text, longest_first), statements, FORGOTTEN_MARK)
        for tombstones in tombstone_sets:
            text = tombstones.without_forgotten(text, FORGOTTEN_MARK)
        return text

    return clear(text), clear(thoughts) if thoughts else "", _calls(tool_calls, ids, texts)


def _calls(tool_calls: list[dict[str, Any]], ids: Collection[int], texts: Collection[str]) -> list[dict[str, Any]]:
    """Return the tool calls without the removed texts, and without memories they made or found that are gone."""
    memories = [item for call in tool_calls for item in _memories_in(call.get("output"))]
    forgotten_ids = {memory_id for memory_id, _ in _forgotten_memories(memories)}
    stripped = [
        {**call, "input": dict.fromkeys(call.get("input") or {}, FORGOTTEN_MARK)}
        if (call.get("output") or {}).get("memory_id") in forgotten_ids
        else call
        for call in tool_calls
    ]
    contents = {content for memory_id, content in memories if memory_id in forgotten_ids and content}
    calls: list[dict[str, Any]] = redact_value(stripped, {*ids, *forgotten_ids}, {*texts, *contents})
    return calls


def _memories_in(value: Any) -> Iterator[tuple[int, str]]:
    """Yield the memories that an output names, by id, with their content if given."""
    if isinstance(value, dict):
        if isinstance(number := value.get("memory_id"), int):
            yield number, str(value.get("content") or "")
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _memories_in(part)


def _forgotten_memories(memories: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return memories in the prompt that are gone: only forgetting removes them."""
    ids = [memory_id for memory_id, _ in memories]
    existing_ids = set(db.session.scalars(select(Memory.memory_id).where(Memory.memory_id.in_(ids)))) if ids else set()
    return [item for item in memories if item[0] not in existing_ids]


def _withdrawn_memories(memories: Sequence[tuple[int, str]], scope: TurnScope) -> list[tuple[int, str]]:
    """Return a prompt's memories that were forgotten or unshared; their owners' memory is locked until the commit."""
    ids = [memory_id for memory_id, _ in memories]
    if not ids:
        return []
    authors = select(Memory.user_id).where(Memory.memory_id.in_(ids), Memory.user_id != scope.user_id)
    statement = select(MemoryVersion.user_id).where(MemoryVersion.user_id.in_(authors)).order_by(MemoryVersion.user_id)
    db.session.execute(statement.with_for_update())
    in_scope = Memory.space_id == scope.space_id if scope.space_id else Memory.space_id.in_(spaces_of(scope.user_id))
    may_be_told = or_(Memory.user_id == scope.user_id, (Memory.visibility == "shared") & in_scope)
    existing_ids = set(db.session.scalars(select(Memory.memory_id).where(Memory.memory_id.in_(ids), may_be_told)))
    return [item for item in memories if item[0] not in existing_ids]
