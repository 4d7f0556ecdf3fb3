"""The kinds of memory, each with how many there are and the newest."""

from testkit.memory_rows import fill_memories
from testkit.people import ApiClient
from tests.support.queries import change_row, count_queries
from webapp.memories.models import Memory
from webapp.memories.showing.cards import MAX_COUNT
from webapp.memories.showing.facets import tiles


def remember(client: ApiClient, content: str, kind: str = "fact", **fields: object) -> int:
    made = client.post("/api/memories", json={"memory_type": kind, "content": content, **fields})
    assert made.status_code == 201, made.text
    return made.json["memory_id"]


def test_a_kind_has_its_number_and_its_newest(app, client, user, make_user, api, login):
    remember(api(make_user()), "Somebody else lives in Bristol")
    waiting = remember(client, "Waits to be looked at")
    change_row(app, Memory, waiting, needs_review=True)
    assert "kinds-title" not in login(user).get("/memories/portrait").text
    remember(client, "Lives in Bath")
    remember(client, "Prefers green tea", "preference")
    newest = remember(client, "Plays the cello")
    gone = remember(client, "Is renovating the garden house", "project")
    assert client.put(f"/api/memories/{gone}", json={"is_archived": True}).status_code == 200
    with app.app_context():
        found = tiles(user.user_id)
    assert [(tile.kind, tile.count) for tile in found] == [("fact", 2), ("preference", 1)]
    assert found[0].newest.memory_id == newest
    page = login(user).get("/memories/portrait").text
    assert "Plays the cello" in page and "/memory?memory_type=preference" in page and "garden house" not in page


def test_a_long_memory_costs_the_same(app, client, user):
    with app.app_context():
        fill_memories(user.user_id, MAX_COUNT + 50, model="m", width=1)
        with count_queries() as statements:
            found = tiles(user.user_id)
    assert [tile.count for tile in found] == [MAX_COUNT + 1]
    assert sum(sent.startswith("SELECT") for sent in statements) == 2
