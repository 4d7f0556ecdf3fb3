"""Looking up keyed facts by the words of a question: SQL alone, exact, whatever else is unavailable."""

import threading
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import BigInteger, Select, bindparam, or_

from webapp.db.base import db
from webapp.db.index_hints import use_primary_key
from webapp.db.text_search import contains_words
from webapp.memories.models import Memory
from webapp.retrieval.changes import Position, memories_changed, position
from webapp.retrieval.hydration import load_memory_hits
from webapp.retrieval.passage_rows import usable_memories
from webapp.retrieval.passages import FoundPassage, Scope
from webapp.text.words import stems, words

MAX_FACTS = 8
"""The most facts returned for one question."""
MAX_CANDIDATES = 50
SCAN_LIMIT = 20

REBUILD_THRESHOLD = 500
"""Number of memories changed at once from which all keys are read again."""


class Keys:
    """The keyed facts of a user, each under one of the stems that name it; follows the versions of their memory."""

    def __init__(self) -> None:
        self.version = 0
        self._by_stem: dict[str, dict[int, frozenset[str]]] = defaultdict(dict)
        self._stem_of: dict[int, str] = {}

    def matching_ids(self, query_words: frozenset[str]) -> list[int]:
        """Return the facts all of whose stems occur in the question, oldest first."""
        return sorted(
            memory_id
            for stem in query_words
            for memory_id, stems in self._by_stem.get(stem, {}).items()
            if stems <= query_words
        )

    def put(self, memory_id: int, fact_key: str) -> None:
        if stems := _stems_of(fact_key):
            self._stem_of[memory_id] = stem = min(stems)
            self._by_stem[stem][memory_id] = stems

    def remove(self, memory_id: int) -> None:
        if (stem := self._stem_of.pop(memory_id, None)) is not None:
            del self._by_stem[stem][memory_id]


@dataclass(slots=True)
class UserFactKeys:
    """The keys of one user, None before they have been read once. Its lock is held while they are read or searched."""

    keys: Keys | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


@lru_cache(maxsize=256)
def fact_keys_of(_user_id: int) -> UserFactKeys:
    """Return the keys that this process keeps of a user's facts; nothing is read yet."""
    return UserFactKeys()


def exact_facts(text: str, scope: Scope, position: Position) -> list[FoundPassage]:
    """Return the keyed facts that a question names ("what is my favourite colour": `preference/favourite_colour`).

    The caller reads `position` before; the cached keys are updated to it, change by change.
    """
    query_words = frozenset(stems(words(text[:2_000])))
    cache = fact_keys_of(scope.user_id)
    with cache.lock:
        ids = _current_keys(cache, scope.user_id, position.memory_version).matching_ids(query_words)
    if not ids:
        return []
    statement = usable_memories().where(Memory.memory_id.in_(ids[:MAX_CANDIDATES]))
    return load_memory_hits(statement, scope, "exact fact")[:MAX_FACTS]


def catch_up(user_id: int, position: Position) -> None:
    """Bring the keys that this process keeps of a user's facts up to a position of their memory."""
    cache = fact_keys_of(user_id)
    with cache.lock:
        if cache.keys is not None:
            _current_keys(cache, user_id, position.memory_version)


def _current_keys(cache: UserFactKeys, user_id: int, version: int) -> Keys:
    """Return the keys as of a version of the memory, or later; the caller holds their lock."""
    keys = cache.keys
    if keys is not None and keys.version > version:
        # Another turn has read further than this one knew, unless the database was put back to an earlier state.
        version = position(user_id).memory_version
    if keys is not None and keys.version < version:
        changed_ids = memories_changed(user_id, keys.version, version)
        if len(changed_ids) <= REBUILD_THRESHOLD:
            read_keys(keys, user_id, changed_ids)
            keys.version = version
    if keys is None or keys.version != version:
        keys = Keys()
        read_keys(keys, user_id, None)
        keys.version = version
        cache.keys = keys  # only when complete: the look-up may fail
    return keys


def read_keys(keys: Keys, user_id: int, changed_ids: Collection[int] | None) -> None:
    """Read the user's keyed facts, or those among some memories."""
    for memory_id in changed_ids or ():
        keys.remove(memory_id)
    parameters = {"user": user_id} if changed_ids is None else {"user": user_id, "changed": list(changed_ids)}
    for memory_id, fact_key in db.session.execute(_select_keys(is_full=changed_ids is None), parameters):
        keys.put(memory_id, fact_key or "")


@cache
def _select_keys(*, is_full: bool) -> Select[*tuple[Any, ...]]:
    """Return the keys of a user's facts, or of some of them."""
    statement = usable_memories().where(Memory.user_id == bindparam("user"), Memory.fact_key.is_not(None))
    if not is_full:
        ids_param = bindparam("changed", type_=BigInteger, expanding=True)
        statement = use_primary_key(statement.where(Memory.memory_id.in_(ids_param)), Memory)
    return statement.with_only_columns(Memory.memory_id, Memory.fact_key)


@lru_cache(maxsize=4_096)
def _stems_of(fact_key: str) -> frozenset[str]:
    """Return what a question has to say to name a key: every word of its attribute, stemmed."""
    return frozenset(stems(words(fact_key.rpartition("/")[2].replace("_", " "))))


def scan_words(text: str, scope: Scope) -> list[FoundPassage]:
    """Return memories that contain a word of the question: a plain scan, for use while an index is being built."""
    longest = sorted({word for word in words(text[:2_000]) if len(word) >= 4 and stems([word])}, key=len)[-3:]
    if not longest:
        return []
    has_one = or_(*(contains_words(Memory.content, word) for word in longest))
    statement = (
        usable_memories()
        .where(Memory.user_id == scope.user_id, has_one)
        .order_by(Memory.updated_at.desc(), Memory.memory_id.desc())
        .limit(SCAN_LIMIT)
    )
    return load_memory_hits(statement, scope, "words")
