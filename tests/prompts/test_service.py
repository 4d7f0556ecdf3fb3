"""Versions in the tables: numbering, activation by several at once, shipped texts that change."""

from functools import partial

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from tests.support.interleaving import at_once
from webapp.db.base import db, write_transaction
from webapp.db.conflicts import repeat_on_conflict
from webapp.errors import Conflict, Invalid, NotFound
from webapp.prompts import catalogue, service
from webapp.prompts.models import Prompt, PromptActivation, PromptVersion
from webapp.shell import upkeep


@pytest.fixture
def admin(make_user):
    """Somebody who is an admin."""
    return make_user(is_admin=True)


def test_without_rows_the_shipped_text_is_version_1(app_context):
    found = service.active("chat")
    assert (found.label, found.text) == ("chat/1", catalogue.default_text("chat"))
    assert service.get_prompt("simplified_conversation").active_version == 1
    assert [row.version for row in service.versions("chat")] == [1]
    with pytest.raises(NotFound):
        service.get_prompt("nonsense")
    with pytest.raises(NotFound):
        service.get_version("chat", 2)


def test_versions_are_added_used_and_rolled_back(app_context, admin):
    with write_transaction():
        second = service.add_version(admin.user_id, "simplified_conversation", "Be brief.", note="shorter")
    assert (second.name, second.version, service.active("chat").version) == ("chat", 2, 1)
    with write_transaction():
        service.add_version(admin.user_id, "chat", "Be long.", set_active=True)
    assert (service.active("chat").label, service.active("chat").text) == ("chat/3", "Be long.")
    with write_transaction():
        state = service.activate(admin.user_id, "chat", 1)
    assert (state.active_version, state.activated_by) == (1, admin.user_id)
    assert service.active("chat").text == catalogue.default_text("chat")
    assert [(row.version, row.activated_by) for row in service.activations("chat")] == [
        (1, admin.user_id),
        (3, admin.user_id),
    ]
    with write_transaction():
        service.activate(admin.user_id, "chat", 1)
    assert len(service.activations("chat")) == 2, "what is in use already is not put into use again"
    assert [row.version for row in service.versions("chat")] == [3, 2, 1]


def test_a_text_that_will_not_do_is_refused_with_all_reasons(app_context, admin):
    with pytest.raises(Invalid) as refused, write_transaction():
        service.add_version(admin.user_id, "digests", "{{NONSENSE}}")
    assert [item["loc"] for item in refused.value.errors] == [["prompt_text"], ["prompt_text"]]
    unknown, missing = (item["msg"] for item in refused.value.errors)
    assert "{{NONSENSE}}" in unknown and "lacks {{CONVERSATION}}" in missing
    assert db.session.scalar(select(func.count()).select_from(PromptVersion)) == 0


def test_an_old_version_that_will_not_do_any_more_is_not_put_into_use(app_context, admin):
    with write_transaction():
        service.add_version(admin.user_id, "titles", "Name it.", set_active=True)
        db.session.add(PromptVersion(name="titles", version=3, prompt_text="{{GONE}}", origin="admin"))
    with pytest.raises(Conflict), write_transaction():
        service.activate(admin.user_id, "titles", 3)
    with pytest.raises(NotFound), write_transaction():
        service.activate(admin.user_id, "titles", 4)
    assert service.active("titles").version == 2


def test_the_database_allows_no_active_version_that_does_not_exist(app_context):
    with pytest.raises(IntegrityError), write_transaction():
        db.session.add(Prompt(name="chat", active_version=7))
    with write_transaction():
        db.session.add(PromptVersion(name="chat", version=1, prompt_text="a", origin="admin"))
    with pytest.raises(IntegrityError), write_transaction():
        db.session.add(PromptVersion(name="chat", version=1, prompt_text="b", origin="admin"))


def test_admins_at_once_leave_one_active_and_lose_no_version(app, admin):
    """Six threads add and put into use at the same time, the first of them before there is any row."""

    def add(number, turn):
        with write_transaction():
            service.add_version(admin.user_id, "chat", f"Text {number}.{turn}", set_active=True)

    def work(number):
        with app.app_context():
            for turn in range(3):  # as at the edge: two of them may wait for each other
                repeat_on_conflict(lambda turn=turn: add(number, turn))

    at_once(*(partial(work, number) for number in range(6)))
    with app.app_context():
        assert [row.version for row in service.versions("chat")] == list(range(19, 0, -1))
        prompts = db.session.scalars(select(Prompt)).all()
        assert [(row.name, row.active_version) for row in prompts] == [("chat", service.active("chat").version)]
        last = db.session.scalars(select(PromptActivation).order_by(PromptActivation.activation_id.desc())).first()
        assert last.version == service.active("chat").version


def test_two_admins_activating_at_once_leave_exactly_one(app, make_user):
    people = [make_user(is_admin=True) for _ in range(2)]
    with app.app_context(), write_transaction():
        for number in (2, 3):
            service.add_version(None, "chat", f"Text {number}")

    def work(person, version):
        with app.app_context(), write_transaction():
            service.activate(person.user_id, "chat", version)

    at_once(*(partial(work, person, number) for number, person in enumerate(people, 2)))
    with app.app_context():
        state = service.get_prompt("chat")
        assert (state.active_version, state.activated_by) in [(2, people[0].user_id), (3, people[1].user_id)]
        assert service.activations("chat")[0].version == state.active_version


def test_the_sweep_stores_what_is_shipped(app_context):
    upkeep.sweep()
    assert {row.name for row in db.session.scalars(select(Prompt))} == set(catalogue.CATALOGUE)
    assert service.defaults_are_stored()
    upkeep.sweep()
    assert db.session.scalar(select(func.count()).select_from(PromptVersion)) == len(catalogue.CATALOGUE)


def test_a_new_shipped_text_replaces_only_a_shipped_one(app_context, admin, monkeypatch):
    with write_transaction():
        service.store_defaults()
        service.add_version(admin.user_id, "titles", "Name it.", set_active=True)
    shipped = catalogue.default_text
    newer = {"titles": "Newer titles.", "summaries": "Newer summaries."}
    monkeypatch.setattr(service, "default_text", lambda name: newer.get(name) or shipped(name))
    assert not service.defaults_are_stored()
    with write_transaction():
        assert service.store_defaults() == ["titles/3", "summaries/2"]
    assert service.active("titles").text == "Name it.", "what an admin chose stays"
    assert service.active("summaries").text == "Newer summaries."
    monkeypatch.setattr(service, "default_text", shipped)
    with write_transaction():
        assert service.store_defaults() == [], "a release that goes back changes nothing"
    assert service.active("summaries").text == "Newer summaries."
