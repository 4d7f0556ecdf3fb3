"""What every prompt knows costs the same however much there is to know, also right after a change."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import insert, text

from tests.support.queries import count_queries
from webapp.chat.context import space_context
from webapp.conversations.models import Conversation
from webapp.db.base import db, now, write_transaction
from webapp.memories.models import Memory
from webapp.memories.prompt import always_used
from webapp.memories.prompt.always_used import NEW, AlwaysUsed, context_memories
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.memories.store.versions import begin_change
from webapp.retrieval import cache, facts
from webapp.retrieval.cache import index_cache
from webapp.retrieval.passages import Scope


def fill(user_id: int, count: int) -> None:
    """So many memories, every other a keyed fact, the older the further back."""
    at = now() - timedelta(days=100)
    same = {"user_id": user_id, "memory_type": "fact", "category": "misc"}
    rows = [
        {
            **same,
            "content": f"Memory number {n} about boats.",
            "fact_key": f"misc/attribute_{n}" if n % 2 else None,
            "importance": 0.3 + (n % 7) / 10,
            "statement_hash": f"{user_id}-{n}",
            **dict.fromkeys(("created_at", "updated_at"), at + timedelta(minutes=n)),
        }
        for n in range(count)
    ]
    with write_transaction():
        begin_change(user_id)
        db.session.execute(insert(Memory), rows)
        if db.engine.dialect.name != "sqlite":
            db.session.execute(text("ANALYZE TABLE memories"))


def rows_read() -> int:
    """Rows that the database has read for this connection so far."""
    found = db.session.execute(text("SHOW SESSION STATUS LIKE 'Handler_read%'")).all()
    return sum(int(value) for _, value in found)


def add(user_id: int, number: int) -> None:
    fields = {"memory_type": "fact", "category": "birds", "fact_key": f"birds/bird_{number}", "importance": 0.9}
    with write_transaction():
        create_memory(user_id, MemoryFields(content=f"Number {number} is a heron.", **fields))


@pytest.mark.mysql_only
def test_a_turn_after_a_change_reads_as_little_of_a_large_memory_as_of_a_small_one(app_context, make_user):
    spent: dict[int, list[int]] = {}
    for size in (400, 2_400):
        user_id = make_user().user_id
        fill(user_id, size)
        conversation = Conversation(user_id=user_id, created_at=now() - timedelta(hours=1))
        index_cache().get(user_id, 20)
        for turn in range(3):
            add(user_id, turn)
            before = rows_read()
            with count_queries() as sent:
                entry = index_cache().get(user_id, 20)
                place = space_context.place_of(
                    conversation, remembers=True, since=conversation.created_at, always_used=entry.always_used
                )
                found = facts.exact_facts(f"Which bird {turn} do I like?", Scope(user_id), entry.fact_keys)
            spent.setdefault(size, []).append(rows_read() - before)
            assert len(sent) == 5, "two of where memory stands, what has changed, these, and the fact that is named"
            assert [item.content for item in found] == [f"Number {turn} is a heron."]
            assert len([item for item in place.known if item.group == NEW]) == turn + 1
    assert max(spent[2_400]) <= min(spent[400]) * 1.3 + 200, spent


def test_a_memory_that_is_behind_or_ahead_is_read_anew(app_context, user):
    add(user.user_id, 6)
    old = AlwaysUsed.read(user.user_id, 1)
    conversation = Conversation(user_id=user.user_id, created_at=now())
    add(user.user_id, 7)
    for held in (old, AlwaysUsed.read(user.user_id, 3), None):
        place = space_context.place_of(conversation, remembers=True, since=conversation.created_at, always_used=held)
        assert [item.content for item in place.known if item.group == NEW] == ["Number 7 is a heron."]


def test_later_memories_take_no_earlier_ones_from_an_old_conversation(app_context, user, monkeypatch):
    monkeypatch.setitem(always_used.KNOWN_KINDS, "fact", always_used.KNOWN_KINDS["fact"]._replace(limit=2))
    monkeypatch.setattr(always_used, "SPARE_ROWS", 0)
    for number in (1, 2):
        add(user.user_id, number)
    since = now()
    first = context_memories(user.user_id, since=since)
    for number in (3, 4):
        add(user.user_id, number)
    assert len(first) == 2 and context_memories(user.user_id, since=since)[:2] == first


def test_what_is_known_follows_every_change(app_context, user):
    fill(user.user_id, 40)
    known = context_memories(user.user_id)
    assert len([item for item in known if item.group == "recent"]) == 10
    assert all(item.importance >= 0.5 for item in known if item.group == "fact")
    importances = [item.importance for item in known if item.group == "fact"]
    assert importances == sorted(importances, reverse=True)
    with write_transaction():
        first = next(item for item in known if item.group == "fact")
        row = db.session.get(Memory, first.id)
        row.is_pinned = True
        row.updated_at = now()
    again = context_memories(user.user_id)
    assert [item.id for item in again if item.group == "pinned"] == [first.id]
    with write_transaction():
        db.session.get(Memory, first.id).is_archived = True
    assert first.id not in {item.id for item in context_memories(user.user_id)}


def test_the_keys_of_facts_follow_change_by_change(app_context, user, client, monkeypatch):
    def find_facts(question: str) -> list[str]:
        db.session.rollback()
        keys = index_cache().get(user.user_id, 20).fact_keys
        return [item.content for item in facts.exact_facts(question, Scope(user.user_id), keys)]

    assert find_facts("Which bird 1?") == []
    add(user.user_id, 1)
    monkeypatch.setattr(cache, "read_keys", lambda *_: pytest.fail("all of them are read again"))
    assert find_facts("Which bird 1?") == ["Number 1 is a heron."]
    add(user.user_id, 2)
    assert find_facts("Which bird 2?") == ["Number 2 is a heron."]
    assert find_facts("Which bird 1?") == ["Number 1 is a heron."]
    assert find_facts("What is for dinner?") == []
    memory_id = client.get("/api/memories").json["memories"][0]["memory_id"]
    assert client.delete(f"/api/memories/{memory_id}?forget=1").status_code in (200, 204)
    assert len(left := find_facts("Which bird 2?") + find_facts("Which bird 1?")) == 1
    (row,) = client.get("/api/memories").json["memories"]
    client.put(f"/api/memories/{row['memory_id']}", json={"content": "It is a plum."})
    assert left != ["It is a plum."] and find_facts("Which birds 1 and 2?") == ["It is a plum."]


def test_pinned_memories_come_before_facts_by_importance_and_the_latest_others():
    def row(memory_id: int, **fields: Any) -> Any:
        values = {"importance": 0.5, "fact_key": None, "is_pinned": False, "created_at": now(), "updated_at": now()}
        values |= {"memory_type": "fact", "space_id": None, "content": "", "revision": 1, "until": None} | fields
        values["known_rank"] = values["importance"] if values["fact_key"] else None
        return SimpleNamespace(memory_id=memory_id, **values)

    long_ago = now() - timedelta(days=400)
    rows = [
        row(6, created_at=now() - timedelta(days=2)),
        row(2, fact_key="a/b", updated_at=long_ago),
        row(7, updated_at=long_ago),  # without a key it has faded
        row(3, fact_key="a/a", importance=0.9),
        row(4, fact_key="a/c", importance=0.49),
        row(5, is_pinned=True, importance=0.1),
        row(8, fact_key="a/a", importance=0.5 - 1e-8),  # a FLOAT column has lost this
    ]
    rows += [row(number, created_at=now() - timedelta(days=number)) for number in range(20, 40)]
    items = [(item.group[0], item.id) for item in AlwaysUsed().after(1, set(), rows).items()]
    assert items == [("p", 5), *(("f", n) for n in (3, 8, 2)), *(("r", n) for n in (4, 6, *range(20, 28)))]
    assert not always_used.is_over(row(9, space_id=1, updated_at=long_ago), now()), "of who is remembered"


def test_what_holds_until_a_day_leaves_every_prompt_after_it_though_nothing_changed(app, client, user, monkeypatch):
    talk = client.post("/api/conversations", json={}).json["conversation_id"]
    until = {"until": f"{now():%Y-%m-%d}"}
    before = now() - timedelta(seconds=1)
    for kind in (kinds := ("fact", "instruction")):
        for content, more in ((f"A {kind} for today", until), (f"A {kind} for good", {})):
            client.post("/api/memories", json={"memory_type": kind, "content": content, **more})

    def shown_contents(since: Any) -> set[str]:
        held, spot = index_cache().get(user.user_id, 20).always_used, db.session.get(Conversation, talk)
        place = space_context.place_of(spot, remembers=True, since=since, always_used=held)
        return {item.content for item in (*place.known, *place.standing)}

    noon = now().replace(hour=12, minute=0) + timedelta(days=1)  # when the day ends in the last time zone
    for moment, ends in ((noon - timedelta(minutes=1), ("today", "good")), (noon, ("good",))):
        monkeypatch.setattr(always_used, "now", lambda moment=moment: moment)
        for since in (None, before):
            with app.app_context():
                assert shown_contents(since) == {f"A {kind} for {end}" for kind in kinds for end in ends}
