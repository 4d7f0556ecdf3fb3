"""Portraits of spaces: who may have and see one, what may stand in it, and how it follows what is shared."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, csrf_token
from tests.memories.portrait.test_portrait import answers, known_items, portrait_answer
from tests.spaces.helpers import add_fact, invite, join, make_space
from webapp.accounts.service import delete_user
from webapp.background.queues import enqueue
from webapp.db.base import db, write_transaction
from webapp.memories.portrait import generation
from webapp.memories.portrait.generation import WrittenPortrait, sentences_of
from webapp.memories.portrait.models import Portrait
from webapp.memories.portrait.subjects import OF_LEGACY, OF_SPACE, Members
from webapp.memories.schemas import KnownItem
from webapp.transfer.account_tables import PARTS

BOAT, TENT = "I own a boat called Kestrel", "I bring the tent"
OF_BOAT, OF_TENT = "Anna owns a boat called Kestrel.", "Ben brings the tent."


def share(client: ApiClient, space_id: int, content: str, visibility: str = "shared") -> int:
    body = {"memory_type": "fact", "content": content, "space_id": space_id, "visibility": visibility}
    answer = client.post("/api/memories", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json["memory_id"]


def place(space_id: int) -> str:
    return f"/api/memories/portrait?space_id={space_id}"


def texts(client: ApiClient, space_id: int) -> list[str]:
    answer = client.get(place(space_id))
    assert answer.status_code in (200, 204), answer.text
    return [sentence["text"] for sentence in answer.json["sentences"]] if answer.status_code == 200 else []


def stored_text(app: Flask, space_id: int) -> str:
    with app.app_context():
        row = db.session.query(Portrait).filter_by(space_id=space_id).one_or_none()
        return str([row.sentences, row.before]) if row else ""


@pytest.fixture
def pair(api: Callable, make_user: Callable) -> tuple[ApiClient, ApiClient, int]:
    """Anna's space with a portrait, and Ben in it."""
    anna, ben = api(make_user(name="Anna")), api(make_user(name="Ben"))
    space_id = make_space(anna, "The trip", "project")
    join(anna, space_id, ben)
    assert anna.put(f"/api/spaces/{space_id}", json={"has_portrait": True}).json["has_portrait"] is True
    return anna, ben, space_id


@pytest.fixture
def portrait_space(pair: tuple, model: ServerHandle, run_jobs: Callable) -> tuple[ApiClient, ApiClient, int, int, int]:
    """A sentence of Anna's memory, one of Ben's, and one of both."""
    anna, ben, space_id = pair
    boat, tent = share(anna, space_id, BOAT), share(ben, space_id, TENT)
    answers(model, (OF_BOAT, [2]), (OF_TENT, [1]), ("Anna owns a boat, and Ben brings the tent.", [1, 2]))
    assert ben.post(place(space_id)).status_code == 202
    run_jobs()
    assert len(texts(anna, space_id)) == len(texts(ben, space_id)) == 3
    return anna, ben, space_id, boat, tent


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        (OF_BOAT, True),
        ("Ben owns a boat called Kestrel.", False),
        ("Anna owns a boat called Kestrel and loves Ben.", False),
        ("Anna admires courage.", False),
        ("Anna owns 2 boats.", False),
    ],
)
def test_a_sentence_names_nobody_but_whose_note_it_is(text, stands):
    answer = WrittenPortrait.model_validate(portrait_answer((text, [1])))
    notes = [KnownItem(11, BOAT, 1, "fact", 0.5, "Anna"), KnownItem(12, TENT, 1, "fact", 0.5, "Ben")]
    assert bool(sentences_of(answer, notes, OF_SPACE)) is stands


@pytest.mark.parametrize(("text", "stands"), [("Grandpa Joe grew roses.", True), ("Grandpa Joe was kind.", False)])
def test_in_a_legacy_the_name_of_the_person_is_known_and_proves_nothing(text, stands):
    answer = WrittenPortrait.model_validate(portrait_answer((text, [1])))
    assert bool(sentences_of(answer, known_items("Grew roses behind the house"), OF_LEGACY, "Grandpa Joe")) is stands


def test_it_is_made_from_what_is_shared_and_names_whose_it_is(pair, model, run_jobs):
    anna, ben, space_id = pair
    share(anna, space_id, "I fear the water", "private")
    anna.post("/api/memories", json={"memory_type": "fact", "content": "I have a secret diary"})
    other = make_space(anna, "Another", "project")
    share(anna, other, "I sold the car")
    boat, tent = share(anna, space_id, BOAT), share(ben, space_id, TENT)
    answers(model, (OF_BOAT, [2]), (OF_TENT, [1]), ("Cleo flies.", [1]))
    assert ben.post(place(space_id)).json["is_coming"]
    run_jobs()
    call = next(call for call in model.calls() if call["schema"] == "portrait")
    assert call["messages"][-1]["content"].startswith(f"1. Ben: {TENT}\n2. Anna: {BOAT}" + "\n\n")
    found = anna.get(place(space_id)).json
    assert [(item["text"], item["memory_ids"]) for item in found["sentences"]] == [(OF_BOAT, [boat]), (OF_TENT, [tent])]
    assert found["is_current"] and found["made_at"]


def test_a_legacy_tells_of_the_person_remembered(api, make_user, model, run_jobs):
    anna = api(make_user(name="Anna"))
    space_id = make_space(anna, "Grandpa Joe")
    anna.put(f"/api/spaces/{space_id}", json={"has_portrait": True})
    add_fact(anna, space_id, "Grew roses behind the house", shared=True)
    add_fact(anna, space_id, "Snored terribly")
    answers(model, ("Grandpa Joe grew roses behind the house.", [1]))
    anna.post(place(space_id))
    run_jobs()
    call = next(call for call in model.calls() if call["schema"] == "portrait")
    assert call["messages"][0]["content"] == OF_LEGACY
    assert call["messages"][-1]["content"].startswith("Grandpa Joe\n\n1. Grew roses behind the house" + "\n\n")
    assert texts(anna, space_id) == ["Grandpa Joe grew roses behind the house."]


def test_without_the_owners_wish_there_is_none(pair, app, model):
    anna, ben, space_id = pair
    share(anna, space_id, BOAT)
    assert ben.put(f"/api/spaces/{space_id}", json={"has_portrait": False}).status_code == 403
    anna.put(f"/api/spaces/{space_id}", json={"has_portrait": False})
    refused = ben.post(place(space_id))
    assert refused.status_code == 409 and "switch it on" in refused.json["detail"]
    with app.app_context():
        enqueue("tidying")
        assert generation.make_portrait(Members(space_id)) is None
    assert not model.calls()


def test_switched_off_or_deleted_it_is_gone(portrait_space, app, model, run_jobs):
    anna, ben, space_id, *_ = portrait_space
    mine = ben.post("/api/memories", json={"memory_type": "fact", "content": OF_BOAT}).json["memory_id"]
    ben.delete(f"/api/memories/{mine}")
    assert OF_BOAT in texts(ben, space_id), "what somebody else forgets takes only what rests on theirs"
    anna.put(f"/api/spaces/{space_id}", json={"name": "The voyage"})
    assert len(texts(ben, space_id)) == 3, "another change leaves it"
    anna.put(f"/api/spaces/{space_id}", json={"has_portrait": False})
    assert texts(ben, space_id) == [] and stored_text(app, space_id) == ""
    anna.put(f"/api/spaces/{space_id}", json={"has_portrait": True})
    ben.post(place(space_id))
    run_jobs()
    assert OF_BOAT in stored_text(app, space_id)
    assert anna.delete(f"/api/spaces/{space_id}").status_code in (200, 204)
    assert stored_text(app, space_id) == ""
    with app.app_context():
        assert generation.make_portrait(Members(space_id)) is None


CHANGES = {
    "Kestrel": {"visibility": "private"},
    "Merlin": {"space_id": None, "visibility": "private"},
    "Osprey": None,  # is forgotten
    "Heron": {"is_archived": True},
    "Robin": {"content": "I own a canoe called Robin"},
}


def test_with_what_is_shared_its_sentences_go_at_once(pair, app, model, run_jobs):
    anna, ben, space_id = pair
    ids = {name: share(anna, space_id, f"I own a boat called {name}") for name in CHANGES}
    share(ben, space_id, TENT)
    told = {name: f"Anna owns a boat called {name}." for name in CHANGES}
    numbers = {name: len(CHANGES) + 1 - place for place, name in enumerate(CHANGES)}  # the newest is the first
    answers(model, (OF_TENT, [1]), *((told[name], [number]) for name, number in numbers.items()))
    ben.post(place(space_id))
    run_jobs()
    left = [OF_TENT, *told.values()]
    assert texts(ben, space_id) == left
    for name, change in CHANGES.items():
        path = f"/api/memories/{ids[name]}"
        done = anna.put(path, json=change) if change else anna.delete(path)
        left.remove(told[name])
        assert done.status_code == 200 and texts(ben, space_id) == texts(anna, space_id) == left, name
        if name in ("Kestrel", "Merlin", "Osprey"):
            assert name not in stored_text(app, space_id), name


def test_with_a_member_their_sentences_go(pair, app, api, make_user, model, run_jobs):
    anna, ben, space_id = pair
    cleo, dora = api(make_user(name="Cleo")), api(make_user(name="Dora"))
    join(anna, space_id, cleo, dora)
    share(anna, space_id, BOAT)
    going = [(ben, ben), (cleo, anna), (dora, None)]  # leaves, is removed, closes the account
    for person, _ in going:
        share(person, space_id, "I bring the tent")
    told = {person: f"{person.person.name} brings the tent." for person, _ in going}
    answers(model, (OF_BOAT, [4]), *((told[person], [3 - place]) for place, (person, _) in enumerate(going)))
    ben.post(place(space_id))
    run_jobs()
    assert texts(anna, space_id) == [OF_BOAT, *told.values()]
    for person, who in going:
        if who:
            done = who.delete(f"/api/spaces/{space_id}/members/{person.person.user_id}")
            assert done.status_code in (200, 204) and person.get(place(space_id)).status_code == 404
        else:
            with app.app_context(), write_transaction():
                delete_user(person.person.user_id)
        assert told[person] not in texts(anna, space_id) and OF_BOAT in texts(anna, space_id)
        assert told[person] not in stored_text(app, space_id)


def test_it_is_the_members(portrait_space, api, make_user, login):
    anna, _, space_id, *_ = portrait_space
    stranger, admin, guest = api(make_user()), api(make_user(is_admin=True)), api(make_user())
    assert invite(anna, space_id, guest).status_code == 201
    for client in (stranger, admin, guest):
        assert client.get(place(space_id)).status_code == client.post(place(space_id)).status_code == 404
        browser = login(client.person)
        for page in (f"/spaces/{space_id}/portrait", f"/spaces/{space_id}/portrait/pdf"):
            assert browser.get(page).status_code == 404


def test_at_night_it_is_written_if_something_has_changed(pair, app, model, run_jobs):
    anna, _, space_id = pair

    def night() -> int:
        before = sum(call["schema"] == "portrait" for call in model.calls())
        with app.app_context():
            enqueue("tidying")
        run_jobs()
        return sum(call["schema"] == "portrait" for call in model.calls()) - before

    assert night() == 0, "nothing is shared"
    share(anna, space_id, BOAT)
    answers(model, (OF_BOAT, [1]), times=None)
    assert night() == 1
    assert texts(anna, space_id) == [OF_BOAT]
    assert night() == 0, "nothing has changed"


def test_whoever_has_memory_off_is_not_told_of_anew_and_asks_for_none(portrait_space, model, app):
    anna, ben, space_id, *_ = portrait_space
    ben.put("/api/account", json={"settings": {"memory_enabled": False}})
    refused = ben.post(place(space_id))
    assert refused.status_code == 409 and "Memory is off" in refused.json["detail"]
    answers(model, (OF_BOAT, [1]))
    with app.app_context():
        assert generation.make_portrait(Members(space_id)) == 1
    sent = [call for call in model.calls() if call["schema"] == "portrait"][-1]
    assert TENT not in sent["messages"][-1]["content"] and BOAT in sent["messages"][-1]["content"]


def test_what_is_withdrawn_while_it_is_written_is_not_in_it(pair, app, model, monkeypatch):
    anna, ben, space_id = pair
    boat, _ = share(anna, space_id, BOAT), share(ben, space_id, TENT)
    answers(model, (OF_BOAT, [2]), (OF_TENT, [1]))
    judge = generation.sentences_of

    def withdraw_first(*given: Any) -> list[dict[str, Any]]:
        anna.put(f"/api/memories/{boat}", json={"visibility": "private"})
        return judge(*given)

    monkeypatch.setattr(generation, "sentences_of", withdraw_first)
    with app.app_context():
        assert generation.make_portrait(Members(space_id)) == 1
    assert texts(ben, space_id) == [OF_TENT]
    assert "Kestrel" not in stored_text(app, space_id)


def test_what_nobody_wants_any_more_once_it_is_written_is_not_stored(pair, app, model, monkeypatch):
    anna, _, space_id = pair
    share(anna, space_id, BOAT)
    answers(model, (OF_BOAT, [1]), times=None)
    judge, path = generation.sentences_of, f"/api/spaces/{space_id}"
    ends = {"switched off": lambda: anna.put(path, json={"has_portrait": False}), "deleted": lambda: anna.delete(path)}
    for meanwhile, end in ends.items():
        anna.put(path, json={"has_portrait": True})
        monkeypatch.setattr(generation, "sentences_of", lambda *given, end=end: end() and judge(*given))
        asked = len(model.calls())
        with app.app_context():
            assert generation.make_portrait(Members(space_id)) is None, meanwhile
        assert stored_text(app, space_id) == "" and len(model.calls()) == asked + 1, meanwhile


def test_an_owners_export_has_it_as_its_members_read_it(portrait_space, app):
    anna, ben, space_id, _, tent = portrait_space

    def export_texts(client: ApiClient) -> list[str]:
        with app.app_context():
            lines = list(PARTS["spaces.jsonl"].read(client.person.user_id))
        return [item["text"] for line in lines for item in line["portrait"]]

    assert len(export_texts(anna)) == 3 and export_texts(ben) == []
    ben.put(f"/api/memories/{tent}", json={"visibility": "private"})
    assert export_texts(anna) == [OF_BOAT]


def test_the_pages(pair, login, model, run_jobs):
    anna, ben, space_id = pair
    owner, member = login(anna.person), login(ben.person)
    home, page = f"/spaces/{space_id}", f"/spaces/{space_id}/portrait"
    assert f'href="{page}"' in owner.get(home).text
    assert "Nothing is shared here yet" in owner.get(page).text
    boat, tent = share(anna, space_id, BOAT), share(ben, space_id, TENT)
    answers(model, (OF_BOAT, [2]), (OF_TENT, [1]))
    form = {"csrf_token": csrf_token(member.get(page).text)}
    coming = member.post(page, data=form, headers={"HX-Request": "true"}).text
    assert "It is being written" in coming and f'hx-get="{page}"' in coming and "<html" not in coming
    run_jobs()
    text = member.get(page).text
    assert "What is shared in The trip" in text and OF_BOAT in text and "Shared by Anna" in text
    assert f"/memories/{tent}/edit" in text and f"/memories/{boat}/edit" not in text
    assert f'href="{page}/pdf"' in text
    assert member.post(page, data=form).status_code == 303


def test_the_switch_is_the_owners_and_off_at_first(api, make_user, login):
    anna, ben = api(make_user()), api(make_user())
    space_id = make_space(anna, "The trip", "project")
    join(anna, space_id, ben)
    owner, member = login(anna.person), login(ben.person)
    settings, home = f"/spaces/{space_id}/settings", f"/spaces/{space_id}"
    assert 'name="has_portrait" value="on" checked' not in owner.get(settings).text
    assert f"{home}/portrait" not in owner.get(home).text
    assert "This space has no portrait" in member.get(f"{home}/portrait").text
    token = csrf_token(owner.get(settings).text)
    for values, is_on in ((["on", ""], True), ([""], False)):
        form = {"csrf_token": token, "name": "The trip", "has_portrait": values}
        assert owner.post(home, data=form).status_code == 303
        assert anna.get(f"/api/spaces/{space_id}").json["has_portrait"] is is_on
    assert 'name="has_portrait"' not in member.get(settings).text
