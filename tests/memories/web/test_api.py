"""The JSON API of memories: who may what, filters, paging, conflicts, review, profile."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy.exc import InvalidRequestError

from tests.memories.conversing import answers, converse, memories_of, name, operation
from tests.memories.learning.test_extraction import extract, learn
from tests.support.queries import record_statements
from webapp.db.base import db, now
from webapp.http.paging import Keyset
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryQuery
from webapp.memories.search import search_memories
from webapp.memories.service import list_memories
from webapp.memories.showing import cards
from webapp.memories.store.journal import statement_hash


def write(client, content: str, **fields) -> dict:
    answer = client.post("/api/memories", json={"memory_type": "fact", "content": content, **fields})
    assert answer.status_code == 201, answer.json
    return answer.json


FACT = {"memory_type": "fact", "content": "x"}


def test_a_memory_has_every_documented_field_and_never_its_vector(client):
    made = write(client, "  Keeps\n bees. ", category="Home Life", importance=0.7, is_pinned=True)
    documented = (
        "memory_id user_id memory_type category content source_conversation_id source_message_id created_at "
        "last_accessed_at access_count is_pinned is_archived confidence space_id visibility fact_key fact_value "
        "importance valid_from valid_to superseded_by_id needs_review origin revision evidence_count"
    )
    assert set(made) >= set(documented.split())
    assert "embedding" not in made and "score" not in made
    again = [client.post("/api/memories", json=FACT, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert again[0].json == again[1].json and again[1].headers["Idempotent-Replayed"] == "true"
    assert len(client.get("/api/memories").json["memories"]) == 2, "the same key and body create once"
    assert made["content"] == "Keeps bees." and made["category"] == "home_life" and made["origin"] == "user"
    assert made["importance"] == 0.7 and made["created_at"].endswith("Z")


def test_filters_and_paging(client):
    for n in range(5):
        write(client, f"Fact number {n}", category="work" if n % 2 else "home", is_pinned=n == 3)
    preference = client.post("/api/memories", json={"memory_type": "preference", "content": "Tea over coffee"}).json
    client.put(f"/api/memories/{preference['memory_id']}", json={"is_archived": True})

    def list_contents(query: str) -> list[str]:
        return [row["content"] for row in client.get(f"/api/memories?{query}").json["memories"]]

    assert list_contents("category=work") == ["Fact number 3", "Fact number 1"]
    assert list_contents("is_pinned=true") == ["Fact number 3"]
    assert list_contents("memory_type=preference") == [] and list_contents("is_archived=true") == ["Tea over coffee"]
    assert list_contents("needs_review=true") == [] and len(list_contents("visibility=private")) == 5
    assert list_contents("source_conversation_id=1") == []
    seen, cursor = [], ""
    while cursor is not None:
        page = client.get("/api/memories?limit=2" + (f"&cursor={cursor}" if cursor else "")).json
        seen += [row["content"] for row in page["memories"]]
        cursor = page["next_cursor"]
    assert seen == [f"Fact number {n}" for n in (4, 3, 2, 1, 0)]


def test_search_is_by_relevance_with_a_score_and_paged_and_reads_no_vectors(app, client, user):
    write(client, "Boat lies in Split; a boat of wood")
    write(client, "Has a dog")
    write(client, "The neighbour's boat")
    found = client.get("/api/memories?q=boat split&limit=1").json
    assert [row["content"][:15] for row in found["memories"]] == ["Boat lies in Sp"]
    assert found["memories"][0]["score"] > 0
    rest = client.get(f"/api/memories?q=boat split&limit=5&cursor={found['next_cursor']}").json
    assert [row["content"] for row in rest["memories"]] == ["The neighbour's boat"] and rest["next_cursor"] is None
    for path in ("/api/memories?", "/api/memories?q=a&", "/api/memories/changes?"):
        assert client.get(f"{path}cursor=WyJhIiwiYiJd").status_code == 422, path
    for odd in ("%", "_", "\\", "+(", "🍣"):
        assert client.get("/api/memories", query_string={"q": odd}).json["memories"] == []
    with app.app_context(), pytest.raises(InvalidRequestError):
        _ = search_memories(user.user_id, MemoryQuery(q="dog")).items[0][0].embedding


def test_bad_bodies_are_refused_with_reasons(client):
    required = {"msg": "Field required"}
    digest = {"main_topics": [], "action": [], "typical_observation": ""}
    for body, errors in (
        ({}, [{"loc": ["memory_type"], **required}, {"loc": ["content"], **required}]),
        ({"content": "x"}, [{"loc": ["memory_type"], **required}]),
        ({"memory_type": "fact"}, [{"loc": ["content"], **required}]),
        ({"conversation_id": 1}, [{"loc": ["memory_data"], **required}]),
        ({"memory_data": digest}, [{"loc": ["conversation_id"], **required}]),
        (FACT | {"content": "word " * 200}, [{"loc": ["content"], "msg": "String should have at most 500 characters"}]),
    ):
        assert client.post("/api/memories", json=body).json["errors"] == errors, body
    for body in (
        {"memory_type": "opinion", "content": "x"},
        FACT | {"content": " \n "},
        FACT | {"content": "x" * 501},
        FACT | {"importance": 2},
        FACT | {"color": 1},
        FACT | {"content": "My password is hunter2-and-more"},
        FACT | {"visibility": "shared"},
        {"conversation_id": 1, "memory_data": digest, "content": "x"},
        FACT | {"content": "nul \u0000"},
    ):
        answer = client.post("/api/memories", json=body)
        assert answer.status_code == 422 and answer.json["errors"], body
    assert client.post("/api/memories", json=FACT | {"space_id": 9}).status_code == 404
    path = f"/api/memories/{write(client, 'Keeps bees.')['memory_id']}"
    for value in ("1900-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "2026-01-01T00:00:00", "soon"):
        assert client.put(path, json={"valid_to": value}).status_code == 422, value
    assert client.put(path, json={"content": None}).status_code == 422


def test_writing_a_key_anew_replaces_its_value_and_editing_onto_a_key_is_a_conflict(client):
    first = write(client, "Works at Acme.", fact_key="employer", category="work", fact_value="Acme")
    assert first["fact_key"] == "work/employer"
    second = write(client, "Works at Bolt.", fact_key="work/employer", fact_value="Bolt")
    closed = client.get(f"/api/memories/{first['memory_id']}").json
    assert closed["valid_to"] and closed["superseded_by_id"] == second["memory_id"]
    client.put(f"/api/memories/{second['memory_id']}", json={"is_pinned": True})
    second = write(client, "works at  Bolt")
    assert (second["fact_key"], second["fact_value"], second["is_pinned"]) == ("work/employer", "Bolt", True)
    third = write(client, "Works somewhere.")
    refused = client.put(f"/api/memories/{third['memory_id']}", json={"fact_key": "work/employer"})
    assert refused.status_code == 409 and refused.json["errors"][0]["memory_id"] == second["memory_id"]
    client.delete(f"/api/memories/{second['memory_id']}?archive=true")
    path = f"/api/memories/{third['memory_id']}"
    for changes in ({"fact_key": "work/employer"}, {"category": "Side/Job"}, {"category": None}, {"category": "work"}):
        changed = client.put(path, json=changes).json
        wanted = (changes.get("category", "work") or "general").lower().replace("/", "_")
        assert (changed["category"], changed["fact_key"]) == (wanted, f"{wanted}/employer")
    refused = client.put(f"/api/memories/{second['memory_id']}", json={"is_archived": False})
    assert refused.status_code == 409 and refused.json["errors"][0]["memory_id"] == third["memory_id"]


def test_an_edit_of_the_words_changes_the_value_too(client):
    made = write(client, "My name is Ana.", fact_key="name", category="identity", fact_value="Ana")
    path = f"/api/memories/{made['memory_id']}"
    assert client.put(path, json={"content": "My name is Bea"}).json["fact_value"] == "Bea"
    assert client.get("/api/profile").json["name"] == "Bea"
    assert client.put(path, json={"content": "People call me Bea."}).json["fact_value"] == "Bea"
    assert client.put(path, json={"content": "I am Cleo."}).json["fact_value"] is None
    assert client.get("/api/profile").json["name"] == "I am Cleo."
    assert client.put(path, json={"content": "I am Dora.", "fact_value": "Dora"}).json["fact_value"] == "Dora"


def test_an_edit_is_the_users_own_and_every_revision_can_be_restored(app, client, user, model):
    talk = converse(app, user.user_id, "I prefer green tea")
    learn(client, model, talk, operation("I prefer green tea", "Prefers green tea."))
    (row,) = memories_of(app, user.user_id)
    path = f"/api/memories/{row.memory_id}"
    pinned = client.put(path, json={"is_pinned": True}).json
    assert not pinned["edited_by_user"] and pinned["revision"] == 2
    edited = client.put(path, json={"content": "Prefers white tea.", "memory_type": "preference"}).json
    assert edited["edited_by_user"] and edited["revision"] == 3 and edited["origin"] == "extraction"
    assert memories_of(app, user.user_id)[0].embedding is None
    restored = client.post(f"{path}/restore", json={"revision": 1}).json
    assert restored["content"] == "Prefers green tea." and restored["revision"] == 4
    revisions = client.get(f"{path}/history").json["revisions"]
    assert all(revision["fields"]["valid_from"].endswith("Z") for revision in revisions)
    causes = [(r["actor"], r["cause"]) for r in revisions]
    assert causes == [("extraction", "extraction"), ("user", "edited"), ("user", "edited"), ("user", "restored")]
    assert client.post(f"{path}/restore", json={"revision": 99}).status_code == 404


def propose_employer(app, client, user, model) -> tuple[dict, dict]:
    """A written employer, and an extracted other one that waits."""
    standing = write(client, "Works at Acme.", fact_key="work/employer", fact_value="Acme")
    talk = converse(app, user.user_id, "I work at Bolt now")
    fact = {"fact_key": "work/employer", "fact_value": "Bolt", "confidence": 0.95}
    answers(model, operation("I work at Bolt now", "Works at Bolt.", **fact))
    assert extract(client, talk)["counts"]["in_review"] == 1
    (found,) = client.get("/api/memories?needs_review=true").json["memories"]
    assert found["contradicts_id"] == standing["memory_id"]
    return standing, found


def test_accepting_what_contradicts_replaces_and_both_can_be_true(app, client, user, model):
    standing, found = propose_employer(app, client, user, model)
    path = f"/api/memories/{found['memory_id']}/review"
    for until in (None, "0001-01-01T00:00:00+14:00", "9999-12-31T00:00:00-14:00"):
        assert client.post(path, json={"decision": "until", "until": until}).status_code == 422
    assert client.post(path, json={"decision": "maybe"}).status_code == 422
    accepted = client.post(path, json={"decision": "accept"}).json
    assert not accepted["needs_review"]
    assert client.get(f"/api/memories/{standing['memory_id']}").json["superseded_by_id"] == found["memory_id"]
    assert client.post(path, json={"decision": "accept"}).status_code == 409
    (change, *_) = client.get("/api/memories/changes").json["changes"]
    assert client.post(f"/api/memories/changes/{change['change_set_id']}/undo").status_code == 200
    assert client.get(f"/api/memories/{standing['memory_id']}").json["valid_to"] is None
    assert client.get(f"/api/memories/{found['memory_id']}").json["needs_review"]
    both = client.post(path, json={"decision": "both"}).json
    assert (both["fact_key"], both["needs_review"], both["valid_to"]) == (None, False, None)
    now = client.get(f"/api/memories/{standing['memory_id']}").json
    assert (now["fact_key"], now["valid_to"]) == ("work/employer", None)


def test_rejecting_forgets_and_until_ends_the_other_at_a_date(app, client, user, model):
    standing, found = propose_employer(app, client, user, model)
    body = {"decision": "until", "until": "2026-05-01"}
    until = client.post(f"/api/memories/{found['memory_id']}/review", json=body).json
    assert until["valid_from"].startswith("2026-05-01T12:00") and not until["needs_review"]
    assert client.get(f"/api/memories/{standing['memory_id']}").json["valid_to"].startswith("2026-05-01")
    talk = converse(app, user.user_id, "maybe I like jazz")
    answers(model, operation("maybe I like jazz", "Likes jazz.", confidence=0.5))
    assert extract(client, talk)["counts"]["in_review"] == 1
    (doubtful,) = client.get("/api/memories?needs_review=true").json["memories"]
    report = client.post(f"/api/memories/{doubtful['memory_id']}/review", json={"decision": "reject"}).json
    assert report["memories"] == 1 and report["tombstones"] >= 1
    answers(model, operation("maybe I like jazz", "Likes jazz.", confidence=0.9))
    assert not any(extract(client, talk)["counts"].values()), "the words are not shown to the model again"


def test_the_profile_is_a_view_of_facts(app, client, user, model):
    empty = {"name": None, "preferred_name": None, "birthday": None, "updated_at": None, "source": None}
    assert client.get("/api/profile").json == empty
    told = client.put("/api/profile", json={"name": "Ada", "birthday": "1815-12-10"}).json
    assert told["name"] == "Ada" and told["source"] == "user_input" and told["updated_at"]
    assert client.put("/api/profile", json={"name": "Ada Lovelace"}).json["birthday"] == "1815-12-10"
    assert client.put("/api/profile", json={"birthday": None}).json["birthday"] == "1815-12-10", "null leaves it"
    for wrong in ("soon", "1990-13-01", "2999-01-01", "19900514", "1990-W20-1"):
        assert client.put("/api/profile", json={"birthday": wrong}).status_code == 422
    assert client.put("/api/profile", json={"birthday": ""}).json["birthday"] is None
    assert client.put("/api/profile", json={"shoe_size": 4}).status_code == 422
    # What the user wrote is not overwritten by what a model makes of a conversation.
    talk = converse(app, user.user_id, "My name is Augusta")
    assert learn(client, model, talk, name("My name is Augusta", "Augusta", 1.0))["counts"]["in_review"] == 1
    assert client.get("/api/profile").json["name"] == "Ada Lovelace"


@pytest.mark.mysql_only
@pytest.mark.slow
def test_lists_of_a_hundred_thousand_memories_read_an_index_and_few_rows(app, user):
    kinds = ("fact", "preference", "entity", "project", "decision")
    at = now()
    with app.app_context():
        for start in range(0, 100_000, 10_000):
            db.session.execute(
                Memory.__table__.insert(),
                [
                    {
                        "user_id": user.user_id,
                        "memory_type": kinds[n % 5],
                        "category": f"topic{n % 50}",
                        "created_at": at,
                        "content": f"Statement number {n}",
                        "statement_hash": statement_hash(str(n)),
                        "updated_at": at - timedelta(seconds=n // 2),
                        "valid_to": at if n % 40 == 7 else None,
                        "is_pinned": n % 1000 == 0,
                        "is_archived": n % 10 == 0,
                        "needs_review": n % 5000 == 1,
                    }
                    for n in range(start, start + 10_000)
                ],
            )
        db.session.commit()
        db.session.execute(db.text("ANALYZE TABLE memories"))
        queries = [
            {},
            {"memory_type": "entity"},
            {"category": "topic7"},
            {"is_pinned": True},
            {"needs_review": True},
            {"is_archived": True},
            {"is_closed": True},
            {"is_closed": True, "is_archived": True},
            {"visibility": "shared"},
            {"source_conversation_id": 1},
        ]
        for wishes in queries:
            first = list_memories(user.user_id, MemoryQuery(**wishes))
            keyset = Keyset("memories", MemoryQuery(**wishes), datetime, int, scope=[user.user_id, ""])
            middle = keyset.cursor(at - timedelta(seconds=25_000), 2**31 - 1)
            for cursor in (None, first.next_cursor, middle):
                if cursor is None and wishes:
                    continue
                with record_statements() as seen:
                    page = list_memories(user.user_id, MemoryQuery(**wishes, cursor=cursor))
                assert page.items or wishes
                (asked,) = [item for item in seen if item[0].startswith("SELECT memories")]
                before = handler_reads()
                db.session.connection().exec_driver_sql(*asked).all()
                assert handler_reads() - before < 400, wishes
        before = handler_reads()
        assert cards.counts(user.user_id) == cards.Counts(cards.MAX_COUNT + 1, 20)
        assert handler_reads() - before < 3 * cards.MAX_COUNT
        before = handler_reads()
        assert cards.categories(user.user_id) == sorted(f"topic{n}" for n in range(50) if n % 10)
        assert handler_reads() - before < 500


def handler_reads() -> int:
    """Rows that this connection's statements have read so far."""
    rows = db.session.execute(db.text("SHOW SESSION STATUS LIKE 'Handler_read%'")).all()
    return sum(int(value) for name, value in rows)
