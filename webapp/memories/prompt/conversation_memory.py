"""A conversation's use of memory, and counts of the memories used."""

import logging
from collections.abc import Iterable

from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import select, update

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.conversations.models import Conversation
from webapp.db.base import db, now
from webapp.memories.models import Memory
from webapp.spaces.models import Space

log = logging.getLogger(__name__)

USES = "memory:uses"


def memory_is_on(conversation: Conversation, user: User) -> bool:
    """Return whether this conversation reads memories; it also makes them unless it is set to read only."""
    is_on = conversation.uses_memory and not conversation.is_temporary and conversation.deleted_at is None
    return bool(is_on and UserSettings.of(user.settings).memory_enabled)


def extracts(conversation: Conversation, user: User) -> bool:
    """Return whether memories are made from what the user says here after every turn.

    In a legacy the summaries do this instead: they look for facts about its person.
    """
    return memory_is_on(conversation, user) and conversation.makes_memory and not in_legacy(conversation)


def in_legacy(conversation: Conversation) -> bool:
    """Return whether the conversation is about a person being remembered."""
    if conversation.space_id is None:
        return False
    return db.session.scalar(select(Space.kind).where(Space.space_id == conversation.space_id)) == "legacy"


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
    """Write the counted uses to `access_count` and `last_accessed_at`; returns how many. The caller commits."""
    batch_key = f"{USES}:taken"
    if not client.exists(batch_key):
        if not client.exists(USES):
            return 0
        client.rename(USES, batch_key)
    by_count: dict[int, list[int]] = {}
    for memory_id, count in client.hgetall(batch_key).items():
        by_count.setdefault(int(count), []).append(int(memory_id))
    moment = now()
    for times, ids in by_count.items():
        db.session.execute(
            update(Memory)
            .where(Memory.memory_id.in_(ids))
            .values(access_count=Memory.access_count + times, last_accessed_at=moment)
            .execution_options(synchronize_session=False)
        )
    client.delete(batch_key)
    return sum(map(len, by_count.values()))
