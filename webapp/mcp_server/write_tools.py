"""Changes by other programs: proposals for the person to review, unless their token may write."""

from typing import Any

from webapp.audit.actions import Action
from webapp.audit.service import record
from webapp.db.base import db
from webapp.errors import Forbidden, Invalid, NotFound
from webapp.mcp_server import access, schemas
from webapp.mcp_server.read_tools import memory_of, require_memory
from webapp.memories import service as memories
from webapp.memories.models import IN_USE, Memory
from webapp.memories.rules.grounding import keeps_names_and_numbers, value_after
from webapp.memories.schemas import MemoryChanges, MemoryFields
from webapp.memories.store.forgetting import forget_one
from webapp.memories.store.journal import statement_hash
from webapp.memories.store.outside_proposals import OutsideStatement, propose
from webapp.memories.store.tombstones import tombstone_set
from webapp.spaces.service import require_member

CAUSE = "mcp"
REWORDING_NOTE = "The replies in `used_in` were written with it and may still say it in other words. Tell the user."
_OUTCOME_TEXTS = {
    "proposed": "It waits for the user's approval in Commonplace.",
    "known": "It is known already.",
    "forgotten": "The user has forgotten this; only they can bring it back.",
    "secret": "It looks like a secret. Secrets are never kept.",
    "empty": "It says nothing.",
}


def remember(user_id: int, args: schemas.Remember) -> dict[str, Any]:
    """Remember or propose what the user said in words of theirs. Raises NotFound, Invalid, Forbidden if forgotten."""
    require_memory(user_id)
    access.require_space(args.space_id)
    if args.space_id is not None:
        require_member(user_id, args.space_id)
    if not keeps_names_and_numbers(args.content, [args.quote]):
        raise Invalid.field("quote", "lacks a name or number of this. Quote what the user said, and state only that")
    if not access.has_scope(access.WRITE):
        return _propose(user_id, args.content, args.kind, args.space_id)
    _refuse_forgotten(user_id, args.content)
    same = memories.visible(user_id).where(*IN_USE, Memory.statement_hash == statement_hash(args.content))
    scope = Memory.space_slot == (args.space_id or 0), Memory.only_conversation_id.is_(None)
    if known := db.session.scalars(same.where(*scope)).first():
        return {"status": "known", "memory": memory_of(known)}
    fields = MemoryFields(memory_type=args.kind, content=args.content, space_id=args.space_id)
    row = memories.create_memory(user_id, fields, cause=CAUSE)
    record(user_id, Action.MEMORIES_CHANGED, "1 memory added", detail={"memory_id": row.memory_id})
    return {"status": "remembered", "memory": memory_of(row)}


def update_memory(user_id: int, args: schemas.UpdateMemory) -> dict[str, Any]:
    """Change what a memory says, or propose the new wording. Raises as `remember`, and Conflict."""
    require_memory(user_id)
    row = _within_reach(memories.get_memory(user_id, args.memory_id))
    if not access.has_scope(access.WRITE):
        return _propose(user_id, args.content, row.memory_type, row.space_id)
    value = value_after(args.content, row.content, row.fact_value) if row.fact_value else None
    _refuse_forgotten(user_id, args.content, row.fact_key, value)
    row = memories.update_memory(user_id, args.memory_id, MemoryChanges(content=args.content), cause=CAUSE)
    record(user_id, Action.MEMORIES_CHANGED, "1 memory changed", detail={"memory_id": row.memory_id})
    return {"status": "changed", "memory": memory_of(row)}


def forget(user_id: int, args: schemas.Forget) -> dict[str, Any]:
    """Forget a memory for good. Raises NotFound."""
    _within_reach(memories.get_memory(user_id, args.memory_id))
    forgotten = forget_one(user_id, args.memory_id)
    record(user_id, Action.MEMORIES_CHANGED, f"{len(forgotten.memory_ids)} forgotten")
    near = [reply for reply in forgotten.used_in if access.may_see(reply.space_id)]
    return {
        "status": "forgotten",
        "memory_ids": forgotten.memory_ids,
        "used_in": [reply.model_dump() for reply in near],
        "used_in_count": forgotten.used_in_count,
        "used_by_others": forgotten.used_by_others,
        "detail": REWORDING_NOTE if forgotten.used_in_count else "",
    }


def _within_reach(row: Memory) -> Memory:
    if not access.may_see(row.space_id):
        raise NotFound("There is no such memory.")
    return row


def _propose(user_id: int, content: str, kind: str, space_id: int | None) -> dict[str, Any]:
    done = propose(user_id, [OutsideStatement(content, kind=kind)], cause=CAUSE, space_id=space_id)
    outcome = next((name for name, count in done.counts.items() if count), "empty")
    if outcome == "proposed":
        record(user_id, Action.MEMORIES_CHANGED, "1 memory proposed")
    return {"status": outcome, "detail": _OUTCOME_TEXTS.get(outcome, "")}


def _refuse_forgotten(user_id: int, content: str, key: str | None = None, value: str | None = None) -> None:
    """Refuse what the person has forgotten: they may write it again, a program may not. Raises Forbidden."""
    tombstones = tombstone_set(user_id)
    if tombstones.forbids(content, key, value) or tombstones.quotes_in(content):
        raise Forbidden(_OUTCOME_TEXTS["forgotten"])
