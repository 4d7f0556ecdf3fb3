"""A whole account: exported, deleted, restored and exported again, it is the same up to its numbers."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade
from hypothesis import Phase, given, settings as hypothesis_settings, strategies as st
from jsonschema import validate
from sqlalchemy import select

from testkit.exports import pack
from testkit.people import Person, make_person, post_form
from tests.files.test_files import pdf
from tests.files.test_pictures import photo
from tests.journeys.rows import assessment, begin, extraction, load, say, write_fixture
from tests.memories.conversing import operation
from tests.support.commands import command_app
from tests.support.queries import count_queries
from tests.transfer.moving import upload
from webapp.accounts.service import delete_user
from webapp.background.time_slices import ENDLESS, Slice, advance
from webapp.config import Settings
from webapp.conversations.models import Conversation, Folder, Message, MessageFeedback, MessageReasoning
from webapp.db.base import add_row, db, write_transaction
from webapp.files.documents import upload_to_space
from webapp.files.storage import file_storage, key_of
from webapp.journeys.models import ConversationReport, Journey, JourneyGuide, PointMemory
from webapp.memories.models import Memory, MemoryEvidence, MemoryTombstone, TombstoneKey
from webapp.memories.store import forgetting
from webapp.memories.store.journal import Journal, statement_hash
from webapp.memories.store.tombstones import tombstone_set
from webapp.retrieval.models import ConversationChunk, TurnReceipt
from webapp.retrieval.vector_jobs import index_user
from webapp.saved_prompts.models import SavedPrompt
from webapp.schedules.models import Schedule
from webapp.schedules.schemas import ScheduleEdit, ScheduleFields
from webapp.schedules.service import FORMER_NAMES, change_schedule, create_schedule
from webapp.spaces.documents import _cut, add_document
from webapp.spaces.models import DocumentChunk, SpaceDocument
from webapp.spaces.schemas import NewSpace
from webapp.spaces.service import create_space
from webapp.transfer import export_jobs, import_jobs, preview, service, storage
from webapp.transfer.account_tables import PARTS
from webapp.transfer.models import Import, RestoredRow
from webapp.transfer.pages import COUNT_LABELS
from webapp.transfer.restore import job, undo
from webapp.transfer.schemas import StartImport

IDS = {
    **dict.fromkeys(("message_id", "parent_id", "reply_to_id", "through_message_id", "source_message_id"), "message"),
    **dict.fromkeys(("message_range_start", "message_range_end", "extracted_through"), "message"),
    **dict.fromkeys(("conversation_id", "source_conversation_id", "only_conversation_id"), "conversation"),
    **dict.fromkeys(("memory_id", "contradicts_id"), "memory"),
    **dict.fromkeys(("change_set_id", "undoes_id"), "change_set"),
    "space_id": "space",
    "folder_id": "folder",
    "file_id": "file",
    "document_id": "document",
    "journey_id": "journey",
    "point_id": "point",
    "point_memory_id": "point_memory",
    "report_id": "report",
    "chunk_id": "chunk",
    "revision_id": "revision",
    "receipt_id": "receipt",
    "verdict_id": "verdict",
    "saved_prompt_id": "saved prompt",
    "schedule_id": "schedule",
    "version_id": "version",
    **dict.fromkeys(("id", "conversation_memory_id"), "digest"),
}
"""Columns that hold numbers, and of what: the same number stands for the same thing wherever it is found."""
HERE_ALONE = {"audit.jsonl", "usage.jsonl", "shares.jsonl"}
"""What is told of the installation that it was made on, and is not restored."""


def plain(value: Any, file: str, numbers: dict[tuple[str, int], int], name: str = "", kind: str = "") -> Any:
    """A value with every number of a row replaced by its rank among its kind, in the order of appearance."""
    if isinstance(value, dict):
        there = str(value.get("kind") or "")
        return {key: plain(item, file, numbers, key, there) for key, item in value.items() if key != "file"}
    if isinstance(value, list):
        return [plain(item, file, numbers, name, kind) for item in value]
    of = IDS.get(name)
    if name == "superseded_by_id":
        of = "memory" if file in ("memories.jsonl", "revisions.jsonl") else "message"
    if name == "evidence_id" or (name == "evidence" and isinstance(value, int)):
        of = "evidence" if file in ("evidence.jsonl", "change_sets.jsonl") else "point_evidence"
    if name == "settled_with" or name == "dismissed_memory_ids":
        of = "memory"
    if name == "settled_conflicts":
        of = "point_evidence"
    if name == "parts":
        of = "part"
    if name == "passage_id":
        of = {"document": "part"}.get(kind, kind)
    if name == "target_id":
        of = "target"
    if of and isinstance(value, int):
        return f"{of} {numbers.setdefault((of, value), len(numbers))}"
    return value


def contents(data: bytes) -> dict[str, Any]:
    """An export as what it says: lines by file with plain numbers, other members by what they hold."""
    numbers: dict[tuple[str, int], int] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        lines = {
            name: [json.loads(line) for line in archive.read(name).decode().split("\n") if line]
            for name in PARTS
            if name not in HERE_ALONE
        }
        there = {line["memory_id"] for line in lines["memories.jsonl"]}
        for line in lines["change_sets.jsonl"]:  # what was done to a memory that is forgotten went with it
            line["changes"] = [entry for entry in line["changes"] if entry["memory_id"] in there]
        found: dict[str, Any] = {name: [plain(line, name, numbers) for line in lines[name]] for name in lines}
        found["files"] = {name: archive.read(name) for name in names if name.startswith("files/")}
        found["reports"] = sorted(archive.read(name) for name in names if name.startswith("reports/"))
        manifest = json.loads(archive.read("manifest.json"))["account"]
        found["account"] = (manifest["name"], manifest["settings"])
    return found


def export_account(user_id: int) -> bytes:
    """The ZIP of an account, made without a job."""
    name, *_ = advance("an export", partial(export_jobs._write_account, user_id), Slice(ENDLESS))
    data = storage.path_of(name).read_bytes()
    storage.drop(name)
    return data


def begin_restore(user_id: int, data: bytes, **wishes: Any) -> int:
    """Upload, look and start; the id of the import."""
    with write_transaction():
        with storage.open_new_file() as (name, file):
            file.write(data)
        row = service.add_stored(user_id, "me.zip", name, len(data), None, by_job=False)
        import_id = row.import_id
    assert preview.inspect_upload(import_id) == "ready", db.session.get(Import, import_id).error
    with write_transaction():
        service.start(user_id, import_id, StartImport(**wishes))
    return import_id


def restore_account(user_id: int, data: bytes, *, slices: float = 60.0, **wishes: Any) -> Import:
    """Begin and run until it is done; the import."""
    import_id = begin_restore(user_id, data, **wishes)
    while import_jobs.run(import_id, seconds=slices) == "running":
        pass
    done = db.session.get(Import, import_id)
    assert done.status == "done", done.error
    return done


def remember(user_id: int, content: str, **fields: Any) -> Memory:
    """A memory with its history, in the present transaction."""
    journal = Journal(user_id, "test", conversation_id=fields.get("source_conversation_id"))
    row = add_row(
        Memory(user_id=user_id, memory_type="fact", content=content, statement_hash=statement_hash(content), **fields)
    )
    journal.record_creation(row)
    journal.close({"added": 1})
    return row


KEEPS = (Conversation, SavedPrompt, Schedule)
"""What an undo leaves if it was gone on with."""
SOON = datetime(2036, 3, 1, 9, 30)  # noqa: DTZ001 - local
AT = datetime(2025, 3, 1, 9, 30, 15, 123456, tzinfo=UTC)


def furnish(user_id: int, talks: list[list[str]], words: list[str]) -> None:
    """An account with something of everything that needs no model."""
    with write_transaction():
        folder = Folder(user_id=user_id, name="Garden")
        space = create_space(user_id, NewSpace(kind="project", name="Hive", instructions="Be brief."))
        db.session.add_all([folder, SavedPrompt(user_id=user_id, name="Plan", content="Plan a {{day}}.")])
        watering = ScheduleFields(prompt="Water the plants", repeat="weekly", at=SOON, timezone="UTC")
        create_schedule(user_id, watering).is_active = False  # as it is after a restore
        db.session.flush()
        add_document(user_id, space.space_id, "Notes", "Bees dance. " * 50)
        first: Memory | None = None
        for number, texts in enumerate(talks):
            talk = Conversation(
                user_id=user_id,
                title=texts[0][:100],
                title_source="user",
                created_at=AT,
                updated_at=AT + timedelta(hours=number),
                folder_id=folder.folder_id if number % 2 else None,
                space_id=space.space_id if number % 3 == 1 else None,
                is_pinned=number == 0,
                extra={"mood": texts[-1][:20]},
            )
            talk.tags = ["garden"]
            add_row(talk)
            before = None
            for place, text in enumerate(texts):
                message = add_row(
                    Message(
                        conversation_id=talk.conversation_id,
                        role="assistant" if place % 2 else "user",
                        content=text,
                        parent_id=before.message_id if before else None,
                        created_at=AT + timedelta(minutes=place),
                    )
                )
                if place % 2 and before is not None:
                    message.reply_to_id = before.message_id
                    db.session.add(MessageReasoning(message_id=message.message_id, content="Hm.", duration_ms=7))
                    db.session.add(
                        MessageFeedback(message_id=message.message_id, user_id=user_id, rating="up", reasons=["clear"])
                    )
                    old = Message(
                        conversation_id=talk.conversation_id,
                        role="assistant",
                        content=f"Before: {text}",
                        parent_id=before.message_id,
                        reply_to_id=before.message_id,
                        superseded_by_id=message.message_id,
                        status="stopped",
                    )
                    db.session.add(old)
                before = message
            said = db.session.query(Message).filter_by(conversation_id=talk.conversation_id, superseded_by_id=None)
            ids = [row.message_id for row in said.order_by(Message.message_id)]
            talk.message_count, talk.extracted_through = len(ids), ids[-1]
            for word in words:
                row = remember(
                    user_id,
                    f"{word} {number}",
                    source_conversation_id=talk.conversation_id,
                    source_message_id=ids[0],
                    space_id=talk.space_id,
                    fact_key=f"topic/{number}",
                    fact_value=word[:50],
                    category=word[:10],
                    confidence=0.75,
                    valid_to=AT if first else None,
                    superseded_by_id=first.memory_id if first else None,
                    settled_with=[first.memory_id] if first else None,
                )
                db.session.add(
                    MemoryEvidence(
                        memory_id=row.memory_id, message_id=ids[0], quote=texts[0][:20], start=0, end=5, said_at=AT
                    )
                )
                first = first or row
            if len(ids) > 1:
                db.session.add(
                    ConversationChunk(
                        conversation_id=talk.conversation_id,
                        user_id=user_id,
                        space_id=talk.space_id,
                        content=f"About {texts[0]}",
                        message_range_start=ids[0],
                        message_range_end=ids[-1],
                    )
                )
                db.session.add(
                    TurnReceipt(
                        message_id=ids[1],
                        kind="message",
                        passage_id=ids[0],
                        stage="search",
                        rank=1,
                        score=0.5,
                        reason="it fits",
                        injected=True,
                    )
                )
        documents = list(db.session.scalars(select(SpaceDocument.document_id)))
        if words:
            gone = remember(user_id, "Once lived in Porto")
            forgetting.forget(user_id, [gone.memory_id])
    for document_id in documents:
        _cut(document_id)


def again(app: Flask, person: Person, data: bytes) -> tuple[int, bytes]:
    """Delete an account, make another and restore the first one's export into it; its id, and what it exports."""
    with write_transaction():
        delete_user(person.user_id)
    other = make_person(app)
    restore_account(other.user_id, data)
    return other.user_id, export_account(other.user_id)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1, max_size=40).filter(str.strip)


TALKS = st.lists(st.lists(TEXT, min_size=1, max_size=5), max_size=4)
WORDS = st.lists(st.text("abcdefgh 花é", min_size=1, max_size=12).filter(str.strip), max_size=2, unique=True)


@pytest.mark.parametrize("examples", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_what_was_exported_deleted_and_restored_is_exported_the_same(app, make_user, examples):
    # A smaller example would take minutes to find.
    @hypothesis_settings(max_examples=examples, phases=[Phase.explicit, Phase.generate])
    @given(talks=TALKS, words=WORDS)
    def check(talks, words):
        person = make_user()
        with app.app_context():
            furnish(person.user_id, talks, words)
            first = export_account(person.user_id)
            user_id, second = again(app, person, first)
            assert contents(second) == contents(first)
            assert tombstone_set(user_id).forbids("Once lived in Porto") is bool(words)
            with write_transaction():
                delete_user(user_id)

    check()


@pytest.fixture
def busy_person(app, client, user, model, run_jobs, tmp_path: Path) -> Person:
    """Somebody whose account was filled by using it: a journey with its report, a file, a digest, settings."""
    load(app, write_fixture(tmp_path / "fixtures"))
    guided = begin(client, "garden")
    said = "My garden is a small balcony, tomatoes please, and I'm allergic to walnuts!"
    found = extraction(
        assessment(1, "a small balcony"),
        assessment(2, "I'm allergic to walnuts", says="Allergic to walnuts.", allergy="walnuts"),
        operations=(operation("I'm allergic to walnuts", "The user is allergic to walnuts.", category="health"),),
    )
    model.script(match="memory_operations", structured=found, times=1)
    say(client, guided, said)
    run_jobs()
    file = client.post(
        "/api/files", data={"file": (io.BytesIO(b"Bees eat nectar."), "bees.txt")}, content_type="multipart/form-data"
    ).get_json()
    asked = client.post("/api/chat/stream", json={"message": "What do they eat?", "file_ids": [file["file_id"]]})
    assert b"event: done" in asked.data
    run_jobs()
    client.put("/api/account", json={"name": "Maja", "settings": {"custom_instructions": "Be brief."}})
    client.post("/api/conversations", json={"title": "Empty"})
    talk = client.get("/api/conversations").get_json()["conversations"][0]["conversation_id"]
    digest = {"main_topics": ["Bees"], "action": [], "typical_observation": "Curious"}
    client.post("/api/memories", json={"conversation_id": talk, "memory_data": digest})
    with app.app_context():
        assert db.session.query(ConversationReport).count() == 1
        furnish(user.user_id, [["One", "Two", "Three"], ["Un", "Deux"]], ["Tea"])
        with write_transaction():
            point_id = db.session.query(PointMemory).first().point_id
            db.session.merge(JourneyGuide(conversation_id=guided, point_id=point_id, is_paused=True))
    return user


def test_a_life_comes_back_whole(app, busy_person, api):
    with app.app_context():
        first = export_account(busy_person.user_id)
        with write_transaction():
            delete_user(busy_person.user_id)
        other = make_person(app)
        row = restore_account(other.user_id, first)
        assert not row.counts.get("problems skipped"), row.counts
        before, after = contents(first), contents(export_account(other.user_id))
    for name in before:
        assert after[name] == before[name], name
    assert before["reports"] and before["files"] and before["guides.jsonl"] and before["point_evidence.jsonl"]
    client = api(other)
    talks = client.get("/api/conversations?limit=100").get_json()["conversations"]
    assert {"Empty", "One", "Un"} <= {talk["title"] for talk in talks}


@contextmanager
def elsewhere(settings: Settings, place: Path) -> Iterator[Flask]:
    """Another installation, on SQLite and with secrets of its own."""
    url = f"sqlite:///{place / 'other.sqlite3'}"
    other = {"database_url": url, "var_dir": place, "secret_key": "another installation's own secret"}
    app = command_app(settings.model_copy(update=other))
    with app.app_context():
        upgrade()
        try:
            yield app
        finally:
            db.session.remove()
            db.engine.dispose()


def test_summaries_get_vectors_although_their_conversations_were_indexed_before_they_came(app, make_user, monkeypatch):
    person, other = make_user(), make_user()
    run = import_jobs.run

    def run_and_index(*args: Any, **wishes: Any) -> str:
        status = run(*args, **wishes)
        index_user(other.user_id)
        return status

    with app.app_context():
        furnish(person.user_id, [["One", "Two"]], ["Tea"])
        monkeypatch.setattr(import_jobs, "run", run_and_index)
        restore_account(other.user_id, export_account(person.user_id), slices=-1)
        chunk = db.session.scalar(select(ConversationChunk).where(ConversationChunk.user_id == other.user_id))
        assert chunk is not None and chunk.embedding_model


def test_from_one_installation_and_database_to_another_and_back(app, make_user, settings, tmp_path):
    """On MariaDB this goes to SQLite and back; what was forgotten stays forgotten at both."""
    person = make_user()
    with app.app_context():
        words = ["Tea", "Likes Infinity War", "Asked why 0/0 is NaN", r"Types \u0000 a lot"]  # come in as words
        furnish(person.user_id, [["Hello", "Hi", "花粉"], ["Again"]], words)
        first = export_account(person.user_id)
        db.session.remove()
    with elsewhere(settings, tmp_path) as other:
        there = make_person(other)
        restore_account(there.user_id, first)
        assert tombstone_set(there.user_id).forbids("once lived in PORTO")
        assert db.session.query(TombstoneKey).count() == 1
        second = export_account(there.user_id)
    assert contents(second) == contents(first)
    with app.app_context():
        back, third = again(app, person, second)
        assert contents(third) == contents(first)
        assert tombstone_set(back).forbids("Once lived in Porto")


def test_only_what_is_forgotten_is_hashed_and_a_tombstone_without_its_key_is_left_behind(app, make_user):
    person, other = make_user(), make_user()
    with app.app_context():
        furnish(person.user_id, [], ["x"])
        data = export_account(person.user_id)
        assert b"Porto" not in data
        restore_account(other.user_id, pack(members_of(data) | {"tombstone_keys.jsonl": b""}))
        assert db.session.query(MemoryTombstone).filter_by(user_id=other.user_id).count() == 0


def members_of(data: bytes) -> dict[str, bytes]:
    """The members of a ZIP."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def edit(data: bytes, name: str, change: Any) -> bytes:
    """An export with the lines of one file changed."""
    members = members_of(data)
    lines = [change(json.loads(line)) for line in members[name].decode().split("\n")[:-1]]
    members[name] = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    return pack(members)


def test_killed_anywhere_it_goes_on_and_does_nothing_twice(app, make_user, monkeypatch):
    person, other = make_user(), make_user()
    monkeypatch.setattr(job, "LINES", 2)
    with app.app_context():
        furnish(person.user_id, [["One", "Two"], ["Three"], ["Four", "Five"]], ["Tea"])
        data = export_account(person.user_id)
        import_id = begin_restore(other.user_id, data)
        write, calls = job.write, []

        def kill_write(*args):
            calls.append(args)
            if len(calls) % 3 == 0:
                write(*args)
                raise SystemExit
            return write(*args)

        monkeypatch.setattr(job, "write", kill_write)
        for _ in range(100):
            try:
                if import_jobs.run(import_id, seconds=0) == "done":
                    break
            except SystemExit:
                continue
        assert import_jobs.run(import_id) == "done"
        assert contents(export_account(other.user_id)) == contents(data)


def test_undoing_takes_it_all_back_but_what_was_gone_on_with(app, make_user):
    person, other = make_user(), make_user(name="Other")
    with app.app_context():
        furnish(person.user_id, [["One", "Two"], ["Three"]], ["Tea"])
        with write_transaction():
            db.session.add(SavedPrompt(user_id=person.user_id, name="Cook", content="Cook."))
            db.session.query(SavedPrompt).update({"updated_at": AT})
        row = restore_account(other.user_id, export_account(person.user_id))
        with write_transaction():
            assert service.undo(other.user_id, row.import_id).error is None
        for model in (Conversation, Memory, Folder, SavedPrompt, Schedule):
            assert db.session.query(model).filter_by(user_id=other.user_id).count() == 0
        assert db.session.query(RestoredRow).count() == 0
        assert tombstone_set(other.user_id).forbids("Once lived in Porto"), "what was forgotten stays forgotten"
        row = restore_account(other.user_id, export_account(person.user_id))
        (schedule,) = db.session.query(Schedule).filter_by(user_id=other.user_id)
        assert (schedule.rrule, schedule.at, schedule.is_active) == ("FREQ=WEEKLY", SOON, False), "it comes back paused"
        talk = db.session.query(Conversation).filter_by(user_id=other.user_id, title="One").one()
        with write_transaction():
            db.session.add(Message(conversation_id=talk.conversation_id, role="user", content="And on"))
            db.session.query(SavedPrompt).filter_by(user_id=other.user_id, name="Cook").one().content = "Cook slowly."
            change_schedule(other.user_id, schedule.schedule_id, ScheduleEdit(is_active=True))
        with write_transaction():
            assert service.undo(other.user_id, row.import_id).error == "3 parts were changed since, and stayed."
        left = {model: db.session.query(model).filter_by(user_id=other.user_id).one() for model in KEEPS}
        assert (left[Conversation].title, left[SavedPrompt].content) == ("One", "Cook slowly.")


def test_what_lines_refer_to_is_looked_up_for_many_at_once(app, make_user):
    people = [make_user() for _ in range(4)]

    def count_lookups(words: list[str]) -> int:
        person, other = people.pop(), people.pop()
        furnish(person.user_id, [["One", "Two"], ["Three"]], words)
        data = export_account(person.user_id)
        with count_queries() as statements:
            assert "problems skipped" not in restore_account(other.user_id, data).counts
        held, read = ("UPDATE memory_versions", "FROM memory_tombstones")
        order = [word for text in statements for word in (held, read) if word in text]
        assert order[:2] == [read, held], "after the preview, nothing is forgotten that was looked up"
        return sum("FROM restored_rows" in statement for statement in statements)

    with app.app_context():
        assert count_lookups([f"Word {number}" for number in range(6)]) == count_lookups(["One word", "Another"])


def test_schedules_of_an_earlier_export_come_back(app, make_user):
    def earlier(line: dict[str, Any]) -> dict[str, Any]:
        for old, new in FORMER_NAMES.items():
            line[old] = line.pop(new)
        return line | {"is_paused": not line.pop("is_active")}

    person, other = make_user(), make_user(name="Other")
    with app.app_context():
        furnish(person.user_id, [["One"]], ["Tea"])
        restore_account(other.user_id, edit(export_account(person.user_id), "schedules.jsonl", earlier))
        (row,) = db.session.query(Schedule).filter_by(user_id=other.user_id)
        assert (row.prompt, row.rrule, row.at, row.timezone) == ("Water the plants", "FREQ=WEEKLY", SOON, "UTC")
        assert not row.is_active


def test_undoing_asks_little_of_each_statement(app, make_user, monkeypatch):
    """A request waits only a few seconds for a statement: what a restore brought goes in many."""
    person, other = make_user(), make_user(name="Other")
    monkeypatch.setattr(undo, "CONVERSATIONS", 1)
    monkeypatch.setattr(undo, "ROWS", 2)
    with app.app_context():
        furnish(person.user_id, [["One", "Two"], ["Three"], ["Four"]], ["Tea"])
        row = restore_account(other.user_id, export_account(person.user_id))
        many = db.session.query(RestoredRow).filter_by(kind="message").count()
        with count_queries() as statements, write_transaction():
            service.undo(other.user_id, row.import_id)
        assert db.session.query(RestoredRow).count() == 0
    assert sum(said.startswith("DELETE FROM conversations") for said in statements) == 3
    assert sum(said.startswith("DELETE FROM restored_rows") for said in statements) >= many // 2


def test_only_an_empty_account_is_restored_into_and_by_one_at_a_time(app, api, login, make_user, user, run_jobs):
    with app.app_context():
        furnish(user.user_id, [["One", "Two"]], ["Tea"])
        data = export_account(user.user_id)
    other, empty = api(make_user()), make_user()
    other.post("/api/conversations", json={"title": "Mine"})

    browser = login(empty)
    ids = [upload(client, data).get_json()["import_id"] for client in (other, api(empty))]
    place, second = (f"/api/imports/{number}" for number in ids)
    page = post_form(browser, "/imports", page="/transfer", file=(io.BytesIO(data), "me.zip")).location
    run_jobs()
    assert other.post(f"{place}/start", json={"restore": True}).status_code == 409
    assert other.post(f"{place}/start", json={}).status_code == 202
    text = browser.get(page).text
    assert "Restore a Commonplace account" in text and "conversations <strong>1</strong>" in text
    assert "memory states <strong>" in text
    assert {f"{step.counted} restored" for step in job.STEPS if step.counted} <= {*COUNT_LABELS}
    assert post_form(browser, f"{page}/start", page=page, restore="1").status_code == 303
    assert api(empty).post(f"{second}/start", json={"restore": True}).status_code == 409, "two at once"
    run_jobs()
    counts = other.get(place).get_json()["counts"]
    assert counts["conversations imported"] == 1 and counts["memories proposed"] == 1
    assert "conversations restored" not in counts
    text = browser.get(page).text
    assert "conversations <strong>1</strong>" in text and "Done." in text


def test_one_part_named_three_times_is_not_the_whole_account(app, make_user):
    person, other = make_user(), make_user()
    with app.app_context():
        furnish(person.user_id, [["One", "Two"]], ["Tea"])
        row = restore_account(other.user_id, export_account(person.user_id), take=["memories"] * 3)
        assert not row.options["restore"] and "conversations restored" not in row.counts


def test_documents_come_back_with_their_pages_and_their_originals(app, make_user, api):
    person, other, stranger = make_user(), make_user(), make_user()
    bees = pdf("The apiary stands behind the mill.", "Seventeen hives were counted in May.")
    with app.app_context():
        with write_transaction():
            space_id = create_space(person.user_id, NewSpace(kind="project", name="Hive")).space_id
        with write_transaction():
            upload_to_space(person.user_id, space_id, "bees.pdf", io.BytesIO(bees))
        with write_transaction():
            upload_to_space(person.user_id, space_id, "plan.png", io.BytesIO(photo(form="PNG")))
        with write_transaction():
            add_document(person.user_id, space_id, "Notes", "Bees dance.")
        for document_id in db.session.scalars(select(SpaceDocument.document_id)).all():
            _cut(document_id)
        first = export_account(person.user_id)
        with zipfile.ZipFile(io.BytesIO(first)) as archive:
            (line,) = (json.loads(row) for row in archive.read("spaces.jsonl").splitlines())
            validate(line, json.loads(archive.read("schema.json"))["$defs"]["spaces.jsonl"])
        with write_transaction():
            delete_user(person.user_id)
        assert file_storage().size(key_of(hashlib.sha256(bees).hexdigest())) is None
        restore_account(other.user_id, first)
        assert contents(export_account(other.user_id)) == contents(first)
        found = db.session.scalars(select(SpaceDocument).order_by(SpaceDocument.pages.desc())).all()
        assert [(row.title, row.pages, row.file_name) for row in found] == [
            ("bees.pdf", 2, "bees.pdf"),
            ("plan.png", 1, "plan.png"),
            ("Notes", 0, None),
        ]
        place = f"/api/spaces/{found[0].space_id}/documents/{found[0].document_id}"
        pages = select(DocumentChunk.page).where(DocumentChunk.document_id == found[0].document_id)
        assert list(db.session.scalars(pages.order_by(DocumentChunk.position))) == [1, 2]
        # A line that names somebody else's content gets nothing of it where its bytes are not in the file.
        without = {name: content for name, content in members_of(first).items() if not name.startswith("files/")}
        restore_account(stranger.user_id, pack(without))
        theirs = select(SpaceDocument).where(SpaceDocument.user_id == stranger.user_id, SpaceDocument.pages > 1)
        assert (db.session.scalars(theirs).one().digest, db.session.scalars(theirs).one().pages) == (None, 2)
    client = api(other)
    assert client.get(f"{place}/content").data == bees
    assert "Seventeen hives" in client.get(f"{place}/pages/2").get_json()["text"]
    assert client.get(f"{place}/picture?page=2").mimetype == "image/jpeg"


ODD_LINES = [
    ({"title_source": "magic"}, "Title_source is none of"),
    ({"messages": [{"role": "system", "content": "x"}]}, "Role is none of"),
    ({"created_at": "soon"}, "Created_at is no time"),
    ({"title": "x" * 300}, "Title is too long"),
    ({"metadata": {"a": float("nan")}}, "Metadata cannot be stored"),
    ({"metadata": {"a": "b\x00"}}, "Metadata cannot be stored"),
    ("{", "cannot be read"),
]


def test_what_does_not_fit_is_reported_and_the_rest_comes_in(app, make_user):
    """Each talk but the last is odd in another way; of other files, all lines are."""
    person, other, third = make_user(), make_user(), make_user()

    def reasons(data: bytes, into: int) -> list[str]:
        row = restore_account(into, data)
        page = service.list_items(into, row.import_id, service.ItemQuery(outcome="skipped", limit=100))
        assert row.counts["problems skipped"] >= 1
        return [f"{item.title}: {item.reason}" for item in page.items]

    with app.app_context():
        furnish(person.user_id, [["One", "Two"], *([f"Talk {n}"] for n in range(len(ODD_LINES)))], ["Tea"])
        data = export_account(person.user_id)
        odd = iter(change for change, _ in reversed(ODD_LINES))
        talks = edit(data, "conversations.jsonl", lambda row: row if row["title"] == "One" else bent(row, next(odd)))
        found = reasons(talks, other.user_id)
        assert [reason for _, reason in ODD_LINES if not any(reason in said for said in found)] == [], found
        assert db.session.query(Conversation).filter_by(user_id=other.user_id).one().title == "One"
        rest = edit(data, "memories.jsonl", lambda row: row | {"confidence": 10**400})
        rest = edit(rest, "folders.jsonl", lambda row: {"folder_id": 1})
        rest = edit(rest, "change_sets.jsonl", lambda row: row | {"change_set_id": 7})
        # One too long ago to count from it, one in what is a folder of time zones.
        odd_times = {"at": "1999-12-31T08:00:00"}, {"timezone": "America", "rrule": ""}
        rest = edit(rest, "schedules.jsonl", lambda row: "\n".join(json.dumps(row | odd) for odd in odd_times))
        journey = {"slug": "My/Week", "title": "Week", "description": "?", "system_prompt": "?", "source_hash": ""}
        found = reasons(pack(members_of(rest) | {"journeys.jsonl": json.dumps(journey).encode()}), third.user_id)
        for reason in ("not as Commonplace writes it", "FREQ=WEEKLY says no times", "America says no times"):
            assert any(reason in said for said in found), found
        for part in ("folders", "change"):
            assert any(said.startswith(part) and "does not go together" in said for said in found), found
        assert db.session.query(Conversation).filter_by(user_id=third.user_id).count() == len(ODD_LINES) + 1
        assert db.session.query(Journey.slug).filter_by(owner_id=third.user_id).scalar() == "my-week", found


def bent(row: dict[str, Any], change: dict[str, Any] | str) -> dict[str, Any] | str:
    """A line with other fields, or another line."""
    return change if isinstance(change, str) else row | change


def test_numbers_of_others_in_a_file_reach_nothing_of_theirs(app, make_user):
    """Every reference is looked up among what came in with the file."""
    victim, person, other = make_user(), make_user(), make_user()
    with app.app_context():
        furnish(victim.user_id, [["Secret", "Words"]], ["Private"])
        talk = db.session.query(Conversation).filter_by(user_id=victim.user_id).one()
        memory = db.session.query(Memory).filter_by(user_id=victim.user_id).first()
        ids = (talk.conversation_id, memory.memory_id, talk.space_id)
        furnish(person.user_id, [["One", "Two"]], ["Tea"])
        data = export_account(person.user_id)
        data = edit(data, "evidence.jsonl", lambda row: row | {"memory_id": ids[1]})
        data = edit(data, "receipts.jsonl", lambda row: row | {"kind": "memory", "passage_id": ids[1]})
        data = edit(data, "summaries.jsonl", lambda row: row | {"conversation_id": ids[0]})
        data = edit(
            data, "memories.jsonl", lambda row: row | {"superseded_by_id": ids[1], "source_conversation_id": ids[0]}
        )
        restore_account(other.user_id, data)
        assert db.session.query(MemoryEvidence).filter_by(memory_id=ids[1]).count() == 1
        assert db.session.query(ConversationChunk).filter_by(conversation_id=ids[0]).count() == 1
        assert db.session.query(TurnReceipt).filter_by(kind="memory").count() == 0
        for row in db.session.query(Memory).filter_by(user_id=other.user_id):
            assert row.superseded_by_id is None and row.source_conversation_id is None


def test_every_table_of_a_person_is_exported_or_said_why_not(app):
    """A new table with somebody's id in it belongs into `PARTS`, or here."""
    elsewhere = {
        **dict.fromkeys(
            ("user_sessions", "user_second_factors", "oauth_codes", "schedule_feeds", "oauth_grants", "api_tokens"),
            "secrets",
        ),
        **dict.fromkeys(("user_identities", "user_passkeys"), "sign-in of this installation"),
        **dict.fromkeys(("memory_versions", "passage_versions", "passage_changes"), "counters"),
        **dict.fromkeys(("quotas", "user_group_members"), "the admins'"),
        "users": "the manifest",
        "push_subscriptions": "browsers that this installation notifies",
        "webhooks": "addresses that this installation calls, and secrets",
        "account_mails": "links that have an end",
        "idempotency_keys": "kept for a day",
        "forget_proposals": "questions that wait here",
        "message_embeddings": "made again",
        "space_members": "other people's, too; one's own spaces are in spaces.jsonl",
        "space_documents": "in spaces.jsonl",
        "gateway_threads": "fingerprints, of use where they were made",
        "tool_servers": "addresses and secrets, to be allowed anew elsewhere",
        "tool_grants": "what was allowed here, not elsewhere",
        "imports": "reports of what was brought in",
        "exports": "files for a day",
        "usage_sums": "made again from usage.jsonl's rows, where they are",
    }
    with app.app_context():
        tables = {
            table.name
            for table in db.metadata.sorted_tables
            if any(key.column.table.name == "users" and key.parent.name == "user_id" for key in table.foreign_keys)
        }
    parts = {part.model.__tablename__ for part in PARTS.values()}
    assert tables - parts - set(elsewhere) == {"users"} - {"users"}
