"""Duplicates in different words: at night the model is shown the pairs vectors cannot decide, one call per person.

Of two, one is archived, which can be undone: never what the user wrote, edited, pinned or took back. A pair is shown
again only after a change.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import numpy as np
from pydantic import BaseModel, BeforeValidator, Field
from redis.exceptions import RedisError
from sqlalchemy import exists, select

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.db.base import db, now, write_transaction
from webapp.extensions import redis
from webapp.llm.structured import none_is_empty
from webapp.memories.models import IN_USE, Memory, MemoryRevision
from webapp.memories.rules.policy import MAYBE_SAME_COSINE
from webapp.memories.rules.relations import may_be_same
from webapp.memories.store import versions
from webapp.memories.store.journal import Journal
from webapp.providers.clients import completions

log = logging.getLogger(__name__)

NAME = "same_memories"
CAUSE = "tidied"
MAX_MEMORIES = 2_000
"""Memories of one person that are compared, newest first."""
MAX_PAIRS = 20
"""Pairs shown in one night, nearest first."""
MAX_COMPARED = 20_000
"""The nearest pairs of a group that are compared by words: a thousand alike memories make half a million."""
COMPARISON_DAYS = 180
MAX_TOKENS = 400
INSTRUCTIONS = """\
You compare notes about one person. Each line has a pair of notes, `one` and `other`. List in `same` the numbers of \
the pairs in which both notes say the same thing in other words, so that one can go without losing anything.

They are not the same if a name, number, place, person, time or object differs, if one tells more than the other, or \
if one could be true without the other. "Lives in Rome" and "Resides in Rome" are the same. "Bought a house" and \
"Sold a house", "Likes tea" and "Likes green tea" are not. When in doubt, leave the pair out. Without any, the list \
is empty."""


class SamePairs(BaseModel):
    """The model's answer."""

    same: Annotated[list[int], BeforeValidator(none_is_empty)] = Field(max_length=10 * MAX_PAIRS)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that may say the same: `kept_id` would stay, `other` be set aside; each with its revision."""

    kept_id: int
    other: int
    revisions: tuple[int, int]
    texts: tuple[str, str]
    cosine: float

    @property
    def mark(self) -> str:
        """Return the key it is remembered under."""
        return f"{self.kept_id}.{self.revisions[0]}:{self.other}.{self.revisions[1]}"


def tidy(user_id: int) -> int:
    """Archive what repeats another memory of a user, by one model call at most; return how many. Raises ModelError."""
    pairs = _unseen(user_id, _pairs(user_id))[:MAX_PAIRS]
    db.session.remove()
    if not pairs:
        return 0
    lines = [f'{number}. one: "{pair.texts[0]}" other: "{pair.texts[1]}"' for number, pair in enumerate(pairs, 1)]
    messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": "\n".join(lines)}]
    answer, _ = completions().complete_structured(messages, SamePairs, NAME, max_tokens=MAX_TOKENS, temperature=0.0)
    duplicates = [pairs[number - 1] for number in dict.fromkeys(answer.same) if 1 <= number <= len(pairs)]
    with write_transaction():
        count = _archive_duplicates(user_id, duplicates)
    _note(user_id, pairs)
    log.info("memories tidied", extra={"pairs": len(pairs), "same": len(duplicates), "aside": count})
    return count


def people_to_tidy(limit: int = 1_000) -> Sequence[int]:
    """Return users whose memories changed within the last 26 hours; for a job that runs once a day."""
    since = now() - timedelta(hours=26)
    return db.session.scalars(
        select(Memory.user_id).where(Memory.updated_at > since, Memory.valid_to.is_(None)).distinct().limit(limit)
    ).all()


def _pairs(user_id: int) -> list[Pair]:
    """Return pairs of a user's memories, of one place and kind, that may say the same, nearest first."""
    user = db.session.get(User, user_id)
    if user is None or not UserSettings.of(user.settings).memory_enabled:
        return []
    is_restored = exists().where(MemoryRevision.memory_id == Memory.memory_id, MemoryRevision.cause == CAUSE)
    rows = db.session.scalars(
        select(Memory)
        .where(
            ~is_restored,
            Memory.user_id == user_id,
            *IN_USE,
            Memory.fact_key.is_(None),
            Memory.embedding.is_not(None),
        )
        .order_by(Memory.memory_id.desc())
        .limit(MAX_MEMORIES)
        .execution_options(populate_existing=True)
    ).all()
    groups: dict[tuple[object, ...], list[Memory]] = {}
    for row in rows:
        place = (
            row.space_id,
            row.memory_type,
            row.embedding_model,
            row.visibility,
            row.only_conversation_id,
            row.until,
        )
        groups.setdefault(place, []).append(row)
    pairs = [pair for group in groups.values() for pair in _similar_pairs(group)]
    return sorted(pairs, key=lambda pair: (-pair.cosine, pair.kept_id, pair.other))


def _similar_pairs(group: Sequence[Memory]) -> list[Pair]:
    matrix = np.stack([np.frombuffer(row.embedding or b"", np.float32) for row in group])
    similar = np.triu(matrix @ matrix.T, 1)
    ones, others = np.nonzero(similar >= MAYBE_SAME_COSINE)
    nearest = np.argsort(-similar[ones, others], kind="stable")[:MAX_COMPARED]
    pairs = []
    for line, column in zip(ones[nearest].tolist(), others[nearest].tolist(), strict=True):
        left, right = group[line], group[column]
        cosine = float(similar[line, column])
        is_settled = right.memory_id in (left.settled_with or ()) or left.memory_id in (right.settled_with or ())
        if is_settled or not may_be_same(left.content, right.content, cosine):
            continue
        first, other = sorted((left, right), key=lambda row: (not _is_own(row), -len(row.content), row.memory_id))
        if not _is_own(other):
            revisions = (first.revision, other.revision)
            pairs.append(
                Pair(first.memory_id, other.memory_id, revisions, (_line(first.content), _line(other.content)), cosine)
            )
    return pairs


def _is_own(memory: Memory) -> bool:
    """Written, edited or pinned by the user: only they may set it aside."""
    return memory.origin == "user" or bool(memory.edited_by_user) or bool(memory.is_pinned)


def _line(text: str) -> str:
    return " ".join(text.split()).replace('"', "'")[:400]


def _archive_duplicates(user_id: int, pairs: Sequence[Pair]) -> int:
    """Archive the other of each pair unless one of the two has changed or was archived here, so that one remains."""
    if not pairs:
        return 0
    versions.begin_change(user_id)
    ids = {memory_id for pair in pairs for memory_id in (pair.kept_id, pair.other)}
    rows = {
        row.memory_id: row
        for row in db.session.scalars(
            select(Memory)
            .where(Memory.user_id == user_id, Memory.memory_id.in_(ids), *IN_USE)
            .execution_options(populate_existing=True)
        )
    }
    current_revisions = {memory_id: row.revision for memory_id, row in rows.items()}
    removed_ids: set[int] = set()
    for pair in pairs:
        revisions = ((pair.kept_id, pair.revisions[0]), (pair.other, pair.revisions[1]))
        unchanged = all(current_revisions.get(memory_id) == revision for memory_id, revision in revisions)
        if unchanged and not {pair.kept_id, pair.other} & removed_ids:
            removed_ids.add(pair.other)
    if not removed_ids:
        return 0
    journal = Journal(user_id, CAUSE, actor="extraction")
    for memory_id in sorted(removed_ids):
        rows[memory_id].is_archived = True
        db.session.flush()
        journal.record_change(rows[memory_id])
    journal.close({"tidied": len(removed_ids)})
    return len(removed_ids)


def _unseen(user_id: int, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that were not yet compared in their current revisions; all of them if Redis is unavailable."""
    if not pairs:
        return []
    with suppress(RedisError):
        seen = redis().smismember(_key(user_id), [pair.mark for pair in pairs])
        return [pair for pair, is_seen in zip(pairs, seen, strict=True) if not is_seen]
    return list(pairs)


def _note(user_id: int, pairs: Sequence[Pair]) -> None:
    with suppress(RedisError), redis().pipeline() as pipe:
        pipe.sadd(_key(user_id), *[pair.mark for pair in pairs])
        pipe.expire(_key(user_id), COMPARISON_DAYS * 86_400)
        pipe.execute()


def _key(user_id: int) -> str:
    return f"memory:looked_at:{user_id}"
