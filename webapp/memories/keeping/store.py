"""Between the rows and the deciding code: loads the state that a decision needs, applies the plan it returns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import numpy as np
from sqlalchemy import or_, select

from webapp.database import db, get_or_raise
from webapp.memories.engine.keys import canonical_fact_key
from webapp.memories.engine.operations import MemoryOperation
from webapp.memories.engine.state import (
    AddEvidence,
    Close,
    Draft,
    Effect,
    Evidence,
    Flag,
    Insert,
    KnownMemory,
    Origin,
    Revise,
)
from webapp.memories.keeping.journal import Journal, statement_hash
from webapp.memories.models import Memory, MemoryEvidence, MemoryRevision
from webapp.text.canonical import canonical_statement

SCAN_ROWS = 2_000


def load_known(ids: Collection[int]) -> list[KnownMemory]:
    """The memories of these ids as decisions need them, in order of id."""
    if not ids:
        return []
    rows = db.session.scalars(select(Memory).where(Memory.memory_id.in_(ids)).order_by(Memory.memory_id)).all()
    evidence: dict[int, list[Evidence]] = defaultdict(list)
    for row in db.session.scalars(select(MemoryEvidence).where(MemoryEvidence.memory_id.in_(ids))):
        evidence[row.memory_id].append(Evidence(row.message_id, row.quote, row.start, row.end, row.said_at))
    said: dict[int, set[str]] = defaultdict(set)
    for memory_id, fields in db.session.execute(
        select(MemoryRevision.memory_id, MemoryRevision.snapshot).where(MemoryRevision.memory_id.in_(ids))
    ):
        said[memory_id].add(canonical_statement(fields.get("content") or ""))
    return [_known(row, evidence[row.memory_id], said[row.memory_id]) for row in rows]


def _known(row: Memory, evidence: list[Evidence], said: set[str]) -> KnownMemory:
    return KnownMemory(
        memory_type=row.memory_type,
        content=row.content,
        category=row.category,
        fact_key=row.fact_key,
        fact_value=row.fact_value,
        confidence=row.confidence if row.confidence is not None else 1.0,
        importance=row.importance,
        origin=cast(Origin, row.origin),
        ref=row.memory_id,
        is_pinned=bool(row.is_pinned),
        is_archived=bool(row.is_archived),
        needs_review=row.needs_review,
        edited_by_user=row.edited_by_user,
        valid_to=row.valid_to,
        superseded_by=row.superseded_by_id,
        contradicts=row.contradicts_id,
        settled_with=frozenset(row.settled_with or ()),
        said_before=frozenset(said - {canonical_statement(row.content)}),
        evidence=tuple(sorted(evidence, key=lambda item: item.moment)),
        asserted_at=row.asserted_at,
        embedding=np.frombuffer(row.embedding, dtype=np.float32) if row.embedding else None,
    )


def candidates(
    user_id: int, space_id: int | None, operations: Sequence[MemoryOperation], message_ids: Collection[int]
) -> set[int]:
    """Ids of the memories that operations name by key or by statement, and of those resting on these messages."""
    scope = scope_of(user_id, space_id)
    keys = {key for item in operations if (key := canonical_fact_key(item.fact_key, item.category))}
    hashes = {statement_hash(item.content) for item in operations if item.content}
    found = set(
        db.session.scalars(
            select(Memory.memory_id).where(*scope, or_(Memory.fact_key.in_(keys), Memory.statement_hash.in_(hashes)))
        )
    )
    found |= set(
        db.session.scalars(
            select(Memory.memory_id)
            .join(MemoryRevision, MemoryRevision.memory_id == Memory.memory_id)
            .where(*scope, MemoryRevision.statement_hash.in_(hashes))
        )
    )
    found |= set(
        db.session.scalars(
            select(Memory.memory_id)
            .join(MemoryEvidence, MemoryEvidence.memory_id == Memory.memory_id)
            .where(*scope, MemoryEvidence.message_id.in_(message_ids))
        )
    )
    # What a candidate is tied to belongs to the picture.
    ties = db.session.execute(
        select(Memory.superseded_by_id, Memory.contradicts_id).where(Memory.memory_id.in_(found))
    ).all()
    found |= {ref for pair in ties for ref in pair if ref is not None}
    return found


def nearest(
    user_id: int, space_id: int | None, model: str, vectors: Sequence[np.ndarray], count: int
) -> dict[int, float]:
    """The memories nearest to any of the vectors, by id with their cosine; archived and closed ones included.

    Rows are scanned in blocks, so that a worker's memory does not grow with a user's.
    """
    if not len(vectors):
        return {}
    queries = np.stack(vectors).astype(np.float32)
    best: dict[int, float] = {}
    last = 0
    while True:
        rows = db.session.execute(
            select(Memory.memory_id, Memory.embedding)
            .where(*scope_of(user_id, space_id), Memory.embedding_model == model, Memory.memory_id > last)
            .order_by(Memory.memory_id)
            .limit(SCAN_ROWS)
        ).all()
        if not rows:
            return dict(sorted(best.items(), key=lambda item: (-item[1], item[0]))[:count])
        last = rows[-1].memory_id
        matrix = np.stack([np.frombuffer(row.embedding, dtype=np.float32) for row in rows])
        scores = (matrix @ queries.T).max(axis=1)
        for at in np.argsort(-scores)[:count]:
            best[rows[at].memory_id] = float(scores[at])
        if len(best) > 4 * count:
            best = dict(sorted(best.items(), key=lambda item: -item[1])[:count])


def important(user_id: int, space_id: int | None, count: int) -> list[int]:
    """Ids of the current memories that matter most whatever was said: pinned, then keyed facts by importance."""
    return list(
        db.session.scalars(
            select(Memory.memory_id)
            .where(
                *scope_of(user_id, space_id),
                Memory.is_archived.is_(False),
                Memory.valid_to.is_(None),
                or_(Memory.is_pinned.is_(True), Memory.fact_key.is_not(None)),
            )
            .order_by(Memory.is_pinned.desc(), Memory.importance.desc(), Memory.memory_id)
            .limit(count)
        )
    )


def scope_of(user_id: int, space_id: int | None) -> list[Any]:
    """The conditions of one user's memories in one scope: personal, or one space."""
    return [Memory.user_id == user_id, Memory.space_id.is_(None) if space_id is None else Memory.space_id == space_id]


def apply_plan(
    effects: Iterable[Effect],
    journal: Journal,
    *,
    space_id: int | None = None,
    embedding_model: str | None = None,
    embeddings: Mapping[str, np.ndarray] | None = None,
) -> dict[int, int]:
    """Carry out the effects in order; the ids that new memories got, by their negative references.

    A `Close` in favour of a memory that does not exist yet is written at once, its successor's id afterwards.
    """
    vectors = embeddings or {}
    effects = list(effects)
    ids: dict[int, int] = {}
    waiting: list[tuple[Memory, int]] = []
    for effect in effects:
        if isinstance(effect, Insert):
            memory = _insert(effect, journal, space_id, embedding_model, vectors.get(effect.draft.content), ids)
            ids[effect.ref] = memory.memory_id
            continue
        memory = get_or_raise(Memory, ids.get(effect.ref, effect.ref))
        if isinstance(effect, AddEvidence):
            _more_evidence(memory, effect, journal)
        elif isinstance(effect, Revise):
            _write(memory, effect.draft, keep_origin=True)
            _set_vector(memory, vectors.get(effect.draft.content), embedding_model)
            journal.changed(memory)
            _add_evidence(memory, effect.evidence, journal)
        elif isinstance(effect, Close):
            memory.valid_to = effect.at
            successor = effect.superseded_by
            if successor is not None and successor < 0 and successor not in ids:
                waiting.append((memory, successor))
            else:
                memory.superseded_by_id = ids.get(successor, successor) if successor is not None else None
            journal.changed(memory)
            _add_evidence(memory, effect.evidence, journal)
        elif isinstance(effect, Flag):
            memory.needs_review = True
            memory.contradicts_id = ids.get(effect.contradicts, effect.contradicts)
            journal.changed(memory)
    for memory, successor in waiting:
        memory.superseded_by_id = ids[successor]
        journal.amended(memory)
    db.session.flush()
    return ids


def _insert(
    effect: Insert,
    journal: Journal,
    space_id: int | None,
    model: str | None,
    vector: np.ndarray | None,
    ids: Mapping[int, int],
) -> Memory:
    first = effect.evidence[0] if effect.evidence else None
    memory = Memory(
        user_id=journal.change_set.user_id,
        space_id=space_id,
        source_conversation_id=journal.change_set.conversation_id,
        source_message_id=first.message_id if first else None,
        valid_from=effect.valid_from,
        needs_review=effect.needs_review,
        contradicts_id=ids.get(effect.contradicts, effect.contradicts) if effect.contradicts is not None else None,
        is_pinned=False,
        is_archived=False,
        settled_with=None,
        edited_by_user=False,
        visibility="private",
        statement_hash=statement_hash(effect.draft.content),
    )
    if effect.overruled_by is not None:
        memory.valid_to = effect.valid_from or _said(effect.evidence)
        memory.superseded_by_id = ids.get(effect.overruled_by, effect.overruled_by)
    _write(memory, effect.draft)
    _set_vector(memory, effect.embedding if effect.embedding is not None else vector, model)
    db.session.add(memory)
    db.session.flush()
    journal.created(memory)
    _add_evidence(memory, effect.evidence, journal)
    return memory


def _more_evidence(memory: Memory, effect: AddEvidence, journal: Journal) -> None:
    if effect.clears_review:
        memory.needs_review = False
        memory.contradicts_id = None
    if abs((memory.confidence or 0.0) - effect.confidence) > 1e-6 or effect.clears_review:
        memory.confidence = effect.confidence
        journal.changed(memory)
    _add_evidence(memory, effect.evidence, journal)


def _add_evidence(memory: Memory, evidence: Sequence[Evidence], journal: Journal) -> None:
    rows = [
        MemoryEvidence(
            memory_id=memory.memory_id,
            message_id=item.message_id,
            quote=item.quote,
            start=item.start,
            end=item.end,
            said_at=item.said_at,
            change_set_id=journal.id,
        )
        for item in evidence
    ]
    db.session.add_all(rows)
    db.session.flush()
    memory.evidence_count += len(rows)
    journal.evidence_added(rows)


def _write(memory: Memory, draft: Draft, *, keep_origin: bool = False) -> None:
    memory.memory_type = draft.memory_type
    memory.content = draft.content
    memory.category = draft.category
    memory.fact_key = draft.fact_key
    memory.fact_value = draft.fact_value
    memory.confidence = draft.confidence
    memory.importance = draft.importance
    if not keep_origin:
        memory.origin = draft.origin
    if memory.evidence_count is None:
        memory.evidence_count = 0


def _set_vector(memory: Memory, vector: np.ndarray | None, model: str | None) -> None:
    memory.embedding = vector.astype(np.float32).tobytes() if vector is not None else None
    memory.embedding_model = model if vector is not None else None


def _said(evidence: Sequence[Evidence]) -> datetime | None:
    return evidence[0].said_at if evidence else None
