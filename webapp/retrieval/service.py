"""Finding what a user said and what is known about them, for the search box; and preparing replies' look-ups."""

from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta

from webapp.db.base import db
from webapp.retrieval.cache import index_cache
from webapp.retrieval.facts import scan_words
from webapp.retrieval.fusion import hits_to_show, terms_of
from webapp.retrieval.hydration import load_hits
from webapp.retrieval.lookup import FEW_TERMS, Clock, Result, add_phrases, scope_of, was_rejected
from webapp.retrieval.passages import KINDS, Filter, Scope
from webapp.retrieval.query_vectors import query_vectors
from webapp.retrieval.weights import IRRELEVANT_FACTOR
from webapp.telemetry.tracing import trace_calls

SEARCH_WAIT = 5.0
"""Seconds a search waits for an index being built; a reply waits for less (setting index_wait_seconds)."""


@trace_calls("search")
def search(
    user_id: int,
    q: str,
    *,
    kinds: Collection[str] = KINDS,
    space_id: int | None = None,
    conversation_id: int | None = None,
    since: date | None = None,
    until: date | None = None,
    speaker: str | None = None,
    limit: int = 20,
) -> Result:
    """Return all of the user's that matches `q`, best first, its last word unfinished or not.

    If given, only from the days `since` to `until`, and only messages of a conversation or `speaker` (user, assistant).
    """
    result = Result()
    if not q.strip():
        return result
    kinds = kinds if conversation_id is None else {"message"}
    clock = Clock(result.durations)
    vectors = query_vectors()
    pending = vectors.start(q)
    entry = index_cache().get(user_id, SEARCH_WAIT)
    clock.lap("index")
    if entry is None:
        result.indexed = False
        result.items = scan_words(q, Scope(user_id, space_id=space_id))[:limit] if "memory" in kinds else []
        return result
    db.session.rollback()  # no connection is held while the vector is awaited
    meaning = vectors.result(pending, entry.index.generations)
    clock.lap("embedding")
    result.with_meaning = bool(meaning)
    filters = Filter(
        entry.scope(user_id, space_id),
        frozenset(kinds),
        only_conversation=conversation_id,
        since=datetime.combine(since, time(), UTC) if since else None,
        until=datetime.combine(until + timedelta(days=1), time(), UTC) if until and until < date.max else None,
        speaker=speaker or "",
    )
    ranked = entry.index.search(q, meaning, filters, 3 * limit + 10, prefix=q[-1:].isalnum())
    # Of every passage its best piece, in the order of the ranking.
    hits = list({hit.key: hit for hit in reversed(hits_to_show(ranked))}.values())[::-1]
    clock.lap("search")
    query_terms = terms_of(q)
    passages = load_hits(hits, scope_of(user_id, space_id))
    add_phrases(passages, q, entry.index.fusion.phrase)
    for item in passages:
        if item.score > 0 and was_rejected(entry, item, query_terms):
            item.score *= IRRELEVANT_FACTOR
    clock.lap("load")
    result.items = sorted(passages, key=lambda item: -item.score)[:limit]
    return result


def embed_ahead(user_id: int, text: str) -> None:
    """Start embedding a question that will be looked up, before `retrieve`."""
    entry = index_cache().peek(user_id)
    if entry is not None and entry.index.generations and len(terms_of(text)) >= FEW_TERMS:
        query_vectors().start(text)
