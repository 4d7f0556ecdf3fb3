"""The memory health view: what a user may want to tidy up, found by rules."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
from sqlalchemy import false

from webapp.db.base import db, now
from webapp.i18n.dates import last_time_zone_day
from webapp.memories.models import Memory
from webapp.memories.rules.policy import SAME_COSINE
from webapp.memories.rules.relations import cosine, word_forms
from webapp.memories.service import visible
from webapp.text.canonical import canonical_statement


class Finding(StrEnum):
    """The kinds of finding, in the order of the view."""

    STILL_TRUE = "still_true"
    DUPLICATES = "duplicates"
    UNSUPPORTED = "unsupported"
    STALE = "stale"
    NEVER_USED = "never_used"


MAX_EXAMINED = 5_000
"""How many open memories are looked at, last changed first."""
STALE_AFTER = timedelta(days=365)
UNUSED_AFTER = timedelta(days=60)

Groups = Sequence[tuple[int, ...]]
"""Ids of memories; of duplicates in groups, the oldest first, otherwise each by itself."""


def check_health(user_id: int) -> dict[Finding, Groups]:
    """Return what the user may want to tidy up among the open memories."""
    rows = db.session.scalars(
        visible(user_id)
        .where(Memory.is_archived == false(), Memory.is_closed == false())
        .order_by(Memory.updated_at.desc(), Memory.memory_id.desc())
        .limit(MAX_EXAMINED)
    )
    return examine(rows, now())


def examine(memories: Iterable[Memory], moment: datetime) -> dict[Finding, Groups]:
    """Return all findings about one user's open memories, in the order of the view.

    What the user wrote or brought in needs no evidence, and pinned memories are never stale.
    """
    open_ones = sorted(memories, key=lambda memory: memory.memory_id)
    in_use = [memory for memory in open_ones if not memory.needs_review]
    loose = [memory for memory in in_use if not memory.is_pinned]
    return {
        Finding.STILL_TRUE: _one_each(_longest_due(in_use, moment)),
        Finding.DUPLICATES: find_duplicates(in_use),
        Finding.UNSUPPORTED: _one_each(
            m
            for m in open_ones
            if m.evidence_count == 0 and m.origin not in ("user", "import") and not m.edited_by_user
        ),
        Finding.STALE: _one_each(
            m for m in loose if moment - max(m.updated_at, m.last_accessed_at or m.updated_at) > STALE_AFTER
        ),
        Finding.NEVER_USED: _one_each(m for m in loose if m.access_count == 0 and moment - m.created_at > UNUSED_AFTER),
    }


def find_duplicates(memories: Sequence[Memory]) -> Groups:
    """Return groups of two or more of one place that say the same: in the same words, or in forms of them with the same
    type and key and near vectors; unless the user said that both are to be kept."""
    firsts: dict[Hashable, Memory] = {}
    leaders: dict[int, int] = {}
    groups: dict[int, list[int]] = defaultdict(list)
    for memory in memories:
        place = memory.space_id, memory.only_conversation_id
        first = firsts.setdefault((*place, canonical_statement(memory.content)), memory)
        if first is memory and memory.embedding:
            alike = memory.memory_type, memory.fact_key, *word_forms(memory.content)
            other = firsts.setdefault((*place, *alike), memory)
            first = other if cosine(_vector(other), _vector(memory)) >= SAME_COSINE else memory
        if first.memory_id in (memory.settled_with or ()):
            first = memory
        leader = leaders[memory.memory_id] = leaders.get(first.memory_id, memory.memory_id)
        groups[leader].append(memory.memory_id)
    return [tuple(ids) for ids in groups.values() if len(ids) > 1]


def _vector(memory: Memory) -> np.ndarray:
    return np.frombuffer(memory.embedding or b"", np.float32)


def _longest_due(memories: Iterable[Memory], moment: datetime) -> list[Memory]:
    """Return memories whose last day has passed, the earliest first."""
    today = last_time_zone_day(moment)
    due = [(memory.until, memory) for memory in memories if memory.until is not None and memory.until < today]
    return [memory for _, memory in sorted(due, key=lambda item: (item[0], item[1].memory_id))]


def _one_each(memories: Iterable[Memory]) -> Groups:
    return [(memory.memory_id,) for memory in memories]
