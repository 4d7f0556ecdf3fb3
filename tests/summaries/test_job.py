"""The summary as a job of the turn: when it is asked for, what it reports, what it costs, what the prompt becomes."""

import pytest

from testkit.waiting import wait_for_reply
from tests.support.dialogue import START, add_turn, write_dialogue
from tests.support.queries import get_row, scalars
from webapp.chat.turns import turnlog
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.retrieval.models import ConversationChunk
from webapp.shell.upkeep import sweep


def lines(turns: int) -> list[tuple[str, str]]:
    return [line for n in range(turns) for line in (("user", f"I painted {n} boats"), ("assistant", "Nice."))]


@pytest.fixture
def talk(app, user, model):
    """30 messages: with the next exchange there are two too many."""
    model.script(match="conversation_summary", structured={"summary": "The user painted boats in Hvar."})
    with app.app_context():
        return write_dialogue(user.user_id, lines(15), START)


def say(client, talk, text: str) -> int:
    started = client.post(f"/api/conversations/{talk.conversation_id}/messages", json={"content": text})
    wait_for_reply(client, started.json["response_id"])
    return started.json["response_id"]


def kinds(model) -> list[str]:
    """The schemas of the background calls so far."""
    return [call["schema"] for call in model.calls() if call["schema"]]


def test_the_turn_that_makes_it_due_asks_for_it_and_for_nothing_else(app, client, model, talk, run_jobs):
    reply_id = say(client, talk, "And one more boat")
    run_jobs()
    assert kinds(model).count("conversation_summary") == 1 and len(kinds(model)) <= 2
    reported = {entry.kind: entry.data for entry in turnlog.read(app.extensions["redis"], reply_id)}
    assert reported["summary_complete"]["range"] == [talk.ids[0], talk.ids[19]]
    assert "settled" in reported
    model.script(match="boats did I paint", reply="Fifteen.")
    say(client, talk, "How many boats did I paint?")
    prompt = str([call for call in model.calls() if "boats did I paint" in str(call)][-1])
    assert "painted boats in Hvar" in prompt and "I painted 12 boats" in prompt
    asked = [call for call in model.calls() if "boats did I paint" in str(call)][-1]
    history = [message["content"] for message in asked["messages"][1:-1]]
    assert "I painted 3 boats" not in history  # it is in the summary; as a passage it may be found again


def test_a_backlog_owed_when_redis_was_emptied_is_closed_batch_by_batch(app, user, client, model, talk, run_jobs):
    say(client, talk, "And one more boat")
    app.extensions["redis"].flushall()
    with app.app_context():
        assert db.session.get(Conversation, talk.conversation_id).summary_due
        for _ in range(19):
            add_turn(user.user_id, talk.conversation_id, "More", "Yes")
        db.session.remove()
        sweep()
    run_jobs()
    found = scalars(app, db.select(ConversationChunk).order_by(ConversationChunk.message_range_start))
    assert len(found) == 2 and found[0].message_range_end < found[1].message_range_start
    assert not get_row(app, Conversation, talk.conversation_id).summary_due


def test_when_the_summary_fails_the_turn_is_extracted_all_the_same(app, client, model, talk, run_jobs):
    model.reset()
    model.script(match="conversation_summary", fault={"http_status": 503})
    found = {"message": 1, "quote": "I keep bees", "about": "user", "content": "Keeps bees", "confidence": 1.0}
    model.script(match="memory_operations", structured={"statements": [found]})
    model.script(match="I keep bees", reply="Lovely.")
    say(client, talk, "And I keep bees")
    run_jobs(failures=True)
    assert "memory_operations" in kinds(model)
    assert [row["content"] for row in client.get("/api/memories").json["memories"]] == ["Keeps bees"]
