"""Rolling summaries: one call a batch, all or nothing, and true to the messages they stand for."""

from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import select

from testkit.counting_client import CountingClient
from testkit.long_conversation import ask_about_facts, hold_conversation, mean
from tests.memories.conversing import answers, operation
from tests.support.dialogue import write_dialogue
from webapp.chat.context.assembly import AssembledPrompt, assemble
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.chat.turns.progress import Progress
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, write_transaction
from webapp.llm.errors import ModelError
from webapp.retrieval.models import ConversationChunk
from webapp.retrieval.service import search
from webapp.summaries import overviews, service

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
SUMMARY = "The user keeps bees near Porto and will harvest on 4 June 2026."


def lines(turns: int) -> list[tuple[str, str]]:
    return [line for n in range(turns) for line in (("user", f"Question {n}?"), ("assistant", f"Answer {n}."))]


def chunks(conversation_id: int) -> list[ConversationChunk]:
    db.session.rollback()
    found = select(ConversationChunk).where(ConversationChunk.conversation_id == conversation_id)
    return list(db.session.scalars(found.order_by(ConversationChunk.message_range_start)))


def script(model, **more) -> None:
    model.script(match="conversation_summary", structured={"summary": SUMMARY}, **more)


@pytest.fixture
def long_talk(app, user):
    """32 messages: two more than may be open."""
    with app.app_context():
        return write_dialogue(user.user_id, lines(16), AT)


def test_the_oldest_messages_become_a_chunk_with_a_vector_that_is_found(app, user, model, long_talk, run_jobs):
    script(model)
    with app.app_context():
        short = write_dialogue(user.user_id, lines(15), AT).conversation_id
        assert service.summarise(short) is None and chunks(short) == [], "up to the threshold nothing is"
        assert not db.session.get(Conversation, short).summary_due
        assert db.session.get(Conversation, long_talk.conversation_id).summary_due
        closed = service.summarise(long_talk.conversation_id)
        assert (closed.start, closed.end, closed.has_more) == (long_talk.ids[0], long_talk.ids[19], False)
        (chunk,) = chunks(long_talk.conversation_id)
        chunk_id = chunk.chunk_id
        assert chunk.content == SUMMARY and len(np.frombuffer(chunk.embedding, np.float32)) == 384
        assert service.summarise(long_talk.conversation_id) is None  # run twice, done once
        assert not db.session.get(Conversation, long_talk.conversation_id).summary_due
        db.session.rollback()
        found = search(user.user_id, "bee hives in Portugal")
        assert ("chunk", chunk_id) in [item.key for item in found.items]


def test_what_is_malformed_or_fails_stores_nothing_and_is_tried_again(app, model, long_talk):
    for broken in ({"reply": "not json"}, {"structured": {"summary": "   "}}, {"fault": {"http_status": 503}}):
        model.reset()
        script(model)
        model.script(match="conversation_summary|not valid", times=2, **broken)
        with app.app_context():
            with pytest.raises(ModelError) as failed:
                service.summarise(long_talk.conversation_id)
            assert failed.value.retryable and chunks(long_talk.conversation_id) == [], broken
            assert db.session.get(Conversation, long_talk.conversation_id).summary_due, broken
    model.reset()
    script(model)
    with app.app_context():
        assert service.summarise(long_talk.conversation_id) is not None


def test_while_the_embedder_is_away_no_summary_is_paid_for(app, model, long_talk):
    script(model)
    model.script(path="embeddings", fault={"http_status": 503})
    with app.app_context():
        with pytest.raises(ModelError):
            service.summarise(long_talk.conversation_id)
        assert chunks(long_talk.conversation_id) == []
    assert not [call for call in model.calls() if "conversation_summary" in str(call)]


def test_a_chunk_stays_beside_later_changes_and_goes_with_the_messages_it_stood_for(app, user, model):
    script(model)
    with app.app_context():
        talk = write_dialogue(user.user_id, lines(17), AT)
        service.summarise(talk.conversation_id)
        with write_transaction():
            conversation = db.session.get(Conversation, talk.conversation_id)
            asked = db.session.get(Message, talk.ids[32])
            again = messages.add_reply(conversation, asked)
            messages.supersede_from(conversation, asked.message_id + 1, again)
        assert [chunk.message_range_end for chunk in chunks(talk.conversation_id)] == [talk.ids[19]]
        with write_transaction():
            conversation = db.session.get(Conversation, talk.conversation_id)
            edited = db.session.get(Message, talk.ids[10])
            asked, reply = messages.add_exchange(conversation, "Another question", parent_id=edited.parent_id)
            messages.supersede_from(conversation, edited.message_id, asked, keep=[reply.message_id])
        assert chunks(talk.conversation_id) == []
        assert service.closed_through(talk.conversation_id) == 0


def test_what_changes_while_the_model_writes_is_not_summarised(app, user, model, long_talk, monkeypatch):
    script(model)
    with app.app_context():
        ask = overviews.completions

        def edited_meanwhile():
            with write_transaction():
                conversation = db.session.get(Conversation, long_talk.conversation_id)
                asked, reply = messages.add_exchange(conversation, "No, this", parent_id=None)
                messages.supersede_from(conversation, long_talk.ids[0], asked, keep=[reply.message_id])
            return ask()

        monkeypatch.setattr(overviews, "completions", edited_meanwhile)
        assert service.summarise(long_talk.conversation_id) is None and chunks(long_talk.conversation_id) == []


def test_temporary_conversations_are_summarised_but_never_searched(app, user, model):
    script(model)
    with app.app_context():
        talk = write_dialogue(user.user_id, lines(16), AT, is_temporary=True)
        service.summarise(talk.conversation_id)
        (chunk,) = chunks(talk.conversation_id)
        assert chunk.embedding is None
        assert search(user.user_id, "bees Porto").items == []


@pytest.mark.parametrize(
    ("exchanges", "words", "closed"), [(36, 40, 3), (24, 800, 7), pytest.param(150, 40, 14, marks=pytest.mark.slow)]
)
def test_turn_by_turn_the_job_keeps_the_prompt_short_and_no_message_is_lost(
    app, user, model, run_jobs, settings, exchanges, words, closed
):
    """Every message is verbatim or covered, the prompt within budget; one call in ten turns, in three if long."""
    script(model)
    with app.app_context():
        talk = write_dialogue(user.user_id, [("user", "My bee hives stand near Porto."), ("assistant", "Lovely.")], AT)
        summaries = 0
        for number in range(exchanges - 1):
            reply = _begin(talk.conversation_id, f"Remark {number}: " + "word " * words)
            assembled = assemble(reply, settings)
            if number % 7 == 0 or number > exchanges - 10:
                _check_cover(talk.conversation_id, reply, assembled)
            _end(reply, "Fine. " * (words // 2), assembled)
            while service.summarise(talk.conversation_id) is not None:
                summaries += 1
        # Whenever more than 30 messages are open the oldest 20 are closed.
        assert summaries == closed == len(chunks(talk.conversation_id))
        assert len([call for call in model.calls() if "conversation_summary" in str(call)]) == summaries


def test_what_was_forgotten_before_is_not_told_to_the_summary(app, user, client, model):
    script(model)
    said = [("user", "By the way:  I'M ALLERGIC to\nwalnuts! Tides, please."), ("assistant", "Gladly."), *lines(15)]
    with app.app_context():
        talk = write_dialogue(user.user_id, said, AT)
    answers(model, operation("I'm allergic to walnuts", "The user is allergic to walnuts."))
    made = client.post("/api/memories/extract", json={"conversation_id": talk.conversation_id, "sync": True})
    (change,) = made.json["change_set"]["changes"]
    assert client.delete(f"/api/memories/{change['memory_id']}").status_code == 200
    with app.app_context():
        service.summarise(talk.conversation_id)
    (call,) = [call for call in model.calls() if call["schema"] == "conversation_summary"]
    told = call["messages"][1]["content"]
    assert "By the way: […] Tides, please." in " ".join(told.split()) and "walnut" not in told.lower()


def _begin(conversation_id: int, text: str) -> int:
    with write_transaction():
        conversation = db.session.get(Conversation, conversation_id)
        _, reply = messages.add_exchange(conversation, text, parent_id=messages.last_message_id(conversation_id))
        return reply.message_id


def _end(reply_id: int, text: str, assembled: AssembledPrompt) -> None:
    with write_transaction():
        finish_turn(reply_id, Progress(text=text).complete(Outcome("complete", text), assembled))


def _check_cover(conversation_id: int, reply_id: int, assembled: AssembledPrompt) -> None:
    data = assembled.step.record
    assert data["tokens"] <= data["budget"]
    prompt = str(assembled.messages)
    closed = service.closed_through(conversation_id)
    covered = [(chunk.message_range_start, chunk.message_range_end) for chunk in chunks(conversation_id)]
    for row in messages.current_messages(conversation_id):
        if row.message_id >= reply_id:
            continue
        if row.message_id <= closed:
            assert any(start <= row.message_id <= end for start, end in covered)
        else:
            assert row.content in prompt
    if covered:
        assert SUMMARY in prompt
    db.session.rollback()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_was_told_early_is_found_and_a_turn_costs_no_more_than_before(app, client, monkeypatch):
    counting = CountingClient(app.extensions["completions"])
    monkeypatch.setitem(app.extensions, "completions", counting)
    turns = list(hold_conversation(app, client, counting, turns=48, every=3))
    found = list(ask_about_facts(app, client, counting))
    assert all(turn.tokens <= turn.budget for turn in [*turns, *(turn for _, turn in found)])
    assert {item.fact.question: item.kinds for item, _ in found if not item.kinds} == {}
    assert mean(turns, lambda turn: turn.calls) <= 2, "the reply, and one call in the background"
    assert mean(turns[-16:], lambda turn: turn.used) <= 2 * mean(turns[16:32], lambda turn: turn.used)
