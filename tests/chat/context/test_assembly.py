"""Assembling a prompt: what is read before the connection is given back is not read again, and nothing twice."""

from datetime import datetime, timedelta

from flask import Flask

from testkit.people import Person
from tests.support.queries import count_queries
from webapp.chat import service
from webapp.chat.context import assembly
from webapp.chat.context.rows import read_rows
from webapp.chat.context.stored_prompts import fill_marks
from webapp.chat.models import PipelineStep
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.i18n.dates import with_weekday, zone
from webapp.retrieval.changes import position
from webapp.retrieval.lookup import Lookup, Question, Result
from webapp.retrieval.models import ConversationChunk


def _turn(app: Flask, user: Person) -> int:
    with app.app_context(), write_transaction():
        conversation = add_row(Conversation(user_id=user.user_id, message_count=2))
        _, reply = messages.add_exchange(conversation, "Where is the heron's nest?", parent_id=None)
        return int(reply.message_id)


def test_no_row_is_read_anew_after_the_connection_was_given_back(app, user, monkeypatch):
    turn_id = _turn(app, user)
    with app.app_context(), count_queries() as sent:
        before: list[int] = []

        def away(_look_up: Lookup) -> Result:
            db.session.rollback()
            before.append(len(sent))
            return Result()

        monkeypatch.setattr(Lookup, "finish", away)
        made = assembly.assemble(turn_id, app.extensions["settings"])
        assert made.messages[-1]["content"].endswith("nest?")
        anew = sent[before[0] :]
    assert not [line for line in anew if any(f"FROM {name}" in line for name in ("conversations", "messages", "users"))]


def test_a_newcomers_prompt_reads_their_messages_and_no_more(app, user, client):
    """Nobody has said anything yet, and nothing is remembered: there is no index to build, and nothing to look for."""
    client.put("/api/account", json={"settings": {"timezone": "Pacific/Kiritimati"}})
    days = [with_weekday(datetime.now(zone("Pacific/Kiritimati")) + timedelta(hours=hours)) for hours in (0, 1)]
    with app.app_context():
        assembly.assemble(_turn(app, user), app.extensions["settings"])  # the installation's own, kept from now on
    turn_id = _turn(app, user)
    with app.app_context(), count_queries() as sent:
        made = assembly.assemble(turn_id, app.extensions["settings"])
    assert made.messages[-1]["content"].endswith("nest?")
    assert len([statement for statement in sent if not statement.startswith("BEGIN")]) == 2, sent
    assert made.messages[0]["content"].splitlines()[-1] in {f"Today is {day}." for day in days}


def test_where_passages_stand_is_read_with_the_rest_but_with_spaces(app, user, client):
    client.post("/api/memories", json={"memory_type": "fact", "content": "Watches herons."})
    turn_id = _turn(app, user)
    with app.app_context():
        marks = read_rows(turn_id).marks
        assert marks.position == position(user.user_id)
        assert marks.position is not None
        assert marks.memory_version == marks.position.memory_version > 0
    space_id = client.post("/api/spaces", json={"kind": "project", "name": "Marsh"}).json["space_id"]
    with app.app_context():
        assert read_rows(turn_id).marks.position is None
        looking = Lookup(Question(user.user_id, "Where is the heron's nest?"), 5.0)
        assert looking.position == position(user.user_id) and looking.position.space_ids == {space_id}


def _conversation(user_id: int) -> Conversation:
    return add_row(Conversation(user_id=user_id, title="Boats"))


def _chunk(conversation: Conversation, content: str, start: int = 1) -> int:
    return add_row(
        ConversationChunk(
            conversation_id=conversation.conversation_id,
            user_id=conversation.user_id,
            content=content,
            message_range_start=start,
            message_range_end=start + 1,
        )
    ).chunk_id


def test_marks_are_filled_in_with_what_they_say_now(app_context, user):
    """A mark in somebody's words stays as it is."""
    conversation = _conversation(user.user_id)
    asked = Message(conversation_id=conversation.conversation_id, role="user", content="Hello <there>")
    db.session.add(asked)
    boats, mark = _chunk(conversation, "They spoke of <boats>."), _chunk(conversation, "[[memory 7 revision 1]]", 3)
    prompt = [
        {"role": "system", "content": f"- [[summary {boats}]]\n- [[summary 999]]\n- [[memory 7 revision 1]]"},
        {"role": "user", "message_id": asked.message_id, "content": "<reference>\n[[document 5]]\n</reference>\n\n"},
        {"role": "assistant", "message_id": 999_999},
        {"role": "system", "content": f"[[summary {mark}]]"},
        {"role": "system", "content": "Know: [[filled {{CONVERSATION_MEMORY}}]]"},
    ]
    shown = fill_marks(user.user_id, conversation, prompt)
    assert [message["content"] for message in shown] == [
        "- They spoke of &lt;boats>.\n- [deleted]\n- [forgotten]",
        "<reference>\n[deleted]\n</reference>\n\nHello <there>",
        "[deleted]",
        "[[memory 7 revision 1]]",
        "Know: Conversation memory not available.",
    ]
    assert prompt[2] == {"role": "assistant", "message_id": 999_999}


def test_a_shortened_message_is_shown_as_it_was_sent(app_context, user):
    conversation = _conversation(user.user_id)
    asked = Message(conversation_id=conversation.conversation_id, role="user", content="word " * 4_000)
    reply = Message(conversation_id=conversation.conversation_id, role="assistant", content="Yes.")
    db.session.add_all([asked, reply])
    db.session.flush()
    stored = [{"role": "user", "message_id": asked.message_id, "shortened_to": 50}]
    add_row(
        PipelineStep(message_id=reply.message_id, ordinal=1, name="context", data={"prompt": stored}, created_at=now())
    )
    (step,) = service.pipeline_steps(user.user_id, reply.message_id)
    (shown,) = step.data["prompt"]
    assert "characters left out" in shown["content"]
    assert len(shown["content"]) < 500
    assert "shortened_to" not in shown
