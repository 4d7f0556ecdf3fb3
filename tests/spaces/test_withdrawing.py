"""What somebody withdraws or forgets is gone from what models told the other members, and from what is made of that."""

import pytest
from sqlalchemy import select

from testkit.people import csrf_token
from tests.spaces.helpers import add_fact, converse, join, make_space, say, sent_to_model
from webapp.chat.context.assembly import assemble
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, write_transaction
from webapp.digests import service as digests
from webapp.digests.schemas import ConversationMemoryData
from webapp.retrieval.models import ConversationChunk
from webapp.retrieval.service import search

FACT = "Ylva must never eat walnuts"
WORD = "walnuts"


@pytest.fixture
def family(api, make_user):
    """Two members of a legacy, the first of whom shares a fact."""
    anna, ben = api(make_user(name="Anna")), api(make_user(name="Ben"))
    space_id = make_space(anna, "Ylva")
    join(anna, space_id, ben)
    return anna, ben, space_id, add_fact(anna, space_id, FACT, shared=True)


def withdraw(anna, fact_id):
    answer = anna.patch(f"/api/ai/facts/{fact_id}/visibility", json={"visibility": "private"})
    assert answer.status_code == 200


def undo(anna, fact_id):
    change = anna.get("/api/memories/changes").get_json()["changes"][0]
    assert [item["memory_id"] for item in change["changes"]] == [fact_id]
    assert anna.post(f"/api/memories/changes/{change['change_set_id']}/undo").status_code == 200


def forget(anna, fact_id):
    return anna.delete(f"/api/memories/{fact_id}").get_json()


def test_replies_to_others_and_what_is_made_of_them_lose_it(app, family, model, run_jobs):
    anna, ben, space_id, fact_id = family
    talk = converse(ben, space_id)
    model.script(match="eat", reply=f"Careful. {FACT}. Soup is fine.", times=1)
    said = say(ben, talk, "What may Ylva eat?")
    assert WORD in str(said)
    model.script(match="sure", reply="Yes: walnuts are what Ylva must never eat. Truly.", times=1)
    say(ben, talk, "Are you sure about walnuts for Ylva?")
    run_jobs()
    with app.app_context(), write_transaction():
        row = db.session.get(Conversation, talk)
        first = db.session.scalar(select(Message.message_id).where(Message.conversation_id == talk).limit(1))
        ends = {"message_range_start": first, "message_range_end": first}
        of = {"conversation_id": talk, "user_id": ben.person.user_id, "space_id": space_id}
        db.session.add(ConversationChunk(**of, **ends, content=f"They met. {FACT}. They parted."))
        row.title, row.title_source = "Ylva must never eat walnuts", "auto"
        data = ConversationMemoryData(main_topics=[FACT], action=[], typical_observation="")
        digests.upsert_digest(ben.person.user_id, talk, data)
    report = forget(anna, fact_id)
    assert report["copies_of_others"] == 2 and report["copies"] >= 2
    with app.app_context():
        assert digests.find_digest(talk) is None
    page = ben.get(f"/api/conversations/{talk}/messages").get_json()["messages"]
    assert WORD not in str([row for row in page if row["role"] == "assistant"])
    assert "Soup is fine." in str(page), "the rest of the reply stays"
    assert "Are you sure about walnuts" in str(page), "what Ben said himself stays his"
    assert WORD not in ben.get(f"/api/conversations/{talk}").get_json()["title"]
    run_jobs()
    with app.app_context():
        found = search(ben.person.user_id, "walnuts Ylva eat").items
        assert WORD not in str([item.content for item in found if item.role != "user"])
    say(ben, talk, "And now?")
    prompt = sent_to_model(model)
    assert FACT not in prompt
    assert prompt.count(WORD) == 1, "only Ben's own question"


def test_what_others_quote_themselves_stays_theirs_and_the_report_says_so(family, model):
    anna, ben, space_id, fact_id = family
    talk = converse(ben, space_id)
    say(ben, talk, f"I read: {FACT}. Is that so?")
    report = forget(anna, fact_id)
    assert (report["copies_of_others"], report["quoted_by_others"]) == (0, 1)
    assert WORD in str(ben.get(f"/api/conversations/{talk}/messages").get_json())


def test_what_another_member_keeps_themselves_is_not_taken_from_their_replies(family, model):
    anna, ben, space_id, fact_id = family
    add_fact(ben, space_id, FACT)
    talk = converse(ben, space_id)
    model.script(match="eat", reply=f"{FACT}.", times=1)
    say(ben, talk, "What may Ylva eat?")
    withdraw(anna, fact_id)
    assert WORD in str(ben.get(f"/api/conversations/{talk}/messages").get_json()["messages"])


@pytest.mark.parametrize(("take_back", "is_in_space"), [(withdraw, True), (forget, True), (withdraw, False)])
def test_taken_back_while_a_reply_to_another_member_is_written_it_is_not_in_it(app, family, take_back, is_in_space):
    anna, ben, space_id, fact_id = family
    talk = converse(ben, space_id if is_in_space else None)
    with app.app_context():
        with write_transaction():
            _, reply = messages.add_exchange(db.session.get(Conversation, talk), "What may Ylva eat?", parent_id=None)
            turn = reply.message_id
        made = assemble(turn, app.extensions["settings"])
        assert FACT in str(made.messages)
        db.session.remove()
    take_back(anna, fact_id)
    with app.app_context(), write_transaction():
        done = finish_turn(turn, Outcome("complete", f"Well: {FACT}. Soup is fine.", seen=made.seen))
        assert WORD not in done.rewritten and WORD not in str(done.data)
        assert "Soup is fine." in done.rewritten
        assert now() > db.session.get(Message, turn).created_at


@pytest.mark.parametrize("is_the_sharing_alone", [False, True])
def test_undoing_what_shared_it_takes_it_back_too(family, model, is_the_sharing_alone):
    anna, ben, space_id, fact_id = family
    if is_the_sharing_alone:  # else the undo takes back the whole fact
        for visibility in ("private", "shared"):
            anna.patch(f"/api/ai/facts/{fact_id}/visibility", json={"visibility": visibility})
    talk = converse(ben, space_id)
    model.script(match="eat", reply=f"Careful. {FACT}. Soup is fine.", times=1)
    assert WORD in str(say(ben, talk, "What may Ylva eat?"))
    undo(anna, fact_id)
    assert anna.get(f"/api/memories/{fact_id}").status_code == (200 if is_the_sharing_alone else 404)
    page = str(ben.get(f"/api/conversations/{talk}/messages").get_json()["messages"])
    assert WORD not in page and "Soup is fine." in page


def test_what_was_recalled_or_copied_from_a_reply_that_told_it_loses_it_too(family, login, model, run_jobs):
    """The fact itself was in no prompt of theirs: a branch begins with that reply; after Ben left, another conversation
    recalls it."""
    anna, ben, space_id, fact_id = family
    talk = converse(ben, space_id)
    model.script(match="What may", reply=f"Careful. {FACT}. Soup is fine.", times=1)
    said = say(ben, talk, "What may Ylva have in Skagen?")
    browser = login(ben.person)
    token = {"csrf_token": csrf_token(browser.get(f"/c/{talk}").text)}
    branch = int(browser.post(f"/messages/{said['message_id']}/branch", data=token).location.rpartition("/")[2])
    run_jobs()
    assert ben.delete(f"/api/spaces/{space_id}/members/{ben.person.user_id}").status_code == 204
    recalled = converse(ben)
    model.script(match="you told me", reply="Of course: walnuts are what Ylva must never eat. Ask a doctor.", times=1)
    say(ben, recalled, "What had you told me about Ylva in Skagen?")
    assert FACT in sent_to_model(model), "recalled from the reply in the space"
    withdraw(anna, fact_id)
    for number, stays in ((talk, "Soup is fine."), (branch, "Soup is fine."), (recalled, "a doctor")):
        page = str(ben.get(f"/api/conversations/{number}/messages").get_json())
        assert WORD not in page and stays in page, number
