"""The subjects of portraits, a person or a space: what is known of each, what may tell of it, and what locks that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Select, select

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.db.base import db
from webapp.errors import require
from webapp.memories.models import IN_USE, Memory
from webapp.memories.prompt.always_used import context_memories, shared_memories
from webapp.memories.schemas import KnownItem
from webapp.memories.service import shared_in, visible
from webapp.memories.store import versions
from webapp.memories.store.tombstones import tombstone_set
from webapp.spaces.models import Space
from webapp.spaces.service import is_legacy

MAX_MEMORIES = 80
"""Of the memories that every prompt contains, in their order."""

Sentences = Sequence[dict[str, Any]]

_PROSE = """ in plain and warm prose: {what}. At most twelve sentences, in an order \
that reads well; leave out what is slight. Each sentence tells what one or a few notes say, in their words where \
possible, and nothing else: no guesses, no praise, no advice, no name or number that is not in these notes. \
Give each sentence after the numbers of the notes it rests on.

An example, of other notes:
1. {notes[0]}
2. {notes[1]}
3. {notes[2]}
{{"sentences": [{{"notes": [2], "text": "{sentences[0]}"}}, {{"notes": [1, 3], "text": "{sentences[1]}"}}]}}"""
OF_PERSON = (
    'You are given numbered notes about one person. Write a portrait of them, addressed to them as "you",'
    + _PROSE.format(
        what="who they are, whom they live with, what they do, what they care about",
        notes=("My sister lives in Graz.", "I teach maths.", "My brother has a boat."),
        sentences=("You teach maths.", "Your sister lives in Graz, and your brother has a boat."),
    )
)
OF_SPACE = (
    "You are given numbered notes that the members of a group share, each after the name of the member who wrote it, "
    'who is the "I" and "the user" of that note. Write a portrait of what they do together, in the third person,'
    + _PROSE.format(
        what="what it is about, who they are, what they have decided, what they plan and care about",
        notes=("Ines: I bring the tents.", "Jan: We leave in May.", "Jan: I drive the bus."),
        sentences=("They leave in May.", "Ines brings the tents, and Jan drives the bus."),
    )
)
OF_LEGACY = (
    "You are given the name of a person who is remembered, and numbered notes about them. Write a portrait of that "
    "person, by name or as she or he, never as if they spoke,"
    + _PROSE.format(
        what="who they were, whom they lived with, what they did, what they cared about",
        notes=("Ines had a boat.", "Ines was born in Graz.", "She taught maths."),
        sentences=("Ines was born in Graz.", "She taught maths and had a boat."),
    )
)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, of whom only their own personal memories tell."""

    user_id: int

    @property
    def key(self) -> dict[str, int]:
        """Return the column of a portrait that names it."""
        return {"user_id": self.user_id}

    def lock(self) -> None:
        """Lock the subject against concurrent requests. Raises NotFound."""
        _lock(select(User.user_id).where(User.user_id == self.user_id), "There is no such account.")

    def is_on(self) -> bool:
        """Return whether a portrait is wanted."""
        return memory_is_enabled(self.user_id)

    def memories(self) -> list[KnownItem]:
        """Return the memories that a portrait is made from, the most telling first."""
        return context_memories(self.user_id)[:MAX_MEMORIES]

    def in_use(self) -> Select[Memory]:
        """Return the memories that a sentence may rest on."""
        return visible(self.user_id).where(Memory.space_id.is_(None), *IN_USE)

    def describe(self) -> tuple[str, str]:
        """Return the instructions for the model, and the name it is told besides the notes, if any."""
        return OF_PERSON, ""

    def lock_sources(self, sentences: Sentences) -> Sentences:
        """Lock what sentences rest on, so that nothing of it is forgotten; return those not forgotten already."""
        versions.begin_change(self.user_id)
        return _hold_memories(sentences)


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a space, of whom what they share there tells; in a legacy, of the person they remember."""

    space_id: int

    @property
    def key(self) -> dict[str, int]:
        return {"space_id": self.space_id}

    def lock(self) -> None:
        _lock(select(Space.space_id).where(Space.space_id == self.space_id), "There is no such space.")

    def is_on(self) -> bool:
        return bool(db.session.scalar(select(Space.has_portrait).where(Space.space_id == self.space_id)))

    def memories(self) -> list[KnownItem]:
        shared = shared_memories(self.space_id, MAX_MEMORIES)
        willing = {author for author in {author for author, _ in shared} if memory_is_enabled(author)}
        memories = [item for author, item in shared if author in willing]
        return [replace(item, author="") for item in memories] if is_legacy(self.space_id) else memories

    def in_use(self) -> Select[Memory]:
        return select(Memory).where(shared_in([self.space_id]))

    def describe(self) -> tuple[str, str]:
        name = db.session.scalars(select(Space.name).where(Space.space_id == self.space_id)).one()
        return (OF_LEGACY, name) if is_legacy(self.space_id) else (OF_SPACE, "")

    def lock_sources(self, sentences: Sentences) -> Sentences:
        self.lock()
        return _hold_memories(sentences)


Subject = Person | Members
"""Whoever a portrait is of."""


def memory_is_enabled(user_id: int) -> bool:
    """Return true if a user is active and has memory switched on."""
    user = db.session.get(User, user_id)
    return user is not None and user.is_active and UserSettings.of(user.settings).memory_enabled


def _lock(statement: Select[int], unknown: str) -> None:
    require(db.session.scalar(statement.with_for_update()), unknown)


def memory_ids_of(sentences: Sentences) -> set[int]:
    """Return the ids of the memories that sentences rest on."""
    return {number for item in sentences for number, _ in item["memories"]}


def _hold_memories(sentences: Sentences) -> Sentences:
    """Lock the memories of the authors of sentences; return the sentences that none of them has had forgotten."""
    owners = select(Memory.memory_id, Memory.user_id).where(Memory.memory_id.in_(memory_ids_of(sentences)))
    authors = dict(db.session.execute(owners).all())
    for user_id in sorted(set(authors.values())):  # in order, as when a space ends
        versions.lock(user_id)
    tombstones = {user_id: tombstone_set(user_id) for user_id in set(authors.values())}

    def is_forgotten(item: dict[str, Any]) -> bool:
        author_ids = {authors[number] for number, _ in item["memories"] if number in authors}
        return any(tombstones[user_id].forbids(item["text"], quote=item["text"]) for user_id in author_ids)

    return [item for item in sentences if not is_forgotten(item)]
