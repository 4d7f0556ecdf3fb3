"""The JSON API of conversations: each route for its owner, a stranger, an admin, nobody, and with bad input."""

import json
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from testkit.people import Person, api_client
from tests.conversations.rows import add_conversation, add_messages
from webapp.conversations import lists
from webapp.conversations.schemas import ConversationQuery
from webapp.http.validation import MAX_METADATA_BYTES

CASES = json.loads(Path(__file__).with_name("api.json").read_text(encoding="utf-8"))


@pytest.fixture
def ids(app: Flask, user: Person) -> dict[str, int]:
    """A conversation of `user` with a question and a reply."""
    conversation_id = add_conversation(app, user.user_id, title="Mine")
    asked, reply = add_messages(app, conversation_id, 2)
    return {"c": conversation_id, "m": asked, "r": reply}


def assert_problem(response: Any, status: int) -> dict[str, Any]:
    """A problem as the contract says; its body."""
    assert response.status_code == status, response.text
    assert response.content_type == "application/problem+json"
    body = response.get_json()
    assert body["status"] == status
    assert {"type", "title", "status", "detail"} <= set(body)
    assert status != 422 or all(item["loc"] and item["msg"] for item in body["errors"])
    return body


def assert_case(case: object, response: Any, status: int) -> dict[str, Any]:
    """A problem as the contract says, or an AssertionError that names the case; its body."""
    try:
        return assert_problem(response, status)
    except AssertionError as error:
        error.add_note(f"case: {str(case)[:80]}")
        raise


def test_wrong_methods_get_405(client, ids):
    for method, path in CASES["wrong_methods_get_405"]:
        response = client.open(path.format(**ids), method=method)
        assert_case((method, path), response, 405)
        assert response.headers["Allow"], (method, path)


def test_a_life(client):
    made = client.post(
        "/api/conversations", json={"title": "  Tides  ", "metadata": {"a": [1, "é"]}, "persona": "sage"}
    )
    assert made.status_code == 201
    first = made.get_json()
    assert set(first) >= {
        "conversation_id",
        "title",
        "created_at",
        "updated_at",
        "is_archived",
        "metadata",
        "space_id",
        "journey",
        "persona",
        "is_temporary",
        "message_count",
    }
    assert (first["title"], first["metadata"], first["persona"]) == ("Tides", {"a": [1, "é"]}, "sage")
    assert first["created_at"].endswith("Z")
    path = f"/api/conversations/{first['conversation_id']}"
    got = client.get(path).get_json()
    assert got == {**first, "messages": [], "messages_cursor": None}
    changed = client.put(path, json={"is_archived": True}).get_json()
    assert changed == {**first, "is_archived": True}, "archiving is no activity and changes nothing else"
    assert client.get("/api/conversations").get_json()["conversations"] == []
    assert client.get("/api/conversations?archived=true").get_json()["conversations"] == [changed]
    assert client.put(path, json={"metadata": None, "title": "Ebb"}).get_json()["metadata"] is None
    assert client.delete(path).status_code == 204
    assert_problem(client.get(path), 404)
    assert_problem(client.delete(path), 404)


def test_current_is_the_latest_and_made_once(client):
    first = client.get("/api/conversations/current").get_json()
    assert client.get("/api/conversations/current").get_json() == first
    client.post("/api/conversations", json={"is_temporary": True})
    assert client.get("/api/conversations/current").get_json() == first
    second = client.post("/api/conversations", json={}).get_json()
    assert client.get("/api/conversations/current").get_json() == second


@pytest.mark.parametrize("path", ["/api/conversations/current", "/api/schedules/feed"])
def test_what_reading_makes_is_made_once(client, path):
    """Also by several requests at once, none of which fails."""
    clients = [api_client(client.application, client.person) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda one: one.get(path), clients))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1


def test_what_several_delete_at_once_is_deleted_once_with_all_it_holds(app, client, user):
    conversation_id = add_conversation(app, user.user_id)
    add_messages(app, conversation_id, 60)
    memory = client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees."}).get_json()
    file = client.post("/api/files", data={"file": (BytesIO(b"words"), "a.txt")}).get_json()
    clients = [api_client(app, client.person) for _ in range(6)]
    for path in (f"conversations/{conversation_id}", f"memories/{memory['memory_id']}", f"files/{file['file_id']}"):
        with ThreadPoolExecutor(6) as pool:
            answers = sorted(pool.map(lambda one, path=path: one.delete(f"/api/{path}").status_code, clients))
        assert answers[0] in (200, 204) and answers[1:] == [404] * 5, path
    assert_problem(client.get(f"/api/conversations/{conversation_id}/messages"), 404)


def test_q_finds_titles_and_words_and_no_wildcards(app, client, user):
    one = add_conversation(app, user.user_id, title="100% of tides")
    two = add_conversation(app, user.user_id, title="Other")
    add_messages(app, two, 1, text="the a_b of Tides\\here")

    def find_ids(q: str) -> set[int]:
        rows = client.get("/api/conversations", query_string={"q": q}).get_json()["conversations"]
        return {row["conversation_id"] for row in rows}

    assert find_ids("tIDES") == {one, two}
    assert find_ids("0%") == {one}
    assert find_ids("%") == {one}
    assert find_ids("a_b") == {two}
    assert find_ids("_") == {two}
    assert find_ids("Tides\\h") == {two}
    assert find_ids("axb") == set()


BAD_BODIES = [
    ('{"title": ', 400),
    ("[]", 422),
    ('"x"', 422),
    ("null", 422),
    ("1", 422),
    ("[" * 5000, 400),
    ('{"title": 5}', 422),
    ('{"title": ["x"]}', 422),
    ('{"title": "' + "x" * 256 + '"}', 422),
    ('{"title": "\\ud800"}', 422),
    ('{"title": "a\\u0000b"}', 422),
    ('{"is_temporary": "perhaps"}', 422),
    ('{"metadata": []}', 422),
    ('{"metadata": {"a": NaN}}', 422),
    ('{"metadata": {"a": 1e999}}', 422),
    ('{"metadata": {"a": "\\udfff"}}', 422),
    ('{"metadata": {"a": ' + "9" * 400 + "}}", 422),
    ('{"metadata": {"a": ' + "9" * 5000 + "}}", 400),
    ('{"space_id": ' + "9" * 30 + "}", 422),
    ('{"space_id": 0}', 422),
    ('{"metadata": ' + '{"a":' * 30 + "1" + "}" * 30 + "}", 422),
    ('{"metadata": {"a": ' + "[" * 900 + "]" * 900 + "}}", 422),
    (json.dumps({"metadata": {"a": "x" * MAX_METADATA_BYTES}}), 422),
    ('{"space_id": 7}', 404),
    ('{"journey": "x"}', 404),
]


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_bad_bodies(client, ids, method):
    path = "/api/conversations" if method == "POST" else f"/api/conversations/{ids['c']}"
    for body, status in BAD_BODIES:
        if method == "PUT" and ("is_temporary" in body or "journey" in body):
            continue  # no such fields there
        response = client.open(path, method=method, data=body, content_type="application/json")
        found = assert_case(body, response, status)
        if status == 422:
            assert found["errors"], body
            assert all(set(error) == {"loc", "msg"} for error in found["errors"]), body


def test_another_type_is_415_and_too_much_is_413(client):
    assert_problem(client.post("/api/conversations", data="a=1", content_type="text/plain"), 415)
    assert_problem(client.post("/api/conversations", data={"title": "form"}), 415)
    assert_problem(client.post("/api/conversations", json={}, headers={"Content-Encoding": "gzip"}), 415)
    assert_problem(client.post("/api/files", json={"file": "text"}), 415)
    assert_problem(client.post("/api/files", data={"file": "text"}, content_type="multipart/form-data"), 422)
    big = json.dumps({"title": "x" * 5_000_000})
    assert_problem(client.post("/api/conversations", data=big, content_type="application/json"), 413)


def test_metadata_at_its_limits_is_kept(client):
    deep: Any = 1
    for _ in range(18):
        deep = [deep]
    full = {"a": "x" * (MAX_METADATA_BYTES - 9)}
    for metadata in ({"a": deep}, full, {"a": 2**63 - 1, "b": -1.5, "": None, "🎉": True}):
        made = client.post("/api/conversations", json={"metadata": metadata})
        assert made.status_code == 201, made.text
        conversation_id = made.get_json()["conversation_id"]
        assert client.get(f"/api/conversations/{conversation_id}").get_json()["metadata"] == metadata


def test_bad_queries(client, ids):
    bad = ["cursor=x", "cursor=%F0%9F%8E%89", "cursor=W10", "cursor=WzEsMV0x", "cursor=" + "A" * 501]
    bad += ["limit=0", "limit=101", "limit=x", "limit=" + "9" * 5000, "q=%00", "archived=perhaps"]
    bad += ["space_id=" + "9" * 40]
    for query in bad:
        assert assert_case(query, client.get(f"/api/conversations?{query}"), 422)["errors"], query
    assert client.get("/api/conversations?cursor=").status_code == 200
    for query in ("before=0", "after=-1", "before=" + "9" * 30, "cursor=x", "cursor=" + "9" * 30, "limit=1e3"):
        assert_case(query, client.get(f"/api/conversations/{ids['c']}/messages?{query}"), 422)


def test_forged_cursors_are_never_an_error_of_ours(client, user):
    for key in ([10**30, 1], [-(10**30), 1], [0, 10**30], [0, -(10**30)], [2**62, 2**62], [0, 0]):
        forged = lists.keyset_of(user.user_id, ConversationQuery()).cursor(*key)
        response = client.get("/api/conversations", query_string={"cursor": forged})
        assert response.status_code in (200, 422), key


def test_ids_that_cannot_exist(client):
    wrong = ["0", "2147483648", "9" * 40, "9" * 5000, "-1", "x", "%00"]
    paths = [f"/api/conversations/{number}" for number in wrong]
    for path in (*paths, f"/api/messages/{'9' * 40}/versions", f"/api/chat/turns/{'9' * 40}/stream"):
        assert_case(path, client.get(path), 404)


def test_a_message_cursor_beyond_every_id(client, ids):
    found = client.get(f"/api/conversations/{ids['c']}/messages?cursor={'9' * 20}").get_json()
    assert len(found["messages"]) == 2
