"""Relevance of a memory to a point by meaning, not only by shared words."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import and_, delete, false, select

from webapp.db.base import db, write_transaction
from webapp.journeys.models import ConversationPoint, PointVectors
from webapp.journeys.point_views import aims_of
from webapp.memories.models import Memory
from webapp.providers.clients import embedder

NEAR_ONE = 0.3
"""Cosine from which a memory with a keyword of the point is close to one of its aims (all-MiniLM-L6-v2: "sleeps badly
because of the pain" 0.71, "loves the children's book Momo" 0.13)."""
NEAR_MORE = 0.2
"""The same for a memory with more than one keyword."""
MIN_KEYWORDS = 2
"""Keywords that a memory needs if there are no vectors to compare."""


def lines_of(point: ConversationPoint) -> list[str]:
    """Return what a memory is compared with: what the point is about, and each of its goals and criteria."""
    return [f"{point.title}. {point.description}", *aims_of(point)]


def digest_of(point: ConversationPoint, model: str) -> str:
    """Return a hash that changes with the lines, and with the model that embeds them."""
    return hashlib.sha256("\n".join([model, *lines_of(point)]).encode("utf-8", "replace")).hexdigest()


def journeys_awaiting_vectors() -> Sequence[int]:
    """Return journeys with points of which there are no vectors of the present model."""
    of_point = (PointVectors.point_id == ConversationPoint.point_id, PointVectors.model == embedder().model)
    points = select(ConversationPoint.journey_id).outerjoin(PointVectors, and_(*of_point))
    missing = points.where(ConversationPoint.is_archived == false(), PointVectors.point_id.is_(None))
    return db.session.scalars(missing.distinct()).all()


def embed_points(journey_id: int) -> int:
    """Make the vectors that a journey's points lack; return of how many points. Raises ModelError."""
    client = embedder()
    model = client.model
    in_use = (ConversationPoint.journey_id == journey_id, ConversationPoint.is_archived == false())
    points = db.session.scalars(select(ConversationPoint).where(*in_use)).all()
    stored = select(PointVectors.point_id, PointVectors.digest)
    digests = dict(db.session.execute(stored.join(ConversationPoint).where(*in_use)).all())
    lacking = {
        point.point_id: lines_of(point) for point in points if digests.get(point.point_id) != digest_of(point, model)
    }
    db.session.remove()
    for point_id, lines in lacking.items():
        rows = np.asarray(client.embed_passages(lines), dtype=np.float32)
        with write_transaction():
            point = db.session.get(ConversationPoint, point_id, with_for_update=True)
            if point is None or lines_of(point) != lines:
                continue  # it has been written anew: its vectors are owed again
            db.session.execute(delete(PointVectors).where(PointVectors.point_id == point_id))
            digest = digest_of(point, model)
            db.session.add(PointVectors(point_id=point_id, model=model, digest=digest, vectors=rows.tobytes()))
    return len(lacking)


def relevant_memories(
    points: Sequence[ConversationPoint], hits: Mapping[int, Mapping[int, int]]
) -> dict[int, dict[int, float]]:
    """Return, with a weight, the relevant memories among those with keywords of each point (point → memory → count)."""
    memory_ids = {memory_id for scores in hits.values() for memory_id in scores}
    if not memory_ids:
        return {}
    vectors = _vectors(points)
    rows = db.session.execute(
        select(Memory.memory_id, Memory.embedding, Memory.embedding_model).where(Memory.memory_id.in_(memory_ids))
    )
    memories = {memory_id: (model, np.frombuffer(raw, dtype=np.float32)) for memory_id, raw, model in rows if raw}
    scores: dict[int, dict[int, float]] = {}
    for point_id, counts in hits.items():
        for memory_id, count in counts.items():
            similarity = _similarity(vectors.get(point_id), memories.get(memory_id))
            is_near = (
                count >= MIN_KEYWORDS if similarity is None else similarity >= (NEAR_ONE if count == 1 else NEAR_MORE)
            )
            if is_near:
                scores.setdefault(point_id, {})[memory_id] = count if similarity is None else count + similarity
    return scores


def _vectors(points: Sequence[ConversationPoint]) -> dict[int, tuple[str, bytes]]:
    rows = db.session.scalars(
        select(PointVectors).where(PointVectors.point_id.in_([point.point_id for point in points]))
    )
    by_id = {point.point_id: point for point in points}
    return {
        row.point_id: (row.model, row.vectors)
        for row in rows
        if row.digest == digest_of(by_id[row.point_id], row.model)
    }


def _similarity(point: tuple[str, bytes] | None, memory: tuple[str | None, np.ndarray] | None) -> float | None:
    if point is None or memory is None or point[0] != memory[0]:
        return None
    size = memory[1].size
    rows = np.frombuffer(point[1], dtype=np.float32)
    if not size or rows.size % size:
        return None
    return float((rows.reshape(-1, size) @ memory[1]).max())
