"""Looking up keyed facts by the words of a question: SQL alone, exact, whatever else is unavailable."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Collection
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import BigInteger, Select, bindparam, or_

from webapp.access_paths import by_primary_key
from webapp.database import db
from webapp.memories.models import Memory
from webapp.retrieval.changes import Position, memories_changed
from webapp.retrieval.hydration import load_memories_found
from webapp.retrieval.loading import usable_memories
from webapp.retrieval.passages import Found
from webapp.retrieval.scope import Scope
from webapp.text.words import stems, words

MOST = 8
"""The most facts returned for one question."""
LOOKED_AT = 50
SCANNED = 20

MANY_CHANGES = 500
"""Number of memories changed at once from which all keys are read again."""


class Keys:
    """The keyed facts of a user, each under one of the stems that name it; follows the change sets of their memory."""

    def __init__(self) -> None:
        self.change_set_id = 0
        self._by_stem: dict[str, dict[int, frozenset[str]]] = defaultdict(dict)
        self._stem_of: dict[int, str] = {}

    def named_by(self, said: frozenset[str]) -> list[int]:
        """The facts whose stems were all said, oldest first."""
        return sorted(
            memory_id for stem in said for memory_id, wanted in self._by_stem.get(stem, {}).items() if wanted <= said
        )

    def put(self, memory_id: int, fact_key: str) -> None:
        """Add a fact."""
        if wanted := _stems_of(fact_key):
            self._stem_of[memory_id] = stem = min(wanted)
            self._by_stem[stem][memory_id] = wanted

    def remove(self, memory_id: int) -> None:
        """Remove a fact, if it is there."""
        if (stem := self._stem_of.pop(memory_id, None)) is not None:
            del self._by_stem[stem][memory_id]


_keys: OrderedDict[int, Keys] = OrderedDict()
_lock = threading.Lock()
MOST_USERS = 256


def exact_facts(text: str, scope: Scope, at: Position) -> list[Found]:
    """The keyed facts that a question names ("what is my favourite colour": `preference/favourite_colour`).

    `at` is the position of the user's memory, read before: the keys are brought up to it, change by change.
    """
    said = frozenset(stems(words(text[:2_000])))
    with _lock:
        keys = _current_keys(scope.user_id, at.change_set_id)
        ids = keys.named_by(said)
    if not ids:
        return []
    named = usable_memories().where(Memory.memory_id.in_(ids[:LOOKED_AT]))
    return load_memories_found(named, scope, "exact fact")[:MOST]


def catch_up(user_id: int, at: Position) -> None:
    """Bring the keys that this process keeps of a user's facts up to a position of their memory."""
    with _lock:
        if user_id in _keys:
            _current_keys(user_id, at.change_set_id)


def _current_keys(user_id: int, change_set_id: int) -> Keys:
    keys = _keys.get(user_id)
    if keys is not None and keys.change_set_id < change_set_id:
        changed = memories_changed(user_id, keys.change_set_id, change_set_id)
        if len(changed) <= MANY_CHANGES:
            _look_up(keys, user_id, changed)
        else:
            keys = None
    if keys is None or keys.change_set_id > change_set_id:
        keys = Keys()
        _look_up(keys, user_id, None)
        _keys[user_id] = keys  # only when complete: the look-up may fail
        while len(_keys) > MOST_USERS:
            _keys.popitem(last=False)
    _keys.move_to_end(user_id)
    keys.change_set_id = change_set_id
    return keys


def _look_up(keys: Keys, user_id: int, changed: Collection[int] | None) -> None:
    """Read the user's keyed facts, or those among some memories."""
    for memory_id in changed or ():
        keys.remove(memory_id)
    where = {"user": user_id} if changed is None else {"user": user_id, "changed": list(changed)}
    for memory_id, fact_key in db.session.execute(_keyed(everything=changed is None), where):
        keys.put(memory_id, fact_key or "")


@cache
def _keyed(*, everything: bool) -> Select[*tuple[Any, ...]]:
    """The keys of a user's facts, or of those among the `changed`."""
    statement = usable_memories().where(Memory.user_id == bindparam("user"), Memory.fact_key.is_not(None))
    if not everything:
        changed = bindparam("changed", type_=BigInteger, expanding=True)
        statement = by_primary_key(statement.where(Memory.memory_id.in_(changed)), Memory)
    return statement.with_only_columns(Memory.memory_id, Memory.fact_key)


@lru_cache(maxsize=4_096)
def _stems_of(fact_key: str) -> frozenset[str]:
    """What a question has to say to name a key: every word of its attribute, stemmed."""
    return frozenset(stems(words(fact_key.rpartition("/")[2].replace("_", " "))))


def by_words(text: str, scope: Scope) -> list[Found]:
    """Memories that contain a word of the question: a plain scan, for use while an index is being built."""
    longest = sorted({word for word in words(text[:2_000]) if len(word) >= 4 and stems([word])}, key=len)[-3:]
    if not longest:
        return []
    holds = or_(*(Memory.content.ilike(f"%{word}%") for word in longest))
    statement = (
        usable_memories()
        .where(Memory.user_id == scope.user_id, holds)
        .order_by(Memory.updated_at.desc(), Memory.memory_id.desc())
        .limit(SCANNED)
    )
    return load_memories_found(statement, scope, "words")
