"""Summaries of summaries: made at night, level by level, each once; not of what was changed or forgotten meanwhile."""

import pytest
from sqlalchemy import select

from tests.memories.conversing import converse
from webapp.background import job_specs
from webapp.conversations.models import Conversation
from webapp.db.base import db, write_transaction
from webapp.llm.errors import ModelError
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.memories.store import forgetting
from webapp.retrieval.models import ConversationChunk
from webapp.retrieval.service import search
from webapp.summaries import overviews, service


@pytest.fixture
def talk(app, user) -> int:
    """A conversation with 24 summaries of 20 messages each."""
    talk = converse(app, user.user_id, "Hello")
    add_chunks(app, user.user_id, talk, range(24))
    return talk


def add_chunks(app, user_id: int, talk: int, numbers) -> None:
    with app.app_context(), write_transaction():
        for n in numbers:
            where = {"conversation_id": talk, "user_id": user_id}
            ends = {"message_range_start": n * 20 + 1, "message_range_end": n * 20 + 20}
            db.session.add(ConversationChunk(**where, **ends, content=f"In part {n} they spoke of the boat Ida{n}."))


def levels(app, talk: int) -> dict[int, list[tuple[int, int]]]:
    with app.app_context():
        found: dict[int, list[tuple[int, int]]] = {}
        for row in service.chunks_of(talk):
            found.setdefault(row.level, []).append((row.message_range_start, row.message_range_end))
        return found


def nightly(app, run_jobs) -> None:
    job_specs.push(app.extensions["redis"], job_specs.JobRequest("overviews"))
    run_jobs()


def test_the_oldest_ten_get_one_and_the_night_after_changes_nothing(app, user, model, talk, run_jobs):
    model.script(match="conversation_summary", structured={"summary": "They spoke of boats."})
    nightly(app, run_jobs)
    assert levels(app, talk)[1] == [(1, 200)]
    calls = len(model.calls())
    nightly(app, run_jobs)
    assert levels(app, talk)[1] == [(1, 200)] and len(model.calls()) == calls
    # The names that the answer lost are put back, it is not searched, and what is closed stays closed.
    with app.app_context():
        text = db.session.scalar(select(ConversationChunk.content).where(ConversationChunk.level == 1))
        assert "Ida0" in text and len(text) < sum(len(f"In part {n} they spoke of the boat Ida{n}.") for n in range(10))
        assert service.closed_through(talk) == 480
        assert not [found for found in search(user.user_id, "spoke of boats").items if "They spoke" in found.content]


def test_a_very_long_one_gets_overviews_of_overviews(app, user, model, run_jobs):
    talk = converse(app, user.user_id, "Hello")
    add_chunks(app, user.user_id, talk, range(210))
    model.script(match="conversation_summary", structured={"summary": "They spoke of boats."})
    nightly(app, run_jobs)
    found = levels(app, talk)
    assert len(found[1]) == 20 and found[1][-1] == (3_801, 4_000)
    assert found[2] == [(1, 2_000)]


def test_one_that_dies_midway_leaves_nothing_and_is_made_the_next_time(app, user, model, talk):
    model.script(match="conversation_summary", structured={"summary": "x"}, fault={"http_status": 500, "body": "no"})
    with app.app_context(), pytest.raises(ModelError):
        overviews.make_overview(talk)
    assert 1 not in levels(app, talk)
    model.script(match="conversation_summary", structured={"summary": "They spoke of boats."})
    with app.app_context():
        assert overviews.make_overview(talk) and not overviews.make_overview(talk)


def test_two_at_once_make_one(app, user, model, talk, monkeypatch):
    model.script(match="conversation_summary", structured={"summary": "They spoke of boats."})
    ask, inner = overviews.ask, []

    def another_meanwhile(*args, **wishes):
        if not inner:
            inner.append(True)
            inner.append(overviews.make_overview(talk))
        return ask(*args, **wishes)

    monkeypatch.setattr(overviews, "ask", another_meanwhile)
    with app.app_context():
        assert not overviews.make_overview(talk)
    assert inner == [True, True] and levels(app, talk)[1] == [(1, 200)]


def test_what_is_forgotten_while_the_model_writes_is_not_told(app, user, model, talk, monkeypatch):
    with app.app_context(), write_transaction():
        fact = MemoryFields(memory_type="fact", content="The boat Ida3 sank in May")
        memory_id = create_memory(user.user_id, fact).memory_id
    model.script(match="conversation_summary", structured={"summary": "The boat Ida3 sank in May."})
    ask = overviews.ask

    def forgotten_meanwhile(*args, **wishes):
        answer = ask(*args, **wishes)
        with write_transaction():
            forgetting.forget(user.user_id, [memory_id])
        return answer

    monkeypatch.setattr(overviews, "ask", forgotten_meanwhile)
    with app.app_context():
        assert not overviews.make_overview(talk)
    assert 1 not in levels(app, talk)


def test_forgetting_reaches_overviews_and_changed_messages_take_them_away(app, user, model, talk):
    model.script(match="conversation_summary", structured={"summary": "They spoke. The boat Ida3 sank in May."})
    with app.app_context():
        overviews.make_overview(talk)
        with write_transaction():
            fact = MemoryFields(memory_type="fact", content="The boat Ida3 sank in May")
            memory_id = create_memory(user.user_id, fact).memory_id
        with write_transaction():
            forgetting.forget(user.user_id, [memory_id])
        text = db.session.scalar(select(ConversationChunk.content).where(ConversationChunk.level == 1))
        assert "sank" not in text
        with write_transaction():
            service._messages_changed(None, conversation=db.session.get(Conversation, talk), first_id=150)
    assert levels(app, talk) == {0: [(n * 20 + 1, n * 20 + 20) for n in range(7)]}
