"""No mark of how far a job has read passes what was not finished yet, whenever that began: in each gap of the job."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from flask import Flask
from sqlalchemy import func, select

from testkit.people import Person
from tests.support.dialogue import START, write_dialogue
from tests.support.interleaving import in_each_gap
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.service import get_conversation
from webapp.db.base import add_row, db, write_transaction
from webapp.digests import generation as digests, service as digest_service
from webapp.memories.learning import extraction
from webapp.memories.models import Memory, MemoryChangeSet
from webapp.memories.store import versions
from webapp.memories.store.journal import Journal
from webapp.retrieval import vector_jobs
from webapp.retrieval.cache import index_cache
from webapp.retrieval.models import ConversationChunk, MessageEmbedding
from webapp.spaces import documents
from webapp.spaces.models import SpaceDocument
from webapp.spaces.originals import queue_outdated_documents
from webapp.summaries import service as summaries

pytestmark = pytest.mark.mysql_only  # SQLite has one writer


class Talk:
    """A conversation in which another question is asked while a job reads it, and answered after that."""

    def __init__(self, user_id: int, lines: int = 2) -> None:
        said = [("user", f"I paint boat {n}") if n % 2 == 0 else ("assistant", f"Nice, {n}.") for n in range(lines)]
        self.user_id = user_id
        self.id = write_dialogue(user_id, said, START).conversation_id
        db.session.remove()

    def is_asked(self) -> None:
        with write_transaction():
            row = get_conversation(self.user_id, self.id, lock=True)
            messages.add_exchange(row, "And in Hvar?", parent_id=messages.last_message_id(self.id))

    def is_answered(self) -> None:
        with write_transaction():
            reply = db.session.scalar(
                select(func.max(Message.message_id)).where(
                    Message.conversation_id == self.id, Message.status == "streaming"
                )
            )
            finish_turn(reply, Outcome("complete", "There too."))
        db.session.remove()


@pytest.fixture
def talks(app_context: Flask, user: Person) -> list[Talk]:
    """Those begun so far."""
    return []


def gaps(app: Flask, user: Person, talks: list[Talk], job: Callable[[Talk], object], lines: int = 2):
    """Each gap of a job about a conversation, with a question asked in it, and answered after the job."""

    def prepare() -> Callable[[], None]:
        talks.append(Talk(user.user_id, lines))
        return lambda: job(talks[-1])

    def ask() -> None:
        talks[-1].is_asked()

    for gap in in_each_gap(app, prepare, ask):
        talks[-1].is_answered()
        yield gap


def test_every_message_gets_its_vectors(app_context, user, talks):
    for gap in gaps(app_context, user, talks, lambda talk: vector_jobs.index_user(user.user_id)):
        vector_jobs.index_user(user.user_id)
        rows = db.session.execute(
            select(Message.content, MessageEmbedding.model)
            .outerjoin(MessageEmbedding, MessageEmbedding.message_id == Message.message_id)
            .where(Message.conversation_id == talks[-1].id)
        ).all()
        assert len(rows) == 4
        assert not [row.content for row in rows if row.model is None], f"gap {gap.number}"
        assert not db.session.get(Conversation, talks[-1].id, populate_existing=True).index_due
        db.session.remove()


def test_every_summary_gets_its_vector(app_context, user, talks):
    def prepare() -> Callable[[], object]:
        talks.append(Talk(user.user_id))
        return lambda: vector_jobs.index_user(user.user_id)

    def summary_comes() -> None:
        """As a restore brings it."""
        with write_transaction():
            row = get_conversation(user.user_id, talks[-1].id, lock=True)
            row.index_due = True
            of = {"conversation_id": row.conversation_id, "user_id": user.user_id}
            db.session.add(ConversationChunk(**of, content="Boats.", message_range_start=1, message_range_end=2))

    for gap in in_each_gap(app_context, prepare, summary_comes):
        vector_jobs.index_user(user.user_id)
        (chunk,) = db.session.scalars(select(ConversationChunk).filter_by(conversation_id=talks[-1].id))
        assert chunk.embedding_model, f"gap {gap.number}"
        assert not db.session.get(Conversation, talks[-1].id, populate_existing=True).index_due
        db.session.remove()


def test_every_message_is_read_for_memories(app_context, user, model, talks):
    model.script(match="memory_operations", structured={"statements": []})
    for gap in gaps(app_context, user, talks, lambda talk: extraction.extract(talk.id)):
        extraction.extract(talks[-1].id)
        row = db.session.get(Conversation, talks[-1].id, populate_existing=True)
        asked = db.session.scalar(select(func.max(Message.message_id)).where(Message.content == "And in Hvar?"))
        assert not row.extraction_due and row.extracted_through >= asked, f"gap {gap.number}"
        shown = [str(call) for call in model.calls() if "And in Hvar?" in str(call)]
        assert len(shown) > gap.number, f"gap {gap.number}"
        db.session.remove()


def test_no_summary_stands_for_what_it_was_not_shown(app_context, user, model, talks, monkeypatch):
    shown: list[str] = []
    closed = 0
    early = app_context.extensions["settings"].model_copy(update={"summary_threshold": 4})
    monkeypatch.setitem(app_context.extensions, "settings", early)

    def ask(said, *_args, **_options):
        shown.extend(item.content for item in said)
        return SimpleNamespace(summary="Boats."), "a model"

    monkeypatch.setattr(summaries, "ask", ask)
    for gap in gaps(app_context, user, talks, lambda talk: summaries.summarise(talk.id), lines=6):
        while summaries.summarise(talks[-1].id):
            pass
        closed = summaries.closed_through(talks[-1].id)
        covered = select(Message.content).where(Message.conversation_id == talks[-1].id, Message.message_id <= closed)
        assert set(db.session.scalars(covered)) <= set(shown), f"gap {gap.number}"
        shown.clear()
        db.session.remove()
    assert closed


def test_a_digest_that_was_not_shown_a_reply_is_stale(app_context, user, model, talks):
    data = {"main_topics": ["boats"], "action": [], "typical_observation": ""}
    model.script(match="conversation_digest", structured=data)
    for gap in gaps(app_context, user, talks, lambda talk: digests.generate(talk.id)):
        row = db.session.get(Conversation, talks[-1].id, populate_existing=True)
        assert digest_service.is_stale(digest_service.get_digest(talks[-1].id), row), f"gap {gap.number}"
        db.session.remove()


def test_an_index_finds_what_a_turn_adds_to_its_changes(app_context, user):
    """The second memory of a turn is in the change set of the first, which the index had seen."""

    def note(content: str, continued: MemoryChangeSet | None) -> int:
        with write_transaction():
            versions.begin_change(user.user_id)
            said = add_row(Memory(user_id=user.user_id, memory_type="fact", content=content, statement_hash=""))
            journal = Journal(user.user_id, "tool", continued=continued)
            journal.record_creation(said)
            journal.close({"added": 1})
            return said.memory_id

    note("Plays the oboe.", None)
    before = index_cache().get(user.user_id, 20)
    made = db.session.scalars(select(MemoryChangeSet)).one()
    late = note("Sings in a choir.", made)
    after = index_cache().get(user.user_id, 20)
    assert after is before and ("memory", late) in after.index
    db.session.remove()


def test_a_document_queued_again_while_it_is_indexed_stays_owed(app_context, user, client, run_jobs):
    space = client.post("/api/spaces", json={"kind": "project", "name": "Mill"}).get_json()["space_id"]
    made: list[int] = []

    def prepare() -> Callable[[], None]:
        body = {"title": "Bees", "content": "The hives stand behind the mill."}
        made.append(client.post(f"/api/spaces/{space}/documents", json=body).get_json()["document_id"])
        return lambda: documents.index_document(made[-1])

    def status() -> str:
        return db.session.scalar(select(SpaceDocument.status).where(SpaceDocument.document_id == made[-1]))

    def owe() -> None:
        before = status()
        with write_transaction():
            queue_outdated_documents("another model")
        is_owed.append(before != "queued" and status() == "queued")

    is_owed: list[bool] = []
    for gap in in_each_gap(app_context, prepare, owe):
        assert status() == "queued" or not is_owed[-1], f"gap {gap.number}"
        db.session.remove()
    assert any(is_owed)
