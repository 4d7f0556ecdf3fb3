"""A conversation's use of memory: its switches and those of the account, and counts of the memories used."""

from collections.abc import Collection
from dataclasses import dataclass

from redis import Redis
from redis.client import Pipeline
from sqlalchemy import update

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.accounts.service import user_settings
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db, get_or_raise, now
from webapp.memories.models import Memory
from webapp.spaces.service import is_legacy

USES = "memory:uses"


def memory_is_on(conversation: Conversation) -> bool:
    """Return whether this conversation reads memories; it also makes them unless it is set to read only."""
    if not conversation.uses_memory or conversation.is_temporary or conversation.deleted_at is not None:
        return False
    return UserSettings.of(get_or_raise(User, conversation.user_id).settings).memory_enabled


def is_extraction_on(conversation: Conversation) -> bool:
    """Return whether memories are made here after every turn; in a legacy the summaries do it."""
    return memory_is_on(conversation) and conversation.makes_memory and not is_legacy(conversation.space_id)


def note_uses(pipe: Pipeline, memory_ids: Collection[int]) -> None:
    """Count that memories were used; the sweep writes the counts to the database. Losing some does no harm."""
    if memory_ids:
        pipe.eval("for _, id in ipairs(ARGV) do redis.call('hincrby', KEYS[1], id, 1) end", 1, USES, *memory_ids)


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


@dataclass(frozen=True, slots=True)
class Switches:
    """Memory of the account, and of one conversation if there is one."""

    everywhere: bool
    here: bool = True
    is_temporary: bool = False
    in_legacy: bool = False

    @property
    def is_on(self) -> bool:
        """Return whether memory is read and made in this place."""
        return self.everywhere and self.here and not self.is_temporary


def switches(user_id: int, conversation: Conversation | None) -> Switches:
    is_enabled = user_settings(user_id).memory_enabled
    if conversation is None:
        return Switches(is_enabled)
    return Switches(is_enabled, conversation.uses_memory, conversation.is_temporary, is_legacy(conversation.space_id))


def switch_conversation(user_id: int, conversation_id: int, is_on: bool) -> Conversation:
    """Read and make memories in a conversation, or not. Raises NotFound."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    conversation.uses_memory = is_on
    db.session.flush()
    return conversation
