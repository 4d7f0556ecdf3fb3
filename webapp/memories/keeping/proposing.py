"""Memories from elsewhere arrive as proposals: in review, never in use before the user says so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select

from webapp.database import db, now
from webapp.memories.keeping import versions
from webapp.memories.keeping.graveyards import graveyard
from webapp.memories.keeping.journal import Journal, statement_hash
from webapp.memories.models import Memory
from webapp.memories.rules.keys import CONTENT_MAX
from webapp.memories.rules.screening import find_secret
from webapp.text.canonical import plain_text

CONFIDENCE = 0.5
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")


@dataclass(frozen=True)
class Proposal:
    """A statement from elsewhere, and when it was created there."""

    content: str
    at: datetime | None = None
    kind: str = "fact"
    until: date | None = None


@dataclass(frozen=True)
class Proposed:
    """How many statements were proposed, already known, once forgotten, secrets or empty; and the change set."""

    counts: dict[str, int]
    change_set_id: int | None


def propose(
    user_id: int, proposals: Iterable[Proposal], *, cause: str, actor: str = "import", space_id: int | None = None
) -> Proposed:
    """Put statements into review. What is already known, what was forgotten and secrets are left out.

    The caller has checked that the space is the user's. Long statements are cut at sentence ends.
    """
    versions.hold(user_id)
    yard = graveyard(user_id)
    counts: Counter[str] = Counter()
    journal: Journal | None = None
    pieces = [(item, piece) for item in proposals for piece in _pieces(item.content)]
    known = _known(user_id, [statement_hash(piece) for _, piece in pieces])
    for item, piece in pieces:
        outcome = "empty" if not piece else _refusal(piece, known, yard.forbids(piece))
        counts[outcome] += 1
        if outcome != "proposed":
            continue
        journal = journal or Journal(user_id, cause, actor=actor)
        row = Memory(
            user_id=user_id,
            memory_type=item.kind,
            content=piece,
            until=item.until,
            space_id=space_id,
            needs_review=True,
            origin="import",
            confidence=CONFIDENCE,
            asserted_at=item.at or now(),
            statement_hash=statement_hash(piece),
        )
        db.session.add(row)
        db.session.flush()
        journal.created(row)
        known.add(row.statement_hash)
    if journal is not None:
        journal.close({"added": counts["proposed"], "in_review": counts["proposed"]})
    return Proposed(dict(counts), journal.id if journal else None)


def _refusal(piece: str, known: set[str], is_forgotten: bool) -> str:
    if statement_hash(piece) in known:
        return "known"
    if is_forgotten:
        return "forgotten"
    return "secret" if find_secret(piece) else "proposed"


def _known(user_id: int, hashes: list[str]) -> set[str]:
    return set(
        db.session.scalars(
            select(Memory.statement_hash).where(Memory.user_id == user_id, Memory.statement_hash.in_(hashes))
        )
    )


def _pieces(text: str) -> list[str]:
    """A statement in parts that each fit into a memory."""
    whole = plain_text(text)
    if len(whole) <= CONTENT_MAX:
        return [whole]
    found: list[str] = []
    for sentence in _SENTENCE.split(whole):
        if found and len(found[-1]) + len(sentence) < CONTENT_MAX:
            found[-1] += " " + sentence
        else:
            found.append(sentence[:CONTENT_MAX])
    return found
