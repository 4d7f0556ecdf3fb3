"""Portraits made by the model: read, ask with nothing held, store in one transaction."""

from __future__ import annotations

import logging
import re
from collections import Counter
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

_WORD = re.compile(r"[^\W\d_]+")


class WrittenSentence(BaseModel):
    """A sentence of the model's answer, and the numbers of the notes it rests on."""

    text: str = Field(max_length=2_000)
    notes: Annotated[list[int], BeforeValidator(none_is_empty)] = Field(max_length=100)


class WrittenPortrait(BaseModel):
    """The model's answer."""

    sentences: Annotated[list[WrittenSentence], BeforeValidator(none_is_empty)] = Field(max_length=100)


def make_portrait(user_id: int) -> int | None:
    """Write a user's portrait if anything has changed since the last; returns how many sentences it has.

    One model call, with no connection held. Returns None if there is nothing to do; where nothing is known any more,
    the old portrait goes. Raises ModelError with the old portrait as it was.
    """
    row = db.session.get(Portrait, user_id, populate_existing=True)
    made_from = row.made_from if row else None
    known = known_memories(user_id) if memory_is_enabled(user_id) else []
    digest = digest_of(known)
    db.session.remove()
    if digest == made_from:
        return None
    if not known:
        _erase(user_id)
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
    texts = [" ".join(sentence.text.split()) for sentence in written.sentences[:MOST_SENTENCES]]
    usual = _usual_first_words(texts)
    for text, sentence in zip(texts, written.sentences, strict=False):
        named = [known[number - 1] for number in dict.fromkeys(sentence.notes) if 1 <= number <= len(known)]
        notes = [item.content for item in named]
        if not (0 < len(text) <= LONGEST and named and is_mostly_grounded(text, notes)):
            continue
        # A capital tells nothing of a first word: it counts as a name unless sentences usually begin like that.
        checked = text if _first_word(text) in usual else f"— {text}"
        if keeps_particulars(checked, notes):
            found.setdefault(text, [[item.memory_id, item.revision] for item in named])
    return [{"text": text, "memories": memories} for text, memories in found.items()]


def _usual_first_words(texts: Sequence[str]) -> set[str]:
    """Return the first words, folded, that are no names: in lower case elsewhere, or the first of half the texts."""
    lower = {word for text in [INSTRUCTIONS, *texts] for word in _WORD.findall(text) if word.islower()}
    counts = Counter(map(_first_word, texts))
    return {word for word, count in counts.items() if word in lower or (count > 1 and 2 * count >= len(texts))}


def _first_word(text: str) -> str:
    return next(iter(_WORD.findall(text)), "").lower()


def _messages(known: Sequence[KnownItem]) -> list[dict[str, str]]:
    notes = "\n".join(f"{number}. {' '.join(item.content.split())}" for number, item in enumerate(known, 1))
    return [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": notes}]


def _store(user_id: int, sentences: list[dict[str, Any]], digest: str, model: str | None) -> None:
    row = _row_to_change(user_id)
    if row.sentences and sentences != row.sentences:
        row.before = holding(user_id, row.sentences)
    row.sentences, row.made_from, row.made_at = sentences, digest, now()
    row.asked_at, row.model, row.problem = None, model[:200] if model else None, None


def _erase(user_id: int) -> None:
    with write_transaction():
        row = db.session.get(Portrait, user_id, with_for_update=True, populate_existing=True)
        if row is not None:
            row.sentences, row.before = holding(user_id, row.sentences), holding(user_id, row.before)


def _note_problem(user_id: int, detail: str) -> None:
    with write_transaction():
        _row_to_change(user_id).problem = detail[:300]


def _row_to_change(user_id: int) -> Portrait:
    row = db.session.get(Portrait, user_id, with_for_update=True, populate_existing=True)
    if row is None:
        row = Portrait(user_id=user_id, sentences=[], before=[])
        db.session.add(row)
    return row
