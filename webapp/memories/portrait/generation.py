"""Portraits made by the model: read, ask with nothing held, store in one transaction."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from webapp.db.base import db, now, write_transaction
from webapp.errors import NotFound
from webapp.llm.errors import ModelError
from webapp.llm.structured import none_is_empty
from webapp.memories.portrait.models import Portrait
from webapp.memories.portrait.service import digest_of, holding, row_of
from webapp.memories.portrait.subjects import OF_PERSON, Subject
from webapp.memories.prompt.always_used import KnownItem
from webapp.memories.rules.grounding import is_mostly_grounded, keeps_particulars
from webapp.providers.clients import completions

log = logging.getLogger(__name__)

NAME = "portrait"
MAX_TOKENS = 1_500
MOST_SENTENCES = 24
LONGEST = 400

_WORD = re.compile(r"[^\W\d_]+")


class WrittenSentence(BaseModel):
    """A sentence of the model's answer, and the numbers of the notes it rests on."""

    text: str = Field(max_length=2_000)
    notes: Annotated[list[int], BeforeValidator(none_is_empty)] = Field(max_length=100)


class WrittenPortrait(BaseModel):
    """The model's answer."""

    sentences: Annotated[list[WrittenSentence], BeforeValidator(none_is_empty)] = Field(max_length=100)


def make_portrait(subject: Subject) -> int | None:
    """Write the portrait of a person or a space if anything has changed since the last; returns how many sentences it
    has.

    One model call, with no connection held. Returns None if there is nothing to do; where nothing is known any more,
    the old portrait goes. Raises ModelError with the old portrait as it was.
    """
    row = row_of(subject)
    made_from = row.made_from if row else None
    known = subject.memories() if subject.is_on() else []
    digest = digest_of(known)
    about = subject.about() if known else ("", "")
    db.session.remove()
    if digest == made_from:
        return None
    if not known:
        _erase(subject)
        return None
    try:
        written, completion = completions().complete_structured(
            _messages(known, *about), WrittenPortrait, NAME, max_tokens=MAX_TOKENS, temperature=0.3
        )
    except ModelError as error:
        _note_problem(subject, error.detail)
        raise
    sentences = sentences_of(written, known, *about)
    try:
        with write_transaction():
            sentences = holding(subject, subject.hold(sentences))
            if not subject.is_on():
                return None
            _store(subject, sentences, digest, completion.model)
    except NotFound:
        return None  # the space has been deleted meanwhile
    log.info("portrait written", extra={"written": len(written.sentences), "kept": len(sentences)})
    return len(sentences)


def sentences_of(
    written: WrittenPortrait, known: Sequence[KnownItem], instructions: str = OF_PERSON, name: str = ""
) -> list[dict[str, Any]]:
    """Return the sentences that rest on the notes they name: their names and numbers, and most words, stand there.

    Whose notes they are, and the name of the person they are about, may be said as well, but nothing else of them.
    """
    found: dict[str, list[list[int]]] = {}
    texts = [" ".join(sentence.text.split()) for sentence in written.sentences[:MOST_SENTENCES]]
    usual = _usual_first_words([instructions, *texts], texts)
    for text, sentence in zip(texts, written.sentences, strict=False):
        used = [known[number - 1] for number in dict.fromkeys(sentence.notes) if 1 <= number <= len(known)]
        notes, names = [item.content for item in used], [name, *(item.by for item in used)]
        if not (0 < len(text) <= LONGEST and used and is_mostly_grounded(_without(text, names), notes)):
            continue
        # A capital tells nothing of a first word: it counts as a name unless sentences usually begin like that.
        checked = text if _first_word(text) in usual else f"— {text}"
        if keeps_particulars(checked, [*notes, *names]):
            found.setdefault(text, [[item.memory_id, item.revision] for item in used])
    return [{"text": text, "memories": memories} for text, memories in found.items()]


def _without(text: str, names: Sequence[str]) -> str:
    """Return a text without the words of some names."""
    gone = {word.lower() for name in names for word in _WORD.findall(name)}
    return _WORD.sub(lambda match: "" if match.group().lower() in gone else match.group(), text)


def _usual_first_words(prose: Sequence[str], texts: Sequence[str]) -> set[str]:
    """Return the first words, folded, that are no names: in lower case in the prose, or the first of half the texts."""
    lower = {word for text in prose for word in _WORD.findall(text) if word.islower()}
    counts = Counter(map(_first_word, texts))
    return {word for word, count in counts.items() if word in lower or (count > 1 and 2 * count >= len(texts))}


def _first_word(text: str) -> str:
    return next(iter(_WORD.findall(text)), "").lower()


def _messages(known: Sequence[KnownItem], instructions: str, name: str) -> list[dict[str, str]]:
    notes = (f"{item.by}: {item.content}" if item.by else item.content for item in known)
    lines = [f"{number}. {' '.join(note.split())}" for number, note in enumerate(notes, 1)]
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": "\n".join([name, "", *lines] if name else lines)},
    ]


def _store(subject: Subject, sentences: list[dict[str, Any]], digest: str, model: str | None) -> None:
    row = _row_to_change(subject)
    if row.sentences and sentences != row.sentences:
        row.before = holding(subject, row.sentences)
    row.sentences, row.made_from, row.made_at = sentences, digest, now()
    row.asked_at, row.model, row.problem = None, model[:200] if model else None, None


def _erase(subject: Subject) -> None:
    with write_transaction():
        row = row_of(subject, lock=True)
        if row is not None:
            row.sentences, row.before = holding(subject, row.sentences), holding(subject, row.before)


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
