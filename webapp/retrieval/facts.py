"""Looking up keyed facts by the words of a question: SQL alone, exact, whatever is away."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from sqlalchemy import false, or_

from webapp.database import db
from webapp.memories.keeping.versions import PerVersion
from webapp.memories.models import Memory
from webapp.retrieval.hydration import Found, load_memories_found
from webapp.retrieval.loading import usable_memories
from webapp.retrieval.scope import Scope
from webapp.text.words import stems, words

MOST = 8
"""Facts for one question."""
LOOKED_AT = 50
SCANNED = 20

Keys = dict[str, list[tuple[int, frozenset[str]]]]
"""Keyed facts under one of their stems, each with all the stems that name it."""
_keys = PerVersion[Keys]()


def exact_facts(text: str, scope: Scope, memory_version: int) -> list[Found]:
    """The keyed facts that a question names ("what is my favourite colour": `preference/favourite_colour`).

    `memory_version` is that of the user's memory, read before: the keys are looked up once a version.
    """
    said = frozenset(stems(words(text[:2_000])))
    keys = _keys.get(scope.user_id, memory_version, _looked_up)
    ids = sorted(memory_id for stem in said for memory_id, wanted in keys.get(stem, ()) if wanted <= said)
    if not ids:
        return []
    named = usable_memories().where(Memory.memory_id.in_(ids[:LOOKED_AT]))
    return load_memories_found(named, scope, "exact fact")[:MOST]


def _looked_up(user_id: int) -> Keys:
    keys: Keys = defaultdict(list)
    rows = db.session.execute(
        usable_memories()
        .where(Memory.user_id == user_id, Memory.fact_key.is_not(None))
        .with_only_columns(Memory.memory_id, Memory.fact_key)
    )
    for memory_id, fact_key in rows:
        if wanted := _stems_of(fact_key):
            keys[min(wanted)].append((memory_id, wanted))
    return keys


@lru_cache(maxsize=4_096)
def _stems_of(fact_key: str) -> frozenset[str]:
    """What a question has to say to name a key: every word of its attribute."""
    return frozenset(stems(words(fact_key.rpartition("/")[2].replace("_", " "))))


def by_words(text: str, scope: Scope) -> list[Found]:
    """Memories that hold a word of the question: a plain scan, for the moments in which an index is being built."""
    longest = sorted({word for word in words(text[:2_000]) if len(word) >= 4 and stems([word])}, key=len)[-3:]
    if not longest:
        return []
    holds = or_(*(Memory.content.ilike(f"%{word}%") for word in longest))
    statement = (
        usable_memories()
        .where(Memory.user_id == scope.user_id, Memory.is_archived == false(), holds)
        .order_by(Memory.updated_at.desc(), Memory.memory_id.desc())
        .limit(SCANNED)
    )
    return load_memories_found(statement, scope, "words")
