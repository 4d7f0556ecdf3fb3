"""The prompt library over HTTP: whose it is, what a space shares, import, export, and the end of things."""

import json
from io import BytesIO

import pytest

from testkit.people import post_form
from tests.support.queries import execute, scalars
from webapp.accounts.models import User
from webapp.db.base import db, write_transaction
from webapp.saved_prompts import service
from webapp.saved_prompts.models import SavedPrompt
from webapp.spaces.members import accept, invite, remove
from webapp.spaces.schemas import NewSpace
from webapp.spaces.service import create_space, delete_space

TEXT = "Explain {{topic}} to a {{who: child | scientist}}."


@pytest.fixture
def other(make_user):
    """Somebody else."""
    return make_user()


@pytest.fixture
def space(app, user, other):
    """A space of `user` with `other` in it; its id."""
    with app.app_context(), write_transaction():
        space_id = create_space(user.user_id, NewSpace(kind="project", name="Bees")).space_id
        invite(user.user_id, space_id, other.email)
        accept(other.user_id, space_id)
    return space_id


def _save(client, **fields):
    answer = client.post("/api/saved_prompts", json={"name": "Explain", "content": TEXT, **fields})
    assert answer.status_code == 201, answer.text
    return answer.get_json()


def _names(client, query=""):
    return [prompt["name"] for prompt in client.get(f"/api/saved_prompts{query}").get_json()["prompts"]]


def test_a_prompt_is_made_read_changed_filled_and_deleted(client):
    made = _save(client)
    place = f"/api/saved_prompts/{made['saved_prompt_id']}"
    assert made["variables"] == [
        {"name": "topic", "default": None, "choices": []},
        {"name": "who", "default": "child", "choices": ["child", "scientist"]},
    ]
    assert client.get(place).get_json() == made
    changed = client.patch(place, json={"name": "Teach", "description": "Patiently"}).get_json()
    assert (changed["name"], changed["content"], changed["description"]) == ("Teach", TEXT, "Patiently")
    assert client.post(f"{place}/fill", json={"values": {"topic": "bees"}}).get_json() == {
        "text": "Explain bees to a child."
    }
    wrong = client.post(f"{place}/fill", json={"values": {"who": "cat"}})
    assert wrong.status_code == 422
    assert {error["loc"][0] for error in wrong.get_json()["errors"]} == {"topic", "who"}
    copy = client.post(f"{place}/duplicate").get_json()
    assert copy["name"] == "Teach (copy)"
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404
    assert _names(client) == ["Teach (copy)"]


def test_the_date_and_the_name_fill_themselves(client, user):
    made = _save(client, content="{{USER_NAME}} {{CURRENT_DATE}} {{CURRENT_WEEKDAY}}")
    text = client.post(f"/api/saved_prompts/{made['saved_prompt_id']}/fill", json={}).get_json()["text"]
    assert text.startswith(user.name + " 20")
    assert text.endswith("day")


def test_bad_fields_are_422(client):
    place = f"/api/saved_prompts/{_save(client)['saved_prompt_id']}"
    odd = [{"name": ""}, {"content": "  "}, {"content": "\u200b\u2060"}, {"content": "a" * 15_001}, {"content": "\x00"}]
    for fields in odd:
        assert client.post("/api/saved_prompts", json={"name": "A", "content": "B", **fields}).status_code == 422
        assert client.patch(place, json=fields).status_code == 422, fields
    assert client.patch(place, json={"content": None}).status_code == 422


def test_members_use_what_a_space_shares_and_maker_and_owner_change_it(client, api, make_user, other, space):
    member, stranger = api(other), api(make_user(is_admin=True))
    owners = _save(client, name="The owner’s", space_id=space)
    members = _save(member, name="A member’s", space_id=space)
    assert _names(member) == _names(client) == _names(client, f"?space_id={space}") == ["A member’s", "The owner’s"]
    assert _names(stranger) == []
    assert stranger.get(f"/api/saved_prompts?space_id={space}").status_code == 404
    assert stranger.post("/api/saved_prompts", json={"name": "A", "content": "B", "space_id": space}).status_code == 404
    place = f"/api/saved_prompts/{owners['saved_prompt_id']}"
    seen = member.get(place).get_json()
    assert (seen["is_yours"], seen["can_edit"]) == (False, False)
    assert member.post(f"{place}/fill", json={"values": {"topic": "bees"}}).status_code == 200
    assert member.patch(place, json={"name": "Taken"}).status_code == 403
    assert member.delete(place).status_code == 403
    copy = member.post(f"{place}/duplicate").get_json()
    assert (copy["is_yours"], copy["space_id"]) == (True, None)
    place = f"/api/saved_prompts/{members['saved_prompt_id']}"
    assert client.patch(place, json={"content": "Better"}).get_json()["content"] == "Better"
    assert client.patch(place, json={"space_id": None}).status_code == 403, "it would become somebody else’s"
    assert member.patch(place, json={"space_id": None}).get_json()["space_id"] is None
    assert client.get(place).status_code == 404


def test_what_was_shared_leaves_with_its_maker(app, user, client, api, other, space):
    member = api(other)
    for forget in (False, True):
        _save(member, name="A member’s", space_id=space)
        with app.app_context(), write_transaction():
            remove(other.user_id, space, other.user_id, forget=forget)
        assert _names(client) == []
        assert _names(member) == ["A member’s"]
        with app.app_context(), write_transaction():
            invite(user.user_id, space, other.email)
            accept(other.user_id, space)


def test_nothing_is_left_of_a_deleted_space_or_account(app, client, api, user, other, space):
    member = api(other)
    _save(member, name="A member’s", space_id=space)
    _save(client, name="The owner’s", space_id=space)
    with app.app_context(), write_transaction():
        delete_space(user.user_id, space)
    assert _names(member) == ["A member’s"]
    assert _names(client) == ["The owner’s"]
    execute(app, db.delete(User).where(User.user_id == other.user_id))
    assert scalars(app, db.select(SavedPrompt.name)) == ["The owner’s"]


def test_export_and_import(client, api, other):
    _save(client)
    _save(client, name="Ünïcode 🎉", content="Zwei\nZeilen")
    file = client.get("/api/saved_prompts/export").get_json()
    assert (file["format"], len(file["prompts"])) == ("commonplace-prompts", 2)
    reader = api(other)
    answer = reader.post("/api/saved_prompts/import", json={"prompts": [*file["prompts"], {}]}).get_json()
    assert (answer["imported"], answer["skipped"]) == (2, 0)
    assert answer["refused"] == [{"place": 3, "name": "", "reason": "It has no name."}]
    answer = reader.post("/api/saved_prompts/import", json=file).get_json()
    assert (answer["imported"], answer["skipped"]) == (0, 2)
    assert reader.get("/api/saved_prompts/export").get_json() == file
    assert reader.post("/api/saved_prompts/import", json={"prompts": [{}] * 501}).status_code == 422


def test_nobody_keeps_too_many(client, monkeypatch):
    monkeypatch.setattr(service, "MAX_PROMPTS", 2)
    _save(client)
    two = [{"name": name, "content": "x"} for name in "ab"]
    assert client.post("/api/saved_prompts/import", json={"prompts": two}).status_code == 409
    _save(client)
    assert client.post("/api/saved_prompts", json={"name": "A", "content": "B"}).status_code == 409


def test_lists_are_paged_and_searched(client):
    for name in ("Bees", "ants", "100% sure", "Wasps"):
        _save(client, name=name, description="insects" if name != "100% sure" else "")
    page = client.get("/api/saved_prompts?limit=3").get_json()
    rest = client.get(f"/api/saved_prompts?limit=3&cursor={page['next_cursor']}").get_json()
    assert len(page["prompts"]) == 3
    assert {prompt["name"] for prompt in page["prompts"] + rest["prompts"]} == {"Bees", "ants", "100% sure", "Wasps"}
    assert _names(client, "?q=0%25") == ["100% sure"]
    assert _names(client, "?q=insects%20wa") == ["Wasps"]
    assert client.get("/api/saved_prompts?cursor=nonsense").status_code == 422


def test_the_same_key_makes_one_prompt(client):
    for _ in range(2):
        client.post("/api/saved_prompts", json={"name": "A", "content": "B"}, headers={"Idempotency-Key": "once"})
    assert _names(client) == ["A"]


def test_pages_work_without_scripts(client, space, browser):
    assert "No prompts yet" in browser.get("/prompts").text
    form = {"name": "Explain", "content": TEXT, "description": "", "space": space}
    assert post_form(browser, "/prompts/new", page="/prompts/new", **form).status_code == 303
    listed = browser.get("/prompts").text
    assert "Asks for topic, who" in listed and "Bees" in listed
    (made,) = client.get("/api/saved_prompts").get_json()["prompts"]
    assert made["space_id"] == space
    place = f"/prompts/{made['saved_prompt_id']}"
    wrong = post_form(browser, place, page=place, **{**form, "name": " "})
    assert wrong.status_code == 422 and "field-error" in wrong.text
    assert post_form(browser, place, page=place, **{**form, "space": ""}).status_code == 303
    assert client.get(f"/api{place.replace('prompts', 'saved_prompts')}").get_json()["space_id"] is None
    assert "topic" in browser.get(f"{place}/use").text
    missing = post_form(browser, f"{place}/use", page=f"{place}/use", v0="", v1="child")
    assert missing.status_code == 422 and "Topic is missing" in missing.text
    begun = post_form(browser, f"{place}/use", page=f"{place}/use", v0="<bees>", v1="scientist").text
    assert 'data-spans="given"' in begun, "its maker's words are not the reader's"
    assert "Explain &lt;bees&gt; to a scientist." in begun
    assert post_form(browser, f"{place}/duplicate", page=place).status_code == 303
    assert post_form(browser, f"{place}/delete", page=place).status_code == 303
    assert _names(client) == ["Explain (copy)"]


def test_a_file_is_imported_and_exported_on_the_page(client, browser):

    def take_in(text):
        page = browser.get("/prompts").text
        token = page.split('name="csrf_token" value="')[1].split('"')[0]
        file = {"file": (BytesIO(text.encode()), "prompts.json"), "csrf_token": token}
        return browser.post("/prompts/import", data=file, content_type="multipart/form-data")

    assert "not JSON" in take_in("{").text and "The prompts are more than 500." in take_in(json.dumps([{}] * 501)).text
    assert take_in(json.dumps([{"command": "/a", "title": "A", "content": "B"}])).status_code == 303
    mixed = take_in(json.dumps([{"name": "C", "content": "D"}, {"name": "Empty"}]))
    assert "It has no text." in mixed.text
    assert "characters that are not text" in take_in(r'[{"name": "Half \ud800", "content": "x"}]').text
    assert _names(client) == ["A", "C"]
    export = browser.get("/prompts/export")
    assert "attachment" in export.headers["Content-Disposition"]
    assert [prompt["name"] for prompt in json.loads(export.text)["prompts"]] == ["A", "C"]
