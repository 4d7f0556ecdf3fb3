"""Duplicates and contradictions in other words: at night the model is shown near pairs, one call per person.

Of two that say the same, one is archived; of two that cannot both be true, the earlier waits for the user. Both can be
undone, and neither happens to what the user wrote, edited, pinned or took back. A pair is shown again only after a
change.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import numpy as np
from pydantic import BaseModel, BeforeValidator, Field
from redis.exceptions import RedisError
from sqlalchemy import exists, func, select

from webapp.accounts import site
from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.db.base import db, now, write_transaction
from webapp.extensions import redis
from webapp.llm.structured import none_is_empty
from webapp.memories.models import IN_USE, Memory, MemoryEvidence, MemoryRevision
from webapp.memories.rules.policy import MAYBE_SAME_COSINE
from webapp.memories.rules.relations import may_be_same
from webapp.memories.store import versions
from webapp.memories.store.journal import record_changes
from webapp.providers.clients import completions

log = logging.getLogger(__name__)

NAME = "same_memories"
CAUSE, CONTRARY = "tidied", "contrary"
MAX_MEMORIES = 2_000
"""Memories of one person that are compared, newest first."""
MAX_PAIRS = 20
"""Pairs shown in one night, nearest first."""
MAX_QUESTIONS = 3
"""Contradictions the user is asked about after one night, the rest later: a weak model may see them everywhere."""
MAX_COMPARED = 20_000
"""The nearest pairs of a group that are compared by words: a thousand alike memories make half a million."""
COMPARISON_DAYS = 180
MAX_TOKENS = 400
INSTRUCTIONS = """\
You compare notes about one person. Each line has a pair of notes, `one` and `other`. List in `same` the numbers of \
the pairs in which both notes say the same thing in other words, so that one can go without losing anything.

They are not the same if a name, number, place, person, time or object differs, if one tells more than the other, or \
if one could be true without the other. "Lives in Rome" and "Resides in Rome" are the same. "Bought a house" and \
"Sold a house", "Likes tea" and "Likes green tea" are not.

List in `contrary` the numbers of the pairs in which one note denies the other, so that only one can be true now: \
"Eats meat" and "Eats no meat". "Bought a house" and "Sold a house" both happened, so they are not.

When in doubt, leave a pair out of both lists. Without any, a list is empty."""


PairNumbers = Annotated[list[int], BeforeValidator(none_is_empty), Field(max_length=10 * MAX_PAIRS)]


class ComparedPairs(BaseModel):
    """The model's answer."""

    same: PairNumbers
    contrary: PairNumbers = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that may say the same: `kept_id` would stay, `other` be set aside; each with its revision.

    Those of two kinds (`is_one_kind` is false) may only contradict each other.
    """

    kept_id: int
    other: int
    revisions: tuple[int, int]
    texts: tuple[str, str]
    cosine: float
    is_one_kind: bool

    @property
    def versions(self) -> dict[int, int]:
        """Return the revisions of both by id."""
        return dict(zip((self.kept_id, self.other), self.revisions, strict=True))

    @property
    def mark(self) -> str:
        """Return the key it is remembered under."""
        return f"{self.kept_id}.{self.revisions[0]}:{self.other}.{self.revisions[1]}"


def tidy(user_id: int) -> int:
    """Archive what repeats another memory of a user and have them settle what contradicts one, by one model call at
    most; return how many were archived. Raises ModelError."""
    pairs = _unseen(user_id, _pairs(user_id))[:MAX_PAIRS]
    db.session.remove()
    if not pairs:
        return 0
    lines = [f'{number}. one: "{pair.texts[0]}" other: "{pair.texts[1]}"' for number, pair in enumerate(pairs, 1)]
    messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": "\n".join(lines)}]
    answer, _ = completions().complete_structured(messages, ComparedPairs, NAME, max_tokens=MAX_TOKENS, temperature=0.0)
    same, contrary = dict.fromkeys(answer.same), dict.fromkeys(answer.contrary)
    duplicates = [pairs[n - 1] for n in same if 1 <= n <= len(pairs) and n not in contrary]
    contradictions = [pairs[n - 1] for n in contrary if 1 <= n <= len(pairs) and n not in same]
    with write_transaction():
        count = _archive_duplicates(user_id, [pair for pair in duplicates if pair.is_one_kind])
        unasked = _ask_about(user_id, contradictions)
    _note(user_id, [pair for pair in pairs if pair not in unasked])
    extra = {"pairs": len(pairs), "same": len(duplicates), "aside": count, "contrary": len(contradictions)}
    log.info("memories tidied", extra=extra | {"unasked": len(unasked)})
    return count


def recently_changed_users() -> Sequence[int]:
    """Return users whose memories changed since the night before; within a day if it is unknown."""
    since = now() - timedelta(days=1)
    if nights := site.get_setting(site.NIGHTS):
        since = min(since, datetime.fromisoformat(nights[0]))
    changed = select(Memory.user_id).where(Memory.updated_at > since, Memory.valid_to.is_(None))
    return db.session.scalars(changed.distinct()).all()


def _pairs(user_id: int) -> list[Pair]:
    """Return pairs of a user's memories in one place that may say the same, nearest first."""
    user = db.session.get(User, user_id)
    if user is None or not UserSettings.of(user.settings).memory_enabled:
        return []
    is_one_row = MemoryRevision.memory_id == Memory.memory_id
    is_restored = exists().where(is_one_row, MemoryRevision.cause.in_((CAUSE, CONTRARY)))
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
    groups: dict[tuple[object, ...], list[Memory]] = defaultdict(list)
    for row in rows:
        place = row.space_id, row.embedding_model, row.visibility, row.only_conversation_id, row.until
        groups[place].append(row)
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
            pairs.append(
                Pair(
                    first.memory_id,
                    other.memory_id,
                    (first.revision, other.revision),
                    (_line(first.content), _line(other.content)),
                    cosine,
                    first.memory_type == other.memory_type,
                )
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
    rows, unchanged = _current_pairs(user_id, pairs)
    kept_ids: dict[int, int] = {}
    for pair in unchanged:
        if not pair.versions.keys() & kept_ids.keys():
            kept_ids[pair.other] = pair.kept_id
    archived = [rows[memory_id] for memory_id in sorted(kept_ids)]
    for row in archived:
        row.is_archived, row.superseded_by_id = True, kept_ids[row.memory_id]
    if archived:
        record_changes(user_id, CAUSE, archived, {"tidied": len(archived)})
    return len(archived)


def _ask_about(user_id: int, pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Have the memory of each pair that was said earlier, unless it is the user's own, wait beside the other; return
    the pairs that are left for another night."""
    if not pairs:
        return []
    rows, unchanged = _current_pairs(user_id, pairs)
    said = select(MemoryEvidence.memory_id, func.max(MemoryEvidence.said_at)).group_by(MemoryEvidence.memory_id)
    last_said = dict(db.session.execute(said.where(MemoryEvidence.memory_id.in_(rows))).all())
    unasked: list[Pair] = []
    waiting: list[Memory] = []
    asked_ids: set[int] = set()
    for pair in unchanged:
        if len(waiting) == MAX_QUESTIONS or pair.versions.keys() & asked_ids:
            unasked.append(pair)
            continue
        asked_ids |= pair.versions.keys()
        both = [rows[memory_id] for memory_id in pair.versions]
        both.sort(key=lambda row: (_is_own(row), last_said.get(row.memory_id) or row.created_at, row.memory_id))
        earlier, other = both
        earlier.needs_review, earlier.contradicts_id = True, other.memory_id
        waiting.append(earlier)
    if waiting:
        record_changes(user_id, CONTRARY, waiting, {"disputed": len(waiting)})
    return unasked


def _current_pairs(user_id: int, pairs: Sequence[Pair]) -> tuple[dict[int, Memory], list[Pair]]:
    """Return the memories of some pairs that are in use, and those pairs of which neither has changed."""
    versions.begin_change(user_id)
    ids = {memory_id for pair in pairs for memory_id in pair.versions}
    statement = select(Memory).where(Memory.user_id == user_id, Memory.memory_id.in_(ids), *IN_USE)
    rows = {row.memory_id: row for row in db.session.scalars(statement.execution_options(populate_existing=True))}
    current = {memory_id: row.revision for memory_id, row in rows.items()}
    return rows, [pair for pair in pairs if pair.versions.items() <= current.items()]


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
