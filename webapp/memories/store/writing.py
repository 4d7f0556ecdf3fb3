"""Between the rows and the deciding code: loads the state a decision needs, applies the plan it returns."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import false, select

from webapp.db.base import add_row, db, get_or_raise
from webapp.db.index_hints import use_index, use_primary_key
from webapp.i18n.dates import is_dated
from webapp.memories.models import Memory, MemoryEvidence, MemoryRevision
from webapp.memories.rules.kinds import canonical_fact_key
from webapp.memories.rules.operations import MemoryOperation
from webapp.memories.rules.state import (
    Draft,
    Effect,
    Evidence,
    Flag,
    KnownMemory,
    SourceMessage,
    State,
    apply_effect,
)
from webapp.memories.store.journal import Journal, statement_hash
from webapp.text.canonical import canonical_statement

SCAN_ROWS = 2_000
NEAREST = 10
_COPIED_FIELDS = (*(field.name for field in fields(Draft)), "needs_review", "is_archived", "valid_to")
"""The fields of a KnownMemory that have the same name in the row, and that an effect may change."""


class Vectors(NamedTuple):
    """The vectors of proposed statements by text, and the model that made them; none while it is unavailable."""

    by_text: Mapping[str, np.ndarray] = {}
    model: str | None = None


def load_known(ids: Collection[int]) -> list[KnownMemory]:
    """Return the memories of these ids as decisions need them, in order of id."""
    if not ids:
        return []
    rows = db.session.scalars(select(Memory).where(Memory.memory_id.in_(ids)).order_by(Memory.memory_id)).all()
    evidence: dict[int, list[Evidence]] = defaultdict(list)
    for row in db.session.scalars(select(MemoryEvidence).where(MemoryEvidence.memory_id.in_(ids))):
        evidence[row.memory_id].append(Evidence(row.message_id, row.quote, row.start, row.end, row.said_at))
    earlier: dict[int, set[str]] = defaultdict(set)
    for memory_id, snapshot in db.session.execute(
        select(MemoryRevision.memory_id, MemoryRevision.snapshot).where(MemoryRevision.memory_id.in_(ids))
    ):
        earlier[memory_id].add(canonical_statement(snapshot.get("content") or ""))
    return [_state_of(row, evidence[row.memory_id], earlier[row.memory_id]) for row in rows]


def _state_of(row: Memory, evidence: list[Evidence], earlier: set[str]) -> KnownMemory:
    return KnownMemory(
        **{name: getattr(row, name) for name in _COPIED_FIELDS},
        ref=row.memory_id,
        is_pinned=row.is_pinned,
        edited_by_user=row.edited_by_user,
        superseded_by=row.superseded_by_id,
        contradicts=row.contradicts_id,
        settled_with=frozenset(row.settled_with or ()),
        said_before=frozenset(earlier - {canonical_statement(row.content)}),
        evidence=tuple(sorted(evidence, key=lambda item: item.moment)),
        asserted_at=row.asserted_at,
        embedding=np.frombuffer(row.embedding, dtype=np.float32) if row.embedding else None,
    )


def candidates(
    user_id: int, space_id: int | None, operations: Sequence[MemoryOperation], message_ids: Collection[int]
) -> set[int]:
    """Return ids of the memories that operations name by key or statement, or that rest on these messages."""
    scope = scope_of(user_id, space_id)
    keys = {key for item in operations if (key := canonical_fact_key(item.fact_key, item.category))}
    hashes = {statement_hash(item.content) for item in operations if item.content}
    statement = select(Memory.memory_id).where(*scope)
    named = {"fact_key": Memory.fact_key.in_(keys), "statement": Memory.statement_hash.in_(hashes)}
    ids: set[int] = set()
    for name, condition in named.items():  # with both in one statement, SQLite reads all of the user's memories
        ids.update(db.session.scalars(use_index(statement.where(condition), Memory, f"ix_memories_{name}")))
    earlier = select(MemoryRevision.memory_id).where(MemoryRevision.statement_hash.in_(hashes))
    ids.update(db.session.scalars(use_primary_key(statement.where(Memory.memory_id.in_(earlier)), Memory)))
    ids |= memories_from_messages(user_id, space_id, message_ids)
    # The memories that candidates refer to are needed too.
    ties = select(Memory.superseded_by_id, Memory.contradicts_id).where(Memory.memory_id.in_(ids))
    return ids | {ref for pair in db.session.execute(ties) for ref in pair if ref is not None}


def load_state(
    user_id: int,
    space_id: int | None,
    messages: Sequence[SourceMessage],
    operations: Sequence[MemoryOperation] = (),
    nearby: Collection[int] = (),
    **fields: Any,
) -> State:
    """Return what a decision about operations rests on, with all memories that it may be about, those `nearby` too;
    `fields` are others of the state. The caller holds the user's memory."""
    ids = candidates(user_id, space_id, operations, {number for item in messages for number in item.versions})
    ids |= {*nearby, *fields.get("numbered", {}).values()}
    return State(tuple(messages), tuple(load_known(ids)), **fields)


def memories_from_messages(user_id: int, space_id: int | None, message_ids: Collection[int]) -> set[int]:
    """Return ids of the memories that rest on these messages."""
    supported = select(MemoryEvidence.memory_id).where(MemoryEvidence.message_id.in_(message_ids))
    statement = select(Memory.memory_id).where(*scope_of(user_id, space_id), Memory.memory_id.in_(supported))
    return set(db.session.scalars(use_primary_key(statement, Memory)))


def find_nearest(
    user_id: int, space_id: int | None, model: str, vectors: Sequence[np.ndarray], count: int
) -> dict[int, float]:
    """Return the nearest memories to any of the vectors, closed ones included, by id with cosine, reading in blocks."""
    if not len(vectors):
        return {}
    queries = np.stack(vectors).astype(np.float32)
    rows = db.session.execute(
        select(Memory.memory_id, Memory.embedding)
        .where(*scope_of(user_id, space_id), Memory.embedding_model == model)
        .execution_options(yield_per=SCAN_ROWS)
    )
    best: list[tuple[int, float]] = []
    for block in rows.partitions():
        matrix = np.frombuffer(b"".join(vector or b"" for _, vector in block), dtype=np.float32).reshape(len(block), -1)
        scores = (matrix @ queries.T).max(axis=1)
        ids = np.fromiter((memory_id for memory_id, _ in block), dtype=np.int64, count=len(block))
        nearest_first = np.lexsort((ids, -scores))[:count]
        best += zip(ids[nearest_first].tolist(), scores[nearest_first].tolist(), strict=True)
        best = sorted(best, key=lambda item: (-item[1], item[0]))[:count]
    return dict(best)


def find_similar(user_id: int, space_id: int | None, vectors: Vectors) -> set[int]:
    """Return ids of the memories that proposed statements may be about, by their vectors."""
    if vectors.model is None:
        return set()
    count = NEAREST * len(vectors.by_text)
    return set(find_nearest(user_id, space_id, vectors.model, list(vectors.by_text.values()), count))


def find_most_important(user_id: int, space_id: int | None, count: int) -> list[int]:
    """Return the ids of the most important current memories, whatever their topic: pinned, then keyed facts."""
    statement = select(Memory.memory_id).where(*scope_of(user_id, space_id))
    pinned = statement.where(Memory.is_archived == false(), Memory.is_closed == false(), Memory.is_pinned)
    pinned = pinned.order_by(Memory.updated_at.desc(), Memory.memory_id.desc()).limit(count)
    facts = statement.where(Memory.space_slot == (space_id or 0), Memory.known_rank.is_not(None))
    facts = facts.order_by(Memory.known_rank.desc(), Memory.memory_id.desc()).limit(count)
    ids = [*db.session.scalars(use_index(pinned, Memory, "ix_memories_pinned"))]
    ids += db.session.scalars(use_index(facts, Memory, "ix_memories_known"))
    return list(dict.fromkeys(ids))[:count]


def scope_of(user_id: int, space_id: int | None) -> list[Any]:
    """Return the conditions of one user's memories in one scope: personal, or one space."""
    return [Memory.user_id == user_id, Memory.space_id == space_id]


def apply_plan(
    effects: Iterable[Effect],
    journal: Journal,
    *,
    space_id: int | None = None,
    vectors: Vectors = Vectors(),  # noqa: B008  (immutable)
) -> dict[int, int]:
    """Apply the effects in order by `apply_effect`; return the ids of new memories by their negative references.

    A `Close` or `Flag` for a memory that does not exist yet gets its id afterwards.
    """
    effects = list(effects)
    stored = {effect.ref for effect in effects if effect.ref > 0}
    memories = {memory.ref: memory for memory in load_known(stored)}
    rows: dict[int, Memory] = {ref: get_or_raise(Memory, ref) for ref in sorted(stored)}
    waiting_memories: list[Memory] = []
    for effect in effects:
        before = memories.get(effect.ref)
        apply_effect(memories, effect)
        after = memories[effect.ref]
        if before is None:
            rows[effect.ref] = _row(after, journal, space_id)
        memory = rows[effect.ref]
        ids = {ref: row.memory_id for ref, row in rows.items()}
        if before is None or replace(after, evidence=before.evidence) != before:
            for name in _COPIED_FIELDS:
                setattr(memory, name, getattr(after, name))
            _refer(memory, after, ids)
            if before is None or after.content != before.content:
                vector = vectors.by_text.get(after.content) if after.embedding is None else after.embedding
                memory.embedding = vector.astype(np.float32).tobytes() if vector is not None else None
                memory.embedding_model = vectors.model if vector is not None else None
            add_row(memory)
            record = journal.record_creation if before is None else journal.record_change
            record(memory)
        if any(ref is not None and ref < 0 and ref not in ids for ref in (after.superseded_by, after.contradicts)):
            waiting_memories.append(memory)
        if not isinstance(effect, Flag):
            _add_evidence(memory, effect.evidence, journal)
    ids = {ref: row.memory_id for ref, row in rows.items()}
    refs = {row.memory_id: ref for ref, row in rows.items()}
    for memory in waiting_memories:
        _refer(memory, memories[refs[memory.memory_id]], ids)
        journal.amend(memory)
    db.session.flush()
    return {ref: memory_id for ref, memory_id in ids.items() if ref < 0}


def _row(memory: KnownMemory, journal: Journal, space_id: int | None) -> Memory:
    """Return a row for a new memory, without what it says."""
    first = memory.evidence[0] if memory.evidence else None
    return Memory(
        user_id=journal.change_set.user_id,
        space_id=space_id,
        source_conversation_id=journal.change_set.conversation_id,
        source_message_id=first.message_id if first else None,
        valid_from=first.said_at if first and is_dated(first.said_at) else None,
        evidence_count=0,
        is_pinned=False,
        settled_with=None,
        edited_by_user=False,
        visibility="private",
        statement_hash=statement_hash(memory.content),
    )


def _refer(memory: Memory, source: KnownMemory, ids: Mapping[int, int]) -> None:
    """Point a row to its successor and to what it contradicts, as far as these have ids yet."""

    def id_of(ref: int | None) -> int | None:
        return ref if ref is None or ref > 0 else ids.get(ref)

    memory.superseded_by_id, memory.contradicts_id = id_of(source.superseded_by), id_of(source.contradicts)


def _add_evidence(memory: Memory, evidence: Sequence[Evidence], journal: Journal) -> None:
    rows = [MemoryEvidence(memory_id=memory.memory_id, **vars(item), change_set_id=journal.id) for item in evidence]
    db.session.add_all(rows)
    db.session.flush()
    memory.evidence_count += len(rows)
    journal.evidence_added(rows)
