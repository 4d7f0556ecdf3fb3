"""Full-text search in a user's memories."""

import logging
import math
import re
from collections.abc import Sequence

from sqlalchemy import or_

from webapp.accounts.service import get_user
from webapp.audit import service as audit
from webapp.db.base import db
from webapp.db.text_search import contains_words
from webapp.http.paging import Keyset
from webapp.http.validation import Page
from webapp.memories.lists import LIST_OPTIONS
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryQuery
from webapp.memories.service import filter_memories, list_memories
from webapp.text.canonical import fold, trim_punctuation
from webapp.text.words import search_form

log = logging.getLogger(__name__)

CANDIDATES = 1_000
MAX_TERMS = 8
_K1, _B = 0.9, 0.4
_BETWEEN = re.compile(r"[\s,;/|()\[\]{}\"]+")


def search_memories(user_id: int, query: MemoryQuery) -> Page[tuple[Memory, float]]:
    """Return filtered memories with a word of `query.q` and their scores, best first, paged. Raises Invalid for a
    foreign cursor.
    """
    keyset = Keyset("memories by relevance", query, float, int, scope=user_id)
    terms = terms_of(query.q or "")
    ranked = rank_by_words(_candidates(user_id, query, terms), terms)
    return keyset.page_of(ranked, lambda item: (-item[1], -item[0].memory_id))


def find_memories(user_id: int, query: MemoryQuery) -> Page[Memory]:
    """Return the memories that pass the filters: with `query.q` by relevance, otherwise last changed first."""
    return search_memories(user_id, query).map(lambda item: item[0]) if query.q else list_memories(user_id, query)


def terms_of(text: str) -> list[str]:
    """Return the words to look for, longest first: short ones are mostly grammar."""
    words = {trim_punctuation(word) for word in _BETWEEN.split(fold(text)) if word}
    return sorted(words, key=lambda word: (-len(word), word))[:MAX_TERMS]


def rank_by_words(rows: Sequence[Memory], terms: Sequence[str]) -> list[tuple[Memory, float]]:
    """BM25 over these rows, best first; among equals, newer first."""
    texts = [search_form(f"{row.content} {row.fact_value or ''}") for row in rows]
    forms = list(dict.fromkeys(map(search_form, terms)))
    mean = sum(map(len, texts)) / len(texts) if texts else 1.0
    weight = {term: math.log(1 + len(texts) / (1 + sum(term in text for text in texts))) + 0.1 for term in forms}
    scored = []
    for row, text in zip(rows, texts, strict=True):
        score = 0.0
        for term in forms:
            count = text.count(term)
            score += weight[term] * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * len(text) / mean))
        scored.append((row, round(score, 6)))
    return sorted(scored, key=lambda item: (-item[1], -item[0].memory_id))


def _candidates(user_id: int, query: MemoryQuery, terms: Sequence[str]) -> Sequence[Memory]:
    if not terms:
        return []
    matches = [contains_words(column, term) for term in terms for column in (Memory.content, Memory.fact_value)]
    statement = filter_memories(user_id, query).where(or_(*matches)).options(*LIST_OPTIONS)
    latest = statement.order_by(Memory.updated_at.desc(), Memory.memory_id.desc()).limit(CANDIDATES)
    return db.session.scalars(latest).all()


def view_as_admin(admin_id: int, user_id: int, query: MemoryQuery) -> Page[Memory]:
    """Return a page of somebody's memories for an admin, recording the access. Raises NotFound."""
    get_user(user_id)
    audit.record_admin_access(admin_id, user_id, "memories")
    log.warning("admin viewed memories", extra={"admin_id": admin_id, "user_id": user_id})
    return find_memories(user_id, query)
