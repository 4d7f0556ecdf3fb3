"""Portraits made by the model: read, ask with nothing held, store in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from webapp.db.base import db, now, write_transaction
from webapp.llm.errors import ModelError
from webapp.llm.structured import none_is_empty
from webapp.memories.portrait.models import Portrait
from webapp.memories.portrait.service import digest_of, holding, known_memories, memory_is_enabled
from webapp.memories.prompt.always_used import KnownItem
from webapp.memories.rules.grounding import is_mostly_grounded, keeps_particulars
from webapp.memories.store import versions
from webapp.memories.store.tombstone_secrets import tombstone_set
from webapp.providers.clients import completions

log = logging.getLogger(__name__)

NAME = "portrait"
MAX_TOKENS = 1_500
MOST_SENTENCES = 24
LONGEST = 400
INSTRUCTIONS = """\
You are given numbered notes about one person. Write a portrait of them, addressed to them as "you", in plain and warm \
prose, in the language of most notes: who they are, whom they live with, what they do, what they care about. At most \
twelve sentences, in an order that reads well; leave out what is slight. Each sentence tells what one or a few notes \
say, in their words where possible, and nothing else: no guesses, no praise, no advice, no name or number that is not \
in these notes. Give each sentence with the numbers of the notes it rests on."""


class WrittenSentence(BaseModel):
    """A sentence of the model's answer, and the numbers of the notes it rests on."""

    text: str = Field(max_length=2_000)
    notes: Annotated[list[int], BeforeValidator(none_is_empty)] = Field(max_length=100)


class WrittenPortrait(BaseModel):
    """The model's answer."""

    sentences: Annotated[list[WrittenSentence], BeforeValidator(none_is_empty)] = Field(max_length=100)


def make_portrait(user_id: int) -> int | None:
    """Write a user's portrait if anything has changed since the last; returns how many sentences it has.

    One model call, with no connection held. Returns None if there is nothing to do. Raises ModelError with the old
    portrait as it was.
    """
    row = db.session.get(Portrait, user_id, populate_existing=True)
    made_from = row.made_from if row else None
    known = known_memories(user_id) if memory_is_enabled(user_id) else []
    digest = digest_of(known)
    db.session.remove()
    if not known or digest == made_from:
        return None
    try:
        written, completion = completions().complete_structured(
            _messages(known), WrittenPortrait, NAME, max_tokens=MAX_TOKENS, temperature=0.3
        )
    except ModelError as error:
        _note_problem(user_id, error.detail)
        raise
    sentences = sentences_of(written, known)
    with write_transaction():
        versions.hold(user_id)  # nothing is forgotten meanwhile
        forbids = tombstone_set(user_id).forbids
        sentences = [item for item in holding(user_id, sentences) if not forbids(item["text"], quote=item["text"])]
        _store(user_id, sentences, digest, completion.model)
    log.info("portrait written", extra={"written": len(written.sentences), "kept": len(sentences)})
    return len(sentences)


def sentences_of(written: WrittenPortrait, known: Sequence[KnownItem]) -> list[dict[str, Any]]:
    """Return the sentences that rest on the notes they name: their names and numbers, and most words, stand there."""
    found: dict[str, list[list[int]]] = {}
    for sentence in written.sentences[:MOST_SENTENCES]:
        text = " ".join(sentence.text.split())
        named = [known[number - 1] for number in dict.fromkeys(sentence.notes) if 1 <= number <= len(known)]
        told = [item.content for item in named]
        if 0 < len(text) <= LONGEST and named and keeps_particulars(text, told) and is_mostly_grounded(text, told):
            found.setdefault(text, [[item.memory_id, item.revision] for item in named])
    return [{"text": text, "memories": memories} for text, memories in found.items()]


def _messages(known: Sequence[KnownItem]) -> list[dict[str, str]]:
    notes = "\n".join(f"{number}. {' '.join(item.content.split())}" for number, item in enumerate(known, 1))
    return [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": notes}]


def _store(user_id: int, sentences: list[dict[str, Any]], digest: str, model: str | None) -> None:
    row = db.session.get(Portrait, user_id, with_for_update=True, populate_existing=True)
    if row is None:
        row = Portrait(user_id=user_id, sentences=[], before=[])
        db.session.add(row)
    if row.sentences and sentences != row.sentences:
        row.before = holding(user_id, row.sentences)
    row.sentences, row.made_from, row.made_at = sentences, digest, now()
    row.asked_at, row.model, row.problem = None, model[:200] if model else None, None


def _note_problem(user_id: int, detail: str) -> None:
    with write_transaction():
        row = db.session.get(Portrait, user_id, with_for_update=True, populate_existing=True)
        if row is not None:
            row.problem = detail[:300]
