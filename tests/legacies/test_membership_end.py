"""However somebody goes, what they shared is theirs again or gone: nobody is told it, and what told it loses it."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, select

from testkit.people import PASSWORD, ApiClient, browser_client, post_form, session_client
from tests.memories.keeping.test_no_trace import cells, in_redis
from tests.spaces.helpers import add_fact, converse, facts, join, make_space, say, sent_to_model
from tests.support.interleaving import in_each_gap, killed_at
from tests.support.queries import scalars
from tests.transfer.test_account_erasure import come_due
from webapp.accounts import deletion
from webapp.accounts.models import AccountDeletion, User
from webapp.background.time_slices import ENDLESS
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import ConversationChanges, NewConversation
from webapp.conversations.service import create_conversation, update_conversation
from webapp.db.base import count_rows, db, write_transaction
from webapp.digests import service as digests
from webapp.digests.schemas import ConversationMemoryData
from webapp.errors import NotFound
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.memories.store.outside_proposals import OutsideStatement, propose
from webapp.retrieval.models import ConversationChunk
from webapp.saved_prompts.models import SavedPrompt
from webapp.saved_prompts.schemas import NewSavedPrompt
from webapp.saved_prompts.service import create_prompt
from webapp.spaces import members
from webapp.spaces.models import SpaceMember
from webapp.transfer import account_erasure
from webapp.transfer.models import Export

FACT = "Ylva must never eat walnuts"
TOLD = "Careful. Ylva must never eat walnuts. Soup is fine."


def deletes_it(app: Flask, anna: ApiClient, ben: ApiClient, space_id: int) -> None:
    assert session_client(app, anna.person).delete("/api/account", json={"password": PASSWORD}).status_code == 204


def is_deleted_by_an_admin(app: Flask, anna: ApiClient, ben: ApiClient, space_id: int) -> None:
    with app.app_context(), write_transaction():
        deletion.delete_now(anna.person.user_id)


def closes_it_and_waits(app: Flask, anna: ApiClient, ben: ApiClient, space_id: int) -> str:
    """Returns the address of the report."""
    browser = browser_client(app, anna.person)
    answer = post_form(browser, "/settings/delete", page="/settings/delete", password=PASSWORD)
    come_due(app)
    with app.app_context():
        assert account_erasure.delete_account(anna.person.user_id, seconds=ENDLESS) == "done"
    return answer.location


def leaves(app: Flask, anna: ApiClient, ben: ApiClient, space_id: int) -> None:
    assert hand_over(anna, space_id, ben) == 200
    assert anna.delete(f"/api/spaces/{space_id}/members/{anna.person.user_id}").status_code == 204


def is_removed(app: Flask, anna: ApiClient, ben: ApiClient, space_id: int) -> None:
    assert hand_over(anna, space_id, ben) == 200
    assert ben.delete(f"/api/spaces/{space_id}/members/{anna.person.user_id}").status_code == 204


def deletes_the_space(app: Flask, anna: ApiClient, ben: ApiClient, space_id: int) -> None:
    assert anna.delete(f"/api/spaces/{space_id}").status_code == 204


def hand_over(owner: ApiClient, space_id: int, heir: ApiClient) -> int:
    return owner.post(f"/api/spaces/{space_id}/owner", json={"user_id": heir.person.user_id}).status_code


DELETED = [deletes_it, is_deleted_by_an_admin, closes_it_and_waits]
Family = tuple[ApiClient, ApiClient, int, int]


@pytest.fixture
def family(app: Flask, api: Callable[..., ApiClient], make_user: Callable[..., Any], model: Any) -> Family:
    """Anna, whose fact in a space was told to Ben and copied wherever words are copied, and Ben's conversation."""
    make_user(is_admin=True)
    anna, ben = api(make_user(name="Anna")), api(make_user(name="Ben"))
    space_id = make_space(anna, "Ylva")
    join(anna, space_id, ben)
    add_fact(anna, space_id, FACT, shared=True)
    talk = converse(ben, space_id)
    model.script(match="What may", reply=TOLD, times=1)
    say(ben, talk, "What may Ylva have?")
    with app.app_context(), write_transaction():
        row = db.session.get_one(Conversation, talk)
        first = db.session.scalars(select(Message.message_id).where(Message.conversation_id == talk)).first()
        chunk = {"conversation_id": talk, "user_id": ben.person.user_id, "space_id": space_id}
        ends = {"message_range_start": first, "message_range_end": first}
        db.session.add(ConversationChunk(**chunk, **ends, content=f"They met. {FACT}. They parted."))
        row.title, row.title_source = FACT, "auto"
        data = ConversationMemoryData(main_topics=[FACT], action=[], typical_observation="")
        digests.upsert_digest(ben.person.user_id, talk, data)
        db.session.add(Export(user_id=ben.person.user_id, what="account", format="zip", status="ready"))
        prompt = {"user_id": anna.person.user_id, "space_id": space_id, "name": "Soup", "description": ""}
        db.session.add(SavedPrompt(**prompt, content="A soup without walnuts for Ylva"))
    return anna, ben, space_id, talk


@pytest.mark.parametrize("goes", [*DELETED, leaves, is_removed, deletes_the_space])
def test_nobody_is_told_any_more(app, family, model, run_jobs, goes):
    anna, ben, space_id, talk = family
    goes(app, anna, ben, space_id)
    if goes in DELETED:  # no table and no key holds what a deleted account shared
        assert {table for table, _, value, _ in cells(app) if re.search("walnut", str(value))} == set()
        assert in_redis(app.extensions["redis"], "walnut") == set()
        with app.app_context():
            assert db.session.get(User, anna.person.user_id) is None
            assert db.session.scalars(select(SpaceMember.role)).one() == "owner"
    page = str(ben.get(f"/api/conversations/{talk}/messages").get_json())
    assert "walnuts" not in page and "Soup is fine." in page
    if goes is not deletes_the_space:
        assert facts(ben, space_id) == {}
    assert "walnuts" not in str(ben.get("/api/saved_prompts?limit=100").get_json())
    with app.app_context():
        assert digests.find_digest(talk) is None
        status, reason = db.session.execute(select(Export.status, Export.error)).one()
        assert status == "expired" and "forgotten" in reason
        told = db.session.scalars(select(ConversationChunk.content)).one()
        assert "walnuts" not in told and "They parted." in told
    run_jobs()
    say(ben, talk, "And now?")
    assert "walnuts" not in sent_to_model(model)
    say(ben, converse(ben), "What may Ylva have?")
    assert "walnuts" not in sent_to_model(model)
    for path in ("/api/search?q=walnuts", "/api/memories?q=walnuts", "/api/conversations?q=walnuts"):
        assert FACT not in ben.get(path).text


@pytest.mark.mysql_only  # SQLite has one writer
@pytest.mark.parametrize(
    "put",
    [
        lambda me, _talk, place: create_conversation(me, NewConversation(**place)),
        lambda me, talk, place: update_conversation(me, talk, ConversationChanges(**place)),
        lambda me, _talk, place: create_memory(
            me, MemoryFields(memory_type="fact", content=FACT, visibility="shared", **place)
        ),
        lambda me, _talk, place: propose(me, [OutsideStatement(FACT)], cause="import", **place),
        lambda me, _talk, place: create_prompt(me, NewSavedPrompt(name="Soup", content="A soup", **place)),
    ],
    ids=["conversation", "move", "memory", "proposal", "prompt"],
)
def test_what_comes_while_somebody_goes_is_theirs_alone(app_context, user, client, make_user, api, put):
    """They are removed in each gap of what puts something into a space."""
    owner, me = api(make_user()), user.user_id
    space_id, talk = make_space(owner, "Ylva"), converse(client)

    def prepare() -> Callable[[], None]:
        with write_transaction():
            db.session.execute(delete(Memory))
            members.join_by_group(me, space_id)
        return act

    def act() -> None:
        with suppress(NotFound), write_transaction():
            put(me, talk, {"space_id": space_id})

    def remove() -> None:
        with write_transaction():
            members.remove(owner.person.user_id, space_id, me)

    for gap in in_each_gap(app_context, prepare, remove):
        for model in (Conversation, Memory, SavedPrompt):
            assert not count_rows(model.user_id == me, model.space_id == space_id), gap.number


def test_the_report_counts_what_others_lost_and_what_they_quote(app, family):
    anna, ben, space_id, talk = family
    say(ben, talk, f"I read: {FACT}. Is that so?")
    shown = closes_it_and_waits(app, anna, ben, space_id)
    (report,) = scalars(app, select(AccountDeletion.report))
    assert report["left"] == {}
    assert (report["replies_of_others"], report["quoted_by_others"]) == (1, 1)
    page = browser_client(app).get(shown).text
    assert "1 reply to other members no longer says what you had shared." in page
    assert "1 message in which somebody else repeats it is theirs and stays." in page


def test_a_large_account_takes_it_along_before_its_job_has_run(app, family, monkeypatch, run_jobs):
    anna, ben, space_id, talk = family
    monkeypatch.setattr(deletion, "SMALL_ACCOUNT", 0)
    deletes_it(app, anna, ben, space_id)
    assert "walnuts" not in str(ben.get(f"/api/conversations/{talk}/messages").get_json())
    assert facts(ben, space_id) == {}
    run_jobs()
    with app.app_context():
        assert db.session.scalars(select(AccountDeletion.report)).one()["replies_of_others"] == 1


def test_a_deletion_killed_after_it_withdrew_goes_on_and_still_counts_that(app, family, monkeypatch):
    anna, ben, space_id, talk = family

    with app.app_context(), killed_at("DELETE FROM memories "):
        closes_it_and_waits(app, anna, ben, space_id)
    assert "walnuts" not in str(ben.get(f"/api/conversations/{talk}/messages").get_json())
    with app.app_context():
        assert db.session.scalars(select(Memory.visibility)).one() == "private"
        assert account_erasure.delete_account(anna.person.user_id, seconds=ENDLESS) == "done"
        assert db.session.scalars(select(AccountDeletion.report)).one()["replies_of_others"] == 1


def test_while_a_closed_account_can_be_kept_what_it_shared_stays(app, family):
    anna, ben, space_id, talk = family
    browser = browser_client(app, anna.person)
    post_form(browser, "/settings/delete", page="/settings/delete", password=PASSWORD)
    assert FACT in facts(ben, space_id)
    assert "walnuts" in str(ben.get(f"/api/conversations/{talk}/messages").get_json())
