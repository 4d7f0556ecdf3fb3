"""Portraits made by the model: read, ask with nothing held, store in one transaction."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from webapp.db.base import db, now, write_transaction
from webapp.errors import NotFound
from webapp.llm.errors import CutOffAnswer, ModelError
from webapp.memories.learning.model_call import worker_is_trusted
from webapp.memories.portrait.evidence import WrittenPortrait, complete_sentences, sentences_of
from webapp.memories.portrait.models import Portrait
from webapp.memories.portrait.service import digest_of, row_of, valid_sentences
from webapp.memories.portrait.subjects import Subject
from webapp.memories.schemas import KnownItem
from webapp.providers.clients import completions
from webapp.text.words import language_name

log = logging.getLogger(__name__)

NAME = "portrait"
MAX_TOKENS = 1_500


def make_portrait(subject: Subject) -> int | None:
    """Write a portrait by one model call if anything has changed; return its number of sentences, or None. Raises
    ModelError.

    Where nothing is known any more, the old portrait is deleted.
    """
    row = row_of(subject)
    made_from = row.made_from if row else None
    memories = subject.memories() if subject.is_on() else []
    digest = digest_of(memories)
    description = subject.describe() if memories else ("", "")
    is_trusted = worker_is_trusted()
    db.session.remove()
    if digest == made_from:
        return None
    if not memories:
        _erase(subject)
        return None
    try:
        portrait, completion = completions().complete_structured(
            _messages(memories, *description), WrittenPortrait, NAME, max_tokens=MAX_TOKENS, temperature=0.3
        )
    except ModelError as error:
        portrait, completion = complete_sentences(error.text if isinstance(error, CutOffAnswer) else ""), error.answer
        if not portrait.sentences:
            _note_problem(subject, error.detail)
            raise
    sentences = sentences_of(portrait, memories, *description, is_trusted)
    try:
        with write_transaction():
            sentences = valid_sentences(subject, subject.hold(sentences))
            if not subject.is_on():
                return None
            _store(subject, sentences, digest, completion.model if completion else None)
    except NotFound:
        return None  # the space has been deleted meanwhile
    log.info("portrait written", extra={"written": len(portrait.sentences), "kept": len(sentences)})
    return len(sentences)


def _messages(memories: Sequence[KnownItem], instructions: str, name: str) -> list[dict[str, str]]:
    notes = [f"{item.author}: {item.content}" if item.author else item.content for item in memories]
    lines = [name, ""] if name else []
    lines += [f"{number}. {' '.join(note.split())}" for number, note in enumerate(notes, 1)]
    # A small model answers in the language of its instructions, which are in English, unless another is named.
    language = language_name(notes)
    language = "the language of most notes" if language == "English" else language
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": "\n".join([*lines, "", f"Write every sentence in {language}."])},
    ]


def _store(subject: Subject, sentences: list[dict[str, Any]], digest: str, model: str | None) -> None:
    row = _row_to_change(subject)
    if row.sentences and sentences != row.sentences:
        row.before = valid_sentences(subject, row.sentences)
    row.sentences, row.made_from, row.made_at = sentences, digest, now()
    row.asked_at, row.model, row.problem = None, model[:200] if model else None, None


def _erase(subject: Subject) -> None:
    with write_transaction():
        row = row_of(subject, lock=True)
        if row is not None:
            row.sentences, row.before = valid_sentences(subject, row.sentences), valid_sentences(subject, row.before)


def _note_problem(subject: Subject, detail: str) -> None:
    with suppress(NotFound), write_transaction():
        subject.lock()
        _row_to_change(subject).problem = detail[:300]


def _row_to_change(subject: Subject) -> Portrait:
    row = row_of(subject, lock=True)
    if row is None:
        row = Portrait(**subject.key, sentences=[], before=[])
        db.session.add(row)
    return row
