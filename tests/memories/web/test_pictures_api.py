"""The timeline and the picture of people and things as data, for programs."""

from typing import Any

from testkit.people import ApiClient
from tests.conversations.test_api import assert_problem


def remember(client: ApiClient, content: str, since: str = "", **fields: Any) -> int:
    made = client.post("/api/memories", json={"memory_type": "fact", "content": content, **fields})
    assert made.status_code == 201, made.text
    memory_id: int = made.json["memory_id"]
    if since:
        assert client.put(f"/api/memories/{memory_id}", json={"valid_from": since}).status_code == 200
    return memory_id


def test_the_timeline_has_rows_of_what_replaced_what(client):
    bristol = remember(client, "Lives in Bristol", since="2020-05-01T00:00:00Z", fact_key="home/city")
    bath = remember(client, "Lives in Bath", since="2024-05-01T00:00:00Z", fact_key="home/city")
    tea = remember(client, "Drinks green tea", since="2022-06-30T23:00:00Z")
    found = client.get("/api/memories/timeline").json
    assert [row["memory_ids"] for row in found["rows"]] == [[bristol, bath], [tea]]
    old, new = found["rows"][0]["spans"]
    assert (old["content"], old["began"][:10], new["ended"]) == ("Lives in Bristol", "2020-05-01", None)
    assert old["ended"] is not None and found["left_out"] == 0


def test_a_time_narrows_it(client):
    client.put("/api/account", json={"settings": {"timezone": "UTC"}})
    remember(client, "Drank green tea", since="2022-06-30T23:00:00Z")
    for asked, expected in {
        "from=2022-06-30&to=2022-06-30": 1,
        "from=2022-07-01": 0,
        "to=2022-06-29": 0,
        "from=2022-06-30T22:00:00Z&to=2022-07-01T00:00:00Z": 1,
        "to=9999-12-31": 1,
        "from=2022-06-30T22:00:00Z&to=2022-06-30": 1,
        "from=2022-06-30T22:00:00Z&to=2022-06-30T22:00:00Z": 0,
    }.items():
        assert len(client.get(f"/api/memories/timeline?{asked}").json["rows"]) == expected, asked
    for asked in ("timeline?from=soon", "timeline?to=2022-13-01", "map?limit=0", "map?limit=101"):
        assert_problem(client.get(f"/api/memories/{asked}"), 422)
    for first, last in (("2022-07-01", "2022-06-30"), ("2022-06-30T22:00:00Z", "2022-06-30T21:00:00Z")):
        refused = client.get(f"/api/memories/timeline?from={first}&to={last}").json
        assert refused["errors"] == [{"loc": ["to"], "msg": "comes before the first day"}]


def test_the_map_has_names_and_what_joins_them(client):
    both = remember(client, "Her daughter Ada visits Bert on Sundays")
    remember(client, "My neighbour is called Bert")
    found = client.get("/api/memories/map").json
    nodes = {node["name"]: node for node in found["nodes"]}
    assert nodes["Bert"]["count"] == len(nodes["Bert"]["memory_ids"]) == 2
    assert {"count": 1, "memory_ids": [both]}.items() <= next(
        link for link in found["links"] if set(link["names"]) == {"Ada", "Bert"}
    ).items()
    one = client.get("/api/memories/map?limit=1").json
    assert [node["name"] for node in one["nodes"]] == ["Bert"] and one["left_out"] >= 1 and not one["links"]
