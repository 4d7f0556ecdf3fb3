"""What is owed is what has no vector: nothing that ends while others are embedded is passed over."""

from typing import Any

import numpy as np
import pytest

from tests.support.dialogue import START, write_dialogue
from webapp.background import time_slices
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, write_transaction
from webapp.llm.errors import ModelError
from webapp.memories import service
from webapp.memories.models import Memory, MemoryChangeSet
from webapp.memories.schemas import MemoryFields
from webapp.memories.store import versions
from webapp.memories.store.journal import Journal, statement_hash
from webapp.retrieval import stored_vectors, vector_jobs
from webapp.retrieval.models import MessageEmbedding
from webapp.retrieval.service import search
from webapp.text.message_pieces import pieces_of


class Slow:
    """An embedder that lets something happen while it works."""

    model = "slow"

    def __init__(self, meanwhile: Any) -> None:
        self._meanwhile = meanwhile

    def embed_passages(self, texts: list[str]) -> np.ndarray:
        if self._meanwhile:
            self._meanwhile.pop()()
        return np.ones((len(texts), 4), np.float32)


@pytest.fixture
def due(app_context, user):
    """`due(lines, *more)`: a conversation whose vectors are owed, and what is in it besides: its id, and theirs."""

    def make(lines, *more: tuple[str, str, str]) -> tuple[int, list[int]]:
        talk, ids = write_dialogue(user.user_id, lines, START).conversation_id, []
        for role, content, status in more:
            row = add_row(Message(conversation_id=talk, role=role, content=content, status=status))
            ids.append(row.message_id)
        db.session.get(Conversation, talk).index_due = True
        db.session.commit()
        return talk, ids

    return make


def is_due(talk: int) -> bool:
    return db.session.get(Conversation, talk, populate_existing=True).index_due


BOATS = [("user", "I paint boats"), ("assistant", "Nice.")]


def embedded_ids() -> set[int]:
    return set(db.session.scalars(db.select(MessageEmbedding.message_id)))


def test_a_reply_that_ends_while_the_embedder_works_is_indexed(due, user, monkeypatch):
    talk, _ = due(BOATS)
    late: list[int] = []

    def ends() -> None:
        with write_transaction():
            row = add_row(Message(conversation_id=talk, role="assistant", content="In Hvar?", status="complete"))
            late.append(row.message_id)
            db.session.get(Conversation, talk).index_due = True

    monkeypatch.setattr(vector_jobs, "embedder", lambda: Slow([ends]))
    vector_jobs.index_user(user.user_id)
    assert late[0] in embedded_ids() and not is_due(talk)


def test_a_long_backlog_is_done_in_runs_that_let_others_in_between(due, user, monkeypatch):
    monkeypatch.setattr(time_slices, "MANY", 10)
    for lines in ([("user", f"I paint boat {number}") for number in range(20)], *[BOATS] * 10):
        due(lines)
    monkeypatch.setattr(vector_jobs, "embedder", lambda: Slow([]))
    monkeypatch.setattr(time_slices, "SECONDS", 0)
    made = []
    while not made or made[-1].has_more:
        made.append(vector_jobs.index_user(user.user_id))
        assert made[-1].messages <= time_slices.MANY
    assert sum(done.messages for done in made) == 40


def test_a_message_of_many_runs_goes_on_where_the_last_one_came_to(due, user, monkeypatch):
    monkeypatch.setattr(time_slices, "SECONDS", 0)
    monkeypatch.setattr(time_slices, "FEW", 10)
    text = " ".join(f"Line {number} of the log says that boat {number} was painted." for number in range(400))
    talk, _ = due([("user", "Look:"), ("user", text), ("user", "What do you think?")])
    asked: list[str] = []

    class Failing(Slow):
        def embed_passages(self, texts: list[str]) -> np.ndarray:
            if len(asked) > 20 and not failed:
                failed.append(True)
                raise ModelError
            asked.extend(texts)
            return super().embed_passages(texts)

    failed: list[bool] = []
    cut: list[str] = []
    monkeypatch.setattr(stored_vectors, "pieces_of", lambda content: cut.append(content) or pieces_of(content))
    monkeypatch.setattr(vector_jobs, "BATCH_CHARS", 1_000)
    monkeypatch.setattr(vector_jobs, "embedder", lambda: Failing([]))
    runs, more = 0, True
    while more:
        runs += 1
        try:
            more = vector_jobs.index_user(user.user_id).has_more
        except ModelError:
            more = True
    pieces = pieces_of(text)
    assert failed
    assert len(pieces) > 20
    assert len(asked) == len(set(asked)), "nothing is made twice"
    assert set(asked) == {"Look:", "What do you think?", "Noted.", *(text[piece.start : piece.end] for piece in pieces)}
    assert runs > len(pieces) // 10 + 1
    assert cut.count(text) == 1, "nor is it cut anew in each"
    stored = db.session.execute(
        db.select(MessageEmbedding.piece, MessageEmbedding.from_char, MessageEmbedding.to_char)
        .where(MessageEmbedding.piece > 0)
        .order_by(MessageEmbedding.piece)
    ).all()
    assert [tuple(row) for row in stored] == [(n, *piece) for n, piece in enumerate(pieces)][1:]
    assert not is_due(talk)
    assert search(user.user_id, "boat 17", kinds=("message",)).items


def test_a_reply_still_being_written_keeps_nobody_busy(due, user, monkeypatch):
    """It is owed when it ends, and not before."""
    talk, ids = due(BOATS, ("assistant", "In H", "streaming"))
    monkeypatch.setattr(vector_jobs, "embedder", lambda: Slow([]))
    assert vector_jobs.index_user(user.user_id).messages == 2
    assert embedded_ids().isdisjoint(ids) and not is_due(talk)


def choose_new(chosen: list[Slow]) -> None:
    """Choose another model: the one that is asked from now on."""
    chosen.append(Slow([]))
    chosen[-1].model = "new"
    with write_transaction():
        stored_vectors.request_all_vectors()


def test_a_model_that_is_chosen_while_a_message_is_indexed_is_owed_its_vectors(app_context, user, monkeypatch):
    write_dialogue(user.user_id, BOATS, START)
    chosen = [Slow([])]
    chosen[0]._meanwhile = [lambda: choose_new(chosen)]
    monkeypatch.setattr(vector_jobs, "embedder", lambda: chosen[-1])
    while vector_jobs.index_user(user.user_id).has_more:
        pass
    assert set(db.session.scalars(db.select(MessageEmbedding.model))) == {"new"}


@pytest.mark.timeout(60)
def test_what_stands_behind_a_reply_being_written_waits_for_it(due, user, monkeypatch):
    """A process that died left a reply open, and its person wrote on: the job went round for ever, and the sweep that
    would have ended the reply waited for it."""
    talk, ids = due(BOATS, ("assistant", "", "streaming"), ("user", "And ships", "complete"))
    monkeypatch.setattr(vector_jobs, "embedder", lambda: Slow([]))
    assert vector_jobs.index_user(user.user_id).messages == 2
    assert vector_jobs.index_user(user.user_id).messages == 0
    assert embedded_ids().isdisjoint(ids) and is_due(talk)
    row = db.session.get(Message, ids[0])
    row.status, row.content = "interrupted", "In H"
    db.session.commit()
    assert vector_jobs.index_user(user.user_id).messages == 2
    assert set(ids) <= embedded_ids() and not is_due(talk)


def remember(user_id: int, content: str) -> int:
    with write_transaction():
        return service.create_memory(user_id, MemoryFields(memory_type="fact", content=content)).memory_id


def made_by() -> set[str | None]:
    return set(db.session.scalars(db.select(Memory.embedding_model)))


def test_what_a_tool_adds_to_a_change_set_that_was_looked_at_gets_its_vector(app_context, user, monkeypatch):
    monkeypatch.setattr(vector_jobs, "embedder", lambda: Slow([]))
    remember(user.user_id, "Plays the oboe.")
    vector_jobs.index_user(user.user_id)
    with write_transaction():
        versions.begin_change(user.user_id)
        first = db.session.scalars(db.select(MemoryChangeSet)).one()
        said = "Sings in a choir."
        late = add_row(
            Memory(user_id=user.user_id, memory_type="fact", content=said, statement_hash=statement_hash(said))
        )
        journal = Journal(user.user_id, "tool", continued=first)
        journal.record_creation(late)
        journal.close({"added": 1})
    assert user.user_id in stored_vectors.users_awaiting_vectors()
    assert vector_jobs.index_user(user.user_id).memories == 1
    assert made_by() == {"slow"}


def test_a_model_that_is_chosen_while_another_works_is_still_owed_its_vectors(app_context, user, monkeypatch):
    chosen = [Slow([])]
    monkeypatch.setattr(vector_jobs, "embedder", lambda: chosen[-1])
    for content in ("Plays the oboe.", "Sings in a choir."):
        remember(user.user_id, content)
        chosen[-1]._meanwhile = [lambda: choose_new(chosen)]
        vector_jobs.index_user(user.user_id)
        assert made_by() - {"new"}
        vector_jobs.index_user(user.user_id)
        assert made_by() == {"new"}
        chosen[-1].model = "old"
