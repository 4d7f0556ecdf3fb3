"""Looking up keyed facts by the words of a question: SQL alone, exact, whatever is away."""

from __future__ import annotations

from sqlalchemy import false, or_, select

from webapp.database import db
from webapp.memories.models import Memory
from webapp.retrieval.found import Found, load_memories_found
from webapp.retrieval.loading import usable_memories
from webapp.retrieval.scope import Scope
from webapp.retrieval.text import stems, words

MOST = 8
"""Facts for one question, and words of it that are looked up."""
LOOKED_AT = 50
SCANNED = 20


def exact_facts(text: str, scope: Scope) -> list[Found]:
    """The keyed facts that a question names ("what is my favourite colour": `preference/favourite_colour`)."""
    asked = words(text[:2_000])
    said = set(stems(asked))
    longest = sorted({word for word in asked if len(word) >= 3 and stems([word])}, key=lambda word: (-len(word), word))
    if not longest:
        return []
    # Stems, so that "colours" asks for "colour"; none is shorter than three letters, or it would match anything.
    roots = {stem for word in longest[:MOST] for stem in stems([word]) if len(stem) >= 3}
    if not roots:
        return []
    candidates = db.session.execute(
        select(Memory.memory_id, Memory.fact_key)
        .where(
            Memory.user_id == scope.user_id, Memory.fact_key.is_not(None),
            or_(*(Memory.fact_key.like(f"%/%{root}%") for root in sorted(roots))),
        )
        .limit(LOOKED_AT)
    ).all()
    ids = [memory_id for memory_id, key in candidates if _names(key, said)]
    if not ids:
        return []
    found = load_memories_found(usable_memories().where(Memory.memory_id.in_(ids)), scope, "exact fact")
    return found[:MOST]


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


def _names(fact_key: str, said: set[str]) -> bool:
    """Whether a question has every word of a key's attribute."""
    attribute = fact_key.rpartition("/")[2].replace("_", " ")
    wanted = set(stems(words(attribute)))
    return bool(wanted) and wanted <= said
