"""What is forgotten does not come back from the same words under a longer, a shorter or another quote."""

import pytest

from tests.journeys.rows import wait
from tests.memories.conversing import answers, converse, current, make_memories, memories_of, operation, say
from tests.memories.learning.test_extraction import extract, learn
from tests.support.queries import change_row
from webapp.conversations.models import Conversation
from webapp.db.base import write_transaction
from webapp.memories.learning import extraction
from webapp.memories.store.outside_proposals import OutsideStatement, propose
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.passages import Scope
from webapp.summaries import service as summaries

SAID = "I'm allergic to walnuts"
CONTENT = "Allergic to walnuts."
WORDS = ("Walnuts make the user ill.", "No walnuts for the user.")


def forget(app, client, user, model, talk: int, quote: str = SAID) -> None:
    """Have what is learned from a quote in a conversation forgotten."""
    learn(client, model, talk, operation(quote, CONTENT))
    (memory,) = memories_of(app, user.user_id)
    client.delete(f"/api/memories/{memory.memory_id}")


@pytest.mark.parametrize(
    ("said", "forgotten", "other", "quote"),
    [
        (f"By the way, {SAID}! Bye.", SAID, "", "allergic to walnuts"),
        (f"By the way, {SAID}! Bye.", SAID, "", f"By the way, {SAID}!"),
        (f"{SAID} and sail a boat.", SAID, "", f"{SAID} and sail a boat"),
        ("顺便说一下我对核桃过敏而且住在大连。", "我对核桃过敏", "", "对核桃过敏而且住在大连"),
        ("ผมแพ้วอลนัทและอยู่ที่เชียงใหม่", "ผมแพ้วอลนัท", "", "แพ้วอลนัทและอยู่ที่เชียงใหม่"),
        ("顺便说一下我对核桃过敏。", "我对核桃过敏", "昨天告诉医生我对核桃过敏，真麻烦", "对核桃过敏，真麻烦"),
        ("ผมแพ้วอลนัทครับ", "ผมแพ้วอลนัท", "บอกหมอแล้วว่าผมแพ้วอลนัทและปวดหัว", "แพ้วอลนัทและปวดหัว"),
    ],
)
def test_the_same_words_stay_forgotten_under_another_quote(app, client, user, model, said, forgotten, other, quote):
    talk = converse(app, user.user_id, said)
    forget(app, client, user, model, talk, forgotten)
    place = converse(app, user.user_id, other) if other else talk
    assert learn(client, model, place, operation(quote, WORDS[0]))["change_set"]["reasons"] == {"forgotten": 1}
    assert current(app, user.user_id) == []


@pytest.mark.usefixtures("untrusted_model")
def test_the_users_sentence_leaves_out_what_was_forgotten(app, client, user, model):
    talk = converse(app, user.user_id, f"I sail a small boat, and {SAID}.")
    forget(app, client, user, model, talk)
    learn(client, model, talk, operation("I sail a small boat", "Sails a small boat."))
    (content,) = current(app, user.user_id)
    assert "I sail a small boat" in content and "walnuts" not in content


def test_the_same_words_in_another_message_stay_forgotten_too(app, client, user, model):
    (earlier,) = say(app, converse(app, user.user_id), f"My boat ... and {SAID.upper()}. Is it?")
    forget(app, client, user, model, converse(app, user.user_id, f"By the way, {SAID}!"))
    other = converse(app, user.user_id, f"As I told my doctor, {SAID}, and I moved to Porto.")
    answers(model, operation("allergic to walnuts", WORDS[0]), operation("I moved to Porto", "Moved to Porto."))
    extract(client, other)
    assert current(app, user.user_id) == ["Moved to Porto."]
    with app.app_context():
        (said,) = load_passages([("message", earlier)], Scope(user.user_id)).values()
        assert said.content.split() == ["My", "boat", "...", "and", ".", "Is", "it?"]


@pytest.mark.parametrize("quote", [SAID, "allergic to walnuts"])
def test_a_job_that_was_reading_meanwhile_brings_nothing_back(app, client, user, model, quote):
    talk = converse(app, user.user_id, f"By the way, {SAID}!")
    learn(client, model, talk, operation(SAID, CONTENT))
    (memory,) = memories_of(app, user.user_id)

    def respond(_body):
        client.delete(f"/api/memories/{memory.memory_id}")
        return {"structured": {"statements": [operation(quote, WORDS[0])]}}

    model.script(match="memory_operations", respond=respond)
    assert make_memories(app, talk, from_start=True).reasons == {"forgotten": 1}
    assert current(app, user.user_id) == []


@pytest.mark.usefixtures("untrusted_model")
def test_an_edited_message_brings_nothing_back_and_what_is_rewritten_in_it_goes(app, client, user, model):
    talk = converse(app, user.user_id)
    first = message = say(app, talk, "我对核桃过敏而且住在大连。")[0]
    forget(app, client, user, model, talk, "我对核桃过敏")
    learn(client, model, talk, operation("住在大连", "住在大连"))
    assert current(app, user.user_id) == ["而且住在大连。"]
    model.script(match="请", reply="好的。")
    answers(model, operation("对核桃过敏", WORDS[0]), operation("住在上海", "住在上海"), times=None)
    for content, known in (("我对核桃过敏而且住在上海。请注意。", ["而且住在上海。"]), ("请等。", None), ("请。", [])):
        edited = client.post(f"/api/messages/{message}/edit", json={"content": content}).json
        message = edited["message"]["message_id"]
        wait(client, edited["response_id"])
        if known is not None:
            extract(client, talk)
            assert current(app, user.user_id) == known
    assert [memory.content for memory in memories_of(app, user.user_id) if memory.needs_review] == ["而且住在上海。"]
    assert client.post(f"/api/messages/{message}/versions/{first}/restore").status_code == 200
    assert current(app, user.user_id) == ["而且住在大连。"]
    # What was said while memory was off is not read by going back to it, or to what it followed.
    client.put("/api/account", json={"settings": {"memory_enabled": False}})
    asked = client.post(f"/api/conversations/{talk}/messages", json={"content": "我住在上海。请。"}).json
    wait(client, asked["response_id"])
    edited = client.post(f"/api/messages/{first}/edit", json={"content": "请。"}).json
    wait(client, edited["response_id"])
    client.put("/api/account", json={"settings": {"memory_enabled": True}})
    client.post(f"/api/messages/{edited['message']['message_id']}/versions/{first}/restore")
    make_memories(app, talk)
    assert current(app, user.user_id) == ["而且住在大连。"]


@pytest.mark.parametrize("content", [SAID, f"The user said: {SAID}"])
def test_no_other_program_brings_the_quote_back_as_a_memory(app, client, user, model, content):
    forget(app, client, user, model, converse(app, user.user_id, f"By the way, {SAID}!"))
    with app.app_context(), write_transaction():
        assert propose(user.user_id, [OutsideStatement(content)], cause="mcp").counts == {"forgotten": 1}
    assert memories_of(app, user.user_id) == []
    # By their own hand the user may.
    assert client.post("/api/memories", json={"memory_type": "fact", "content": content}).status_code == 201


def test_no_model_that_makes_summaries_or_memories_is_shown_what_was_forgotten(app, client, user, model):
    talk = converse(app, user.user_id, "我对核桃过敏而且住在大连。", *[f"I painted boat {n}" for n in range(20)])
    forget(app, client, user, model, talk, "我对核桃过敏")
    model.reset()
    model.script(match="conversation_summary", structured={"summary": "Boats."})
    answers(model, operation("住在大连", "住在大连"))
    change_row(app, Conversation, talk, summary_due=True)
    with app.app_context():
        summaries.summarise(talk)
        extraction.extract(talk, from_start=True)
    assert current(app, user.user_id) == ["住在大连"]
    for task in ("conversation_summary", "memory_operations"):
        (call,) = [call for call in model.calls() if task in str(call)]
        assert "住在大连" in str(call) and "核桃" not in str(call)


def test_a_message_of_nothing_else_is_not_read(app, client, user, model):
    talk = converse(app, user.user_id, f"{SAID}.")
    forget(app, client, user, model, talk)
    model.reset()
    make_memories(app, talk, from_start=True)
    assert not [call for call in model.calls() if "memory_operations" in str(call)]
