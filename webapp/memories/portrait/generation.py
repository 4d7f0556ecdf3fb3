"""Portraits made by the model: read, ask with nothing held, store in one transaction."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from webapp.db.base import db, now, write_transaction
from webapp.errors import NotFound
from webapp.llm.errors import CutOffAnswer, ModelError, split_reason
from webapp.llm.structured import complete_items, none_is_empty, readable_items
from webapp.memories.learning.model_call import background_model_is_trusted
from webapp.memories.portrait.service import digest_of, row_of, valid_sentences
from webapp.memories.portrait.subjects import OF_PERSON, Subject
from webapp.memories.rules.grounding import distinctive_words, is_mostly_grounded, keeps_names_and_numbers, words_found
from webapp.memories.schemas import KnownItem
from webapp.providers.clients import completions
from webapp.text.sentences import sentence_texts
from webapp.text.words import language_name, words

log = logging.getLogger(__name__)

NAME = "portrait"
MAX_TOKENS = 1_500


def make_portrait(subject: Subject) -> int | None:
    """Write a portrait by one model call if anything has changed; return its number of sentences, or None. Raises
    ModelError.

    Where nothing is known any more, the old portrait is deleted.
    """
    made_from = row_of(subject).made_from
    memories = subject.memories() if subject.is_on() else []
    digest = digest_of(memories)
    description = subject.describe() if memories else ("", "")
    is_trusted = background_model_is_trusted()
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
            sentences = valid_sentences(subject, subject.lock_sources(sentences))
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
    row = row_of(subject, lock=True)
    if row.sentences and sentences != row.sentences:
        row.before = valid_sentences(subject, row.sentences)
    row.sentences, row.made_from, row.made_at = sentences, digest, now()
    row.asked_at, row.model, row.problem = None, model[:200] if model else None, None
    db.session.add(row)


def _erase(subject: Subject) -> None:
    with write_transaction():
        row = row_of(subject, lock=True)
        row.sentences, row.before = valid_sentences(subject, row.sentences), valid_sentences(subject, row.before)


def _note_problem(subject: Subject, detail: str) -> None:
    with suppress(NotFound), write_transaction():
        subject.lock()
        row = row_of(subject, lock=True)
        row.problem = split_reason(detail)[0][:300]
        db.session.add(row)


MAX_SENTENCES = 24
MAX_SENTENCE_LENGTH = 400

_WORD = re.compile(r"[^\W\d_]+")


class WrittenSentence(BaseModel):
    """A sentence of the model's answer, after the numbers of the notes it rests on: it writes of what it has chosen."""

    notes: Annotated[list[int], BeforeValidator(none_is_empty)] = Field(max_length=100)
    text: str = Field(max_length=2_000)


class WrittenPortrait(BaseModel):
    """The model's answer."""

    sentences: Annotated[list[WrittenSentence], BeforeValidator(none_is_empty)] = Field(max_length=100)


def complete_sentences(text: str) -> WrittenPortrait:
    """Return the whole sentences of an answer that was cut off: small models begin again and do not stop."""
    items = complete_items(text, "sentences")[:MAX_SENTENCES]
    return WrittenPortrait(sentences=readable_items(WrittenSentence, items))


def sentences_of(
    portrait: WrittenPortrait,
    items: Sequence[KnownItem],
    instructions: str = OF_PERSON,
    name: str = "",
    is_trusted: bool = True,
) -> list[dict[str, Any]]:
    """Return the sentences whose names, numbers and most words occur in notes: those named or, failing that, others."""
    numbers_by_text: dict[str, list[list[int]]] = {}
    written_with = [
        (text, item.notes) for item in portrait.sentences for text in sentence_texts(" ".join(item.text.split()))
    ][:MAX_SENTENCES]
    texts = [text for text, _ in written_with]
    usual = _usual_first_words([instructions, *texts], texts)
    for text, numbers in written_with:
        sources = [items[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(items)]
        if not (len(text) <= MAX_SENTENCE_LENGTH and sources):
            continue
        # A capital tells nothing of a first word: it counts as a name unless sentences usually begin like that.
        checked = text if _first_word(text) in usual else f"— {text}"
        for candidates in (sources, items):
            selection = _smallest_cover(checked, candidates, len(sources))
            if selection and _supports(checked, selection, name):
                sentences = (
                    [(text, selection)]
                    if is_trusted or _has_all_words(text, selection)
                    else [(_quote(n), [n]) for n in selection]
                )
                for wording, notes in sentences:
                    numbers_by_text.setdefault(wording, [[note.id, note.revision] for note in notes])
                break
    return [{"text": text, "memories": memories} for text, memories in numbers_by_text.items()]


def _smallest_cover(text: str, notes: Sequence[KnownItem], limit: int) -> list[KnownItem]:
    """Return the fewest notes that contain most words of a text, in their order."""
    words_left = {note.id: words_found(text, note.content) for note in notes}
    selection: list[int] = []
    while len(selection) < limit and any(words_left.values()):
        best = max(words_left, key=lambda number: len(words_left[number]))
        seen = words_left.pop(best)
        words_left = {number: words - seen for number, words in words_left.items()}
        selection.append(best)
    return [note for note in notes if note.id in selection]


def _supports(text: str, notes: Sequence[KnownItem], name: str) -> bool:
    contents, names = [note.content for note in notes], [name, *(note.author for note in notes)]
    return is_mostly_grounded(_remove_names(text, names), contents) and keeps_names_and_numbers(
        text, [*contents, *names]
    )


def _has_all_words(text: str, notes: Sequence[KnownItem]) -> bool:
    """Return whether a text has every telling word of its notes, no other, and no fewer words: "not" is a short one."""
    contents = [note.content for note in notes]
    has_all = all(words_found(content, text) == distinctive_words(content) for content in contents)
    adds_none = words_found(text, " ".join([*contents, *(note.author for note in notes)])) == distinctive_words(text)
    return has_all and adds_none and len(words(text)) >= len(words(" ".join(contents)))


def _quote(note: KnownItem) -> str:
    return f"{note.author}: “{note.content}”" if note.author else f"“{note.content}”"


def _remove_names(text: str, names: Sequence[str]) -> str:
    """Return a text without the words of some names."""
    name_words = {word.lower() for name in names for word in _WORD.findall(name)}
    return _WORD.sub(lambda match: "" if match.group().lower() in name_words else match.group(), text)


def _usual_first_words(prose: Sequence[str], texts: Sequence[str]) -> set[str]:
    """Return the first words, folded, that are no names: in lower case in the prose, or the first of half the texts."""
    lower = {word for text in prose for word in _WORD.findall(text) if word.islower()}
    counts = Counter(map(_first_word, texts))
    return {word for word, count in counts.items() if word in lower or (count > 1 and 2 * count >= len(texts))}


def _first_word(text: str) -> str:
    return next(iter(_WORD.findall(text)), "").lower()
