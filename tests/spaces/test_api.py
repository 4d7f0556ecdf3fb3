"""The JSON API of spaces: who of its people may do what on every route."""

import json
from pathlib import Path

import pytest

from testkit.people import api_client
from tests.spaces.helpers import add_fact, converse, facts, invite, join, make_space, put_back

CASES = json.loads(Path(__file__).with_name("routes.json").read_text(encoding="utf-8"))


@pytest.fixture
def cast(app, make_user):
    """Owner, member, invited and stranger: clients by name, and a legacy with a document."""
    people = {
        "owner": make_user(name="Olga"),
        "member": make_user(name="Mia"),
        "invited": make_user(name="Ivan"),
        "stranger": make_user(),
    }
    clients = {name: api_client(app, person) for name, person in people.items()}
    owner = clients["owner"]
    space = make_space(owner, instructions="Speak softly.", description="About Joe")
    join(owner, space, clients["member"])
    assert invite(owner, space, clients["invited"]).status_code == 201
    document = owner.post(f"/api/spaces/{space}/documents", json={"title": "Letter", "content": "Dear all."})
    clients.update(space=space, document=document.get_json()["document_id"])
    return clients


ROUTES = CASES["who may do what"]
"""Method, path, body, then the status for owner, member and invited."""


@pytest.mark.once
def test_who_may_do_what_on_each_route(cast):
    """From the outside in: what the owner does may end the rest. Afterwards all are put back where they were.

    `test_access_matrix.py` proves that everybody else may do nothing.
    """
    space, names = cast["space"], ("owner", "member", "invited")
    ids = {name: one if isinstance(one, int) else one.person.user_id for name, one in cast.items()}
    for method, path, body, expected in ROUTES:
        given = {key: int(v.format(**ids)) if str(v).startswith("{") else v for key, v in (body or {}).items()}
        for who, status in list(zip(names, expected, strict=True))[::-1]:
            answer = cast[who].open(path.format(**ids), method=method, json=given or None)
            assert answer.status_code == status, (method, path, who, answer.text)
            if method != "GET" and status < 400 and (method, path) != ("DELETE", "/api/spaces/{space}"):
                put_back(space, *(cast[name] for name in names))


def test_a_space_is_made_changed_and_listed(client):
    made = client.post("/api/spaces", json={"kind": "legacy", "name": " Aunt\nMay ", "persona": "friend"}).get_json()
    shown = (made["name"], made["kind"], made["role"], made["status"], made["member_count"], made["persona"])
    assert shown == ("Aunt May", "legacy", "owner", "active", 1, "friend")
    path = f"/api/spaces/{made['space_id']}"
    changed = client.put(path, json={"instructions": "Line one\r\nLine two"}).get_json()
    assert changed["instructions"] == "Line one\nLine two"
    body, key = {"kind": "project", "name": "Boat"}, {"Idempotency-Key": "once"}
    once, again = (client.post("/api/spaces", json=body, headers=key).get_json() for _ in range(2))
    assert once == again
    project = once["space_id"]
    first = client.get("/api/spaces?limit=1").get_json()
    assert [space["space_id"] for space in first["spaces"]] == [project]
    second = client.get(f"/api/spaces?limit=1&cursor={first['next_cursor']}").get_json()
    assert [space["space_id"] for space in second["spaces"]] == [made["space_id"]]
    assert second["next_cursor"] is None
    assert [s["name"] for s in client.get("/api/spaces?kind=legacy").get_json()["spaces"]] == ["Aunt May"]


def test_what_is_no_space_is_refused(client):
    for body in (
        {"kind": "team", "name": "x"},
        {"kind": "project", "name": "  "},
        {"kind": "project"},
        {"kind": "project", "name": "x" * 201},
        {"kind": "legacy", "name": "x", "persona": "ghost"},
        {"kind": "project", "name": "x", "persona": "friend"},
        {"kind": "project", "name": "x", "owner": 1},
        {"kind": "project", "name": "x", "instructions": "y" * 8_001},
    ):
        assert client.post("/api/spaces", json=body).status_code == 422, body


def test_an_invitation_never_tells_whether_there_is_an_account_nor_lets_a_later_one_in(app, cast, make_user):
    owner, space = cast["owner"], cast["space"]
    known = invite(owner, space, cast["stranger"])
    unknown = owner.post(f"/api/spaces/{space}/members", json={"email": "nobody@example.org"})
    told = [{**answer.get_json(), "email": "", "invitation_id": 0} for answer in (known, unknown)]
    assert told[0] == told[1]
    assert (known.status_code, unknown.status_code) == (201, 201)
    invited = [m for m in owner.get(f"/api/spaces/{space}/members").get_json()["members"] if m["status"] == "invited"]
    assert len(invited) == 3
    assert all(m["user_id"] is None and m["name"] is None for m in invited)
    for member in invited:
        assert owner.delete(f"/api/spaces/{space}/invitations/{member['invitation_id']}").status_code == 204
    assert cast["stranger"].get("/api/spaces").get_json()["spaces"] == []
    assert cast["stranger"].post(f"/api/spaces/{space}/members/accept").status_code == 404
    owner.post(f"/api/spaces/{space}/members", json={"email": "later@example.org"})
    later = api_client(app, make_user(email="later@example.org"))
    assert later.post(f"/api/spaces/{space}/members/accept").status_code == 404
    assert later.get("/api/spaces").get_json()["spaces"] == []
    assert invite(owner, space, later).status_code == 201  # knowingly, now
    assert later.post(f"/api/spaces/{space}/members/accept").status_code == 200


def test_what_the_invited_see_before_they_accept_and_members_of_each_other(cast):
    listed = cast["member"].get(f"/api/spaces/{cast['space']}/members").get_json()["members"]
    seen = {m["name"]: m["email"] for m in listed}
    assert seen == {"Olga": None, "Mia": cast["member"].person.email}, "addresses are the owner's business"
    assert invite(cast["owner"], cast["space"], cast["member"]).status_code == 409
    seen = cast["invited"].get(f"/api/spaces/{cast['space']}").get_json()
    shown = (seen["status"], seen["name"], seen["instructions"], seen["invited_by"])
    assert shown == ("invited", "Grandpa Joe", "", "Olga")
    accepted = cast["invited"].post(f"/api/spaces/{cast['space']}/members/accept").get_json()
    assert (accepted["status"], accepted["instructions"], accepted["member_count"]) == ("active", "Speak softly.", 3)


def test_the_owner_hands_over_and_can_then_leave(cast):
    owner, member, space = cast["owner"], cast["member"], cast["space"]
    body = {"user_id": member.person.user_id}
    assert owner.post(f"/api/spaces/{space}/owner", json=body).get_json()["role"] == "member"
    assert member.get(f"/api/spaces/{space}").get_json()["role"] == "owner"
    assert owner.delete(f"/api/spaces/{space}/members/{owner.person.user_id}").status_code == 204
    assert owner.get(f"/api/spaces/{space}").status_code == 404


def test_facts_come_in_pages(cast):
    member, space = cast["member"], cast["space"]
    told = [f"Joe sang {song}" for song in ("bass", "at home", "in Lent")]
    for fact in told:
        add_fact(member, space, fact)
    path = f"/api/ai/legacies/{space}/facts?limit=2"
    first = member.get(path).get_json()
    second = member.get(f"{path}&cursor={first['next_cursor']}").get_json()
    assert [fact["content"] for fact in first["facts"] + second["facts"]] == told
    assert second["next_cursor"] is None
    assert member.get(f"{path}&cursor=x").status_code == 422


def test_leaving_takes_everything_of_ones_own_along(cast):
    member, owner, space = cast["member"], cast["owner"], cast["space"]
    conversation = converse(member, space)
    shared = add_fact(member, space, "Joe sang bass", shared=True)
    add_fact(member, space, "Joe hated peas")
    assert "Joe sang bass" in facts(owner, space)
    told = [p.get(f"/api/spaces/{space}/dependents").get_json()["consequences"] for p in (member, owner)]
    assert {c["kind"]: c["count"] for c in told[0]} == {"conversations": 1, "memories": 2, "shared": 1}
    assert [c["sentence"].split()[0] for c in told[0] + told[1]] == ["One", "2", "1", "0", "0", "0"]
    assert member.delete(f"/api/spaces/{space}/members/{member.person.user_id}").status_code == 204
    assert facts(owner, space) == {}
    assert owner.get(f"/api/memories/{shared}").status_code == 404
    kept = member.get(f"/api/conversations/{conversation}").get_json()
    assert (kept["space_id"], kept["persona"]) == (None, None)
    archived = member.get("/api/memories?is_archived=true").get_json()["memories"]
    assert {(m["content"], m["visibility"], m["space_id"]) for m in archived} == {
        ("Joe sang bass", "private", None),
        ("Joe hated peas", "private", None),
    }
    join(owner, space, member)  # and once more, forgetting it
    add_fact(member, space, "Joe had a dog")
    path = f"/api/spaces/{space}/members/{member.person.user_id}?forget=memories"
    assert member.delete(path).status_code == 204
    assert "dog" not in member.get("/api/memories?is_archived=true").text


def test_deleting_a_space_leaves_everybody_their_own(cast):
    owner, member, space = cast["owner"], cast["member"], cast["space"]
    mine, theirs = converse(owner, space), converse(member, space)
    add_fact(member, space, "Joe sang bass", shared=True)
    assert owner.delete(f"/api/spaces/{space}?forget=memories").status_code == 204
    for client, conversation in ((owner, mine), (member, theirs)):
        assert client.get(f"/api/conversations/{conversation}").get_json()["space_id"] is None
        assert client.get(f"/api/spaces/{space}").status_code == 404
    assert len(member.get("/api/memories?is_archived=true").get_json()["memories"]) == 1
    assert owner.get("/api/memories?is_archived=true").get_json()["memories"] == []
