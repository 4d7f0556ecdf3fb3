"""A user's memories: find, list, write by hand, change, archive. Other people's behave as unknown."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, or_, select
from sqlalchemy.exc import IntegrityError

from webapp.conversations.models import Conversation
from webapp.db.base import db, get_or_raise, now
from webapp.errors import Conflict, Invalid, require
from webapp.http.paging import read_rows
from webapp.http.validation import Page
from webapp.memories import lists
from webapp.memories.models import IN_USE, Memory
from webapp.memories.rules.grounding import value_after
from webapp.memories.rules.kinds import (
    DEFAULT_NAMESPACE,
    MemoryType,
    canonical_category,
    canonical_fact_key,
    category_of,
)
from webapp.memories.rules.secrets import find_secret
from webapp.memories.rules.state import Close, Draft
from webapp.memories.rules.user_decisions import store_user_value
from webapp.memories.schemas import MemoryChanges, MemoryFields, MemoryQuery
from webapp.memories.store import forgetting, versions, writing
from webapp.memories.store.journal import Journal, record_changes, statement_hash
from webapp.memories.store.reach import lock_withdrawal, withdraw
from webapp.spaces.service import require_member, spaces_of
from webapp.spaces.signals import touch
from webapp.text.canonical import canonical_statement

Place = tuple[str | None, str | None, int | None]
"""Where a keyed fact belongs: key, category and space."""


def visible(user_id: int) -> Select[Memory]:
    """Return the user's own memories: the one place that says which ones they may change."""
    return select(Memory).where(Memory.user_id == user_id)


def readable(user_id: int) -> Select[Memory]:
    """Return which memories a user may read: their own, and what others share, in use, in their spaces."""
    return select(Memory).where(or_(Memory.user_id == user_id, shared_in(spaces_of(user_id))))


def shared_in(spaces: Select[int] | Collection[int]) -> ColumnElement[bool]:
    """Return the condition for what every member of some spaces may read there."""
    return and_(Memory.visibility == "shared", Memory.space_id.in_(spaces), *IN_USE)


def read_memory(user_id: int, memory_id: int) -> Memory:
    """Return a memory the user may read. Raises NotFound."""
    return require(
        db.session.scalar(readable(user_id).where(Memory.memory_id == memory_id)), "There is no such memory."
    )


def get_memory(user_id: int, memory_id: int, *, lock: bool = False) -> Memory:
    """Return the user's memory, open or closed; `lock` holds it until the transaction ends. Raises NotFound."""
    query = visible(user_id).where(Memory.memory_id == memory_id)
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    return require(db.session.scalar(query), "There is no such memory.")


def list_memories(user_id: int, query: MemoryQuery, *conditions: ColumnElement[bool], part: str = "") -> Page[Memory]:
    """Return open memories, last changed first, keyset-paged. Raises Invalid for a foreign cursor.

    `conditions` narrow the list; `part` names the narrowed list for cursors.
    """
    statement = lists.use_list_index(filter_memories(user_id, query).where(*conditions), query)
    statement = statement.options(*lists.LIST_OPTIONS)
    key = Memory.updated_at, Memory.memory_id
    return read_rows("memories", query, statement, *key, scope=[user_id, part])


def filter_memories(user_id: int, query: MemoryQuery) -> Select[Memory]:
    """Return the query for the user's own memories and, in a space, those shared there. Raises NotFound."""
    conditions = lists.conditions(user_id, query)
    if query.space_id is None:
        return visible(user_id).where(*conditions)
    require_member(user_id, query.space_id)
    return readable(user_id).where(*conditions)


def create_memory(user_id: int, fields: MemoryFields, *, cause: str = "written") -> Memory:
    """Store what the user wrote, even if forgotten, in place of its key's value and of the same words.

    Raises Invalid for a secret, NotFound for an unknown space.
    """
    _check_conversation(user_id, fields.memory_type, fields.only_conversation_id)
    key = canonical_fact_key(fields.fact_key, fields.category)
    draft = Draft(
        memory_type=fields.memory_type,
        content=fields.content,
        fact_key=key,
        category=category_of(key, fields.category),
        fact_value=fields.fact_value or None,
        until=fields.until,
        confidence=1.0,
        importance=fields.importance,
        origin="user",
    )
    _refuse_secrets(draft.content, draft.fact_value, draft.fact_key, draft.category)
    versions.begin_change(user_id)
    _check_space(user_id, fields.space_id, fields.visibility)
    forgetting.remove_tombstones(user_id, draft.content, draft.fact_key, draft.fact_value)
    moment = now()
    condition = Memory.statement_hash == statement_hash(draft.content)
    ids = db.session.scalars(
        select(Memory.memory_id).where(
            *writing.scope_of(user_id, fields.space_id),
            Memory.only_conversation_id.is_not_distinct_from(fields.only_conversation_id),
            Memory.valid_to.is_(None),
            or_(condition, Memory.fact_key == draft.fact_key) if draft.fact_key else condition,
        )
    ).all()
    known = writing.load_known(ids)
    effects = store_user_value(draft, known, moment)
    journal = Journal(user_id, cause)
    created = writing.apply_plan(effects, journal, space_id=fields.space_id)
    memory = get_or_raise(Memory, created[-1])
    memory.is_pinned = fields.is_pinned or any(
        item.is_pinned for item in known if item.form == canonical_statement(draft.content)
    )
    memory.visibility = fields.visibility
    memory.only_conversation_id = fields.only_conversation_id
    memory.asserted_at = memory.valid_from = moment
    journal.amend(memory)
    journal.close({"added": 1, "superseded": sum(isinstance(effect, Close) for effect in effects)})
    return memory


_STATEMENT = ("memory_type", "content", "category", "fact_key", "fact_value", "importance", "confidence", "until")


def update_memory(user_id: int, memory_id: int, changes: MemoryChanges, *, cause: str = "edited") -> Memory:
    """Change the given fields as the user's own words. Raises NotFound, Conflict for a taken key, Invalid."""
    memory, is_changed = _set_fields(user_id, memory_id, changes)
    if is_changed:
        record_changes(user_id, cause, [memory], {"updated": 1})
    return memory


def update_memories(
    user_id: int, memory_ids: Collection[int], changes: MemoryChanges, *, cause: str, kept_id: int | None = None
) -> int | None:
    """Change the same fields of several memories as one change set; returns its id, None if nothing was different.

    `kept_id`: the memory that says the same and stays in use.
    """
    results = [_set_fields(user_id, memory_id, changes) for memory_id in memory_ids]
    rows = [memory for memory, is_changed in results if is_changed]
    for memory in rows if kept_id is not None else ():
        memory.superseded_by_id = kept_id
    return record_changes(user_id, cause, rows, {"updated": len(rows)}).change_set_id if rows else None


def _set_fields(user_id: int, memory_id: int, changes: MemoryChanges) -> tuple[Memory, bool]:
    """Set the given fields; returns the memory, and whether they were different."""
    fields = changes.model_dump(exclude_unset=True)
    if {"space_id", "visibility"} & fields.keys():
        lock_withdrawal(user_id, [memory_id])
    versions.begin_change(user_id)
    memory = get_memory(user_id, memory_id, lock=True)
    if {"space_id", "visibility"} & fields.keys():
        _check_space(user_id, fields.get("space_id", memory.space_id), fields.get("visibility", memory.visibility))
        touch(memory.space_id)
    if {"only_conversation_id", "memory_type"} & fields.keys():
        limited_to = fields.get("only_conversation_id", memory.only_conversation_id)
        _check_conversation(user_id, fields.get("memory_type", memory.memory_type), limited_to)
    if {"fact_key", "category"} & fields.keys():
        fields |= _key_and_category(memory, fields)
    if memory.fact_value and fields.get("content"):
        fields.setdefault("fact_value", value_after(fields["content"], memory.content, memory.fact_value))
    before = {name: getattr(memory, name) for name in fields}
    if before == fields:
        return memory, False
    was_shared, old_space_id = memory.visibility == "shared", memory.space_id
    _refuse_secrets(*(fields.get(name) for name in ("content", "fact_value", "fact_key", "category")))
    if any(name in fields and fields[name] != before[name] for name in _STATEMENT):
        memory.edited_by_user = True
        memory.asserted_at = now()
    for name, value in fields.items():
        setattr(memory, name, value)
    if memory.content != before.get("content", memory.content):
        memory.embedding = memory.embedding_model = None
        memory.statement_hash = statement_hash(memory.content)
    if {"valid_to", "is_archived"} & fields.keys() and memory.valid_to is None and not memory.is_archived:
        memory.superseded_by_id = None
    check_key(memory)  # before any other query, which would flush it unchecked
    if {"content", "fact_key", "fact_value"} & fields.keys():
        forgetting.remove_tombstones(user_id, memory.content, memory.fact_key, memory.fact_value)
    if was_shared and (memory.visibility != "shared" or memory.space_id != old_space_id):
        withdraw(user_id, [memory])
    return memory, True


def archive_memory(user_id: int, memory_id: int, archived: bool = True) -> Memory:
    """Archive a memory, or restore it. Raises NotFound, Conflict if another memory now has its key."""
    cause = "archived" if archived else "unarchived"
    return update_memory(user_id, memory_id, MemoryChanges(is_archived=archived), cause=cause)


def check_key(memory: Memory) -> None:
    """Write a memory's pending changes; raises Conflict, naming the other memory, if its key is already taken."""
    key = memory.fact_key, memory.category, memory.space_id
    current = memory.valid_to is None and not memory.is_archived and not memory.needs_review
    user_id, memory_id = memory.user_id, memory.memory_id
    with db.session.no_autoflush:
        holder = key_holder(user_id, *key) if current and key[0] else None
    if holder not in (None, memory_id):
        raise _key_conflict(key[0], holder)
    try:
        with db.session.begin_nested():
            db.session.flush()
    except IntegrityError:
        if not key[0]:
            raise
        raise _key_conflict(key[0], None) from None


def key_holder(user_id: int, fact_key: str | None, category: str | None, space_id: int | None) -> int | None:
    """Return the memory that has a key now."""
    place = fact_key, category, space_id
    return key_holders(user_id, [place]).get(place)


def key_holders(user_id: int, places: Collection[Place]) -> dict[Place, int]:
    """Return the memories that have some keys now, by key, category and space."""
    if not places:
        return {}
    slots = {
        (space_id or 0, f"{category or ''}:{key}"): (key, category, space_id) for key, category, space_id in places
    }
    conditions = [(Memory.space_slot == space) & (Memory.current_slot == slot) for space, slot in slots]
    fields = (Memory.memory_id, Memory.space_slot, Memory.current_slot)
    rows = db.session.execute(select(*fields).where(Memory.user_id == user_id, or_(*conditions)))
    return {slots[space, slot]: memory_id for memory_id, space, slot in rows if slot is not None}


def _key_conflict(fact_key: str | None, holder: int | None) -> Conflict:
    words = f"'{fact_key}' is held by memory {holder}" if holder else f"'{fact_key}' is held by another memory"
    error = {"loc": ["fact_key"], "msg": f"{words}; a key has one current value"}
    return Conflict(
        f"{words}. Change that one, or archive it first.", errors=[error | ({"memory_id": holder} if holder else {})]
    )


def _key_and_category(memory: Memory, fields: dict[str, Any]) -> dict[str, Any]:
    """Return key and category as stored: the key's namespace is the category, and follows one given without a key."""
    category = fields.get("category", memory.category)
    given = fields.get("fact_key", memory.fact_key)
    if given and "fact_key" not in fields:
        given = f"{canonical_category(category) or DEFAULT_NAMESPACE}/{given.partition('/')[2]}"
    key = canonical_fact_key(given, category)
    return {"fact_key": key, "category": category_of(key, category)}


def _check_space(user_id: int, space_id: int | None, visibility: str) -> None:
    """Check a memory's place, with the user's memory locked, as it is where a membership ends."""
    if space_id is not None:
        require_member(user_id, space_id)
    elif visibility == "shared":
        raise Invalid.field("visibility", "only a memory of a space can be shared")


def _check_conversation(user_id: int, memory_type: str, conversation_id: int | None) -> None:
    if conversation_id is None:
        return
    if memory_type != MemoryType.INSTRUCTION:
        raise Invalid.field("only_conversation_id", "only an instruction can be limited to a conversation")
    condition = (Conversation.user_id == user_id) & Conversation.deleted_at.is_(None)
    if not db.session.scalar(select(condition).where(Conversation.conversation_id == conversation_id)):
        raise Invalid.field("only_conversation_id", "there is no such conversation")


def _refuse_secrets(*texts: str | None) -> None:
    if kind := find_secret(*texts):
        raise Invalid.field(
            "content",
            "looks like a secret (%(replace)s); secrets are never kept",
            replace=kind.value.replace("_", " "),
        )
