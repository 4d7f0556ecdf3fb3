"""Looking up keyed facts by the words of a question: SQL alone, exact, whatever else is unavailable."""

import threading
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, lru_cache

from sqlalchemy import Select, bindparam, or_

from webapp.db.base import db
from webapp.db.text_search import contains_words
from webapp.memories.models import Memory
from webapp.retrieval.hydration import load_memory_hits
from webapp.retrieval.passage_rows import usable_memories
from webapp.retrieval.passages import FoundPassage, Scope
from webapp.text.words import stems, words

MAX_FACTS = 8
"""The most facts returned for one question."""
MAX_CANDIDATES = 50
SCAN_LIMIT = 20


class FactKeys:
    """The keyed facts of a user, each under one of the stems that name it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_stem: dict[str, dict[int, frozenset[str]]] = defaultdict(dict)
        self._stem_of: dict[int, str] = {}

    def matching_ids(self, query_words: frozenset[str]) -> list[int]:
        """Return the facts all of whose stems occur in the question, oldest first."""
        with self._lock:
            return sorted(
                memory_id
                for stem in query_words
                for memory_id, stems in self._by_stem.get(stem, {}).items()
                if stems <= query_words
            )

    def replace(self, memory_ids: Iterable[int], facts: Iterable[tuple[int, str | None]]) -> None:
        """Put facts, as id and key, in place of some memories."""
        with self._lock:
            for memory_id in memory_ids:
                if (stem := self._stem_of.pop(memory_id, None)) is not None:
                    del self._by_stem[stem][memory_id]
            for memory_id, fact_key in facts:
                if stems := _stems_of(fact_key or ""):
                    self._stem_of[memory_id] = stem = min(stems)
                    self._by_stem[stem][memory_id] = stems


def exact_facts(text: str, scope: Scope, fact_keys: FactKeys | None = None) -> list[FoundPassage]:
    """Return the keyed facts that a question names ("what is my favourite colour": `preference/favourite_colour`).

    Without the user's `fact_keys`, all are read.
    """
    query_words = frozenset(stems(words(text[:2_000])))
    ids = (fact_keys or read_keys(scope.user_id)).matching_ids(query_words)
    if not ids:
        return []
    statement = usable_memories().where(Memory.memory_id.in_(ids[:MAX_CANDIDATES]))
    return load_memory_hits(statement, scope, "exact fact")[:MAX_FACTS]


def read_keys(user_id: int) -> FactKeys:
    """Return the keys of a user's facts."""
    keys = FactKeys()
    keys.replace((), ((number, key) for number, key in db.session.execute(_select_keys(), {"user": user_id})))
    return keys


@cache
def _select_keys() -> Select[int, str | None]:
    statement = usable_memories().where(Memory.user_id == bindparam("user"), Memory.fact_key.is_not(None))
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
