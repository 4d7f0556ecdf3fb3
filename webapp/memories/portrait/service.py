"""The portrait as its readers may read it now: only sentences whose memories are still as they were."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, delete, select

from webapp.background.queues import enqueue_after_commit
from webapp.db.base import add_row, db, now
from webapp.errors import Conflict
from webapp.memories.history.revisions import QuotedEvidence, evidence_of
from webapp.memories.models import Memory
from webapp.memories.portrait.models import Portrait
from webapp.memories.portrait.subjects import Members, Person, Sentences, Subject, memory_ids_of, memory_is_enabled
from webapp.memories.prompt.always_used import is_over
from webapp.memories.schemas import KnownItem
from webapp.memories.store.copies import redact_value
from webapp.memories.store.forgetting import pre_forget
from webapp.memories.store.reach import pre_withdraw
from webapp.providers.catalogue import has_background_model
from webapp.spaces.members import names_of
from webapp.spaces.models import Space
from webapp.spaces.service import get_space, spaces_of
from webapp.spaces.signals import portrait_disabled

WRITING_TIME = timedelta(minutes=5)
"""How long after it was asked for a portrait is said to be on its way."""


class SentenceOut(BaseModel):
    text: str
    memory_ids: list[int] = Field(description="The memories it rests on, each in use and as it was then.")
    is_new: bool = Field(description="The portrait before did not have it.")


@dataclass(frozen=True, slots=True)
class Source:
    """A memory behind sentences, with its quotes or, of another member's, the name `by`."""

    memory: Memory
    quotes: Sequence[QuotedEvidence]
    by: str = ""


@dataclass(frozen=True, slots=True)
class PortraitView:
    """The portrait as it is shown. `gone`: sentences of the portrait before that are true but not in it any more.

    `is_current`: nothing has changed since it was made; `is_coming`: it is being written. `is_on`: it is wanted.
    """

    sentences: Sequence[SentenceOut]
    gone: Sequence[SentenceOut]
    sources: Sequence[Source]
    made_at: datetime | None
    is_current: bool
    is_coming: bool
    problem: str | None
    is_on: bool
    has_model: bool
    has_memories: bool


def portrait_of(user_id: int, space_id: int | None = None) -> PortraitView:
    """Return the portrait of a user, or of a space as one of its members sees it. Raises NotFound."""
    subject = _subject(user_id, space_id)
    row = row_of(subject)
    items = subject.memories()
    memories = _memories(subject, [*row.sentences, *row.before])
    current, earlier = _filter_valid(row.sentences, memories), _filter_valid(row.before, memories)
    texts, earlier_texts = {item["text"] for item in current}, {item["text"] for item in earlier}
    ids = list(dict.fromkeys(number for item in current for number, _ in item["memories"]))
    return PortraitView(
        sentences=[_sentence(item, is_new=bool(row.before) and item["text"] not in earlier_texts) for item in current],
        gone=[_sentence(item) for item in earlier if item["text"] not in texts],
        sources=_sources(user_id, [memories[number] for number in ids]),
        made_at=row.made_at,
        is_current=row.made_from == digest_of(items),
        is_coming=row.asked_at is not None and now() - row.asked_at < WRITING_TIME and not row.problem,
        problem=row.problem,
        is_on=subject.is_on(),
        has_model=has_background_model(),
        has_memories=bool(items),
    )


def _subject(user_id: int, space_id: int | None) -> Subject:
    if space_id is None:
        return Person(user_id)
    get_space(user_id, space_id)
    return Members(space_id)


def ask_for_portrait(user_id: int, space_id: int | None = None) -> None:
    """Request a new portrait of the user or of a space. Raises NotFound, Conflict if there is nothing to write."""
    subject = _subject(user_id, space_id)
    subject.lock()  # two at once make one row
    if not memory_is_enabled(user_id):
        raise Conflict("Memory is off. Switch it on in Settings first.")
    if not subject.is_on():
        raise Conflict("No portrait is written here. The owner of the space can switch it on in its settings.")
    if not subject.memories():
        raise Conflict("There is nothing to tell yet: no memory is in use.")
    if not has_background_model():
        raise Conflict("No language model is connected that could write it.")
    row = row_of(subject)
    row.asked_at, row.made_from, row.problem = now(), None, None
    add_row(row)
    enqueue_after_commit("portrait", **subject.key)


def row_of(subject: Subject, *, lock: bool = False) -> Portrait:
    """Return the stored portrait as it is now, or a new one to store; `lock` holds it until the transaction ends."""
    statement = select(Portrait).filter_by(**subject.key).execution_options(populate_existing=True)
    row = db.session.scalar(statement.with_for_update() if lock else statement)
    return row or Portrait(**subject.key, sentences=[], before=[])


def spaces_to_portray() -> list[int]:
    """Return the spaces with a portrait switched on whose shared memories have changed since the last one."""
    space_ids = db.session.scalars(select(Space.space_id).where(Space.has_portrait).order_by(Space.space_id)).all()
    rows = dict(
        db.session.execute(select(Portrait.space_id, Portrait.made_from).where(Portrait.space_id.in_(space_ids))).all()
    )
    return [
        space_id
        for space_id in space_ids
        if digest_of(Members(space_id).memories()) != rows.get(space_id, digest_of(()))
    ]


def digest_of(memories: Sequence[KnownItem]) -> str:
    """Return a digest that changes with the memories."""
    revisions = sorted(f"{item.id}.{item.revision}" for item in memories)
    return hashlib.sha256(" ".join(revisions).encode()).hexdigest()


def valid_sentences(subject: Subject, sentences: Sentences) -> list[dict[str, Any]]:
    """Return the sentences whose memories are all in prompts, at the revision they had."""
    return _filter_valid(sentences, _memories(subject, sentences))


def _memories(subject: Subject, sentences: Sentences) -> dict[int, Memory]:
    ids = memory_ids_of(sentences)
    in_use = subject.in_use().where(Memory.memory_id.in_(ids)).execution_options(populate_existing=True)
    rows, moment = db.session.scalars(in_use).all() if ids else (), now()
    return {row.memory_id: row for row in rows if not is_over(row, moment)}


def _filter_valid(sentences: Sentences, memories: Mapping[int, Memory]) -> list[dict[str, Any]]:
    return [
        item
        for item in sentences
        if all(number in memories and memories[number].revision == revision for number, revision in item["memories"])
    ]


def _sources(reader_id: int, memories: Sequence[Memory]) -> list[Source]:
    evidence = evidence_of(reader_id, [memory.memory_id for memory in memories])
    names = names_of({memory.user_id for memory in memories} - {reader_id})
    return [Source(memory, evidence.get(memory.memory_id, ()), names.get(memory.user_id, "")) for memory in memories]


def _sentence(item: dict[str, Any], *, is_new: bool = False) -> SentenceOut:
    return SentenceOut(text=item["text"], memory_ids=[number for number, _ in item["memories"]], is_new=is_new)


@pre_forget.connect
def _drop_forgotten(
    _sender: Any, *, user_id: int, memory_ids: Collection[int], texts: Collection[str], **_: Any
) -> None:
    """Delete the sentences that rest on forgotten memories, and those that repeat what they said."""
    is_theirs = (Portrait.user_id == user_id) | Portrait.space_id.in_(spaces_of(user_id))
    _remove_sentences(user_id, memory_ids, texts, is_theirs)


@pre_withdraw.connect
def _withdraw(_sender: Any, *, user_id: int, memory_ids: Collection[int], texts: Collection[str], **_: Any) -> None:
    """Delete the sentences of spaces that rest on memories no longer shared, and those that repeat what they said."""
    _remove_sentences(user_id, memory_ids, texts, Portrait.space_id.in_(spaces_of(user_id)))


def _remove_sentences(
    user_id: int, memory_ids: Collection[int], texts: Collection[str], condition: ColumnElement[bool]
) -> None:
    portrait_ids = db.session.scalars(select(Portrait.portrait_id).where(condition)).all()
    statement = select(Portrait).where(Portrait.portrait_id.in_(portrait_ids)).order_by(Portrait.portrait_id)
    statement = statement.with_for_update().execution_options(populate_existing=True)
    for row in db.session.scalars(statement) if portrait_ids else ():
        own_ids = _own_memory_ids(user_id, [*row.sentences, *row.before]) | set(memory_ids)
        for name in ("sentences", "before"):
            sentences = getattr(row, name)
            rest = [item for item in sentences if not _repeats(item, own_ids, set(memory_ids), texts)]
            if len(rest) != len(sentences):
                setattr(row, name, rest)


def _repeats(item: dict[str, Any], own_ids: set[int], forgotten_ids: set[int], texts: Collection[str]) -> bool:
    """Return whether a sentence repeats a forgotten memory; False for one based only on other people's memories."""
    ids = memory_ids_of([item])
    if not ids.isdisjoint(forgotten_ids):
        return True
    return not ids.isdisjoint(own_ids) and redact_value(item["text"], (), texts) != item["text"]


def _own_memory_ids(user_id: int, sentences: Sentences) -> set[int]:
    statement = select(Memory.memory_id).where(Memory.user_id == user_id)
    return set(db.session.scalars(statement.where(Memory.memory_id.in_(memory_ids_of(sentences)))))


@portrait_disabled.connect
def _end(_sender: Any, *, space_id: int) -> None:
    db.session.execute(delete(Portrait).where(Portrait.space_id == space_id))
