"""Nobody finds, reads or is shown what is not theirs: random owners and spaces, by search, by id and on receipts."""

import random

import pytest
from sqlalchemy import select

from tests.support.dialogue import START, add_turn, write_dialogue
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.service import hide_conversation, unhide_conversation
from webapp.db.base import db, write_transaction
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import archive_memory, create_memory
from webapp.memories.store import forgetting
from webapp.retrieval import receipts
from webapp.retrieval.cache import IndexCache
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.lookup import Question, retrieve, scope_of
from webapp.retrieval.passages import ReceiptItem
from webapp.retrieval.service import search

WORDS = ["harbour", "violet", "engine", "marzipan", "lantern", "glacier"]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_whatever_people_do_each_finds_only_their_own(app, make_user, seed, run_jobs):
    """Random talk, memories, hiding, forgetting, archiving and regenerating; two processes' caches follow it all."""
    rng = random.Random(seed)
    people = [make_user().user_id for _ in range(3)]
    talks: list[tuple[int, int]] = []
    caches = [IndexCache(app, 2**20), app.extensions["index_cache"]]
    with app.app_context():
        for step in range(28):
            user_id = rng.choice(people)
            _act(rng, user_id, talks)
            if step % 9 == 0:
                db.session.rollback()
                run_jobs()
            asker = rng.choice(people)
            query = " ".join(rng.sample(WORDS, 2))
            for cache in caches:
                app.extensions["index_cache"] = cache
                found = search(asker, query, limit=100).items
                found += retrieve(Question(asker, query), 5).items
                _check(asker, [item.key for item in found])
                allowed = _allowed_passages(asker)
                wanted = {key for key, text in allowed.items() if any(word in text.split() for word in query.split())}
                assert wanted <= {item.key for item in found}
            db.session.rollback()
        for asker in people:  # by id: everything there is, asked for by everybody
            everything = {("memory", n) for n in db.session.scalars(select(Memory.memory_id))}
            everything |= {("message", n) for n in db.session.scalars(select(Message.message_id))}
            assert load_passages(everything, scope_of(asker)).keys() == _allowed_passages(asker).keys()


def _act(rng: random.Random, user_id: int, talks: list[tuple[int, int]]) -> None:
    mine = [number for owner, number in talks if owner == user_id]
    said = " ".join(rng.sample(WORDS, 3))
    action = rng.random()
    if action < 0.35 or not mine:
        temporary = rng.random() < 0.2
        talk = write_dialogue(user_id, [("user", said), ("assistant", "Noted")], START, is_temporary=temporary)
        talks.append((user_id, talk.conversation_id))
    elif action < 0.5:
        with write_transaction():
            create_memory(user_id, MemoryFields(memory_type="fact", content=said))
    elif action < 0.65:
        add_turn(user_id, rng.choice(mine), said, "Noted")
    elif action < 0.75:
        ids = db.session.scalars(select(Memory.memory_id).where(Memory.user_id == user_id)).all()
        if ids:
            with write_transaction():
                if rng.random() < 0.5:
                    forgetting.forget(user_id, [rng.choice(ids)])
                else:
                    archive_memory(user_id, rng.choice(ids), rng.random() < 0.7)
    elif action < 0.9:
        with write_transaction():
            number = rng.choice(mine)
            change = unhide_conversation if rng.random() < 0.4 else hide_conversation
            row = db.session.get(Conversation, number)
            if row.deleted_at is None or change is unhide_conversation:
                change(user_id, number)
    else:
        _edit(rng.choice(mine), said)


def _edit(conversation_id: int, said: str) -> None:
    with write_transaction():
        conversation = db.session.get(Conversation, conversation_id)
        rows = [row for row in messages.current_messages(conversation_id) if row.role == "user"]
        asked, reply = messages.add_exchange(conversation, said, parent_id=rows[-1].parent_id)
        reply.status, reply.content = "complete", "Noted"
        messages.supersede_from(conversation, rows[-1].message_id, asked, keep=[reply.message_id])


def _allowed_passages(user_id: int) -> dict[tuple[str, int], str]:
    """What a user may find, said once more in plain terms."""
    db.session.rollback()
    found = {}
    for row in db.session.scalars(select(Memory).where(Memory.user_id == user_id)):
        if not row.is_archived and not row.needs_review and row.valid_to is None:
            found["memory", row.memory_id] = row.content
    for row, conversation in db.session.execute(
        select(Message, Conversation).join(Conversation, Conversation.conversation_id == Message.conversation_id)
    ):
        if (
            conversation.user_id == user_id
            and conversation.deleted_at is None
            and not conversation.is_temporary
            and row.superseded_by_id is None
            and row.content
        ):
            found["message", row.message_id] = row.content
    return found


def _check(user_id: int, found: list[tuple[str, int]]) -> None:
    assert set(found) <= _allowed_passages(user_id).keys()


def test_a_receipt_shows_nothing_of_others_even_if_it_names_it(app, make_user):
    mine, theirs = make_user().user_id, make_user().user_id
    with app.app_context():
        talk = write_dialogue(mine, [("user", "mine"), ("assistant", "ok")], START)
        other = write_dialogue(theirs, [("user", "a secret"), ("assistant", "ok")], START)
        with write_transaction():
            memory = create_memory(theirs, MemoryFields(memory_type="fact", content="another secret"))
            items = [
                ReceiptItem(kind, number, 1, "retrieved", rank, 1.0, "words", True)
                for rank, (kind, number) in enumerate([("message", other.ids[0]), ("memory", memory.memory_id)], 1)
            ]
            receipts.store(talk.ids[1], items)
        lines = receipts.receipt_of(mine, talk.ids[1])
        assert [(line.state, line.content) for line in lines] == [("gone", None), ("gone", None)]
