"""What every prompt holds of a user's memory, and counting what was used."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Select, false, func, select, update

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.conversations.models import Conversation
from webapp.database import db, now
from webapp.memories.engine.policy import at_least
from webapp.memories.engine.ranking import DEFAULT_RANKING, RankedMemory, always_known
from webapp.memories.models import Memory
from webapp.memories.profile import KEYS
from webapp.memories.service import readable, visible
from webapp.spaces.members import names_of
from webapp.spaces.models import Space

log = logging.getLogger(__name__)

MOST = 200
"""How many pinned memories, and how many keyed facts, are considered for one prompt."""
MOST_NEW = 20
"""How many memories that changed since a prompt's beginning was fixed are told apart from it."""
NEW = "new"
USES = "memory:uses"


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A memory for the prompt; `group` is profile, pinned, fact, recent, or NEW for what changed of late.

    `by` names the member of the space who shares it; empty for the user's own.
    """

    memory_id: int
    content: str
    revision: int
    group: str
    importance: float
    by: str = ""


def memory_is_on(conversation: Conversation, user: User) -> bool:
    """Whether this conversation reads and makes memories."""
    on = conversation.uses_memory and not conversation.is_temporary and conversation.deleted_at is None
    return bool(on and UserSettings.of(user.settings).memory_enabled)


def extracts(conversation: Conversation, user: User) -> bool:
    """Whether memories are made of what the user says here after every turn.

    In a legacy that is left to the summaries, which look for facts about its person.
    """
    return memory_is_on(conversation, user) and not in_legacy(conversation)


def in_legacy(conversation: Conversation) -> bool:
    """Whether the conversation is about a person being remembered."""
    if conversation.space_id is None:
        return False
    return db.session.scalar(select(Space.kind).where(Space.space_id == conversation.space_id)) == "legacy"


def context_memories(user_id: int, space_id: int | None = None, *, since: datetime | None = None) -> list[KnownItem]:
    """What every prompt of the user's personal conversations, or of those in a space, holds; budgets are the prompt's.

    Profile, pinned, keyed facts of importance 0.5 and more, and the most recent others, in a stable order. In a space
    only that space's: the user's own and what others share. With `since`, what changed later comes last, as NEW, and
    the rest is as it would have been then, but for what has gone: the beginning of a prompt stays the same from turn
    to turn while memory grows at its end.
    """
    scope = visible(user_id).where(Memory.space_id.is_(None))
    if space_id is not None:
        scope = readable(user_id).where(Memory.space_id == space_id)
    usable = scope.where(Memory.is_archived == false(), Memory.needs_review == false(), Memory.valid_to.is_(None))
    new: Sequence[Memory] = ()
    if since is not None:
        latest = usable.where(Memory.updated_at > since)
        new = _rows(latest.order_by(Memory.updated_at.desc(), Memory.memory_id.desc()).limit(MOST_NEW))
        usable = usable.where(Memory.updated_at <= since)
    pinned = _rows(usable.where(Memory.is_pinned).order_by(Memory.updated_at.desc()).limit(MOST))
    facts = _rows(
        usable.where(Memory.fact_key.is_not(None), Memory.importance >= DEFAULT_RANKING.known_importance - 1e-6)
        .order_by(Memory.importance.desc(), Memory.memory_id)
        .limit(MOST)
    )
    seen = {row.memory_id for row in (*pinned, *facts)}
    recent = _rows(usable.order_by(Memory.created_at.desc(), Memory.memory_id.desc()).limit(len(seen) + 10))
    rows = {row.memory_id: row for row in (*pinned, *facts, *recent)}
    known = always_known(map(_ranked, rows.values()), budget=10**9, count_tokens=len)
    names = _authors(user_id, (*rows.values(), *new)) if space_id is not None else {}
    grouped = [("pinned", known.pinned), ("fact", known.facts), ("recent", known.recent)]
    return [
        KnownItem(
            item.ref,
            item.content,
            rows[item.ref].revision,
            "profile" if item.fact_key in KEYS.values() else group,
            round(item.importance, 4),
            names.get(rows[item.ref].user_id, ""),
        )
        for group, items in grouped
        for item in items
    ] + [
        KnownItem(row.memory_id, row.content, row.revision, NEW, round(row.importance, 4), names.get(row.user_id, ""))
        for row in new
    ]


def _authors(user_id: int, rows: Iterable[Memory]) -> dict[int, str]:
    """The names of the other members whose memories are among these."""
    others = {row.user_id for row in rows} - {user_id}
    return names_of(others) if others else {}


def last_change(user_id: int) -> datetime | None:
    """When anything changed last in what prompts outside spaces may hold; None while there is nothing."""
    return db.session.scalar(
        select(func.max(Memory.updated_at)).where(Memory.user_id == user_id, Memory.space_id.is_(None))
    )


def note_uses(client: Redis, memory_ids: Iterable[int]) -> None:
    """Count that memories were used; the sweep writes the counts to the database. Losing some does no harm."""
    ids = list(memory_ids)
    if not ids:
        return
    try:
        with client.pipeline(transaction=False) as pipe:
            for memory_id in ids:
                pipe.hincrby(USES, str(memory_id), 1)
            pipe.execute()
    except RedisError as error:
        log.warning("uses of memories not counted", extra={"error": type(error).__name__})


def flush_uses(client: Redis) -> int:
    """Write the counted uses to `access_count` and `last_accessed_at`; how many memories. The caller commits."""
    taken = f"{USES}:taken"
    if not client.exists(taken):
        if not client.exists(USES):
            return 0
        client.rename(USES, taken)
    by_count: dict[int, list[int]] = {}
    for memory_id, count in client.hgetall(taken).items():
        by_count.setdefault(int(count), []).append(int(memory_id))
    at = now()
    for times, ids in by_count.items():
        db.session.execute(
            update(Memory)
            .where(Memory.memory_id.in_(ids))
            .values(access_count=Memory.access_count + times, last_accessed_at=at)
            .execution_options(synchronize_session=False)
        )
    client.delete(taken)
    return sum(map(len, by_count.values()))


def _rows(statement: Select[Memory]) -> Sequence[Memory]:
    return db.session.scalars(statement).all()


def _ranked(row: Memory) -> RankedMemory:
    importance = row.importance
    if at_least(importance, DEFAULT_RANKING.known_importance):
        importance = max(importance, DEFAULT_RANKING.known_importance)
    return RankedMemory(
        ref=row.memory_id,
        content=row.content,
        confidence=row.confidence or 1.0,
        importance=importance,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_used_at=row.last_accessed_at,
        fact_key=row.fact_key,
        fact_value=row.fact_value,
        is_pinned=bool(row.is_pinned),
        is_archived=bool(row.is_archived),
        needs_review=row.needs_review,
        valid_to=row.valid_to,
    )


def profile_of(items: Iterable[Memory]) -> dict[str, str]:
    """The profile fields among some memories, for the extraction call."""
    fields = {key: name for name, key in KEYS.items()}
    return {fields[m.fact_key]: m.fact_value or m.content for m in items if m.fact_key in fields}


def current_profile(user_id: int) -> dict[str, str]:
    """The profile as the extraction call shows it."""
    rows = db.session.scalars(
        select(Memory).where(
            Memory.user_id == user_id,
            Memory.current_slot.in_([f"identity:{key}" for key in KEYS.values()]),
            Memory.space_id.is_(None),
        )
    )
    return profile_of(rows)
