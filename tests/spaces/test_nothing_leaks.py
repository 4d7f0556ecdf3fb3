"""Whatever people do with spaces, memberships, facts and documents: nobody is ever given what they may not see."""

import json
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sqlalchemy import select

from testkit.people import make_person
from tests.memories.keeping.test_no_trace import cells, in_redis
from tests.support.tables import empty_tables
from webapp.accounts import deletion
from webapp.accounts.models import AccountDeletion
from webapp.accounts.service import delete_user
from webapp.background.time_slices import ENDLESS
from webapp.chat import service as chat
from webapp.chat.context.assembly import assemble
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import db, now, write_transaction
from webapp.errors import DomainError, NotFound
from webapp.legacies import facts
from webapp.memories import service as memories
from webapp.retrieval import receipts
from webapp.retrieval.cache import index_cache
from webapp.retrieval.models import ConversationChunk
from webapp.retrieval.service import search
from webapp.spaces import documents, members, service as spaces
from webapp.spaces.models import SpaceMember
from webapp.spaces.schemas import NewSpace
from webapp.transfer import account_erasure

PEOPLE, SPACES = 3, 2
ASKED = "What about the lighthouse?"


@dataclass
class Told:
    """A fact or document with a word of its own; `owner` None for a document."""

    id: int
    word: str
    space: int | None
    owner: int | None = None
    shared: bool = True

    @property
    def content(self) -> str:
        return f"The lighthouse {self.word}"


@dataclass
class World:
    """What is true, kept beside the application in the plainest way."""

    app: object
    people: list[int]
    spaces: list[int]
    members: dict[int, set[int]]
    facts: list[Told] = field(default_factory=list)
    documents: list[Told] = field(default_factory=list)
    turns: list[tuple[int, int]] = field(default_factory=list)
    told: set[tuple[int, str]] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    words: int = 0

    def owner(self, space: int) -> int | None:
        """Who owns a space, of whom the application decides when an account goes."""
        owned = select(SpaceMember.user_id).where(SpaceMember.space_id == space, SpaceMember.role == "owner")
        return db.session.scalar(owned)

    def word(self) -> str:
        self.words += 1
        return f"zq{self.words}qz"

    def may_read(self, reader: int, told: Told) -> bool:
        return told.owner == reader or (told.shared and reader in self.members.get(told.space, set()))

    def readable(self, reader: int, space: int | None = None) -> set[str]:
        return {
            told.word
            for told in (*self.facts, *self.documents)
            if self.may_read(reader, told) and space in (None, told.space)
        }

    def take_back(self, word: str, owner: int) -> None:
        """Whom a reply told a word while they could read it keeps that reply, until its owner takes it back."""
        self.told = {(person, told) for person, told in self.told if told != word or person == owner}

    def unreadable(self, text: str, reader: int, space: int | None = None) -> set[str]:
        """The words in a text that the reader may not see, of facts and documents that are gone too."""
        allowed = self.readable(reader, space) | {word for person, word in self.told if person == reader}
        return {f"zq{n}qz" for n in range(1, self.words + 1) if f"zq{n}qz" in text} - allowed


def join(world: World, who: int, space: int) -> None:
    person, place = world.people[who], world.spaces[space]
    owner = world.owner(place)
    if owner is None or person in world.gone or person in world.members[place]:
        return
    with write_transaction():
        members.invite(owner, place, f"person{who}@example.org")
    with write_transaction():
        members.accept(person, place)
    world.members[place].add(person)


def leave(world: World, who: int, space: int, is_removed: bool) -> None:
    person, place = world.people[who], world.spaces[space]
    if person == (owner := world.owner(place)) or person not in world.members[place]:
        return
    with write_transaction():
        members.remove(owner if is_removed else person, place, person)
    take_along(world, person, place)


def replies() -> list[tuple[int, str]]:
    """Every reply and whose it is."""
    of = Message.conversation_id == Conversation.conversation_id
    told = select(Conversation.user_id, Message.content).join(Message, of).where(Message.role == "assistant")
    return [(owner, text) for owner, text in db.session.execute(told)]


def take_along(world: World, person: int, place: int) -> None:
    world.members[place].discard(person)
    for told in world.facts:
        if told.owner == person and told.space == place:
            told.space, told.shared = None, False
            world.take_back(told.word, person)


def close(world: World, who: int, way: str) -> None:
    """The account is deleted: at once, by a job as it is large, or after its time to think."""
    person = world.people[who]
    if person in world.gone:
        return
    mine = {told.word for told in world.facts if told.owner == person}
    told = sum(teller != person and any(word in text for word in mine) for teller, text in replies())
    if way == "at once":
        with write_transaction():
            delete_user(person)
    else:
        with write_transaction(), patch.object(deletion, "SMALL_ACCOUNT", -1):
            if way == "large":
                deletion.delete_now(person)
            else:
                db.session.add(AccountDeletion(user_id=person, secret_hash=str(person), due_at=now()))
        assert account_erasure.delete_account(person, seconds=ENDLESS) == "done"
        report = db.session.scalars(select(AccountDeletion.report).where(AccountDeletion.user_id == person)).one()
        assert report["left"] == {}
        assert report["replies_of_others"] == told
    world.gone.add(person)
    for place in world.spaces:
        take_along(world, person, place)
        if not world.members[place]:
            world.documents = [told for told in world.documents if told.space != place]
    world.lost |= mine
    world.facts = [told for told in world.facts if told.owner != person]
    world.turns = [turn for turn in world.turns if turn[0] != person]


def add(world: World, who: int, space: int, shared: bool) -> None:
    person, place, word = world.people[who], world.spaces[space], world.word()
    if person in world.gone:
        return
    if person not in world.members[place]:
        with pytest.raises(NotFound), write_transaction():
            facts.add_fact(person, place, "hobby", f"The lighthouse {word}", shared=shared)
        return
    with write_transaction():
        fact = facts.add_fact(person, place, "hobby", f"The lighthouse {word}", shared=shared)
        world.facts.append(Told(fact.memory.memory_id, word, place, person, shared))


def toggle(world: World, who: int, which: int) -> None:
    if not world.facts:
        return
    told, person = world.facts[which % len(world.facts)], world.people[who]
    if person in world.gone:
        return
    wanted = "private" if told.shared else "shared"
    try:
        with write_transaction():
            facts.set_visibility(person, told.id, wanted)
    except NotFound:
        assert told.owner != person or told.space is None
        return
    assert told.owner == person
    told.shared = not told.shared
    if not told.shared:
        world.take_back(told.word, person)


def forget(world: World, who: int, which: int) -> None:
    if not world.facts:
        return
    told, person = world.facts[which % len(world.facts)], world.people[who]
    if person in world.gone:
        return
    try:
        with write_transaction():
            facts.delete_fact(person, told.id)
    except NotFound:
        assert told.owner != person or told.space is None
        return
    assert told.owner == person
    world.facts.remove(told)
    world.told = {pair for pair in world.told if pair[1] != told.word}


def write(world: World, who: int, space: int) -> None:
    person, place, word = world.people[who], world.spaces[space], world.word()
    if person not in world.members[place]:
        return
    with write_transaction():
        made = documents.add_document(person, place, f"Lighthouse {word}", f"Lighthouse {word}")
    documents.index_document(made.document_id)
    world.documents.append(Told(made.document_id, word, place))


def tear(world: World, which: int) -> None:
    if not world.documents:
        return
    told = world.documents.pop(which % len(world.documents))
    with write_transaction():
        documents.delete_document(world.owner(told.space), told.space, told.id)


def talk(world: World, who: int, space: int | None) -> None:
    """A turn without its model: the prompt is checked and kept, as the runner does it."""
    person = world.people[who]
    place = world.spaces[space] if space is not None else None
    if person in world.gone:
        return
    try:
        with write_transaction():
            conversation = create_conversation(person, NewConversation(space_id=place))
            _, reply = messages.add_exchange(conversation, ASKED, parent_id=None)
            turn = reply.message_id
    except NotFound:
        assert person not in world.members[place]
        return
    made = assemble(turn, world.app.extensions["settings"])
    prompt = "\n".join(message["content"] for message in made.messages)
    assert not world.unreadable(prompt, person, place)
    if place is not None:
        known = {told.word for told in world.facts if told.space == place and world.may_read(person, told)}
        assert all(word in prompt for word in known), "what may be seen is there"
    told = " ".join(f"{fact.content}." for fact in world.facts if fact.word in prompt)
    world.told |= {(person, fact.word) for fact in world.facts if fact.word in prompt}
    with write_transaction():
        finish_turn(
            turn, Outcome("complete", f"{told} I see.", steps=[made.step], receipt=made.receipt, seen=made.seen)
        )
        ends = {"message_range_start": turn, "message_range_end": turn}
        chunk = {"conversation_id": conversation.conversation_id, "user_id": person, "space_id": place}
        db.session.add(ConversationChunk(**chunk, **ends, content=f"They spoke. {told}"))
    world.turns.append((person, turn))


def look(world: World) -> None:
    """Everything anybody can be shown, and everything that is stored."""
    kept_by = {told.word: told for told in world.facts}
    for owner, text in replies():
        for word in (f"zq{n}qz" for n in range(1, world.words + 1) if f"zq{n}qz" in text):
            told = kept_by[word]  # of nothing that was forgotten, or whose owner is gone
            assert told.owner == owner or told.shared
    db.session.rollback()  # after a request that writes, this thread's transactions keep others out on SQLite
    stored = "\n".join(str(value) for _, _, value, _ in cells(world.app))
    assert not {word for word in world.lost if word in stored}
    assert not world.lost or in_redis(world.app.extensions["redis"], "|".join(world.lost)) == set()
    for person in set(world.people) - world.gone:
        for place in world.spaces:
            inside = person in world.members[place]
            if inside:
                listed = {fact.memory.content.split()[-1] for fact in facts.list_facts(person, place)}
                assert listed == {
                    told.word for told in world.facts if told.space == place and world.may_read(person, told)
                }
                previewed = {fact.memory.content.split()[-1] for fact in facts.view_as_member(person, place)}
                assert previewed == {told.word for told in world.facts if told.space == place and told.shared}
            else:
                for view in (facts.list_facts, facts.view_as_member, members.list_members):
                    with pytest.raises(NotFound):
                        view(person, place)
        for told in world.facts:
            if world.may_read(person, told):
                assert told.word in memories.read_memory(person, told.id).content
            else:
                with pytest.raises(NotFound):
                    memories.read_memory(person, told.id)
        for told in world.documents:
            if not world.may_read(person, told):
                with pytest.raises(NotFound):
                    documents.text_of(person, told.space, told.id)
        found = " ".join(f"{item.content} {item.title} {item.source}" for item in search(person, "lighthouse").items)
        assert not world.unreadable(found, person)
    for person, turn in world.turns:
        kept = json.dumps([step.data for step in chat.pipeline_steps(person, turn)])
        kept += " ".join(f"{line.content} {line.title}" for line in receipts.receipt_of(person, turn))
        assert not world.unreadable(kept, person)
        for other in set(world.people) - {person} - world.gone:
            with pytest.raises(DomainError):
                receipts.receipt_of(other, turn)


who, where, which = st.integers(0, PEOPLE - 1), st.integers(0, SPACES - 1), st.integers(0, 9)
ACTS = st.one_of(
    st.tuples(st.just(join), who, where),
    st.tuples(st.just(leave), who, where, st.booleans()),
    st.tuples(st.just(close), who, st.sampled_from(["at once", "large", "after a while"])),
    st.tuples(st.just(add), who, where, st.booleans()),
    st.tuples(st.just(toggle), who, which),
    st.tuples(st.just(forget), who, which),
    st.tuples(st.just(write), who, where),
    st.tuples(st.just(tear), which),
    st.tuples(st.just(talk), who, st.none() | where),
)


@pytest.mark.parametrize("examples", [8, pytest.param(25, marks=pytest.mark.slow)])
def test_nobody_is_given_what_they_may_not_see(app, examples):
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.lists(ACTS, min_size=5, max_size=16))
    def check(acts):
        try:
            act_and_look(app, acts)
        finally:
            with app.app_context():
                db.session.remove()
                index_cache().drop()
                empty_tables(db.engine, db.metadata)

    check()


def act_and_look(app, acts):
    """Three people in two spaces do all this; then all is looked at."""
    people = [make_person(app, email=f"person{number}@example.org").user_id for number in range(PEOPLE)]
    with app.app_context():
        made = []
        for number in range(SPACES):
            with write_transaction():
                made.append(spaces.create_space(people[0], NewSpace(kind="legacy", name=f"Legacy {number}")).space_id)
        world = World(app, people, made, {place: {people[0]} for place in made})
        for person in (1, 2):
            join(world, person, 0)
        for act, *given_to in acts:
            act(world, *given_to)
            db.session.rollback()
        look(world)
        db.session.remove()
