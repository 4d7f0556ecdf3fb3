"""Memories from elsewhere arrive as proposals: in review, never in use before the user says so."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select

from webapp.db.base import db, now
from webapp.memories.models import Memory
from webapp.memories.rules.kinds import CONTENT_MAX, VALUE_MAX, canonical_fact_key, canonical_value, category_of
from webapp.memories.rules.secrets import find_secret
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
class Proposal:
    """A statement from elsewhere, when it was created there, and its key and value if it came with them."""

    content: str
    at: datetime | None = None
    kind: str = "fact"
    key: str | None = None
    value: str | None = None
    until: date | None = None


@dataclass(frozen=True)
class KeyedFact:
    """A fact with a key, in use; or what a statement says of such a key."""

    key: str
    category: str | None
    value: str | None
    content: str

    def agrees_with(self, other: "KeyedFact") -> bool:
        """Return whether both give one key the same value."""
        return self.key == other.key and canonical_value(self.value, self.content) == canonical_value(
            other.value, other.content
        )


@dataclass(frozen=True)
class ProposalCounts:
    """Counts of statements that were proposed, already known, once forgotten, secrets or empty; and the change set."""

    counts: dict[str, int]
    change_set_id: int | None
    forgotten: frozenset[str] = frozenset()
    """The statements among them that the user had forgotten."""


def propose(user_id: int, proposals: Iterable[Proposal], *, cause: str, space_id: int | None = None) -> ProposalCounts:
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
    pieces = [(item, piece, statement_hash(piece)) for item in proposals for piece in _pieces(item.content)]
    known = _stored_hashes(user_id, [digest for _, _, digest in pieces])
    facts = _facts_in_use(user_id, space_id)
    similar = defaultdict(list)
    for memory in facts:
        similar[_start(memory.content)].append(memory)
    for item, piece, digest in pieces:
        fact = fact_in(item, piece, similar[_start(piece)])
        outcome = "known" if piece and digest in known else _outcome(piece, fact, tombstones)
        if fact and outcome == "proposed" and any(fact.agrees_with(memory) for memory in facts):
            outcome = "known"
        counts[outcome] += 1
        forgotten.update([piece] if outcome == "forgotten" else [])
        if outcome != "proposed":
            continue
        known.add(digest)
        row = Memory(
            user_id=user_id,
            memory_type=item.kind,
            content=piece,
            until=item.until,
            space_id=space_id,
            needs_review=True,
            origin="import",
            confidence=CONFIDENCE,
            fact_key=fact.key if fact else None,
            category=fact.category if fact else None,
            fact_value=fact.value if fact else None,
            asserted_at=item.at or now(),
            statement_hash=digest,
        )
        rows.append(row)
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


def fact_in(item: Proposal, piece: str, facts: Iterable[KeyedFact]) -> KeyedFact | None:
    """Return a statement's key and value: its own, or those of a fact in use that it begins like."""
    if key := canonical_fact_key(item.key):
        return KeyedFact(key, category_of(key, None), (item.value or "")[:VALUE_MAX] or None, piece)
    piece_words = words(piece)
    for fact in facts:
        fact_words = words(fact.content)
        start = len(os.path.commonprefix([piece_words, fact_words]))
        name = words(fact.key.rpartition("/")[2].replace("_", " "))
        tails = piece_words[start:], fact_words[start:]
        if (
            set(name) <= set(piece_words[:start])
            and all(tails)
            and (tails[1] == words(fact.value or "") or _similar_statement(*tails))
        ):
            return KeyedFact(fact.key, fact.category, None, piece)
    return None


def _start(text: str) -> str:
    return next(iter(words(text)), "")


def _similar_statement(left: list[str], right: list[str]) -> bool:
    numbers = [[word.isdigit() for word in side] for side in (left, right)]
    return numbers[0] == numbers[1] and any(numbers[0])


def _facts_in_use(user_id: int, space_id: int | None) -> list[KeyedFact]:
    rows = db.session.execute(
        select(Memory.fact_key, Memory.category, Memory.fact_value, Memory.content).where(
            Memory.user_id == user_id, Memory.space_slot == (space_id or 0), Memory.current_slot.is_not(None)
        )
    )
    return [KeyedFact(key, category, value, content) for key, category, value, content in rows if key]


def _outcome(piece: str, fact: KeyedFact | None, tombstones: TombstoneSet) -> str:
    if not piece:
        return "empty"
    key, value = (fact.key, fact.value) if fact else (None, None)
    if tombstones.forbids(piece, key, value) or tombstones.quotes_in(piece):
        return "forgotten"
    return "secret" if find_secret(piece, key, value) else "proposed"


def _stored_hashes(user_id: int, hashes: list[str]) -> set[str]:
    return set(
        db.session.scalars(
            select(Memory.statement_hash).where(Memory.user_id == user_id, Memory.statement_hash.in_(hashes))
        )
    )


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
