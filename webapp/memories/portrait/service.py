"""The portrait as its owner may read it now: only sentences whose memories are still as they were."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.background.queues import enqueue_after_commit
from webapp.db.base import db, get_or_raise, now
from webapp.errors import Conflict
from webapp.memories.history.revisions import QuotedEvidence, evidence_of
from webapp.memories.models import Memory
from webapp.memories.portrait.models import Portrait
from webapp.memories.prompt.always_used import KnownItem, context_memories
from webapp.memories.service import visible
from webapp.memories.store.copies import without
from webapp.memories.store.forgetting import being_forgotten
from webapp.providers.catalogue import has_worker

MOST_MEMORIES = 80
"""Of the memories that every prompt contains, in their order."""
PATIENCE = timedelta(minutes=5)
"""How long after it was asked for a portrait is said to be on its way."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the memories it rests on; `is_new`: the portrait before did not have it."""

    text: str
    memory_ids: Sequence[int]
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A memory that sentences rest on, with the quotes behind it."""

    memory: Memory
    quotes: Sequence[QuotedEvidence]


@dataclass(frozen=True, slots=True)
class PortraitView:
    """The portrait as it is shown. `gone`: sentences of the portrait before that are true but not in it any more.

    `is_current`: nothing has changed since it was made; `is_coming`: it is being written.
    """

    sentences: Sequence[Sentence]
    gone: Sequence[Sentence]
    sources: Sequence[Source]
    made_at: datetime | None
    is_current: bool
    is_coming: bool
    problem: str | None
    is_on: bool
    has_model: bool
    has_memories: bool


def portrait_of(user_id: int) -> PortraitView:
    """Return the portrait of a user."""
    row = db.session.get(Portrait, user_id, populate_existing=True)
    known = known_memories(user_id)
    sentences = list(row.sentences) if row else []
    before = list(row.before) if row else []
    memories = _memories(user_id, [*sentences, *before])
    shown, earlier = _holding(sentences, memories), _holding(before, memories)
    texts, had = {item["text"] for item in shown}, {item["text"] for item in earlier}
    ids = list(dict.fromkeys(number for item in shown for number, _ in item["memories"]))
    evidence = evidence_of(user_id, ids)
    asked = row.asked_at if row else None
    is_coming = asked is not None and now() - asked < PATIENCE and not (row and row.problem)
    return PortraitView(
        sentences=[_sentence(item, is_new=bool(before) and item["text"] not in had) for item in shown],
        gone=[_sentence(item) for item in earlier if item["text"] not in texts],
        sources=[Source(memories[number], evidence.get(number, ())) for number in ids],
        made_at=row.made_at if row else None,
        is_current=row is not None and row.made_from == digest_of(known),
        is_coming=is_coming,
        problem=row.problem if row else None,
        is_on=memory_is_enabled(user_id),
        has_model=has_worker(),
        has_memories=bool(known),
    )


def ask_for_portrait(user_id: int) -> None:
    """Have the portrait written anew. Raises Conflict without memory, without memories, and without a model."""
    if not memory_is_enabled(user_id):
        raise Conflict("Memory is off. Switch it on in Settings first.")
    if not known_memories(user_id):
        raise Conflict("There is nothing to tell yet: no memory is in use.")
    if not has_worker():
        raise Conflict("No language model is connected that could write it.")
    get_or_raise(User, user_id, lock=True)  # two at once make one row
    row = db.session.get(Portrait, user_id, populate_existing=True) or Portrait(user_id=user_id)
    row.asked_at, row.made_from, row.problem = now(), None, None
    db.session.add(row)
    db.session.flush()
    enqueue_after_commit("portrait", user_id=user_id)


def memory_is_enabled(user_id: int) -> bool:
    """Return true if a user is active and has memory switched on."""
    user = db.session.get(User, user_id)
    return user is not None and user.is_active and UserSettings.of(user.settings).memory_enabled


def known_memories(user_id: int) -> list[KnownItem]:
    """Return the memories that a portrait is made from: what every prompt knows, in the same order."""
    return context_memories(user_id)[:MOST_MEMORIES]


def digest_of(known: Sequence[KnownItem]) -> str:
    """Return a digest that changes with the memories."""
    named = sorted(f"{item.memory_id}.{item.revision}" for item in known)
    return hashlib.sha256(" ".join(named).encode()).hexdigest()


def holding(user_id: int, sentences: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the sentences whose memories are all in use, at the revision they had."""
    return _holding(sentences, _memories(user_id, sentences))


def _memories(user_id: int, sentences: Sequence[dict[str, Any]]) -> dict[int, Memory]:
    ids = {number for item in sentences for number, _ in item["memories"]}
    in_use = visible(user_id).where(
        Memory.memory_id.in_(ids),
        Memory.space_id.is_(None),
        Memory.is_archived.is_(False),
        Memory.needs_review.is_(False),
        Memory.valid_to.is_(None),
    )
    return {row.memory_id: row for row in db.session.scalars(in_use)} if ids else {}


def _holding(sentences: Sequence[dict[str, Any]], memories: dict[int, Memory]) -> list[dict[str, Any]]:
    return [
        item
        for item in sentences
        if all(number in memories and memories[number].revision == revision for number, revision in item["memories"])
    ]


def _sentence(item: dict[str, Any], *, is_new: bool = False) -> Sentence:
    return Sentence(item["text"], [number for number, _ in item["memories"]], is_new)


def init_portrait_forgetting() -> None:
    """Listen for memories being forgotten."""
    being_forgotten.connect(_forget)


def _forget(_sender: Any, *, user_id: int, memory_ids: Collection[int], texts: Collection[str], **_: Any) -> None:
    """Delete the sentences that rest on forgotten memories, and those that repeat what they said."""
    row = db.session.scalar(select(Portrait).where(Portrait.user_id == user_id).with_for_update())
    if row is None:
        return
    gone = set(memory_ids)
    for name in ("sentences", "before"):
        sentences = getattr(row, name)
        left = [
            item
            for item in sentences
            if not any(number in gone for number, _ in item["memories"])
            and without(item["text"], (), texts) == item["text"]
        ]
        if len(left) != len(sentences):
            setattr(row, name, left)
