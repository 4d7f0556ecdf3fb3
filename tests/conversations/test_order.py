"""Folders, pins and tags, one at a time and many at once."""

import re
from typing import NoReturn

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from testkit.people import follow, post_form
from tests.conversations.rows import add_conversation, add_messages
from webapp.conversations import bulk_changes, current_messages, lists
from webapp.conversations.schemas import ConversationQuery


def _talk(client, **fields):
    answer = client.post("/api/conversations", json=fields)
    assert answer.status_code == 201, answer.text
    return answer.get_json()


def _folder(client, name):
    return client.post("/api/folders", json={"name": name}).get_json()


def _titles(client, query):
    return [row["title"] for row in client.get(f"/api/conversations?{query}").get_json()["conversations"]]


def test_folders_are_made_listed_renamed_and_deleted(client):
    work = client.post("/api/folders", json={"name": "  Work "})
    assert work.status_code == 201
    work = work.get_json()
    assert (work["name"], work["conversation_count"]) == ("Work", 0)
    home = _folder(client, "Home")
    talk = _talk(client, title="Inside", folder_id=work["folder_id"])
    assert talk["folder_id"] == work["folder_id"]
    listed = client.get("/api/folders").get_json()
    assert [(f["name"], f["conversation_count"]) for f in listed["folders"]] == [("Home", 0), ("Work", 1)]
    assert client.post("/api/folders", json={"name": "woRK"}).status_code == 409
    assert client.patch(f"/api/folders/{home['folder_id']}", json={"name": "Work"}).status_code == 409
    renamed = client.patch(f"/api/folders/{home['folder_id']}", json={"name": "House"})
    assert renamed.get_json()["name"] == "House"
    assert client.delete(f"/api/folders/{work['folder_id']}").status_code == 204
    assert client.get(f"/api/conversations/{talk['conversation_id']}").get_json()["folder_id"] is None


def test_bad_folders_are_422(client):
    for body in ({}, {"name": ""}, {"name": "  "}, {"name": "x" * 101}, {"name": 3}):
        assert client.post("/api/folders", json=body).status_code == 422, body


def test_lists_are_filtered_by_folder_tag_and_pin(client):
    folder = _folder(client, "Work")["folder_id"]
    _talk(client, title="A", folder_id=folder, tags=["tax", "2026"])
    _talk(client, title="B", tags=["Taxi"], is_pinned=True)
    _talk(client, title="C")
    assert _titles(client, f"folder_id={folder}") == ["A"]
    assert _titles(client, "tag=tax") == ["A"]
    assert _titles(client, "tag=TAXI") == ["B"]
    assert _titles(client, "tag=ta%25") == []
    assert _titles(client, "is_pinned=true") == ["B"]
    assert _titles(client, "is_pinned=false") == ["C", "A"]
    assert _titles(client, "") == ["C", "B", "A"]  # activity alone orders the API's list


def test_changes_are_made_and_taken_back(client):
    talk = _talk(client, title="A")
    place = f"/api/conversations/{talk['conversation_id']}"
    changed = client.put(place, json={"is_pinned": True, "tags": ["work", "Work", "zoë"]}).get_json()
    assert changed["is_pinned"] is True
    assert changed["tags"] == ["work", "zoë"]
    assert changed["updated_at"] == talk["updated_at"]
    assert client.put(place, json={"title": "B"}).get_json()["tags"] == ["work", "zoë"]
    changed = client.put(place, json={"is_pinned": False, "tags": [], "folder_id": None}).get_json()
    assert (changed["is_pinned"], changed["tags"], changed["folder_id"]) == (False, [], None)


def test_bad_changes_are_422(client):
    place = f"/api/conversations/{_talk(client)['conversation_id']}"
    tags = ([""], ["x" * 51], [str(n) for n in range(21)], "work")
    for body in (*({"tags": given} for given in tags), {"is_pinned": 1}, {"folder_id": 2**31}):
        assert client.put(place, json=body).status_code == 422, body
        assert client.post("/api/conversations", json=body).status_code == 422, body


def test_pinned_conversations_come_first_in_the_sidebar_page_by_page(app_context, client, user):
    titles = "abcdefgh"
    for number, title in enumerate(titles):
        _talk(client, title=title, is_pinned=number in (1, 2, 5))
    found, cursor = [], None
    while True:
        query = ConversationQuery(limit=2, cursor=cursor)
        page = lists.list_conversations(user.user_id, query, pinned_first=True)
        found += [row.title for row in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == list("fcb" + "hgeda")


def test_the_sidebar_has_a_group_of_pinned_ones(client, browser):
    talk = _talk(client, title="Kept near")
    assert "Pinned" not in browser.get("/sidebar", headers={"HX-Request": "true"}).text
    assert post_form(browser, f"/c/{talk['conversation_id']}/pin", pinned="1").status_code == 303
    text = browser.get("/sidebar", headers={"HX-Request": "true"}).text
    assert text.index(">Pinned<") < text.index("Kept near")


def test_a_tag_too_many_takes_no_other_away(client, login, user):
    tags = [str(number) for number in range(20)]
    full, other = (_talk(client, tags=given)["conversation_id"] for given in (tags, []))
    browser, both = login(user), {"id": [full, other], "page": "/organise", "wish": "tag"}
    refused = follow(browser, post_form(browser, "/organise", to_tag="one more", **both))
    assert "“New conversation” already has 20" in refused.text
    assert [client.get(f"/api/conversations/{n}").get_json()["tags"] for n in (full, other)] == [tags, []]
    assert post_form(browser, "/organise", to_tag="7", **both).status_code == 303
    assert client.get(f"/api/conversations/{full}").get_json()["tags"] == [*tags[:7], *tags[8:], "7"]


def test_many_are_moved_and_deleted_and_only_ones_own(client, api, make_user, browser):
    folder = _folder(client, "Work")["folder_id"]
    mine = _talk(client)["conversation_id"]
    stranger = api(make_user())
    theirs = _talk(stranger)["conversation_id"]
    both = {"id": [mine, theirs, "nonsense", 10**20], "page": "/organise"}
    assert post_form(browser, "/organise", wish="move", to_folder=folder, **both).status_code == 303
    assert client.get(f"/api/conversations/{mine}").get_json()["folder_id"] == folder
    assert post_form(browser, "/organise", wish="delete", **both).status_code == 303
    assert client.get(f"/api/conversations/{mine}").status_code == 404
    assert stranger.get(f"/api/conversations/{theirs}").status_code == 200
    assert post_form(browser, "/organise", page="/organise", wish="archive").status_code == 303
    assert "Select at least one conversation." in browser.get("/organise").text
    for wish, reason in (("explode", "Is not a possible action."), ("tag", "The tag must have 1 to 50 characters.")):
        assert reason in follow(browser, post_form(browser, "/organise", wish=wish, **both)).text


@pytest.mark.cases("wish", "more", "field", "after")
def test_what_is_done_to_many_at_once_is_undone_at_once_for_those_it_changed(
    wish, more, field, after, client, login, make_user, browser
):
    def now(*numbers):
        return [client.get(f"/api/conversations/{number}").get_json()[field] for number in numbers]

    folders = [_folder(client, name)["folder_id"] for name in ("Here", "There")]
    *ids, other = (
        _talk(client, title=title, tags=tags, folder_id=folder)["conversation_id"]
        for title, tags, folder in (("a", ["old"], folders[0]), ("b", ["new"], folders[1]), ("c", ["old"], folders[0]))
    )
    before, beside = now(*ids), now(other)
    form = {"to_folder": folders[1]} if wish == "move" else more
    assert post_form(browser, "/organise", page="/organise", id=ids, wish=wish, **form).status_code == 303
    assert now(*ids) == (after or [folders[1]] * 2)
    assert now(other) == beside
    undo = re.search(r'action="(/organise/undo/[^"]+)"', browser.get("/organise").text)
    assert undo is not None
    assert post_form(login(make_user()), undo[1], page="/organise").status_code == 404
    assert post_form(browser, undo[1], page="/organise").status_code == 303
    assert now(*ids) == before
    assert post_form(browser, undo[1], page="/organise").status_code == 404  # it was used


def test_undoing_leaves_out_what_has_gone_since(client, browser):
    folder = _folder(client, "Gone")["folder_id"]
    ids = [_talk(client, folder_id=given)["conversation_id"] for given in (folder, None)]
    target = _folder(client, "There")["folder_id"]
    form = {"page": "/organise", "id": ids, "wish": "move", "to_folder": target}
    assert post_form(browser, "/organise", **form).status_code == 303
    undo = re.search(r'action="(/organise/undo/[^"]+)"', browser.get("/organise").text)
    assert undo is not None and client.delete(f"/api/folders/{folder}").status_code == 204
    assert post_form(browser, undo[1], page="/organise").status_code == 303
    assert [client.get(f"/api/conversations/{n}").get_json()["folder_id"] for n in ids] == [target, None]


def test_without_redis_it_is_done_and_no_undo_is_offered(client, monkeypatch, browser):
    def away() -> NoReturn:
        raise RedisConnectionError

    ids = [_talk(client)["conversation_id"]]
    monkeypatch.setattr(bulk_changes, "redis", away)
    assert post_form(browser, "/organise", page="/organise", id=ids, wish="archive").status_code == 303
    page = browser.get("/organise").text
    assert "Archived 1 conversation." in page and "/organise/undo/" not in page


def test_many_that_were_deleted_at_once_come_back_at_once(client, api, login, make_user, user):
    before, *ids = [_talk(client, title=title)["conversation_id"] for title in "abc"]
    browser, other = login(user), make_user()
    assert post_form(browser, f"/c/{before}/delete").status_code == 303
    browser.get("/organise")  # which says what has been done so far
    assert post_form(browser, "/organise", page="/organise", id=ids, wish="delete").status_code == 303
    page = browser.get("/organise").text
    assert "Deleted 2 conversations." in page
    undo = page.split('action="/organise/undelete?', 1)[1].split('"', 1)[0]
    assert post_form(login(other), f"/organise/undelete?{undo}", page="/organise").status_code == 303
    assert _titles(client, "") == []
    answer = post_form(browser, f"/organise/undelete?{undo}", page="/organise", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, "/organise")
    assert "Restored 2 conversations." in browser.get("/organise").text
    assert _titles(client, "") == ["c", "b"]
    assert post_form(browser, "/organise/undelete?at=then", page="/organise").status_code == 422
    assert post_form(browser, "/organise/undelete?at=0001-01-01", page="/organise").status_code == 303


def test_all_folders_can_be_chosen(client, login, user):
    for number in range(101):
        _folder(client, f"{number:03}")
    last = client.get("/api/folders?limit=100").get_json()["next_cursor"]
    folder = client.get(f"/api/folders?cursor={last}").get_json()["folders"][0]["folder_id"]
    talk = _talk(client, folder_id=folder)["conversation_id"]
    page = login(user).get(f"/c/{talk}/organise").text
    assert f'<option value="{folder}" selected>' in page  # else to save the tags would take it out of its folder


def test_what_the_address_says_beside_filters_is_left_out(client, login, user):
    talk, browser = _talk(client)["conversation_id"], login(user)
    for address in ("endpoint=x", "_method=x", "_external=1&_scheme=gopher", "q=%00", "is_pinned=x", "space_id=0"):
        asked = f"/organise?tag=a&archived=1&{address}"
        answer = post_form(browser, asked, page="/organise", id=[talk], wish="pin")
        assert (answer.status_code, answer.location) == (303, "/organise?archived=True&tag=a"), address


def test_the_page_filters_by_its_address_and_keeps_folders(client, browser):
    assert post_form(browser, "/folders", page="/organise", name="Receipts").status_code == 303
    folder = client.get("/api/folders").get_json()["folders"][0]["folder_id"]
    talk = _talk(client, title="Shoes", folder_id=folder)["conversation_id"]
    _talk(client, title="Boots")
    page = browser.get(f"/organise?folder_id={folder}").text
    assert f'id="pick-{talk}"' in page and page.count('name="id"') == 1
    for new, folder_ids in (("", {None}), (" Shopping ", {folder + 1})):
        form = {"tags": "a, b", "folder": "", "new_folder": new}
        assert post_form(browser, f"/c/{talk}/organise", **form).status_code == 303
        changed = client.get(f"/api/conversations/{talk}").get_json()
        assert (changed["tags"], {changed["folder_id"]}) == (["a", "b"], folder_ids)
    refused = post_form(browser, f"/c/{talk}/organise", **form)
    assert refused.status_code == 409 and "already have a folder" in refused.text and 'value="a, b"' in refused.text
    client.delete(f"/api/folders/{folder + 1}")
    reasons = {"tags": "each with at most 50 characters", "new_folder": "at most 100", "folder": "no such folder"}
    for wrong in ({"tags": "x" * 60}, {"new_folder": "x" * 101}, {"folder": folder + 1}):
        shown = post_form(browser, f"/c/{talk}/organise", **wrong).text
        assert {name for name, reason in reasons.items() if reason in shown} == wrong.keys()
    assert post_form(browser, f"/folders/{folder}/rename", page="/organise", name="Bills").status_code == 303
    assert "Bills" in browser.get("/organise").text
    assert post_form(browser, f"/folders/{folder}/delete", page="/organise").status_code == 303
    assert client.get("/api/folders").get_json()["folders"] == []


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_every_reply_of_theirs_comes_once_in_order(app, make_user, monkeypatch, size):
    monkeypatch.setattr(current_messages, "PORTION", size)
    user, other = make_user(), make_user(email="other@example.com")
    mine = [add_conversation(app, user.user_id) for _ in range(2)]
    theirs = add_conversation(app, other.user_id)
    replies = []
    for conversation_id in (mine[1], theirs, mine[0]):
        ids = add_messages(app, conversation_id, 4)
        replies += ids[1::2] if conversation_id != theirs else []
    with app.app_context():
        found = list(current_messages.messages_of(user.user_id, "assistant"))
        assert [number for some in found for number in some] == replies
        assert {len(some) for some in found[:-1]} <= {size}
        assert len(found[-1]) <= size


def test_somebody_without_replies_has_no_portions(app, user):
    add_conversation(app, user.user_id)
    with app.app_context():
        assert list(current_messages.messages_of(user.user_id, "assistant")) == []
