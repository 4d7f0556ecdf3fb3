"""Finding what a user said and what is known of them: for a reply, and for the search box."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from webapp.database import db, now
from webapp.memories.engine.kinds import MemoryType
from webapp.retrieval import changes
from webapp.retrieval.cache import Entry, index_cache
from webapp.retrieval.embedding import query_vectors
from webapp.retrieval.facts import by_words, exact_facts
from webapp.retrieval.fusion import spread
from webapp.retrieval.hydration import load_found
from webapp.retrieval.offering import fit_to_offer
from webapp.retrieval.passages import KINDS, Filter, Found, Hit
from webapp.retrieval.phrases import phrases_of
from webapp.retrieval.relevance import relevant, terms_of, unwanted, worth_listing
from webapp.retrieval.scope import Scope
from webapp.retrieval.weights import UNWANTED
from webapp.spaces.service import member_space_ids
from webapp.text.timewords import calendar_words
from webapp.tracing import note, traced

POOL = 64
"""Pieces that are offered to a prompt, whose budget decides."""
FRESH_SECONDS = 0.05
"""For how long within one look-up the spaces of a user, once read, are taken to be theirs."""
SEARCH_WAIT = 5.0
"""Seconds a search waits for an index that is being built; a reply waits for less (setting index_wait_seconds)."""
FEW_TERMS = 3
"""A message with fewer words of its own ("And in Berlin?") is looked up together with the one before it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a reply wants to know. `verbatim_from`: the first message of the conversation that the prompt holds."""

    user_id: int
    text: str
    conversation_id: int | None = None
    before: str = ""
    verbatim_from: int = 0
    memories: bool = True
    other_conversations: bool = True
    space_documents: bool = True
    space_id: int | None = None


@dataclass(slots=True)
class Result:
    """What was found, best first. `with_meaning` is False when keywords alone decided, `is_away` where that is because
    the embedder did not answer, `indexed` False while an index was not ready; `took` in milliseconds by step;
    `memory_version` is that of the user's memory before anything was read, `asked` the question's words, stemmed."""

    items: list[Found] = field(default_factory=list)
    asked: frozenset[str] = frozenset()
    memory_version: int | None = None
    with_meaning: bool = False
    is_away: bool = False
    indexed: bool = True
    took: dict[str, float] = field(default_factory=dict)

    @property
    def account(self) -> dict[str, Any]:
        """For the pipeline step."""
        return {
            "found": len(self.items),
            "with_meaning": self.with_meaning,
            "is_away": self.is_away,
            "indexed": self.indexed,
            "ms": self.took,
        }


def scope_of(user_id: int, space_id: int | None = None) -> Scope:
    """Whose passages a user may find: asked anew every time, so that a membership that ended counts at once."""
    return Scope(user_id, member_space_ids(user_id), space_id)


@traced("retrieval")
def retrieve(question: Question, wait: float) -> Result:
    """Passages for a reply in three stages: keyed facts by SQL, keywords with vectors, fusion with diversity.

    Only what has something to do with the question. Never waits longer than `wait` seconds for an index or the
    embedder's deadline for a vector; without them it goes on with what there is. May end the session's transaction.
    """
    own = Scope(question.user_id, space_id=question.space_id)
    text = question.text
    if question.before and len(terms_of(text)) < FEW_TERMS:
        text = f"{question.before}\n{text}"
    asked = terms_of(text)
    result = Result(asked=asked)
    if not asked:
        return result
    clock = _Clock(result.took)
    at = changes.position(question.user_id)
    result.memory_version = at.memory_version
    entry = index_cache().get(question.user_id, wait, at)
    clock.lap("index")
    vectors = query_vectors()
    # Nothing to compare with, nothing to wait for: the first words of a newcomer's reply come at once.
    pending = vectors.start(text if entry is not None and entry.index.generations else "")
    facts = exact_facts(text, own, at) if question.memories else []
    clock.lap("facts")
    if entry is None:
        result.indexed = False
        found = by_words(text, own) if question.memories else []
        clock.lap("scan")
    else:
        if not pending.is_ready:
            db.session.rollback()  # no connection is held while the vector is awaited
        meaning = vectors.result(pending, entry.index.generations)
        clock.lap("embedding")
        result.with_meaning = bool(meaning)
        result.is_away = bool(entry.index.generations) and not meaning
        where = _filter(question, entry.scope(question.user_id, question.space_id))
        hits = entry.index.search(_dated(text), meaning, where, POOL, per_group=POOL)
        clock.lap("search")
        # Whose passages may be seen is asked anew after a wait: a membership may have ended meanwhile.
        scope = Scope(question.user_id, at.space_ids, question.space_id)
        if clock.elapsed > FRESH_SECONDS:
            scope = scope_of(question.user_id, question.space_id)
        loaded = [item for item in load_found(relevant(hits, asked), scope) if _is_wanted(entry, item, asked)]
        loaded = _with_phrases(loaded, text, entry.index.fusion.phrase)
        found = spread([(item, item.key, item.score) for item in fit_to_offer(loaded, text, asked)])
        clock.lap("load")
    known = {item.key for item in facts}
    result.items = [*facts, *(item for item in found if item.key not in known)]
    note({"commonplace.found": len(result.items), "commonplace.with_meaning": result.with_meaning})
    return result


@traced("search")
def search(
    user_id: int,
    q: str,
    *,
    kinds: Collection[str] = KINDS,
    space_id: int | None = None,
    since: date | None = None,
    until: date | None = None,
    speaker: str = "",
    limit: int = 20,
) -> Result:
    """Everything of the user's with the words or the meaning of `q`, best first; its last word may be unfinished.

    Only of the days from `since` to `until` and of messages of a `speaker` (user or assistant), where they are given.
    """
    result = Result()
    if not q.strip():
        return result
    clock = _Clock(result.took)
    vectors = query_vectors()
    pending = vectors.start(q)
    entry = index_cache().get(user_id, SEARCH_WAIT)
    clock.lap("index")
    if entry is None:
        result.indexed = False
        result.items = by_words(q, Scope(user_id, space_id=space_id))[:limit] if "memory" in kinds else []
        return result
    db.session.rollback()  # no connection is held while the vector is awaited
    meaning = vectors.result(pending, entry.index.generations)
    clock.lap("embedding")
    result.with_meaning = bool(meaning)
    where = Filter(
        entry.scope(user_id, space_id),
        frozenset(kinds),
        archived=True,
        since=_midnight(since) if since else None,
        until=_midnight(until + timedelta(days=1)) if until and until < date.max else None,
        speaker=speaker,
    )
    ranked = entry.index.search(_dated(q), meaning, where, 3 * limit + 10, prefix=q[-1:].isalnum())
    hits = first_of_each(worth_listing(ranked))
    clock.lap("search")
    asked = terms_of(q)
    found = [
        item.scored(item.score * UNWANTED) if item.score > 0 and _unwanted(entry, item, asked) else item
        for item in _with_phrases(load_found(hits, scope_of(user_id, space_id)), q, entry.index.fusion.phrase)
    ]
    clock.lap("load")
    result.items = sorted(found, key=lambda item: -item.score)[:limit]
    return result


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def first_of_each(hits: Iterable[Hit]) -> list[Hit]:
    """The best piece of every passage, in the order of the ranking."""
    return list({hit.key: hit for hit in reversed(list(hits))}.values())[::-1]


def catch_up(user_id: int) -> None:
    """Bring the user's index up to date, if this process has one, so that the next look-up need not."""
    cache = index_cache()
    if cache.held(user_id) is not None:
        cache.get(user_id, 0)


def anticipate(user_id: int, text: str) -> Future[Any] | None:
    """Begin to embed what a reply will be looked up for, if it will be; what to wait for, best before `retrieve`.

    No database, no waiting.
    """
    entry = index_cache().held(user_id)
    if entry is None or not entry.index.generations or len(terms_of(text)) < FEW_TERMS:
        return None
    return query_vectors().start(text).future


def _dated(text: str) -> str:
    """A question with the days, months and years that it names by their distance from now: they weigh by date."""
    named = calendar_words(text[:2_000], now().date())
    # In front: the last word of a search may be unfinished.
    return f"{named}\n{text}" if named else text


def _with_phrases(found: Sequence[Found], text: str, weight: float) -> list[Found]:
    """What was found, with more of a score for what has the question's words side by side as it does."""
    share = phrases_of(text)
    return [item.scored(item.score + weight * held) if (held := share(item.content)) else item for item in found]


def _filter(question: Question, scope: Scope) -> Filter:
    kinds = set(KINDS) if question.memories else set(KINDS) - {"memory"}
    if not question.space_documents:
        kinds -= {"document"}
    return Filter(
        scope,
        frozenset(kinds),
        archived=True,
        only_conversation=None if question.other_conversations else question.conversation_id or -1,
        verbatim=(question.conversation_id, question.verbatim_from) if question.conversation_id else None,
    )


def _is_wanted(entry: Entry, item: Found, asked: frozenset[str]) -> bool:
    # Standing instructions apply within their scope, whether they are like the question or not.
    return item.extra.get("memory_type") != MemoryType.INSTRUCTION and not _unwanted(entry, item, asked)


def _unwanted(entry: Entry, item: Found, asked: frozenset[str]) -> bool:
    return item.key in entry.verdicts and unwanted(asked, entry.verdicts[item.key])


class _Clock:
    """Writes the milliseconds between laps into a dictionary."""

    def __init__(self, laps: dict[str, float]) -> None:
        self._laps = laps
        self._began = self._last = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self._began

    def lap(self, name: str) -> None:
        """Name the time since the last lap."""
        at = time.perf_counter()
        self._laps[name] = round((at - self._last) * 1000, 2)
        self._last = at
