"""Memories from elsewhere arrive as proposals: in review, never in use before the user says so."""

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime

from sqlalchemy import select

from webapp.db.base import db, now
from webapp.memories.models import Memory
from webapp.memories.rules.kinds import CONTENT_MAX, VALUE_MAX, canonical_fact_key, category_of
from webapp.memories.rules.secrets import find_secret
from webapp.memories.rules.state import Draft
from webapp.memories.rules.tombstones import TombstoneSet
from webapp.memories.store import versions
from webapp.memories.store.journal import Journal, statement_hash
from webapp.memories.store.tombstones import tombstone_set
from webapp.spaces.service import is_member
from webapp.text.canonical import plain_text
from webapp.text.sentences import sentences_of
from webapp.text.words import words

CONFIDENCE = 0.5


@dataclass(frozen=True)
class OutsideStatement:
    """A statement from elsewhere, when it was created there, and its key and value if it came with them."""

    content: str
    at: datetime | None = None
    kind: str = "fact"
    key: str | None = None
    value: str | None = None
    until: date | None = None


@dataclass(frozen=True)
class ProposalCounts:
    """Counts of statements that were proposed, already known, once forgotten, secrets or empty; and the change set."""

    counts: dict[str, int]
    change_set_id: int | None
    forgotten: frozenset[str] = frozenset()
    """The statements among them that the user had forgotten."""


def propose(
    user_id: int, statements: Iterable[OutsideStatement], *, cause: str, space_id: int | None = None
) -> ProposalCounts:
    """Put statements, cut at sentences, into review; known, forgotten and secret ones are left out.

    Another value of a key in use waits beside it. In a space that the user does not belong to, they are theirs alone.
    """
    versions.begin_change(user_id)
    if space_id is not None and not is_member(user_id, space_id):
        space_id = None
    tombstones = tombstone_set(user_id)
    counts: Counter[str] = Counter()
    forgotten: set[str] = set()
    rows: list[Memory] = []
    pieces = [(item, piece, statement_hash(piece)) for item in statements for piece in _pieces(item.content)]
    hashes = [digest for _, _, digest in pieces]
    stored = select(Memory.statement_hash).where(Memory.user_id == user_id, Memory.statement_hash.in_(hashes))
    known = set(db.session.scalars(stored))
    facts = _facts_in_use(user_id, space_id)
    values = {(fact.slot, fact.value) for fact in facts}
    similar = defaultdict(list)
    for fact in facts:
        similar[_start(fact.content)].append(fact)
    for item, piece, digest in pieces:
        draft = _draft(item, piece, similar[_start(piece)])
        outcome = "known" if piece and digest in known else _outcome(draft, tombstones, values)
        counts[outcome] += 1
        if outcome == "forgotten":
            forgotten.add(piece)
        elif outcome == "proposed":
            known.add(digest)
            place = {"user_id": user_id, "space_id": space_id}
            moment = item.at or now()
            rows.append(Memory(**vars(draft), **place, needs_review=True, asserted_at=moment, statement_hash=digest))
    return ProposalCounts(dict(counts), _store(user_id, cause, rows), frozenset(forgotten))


def _store(user_id: int, cause: str, rows: list[Memory]) -> int | None:
    """Add the rows in as few statements as the database takes; return the id of their change set, if there are any."""
    if not rows:
        return None
    db.session.add_all(rows)
    db.session.flush()
    journal = Journal(user_id, cause)
    journal.record_creation(*rows)
    return journal.close({"added": len(rows), "in_review": len(rows)}).change_set_id


def _draft(item: OutsideStatement, piece: str, facts: Iterable[Draft]) -> Draft:
    """Return a statement as a memory, under its own key or that of a fact in use that it begins like."""
    draft = Draft(item.kind, piece, until=item.until, confidence=CONFIDENCE, origin="import")
    if key := canonical_fact_key(item.key):
        value = (item.value or "")[:VALUE_MAX] or None
        return replace(draft, fact_key=key, category=category_of(key, None), fact_value=value)
    piece_words = words(piece)
    fact = next((fact for fact in facts if _is_about(piece_words, fact)), None)
    return draft if fact is None else replace(draft, fact_key=fact.fact_key, category=fact.category)


def _is_about(piece_words: list[str], fact: Draft) -> bool:
    """Return whether words begin like a fact, with its name, and go on where its value stands, or with such numbers."""
    fact_words = words(fact.content)
    start = len(os.path.commonprefix([piece_words, fact_words]))
    name = words((fact.fact_key or "").rpartition("/")[2].replace("_", " "))
    rest, value = piece_words[start:], fact_words[start:]
    numbers, numbers_of_value = ([word.isdigit() for word in tail] for tail in (rest, value))
    is_alike = numbers == numbers_of_value and any(numbers)
    has_name = set(name) <= set(piece_words[:start])
    return has_name and bool(rest and value) and (is_alike or value == words(fact.fact_value or ""))


def _start(text: str) -> str:
    return next(iter(words(text)), "")


def _facts_in_use(user_id: int, space_id: int | None) -> list[Draft]:
    fields = (Memory.memory_type, Memory.content, Memory.category, Memory.fact_key, Memory.fact_value)
    statement = select(*fields).where(Memory.user_id == user_id, Memory.space_slot == (space_id or 0))
    return [Draft(*row) for row in db.session.execute(statement.where(Memory.current_slot.is_not(None)))]


def _outcome(draft: Draft, tombstones: TombstoneSet, values: Collection[tuple[str | None, str]]) -> str:
    if not draft.content:
        return "empty"
    statement = draft.content, draft.fact_key, draft.fact_value
    if tombstones.forbids(*statement) or tombstones.quotes_in(draft.content):
        return "forgotten"
    if find_secret(*statement):
        return "secret"
    return "known" if (draft.slot, draft.value) in values else "proposed"


def _pieces(text: str) -> list[str]:
    """Return a statement in parts that each fit into a memory."""
    plain = plain_text(text)
    if len(plain) <= CONTENT_MAX:
        return [plain]
    pieces: list[str] = []
    for sentence in sentences_of(plain):
        for start in range(sentence.start, sentence.end, CONTENT_MAX):
            part = plain[start : min(start + CONTENT_MAX, sentence.end)]
            if pieces and len(pieces[-1]) + len(part) < CONTENT_MAX:
                pieces[-1] += " " + part
            else:
                pieces.append(part)
    return pieces
