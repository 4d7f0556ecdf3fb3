"""Exports: what is in them, what never is, whose they are, and that they come back in."""

import io
import json
import zipfile
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from jsonschema import validate
from sqlalchemy import insert, select

from testkit.people import post_form
from tests.conversations.rows import add_conversation
from tests.support.queries import change_row, count_queries, scalar
from tests.transfer.moving import bring, download_export
from webapp.accounts.service import delete_user
from webapp.conversations.messages import add_past_messages
from webapp.conversations.models import Conversation, Folder, Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import add_row, db, now, write_transaction, writing
from webapp.digests import service as digests
from webapp.digests.schemas import ConversationMemoryData
from webapp.files.storage import file_storage
from webapp.retrieval.models import ConversationChunk
from webapp.transfer import account_rows, account_tables, conversation_download, export_jobs, storage
from webapp.transfer.account_tables import PARTS
from webapp.transfer.models import Export


@pytest.fixture
def talk(app, user):
    """A conversation with an earlier version; its id."""
    with app.app_context(), write_transaction():
        row = Conversation(user_id=user.user_id, title="Bees: a talk", message_count=2)
        row.tags = ["garden"]
        add_row(row)
        asked = add_row(Message(conversation_id=row.conversation_id, role="user", content="What do <b>bees</b> eat?"))
        for content, old in (("Old words", asked.message_id), ("**Nectar** and 花粉", None)):
            of = {"conversation_id": row.conversation_id, "role": "assistant", "superseded_by_id": old}
            of |= dict.fromkeys(("parent_id", "reply_to_id"), asked.message_id)
            db.session.add(Message(**of, content=content))
        return row.conversation_id


def test_a_conversation_in_each_form(client, run_jobs, talk):
    for form, kind, words in (
        ("markdown", "text/markdown", "# Bees: a talk\n"),
        ("json", "application/json", '"role": "user"'),
        ("html", "text/html", "&lt;b&gt;bees&lt;/b&gt;"),
    ):
        shown, file = download_export(client, run_jobs, what="conversation", conversation_id=talk, format=form)
        assert file.status_code == 200 and file.headers["Content-Type"].startswith(kind)
        assert shown["filename"].startswith("Bees a talk.") and shown["size"] == len(file.data)
        assert words in file.text and "Nectar" in file.text and "Old words" not in file.text, form
        assert "attachment" in file.headers["Content-Disposition"]


@pytest.mark.parametrize(
    ("code", "opening", "headings"),
    [("de", '<html lang="de" dir="ltr">', ("Du · ", "Assistent · ")), ("ar", '<html lang="ar" dir="rtl">', ())],
)
def test_a_conversation_speaks_the_language_of_its_person(app, client, run_jobs, talk, code, opening, headings):
    """The job has no request: the settings decide, and the JSON stays as it is."""
    settings = {"language": code, "timezone": "Asia/Tokyo"}
    assert client.put("/api/account", json={"settings": settings}).status_code == 200

    def export_as(form: str):
        return download_export(client, run_jobs, what="conversation", conversation_id=talk, format=form)[1]

    page, text = export_as("html").text, export_as("markdown").text
    said = scalar(app, select(Message.created_at).where(Message.conversation_id == talk))
    at = said.astimezone(ZoneInfo("Asia/Tokyo"))  # its own time: a minute may end since the conversation began
    assert f"{at:%H:%M}" in text and f"{at:%Y-%m-%d}" not in text
    assert opening in page and "You" not in page + text
    for heading in headings:
        assert f"<h2>{heading}" in page and f"## {heading}" in text
    assert export_as("json").get_json()["messages"][0]["role"] == "user"
    if code == "ar":
        pages = export_as("pdf").data
        assert pages.startswith(b"%PDF-") and len(pages) > 2_000 and b"/Lang (ar)" in pages


def test_memories_in_each_form(client, run_jobs):
    zone = "Pacific/Kiritimati" if now().hour >= 11 else "Etc/GMT+12"  # another day than UTC's, for an hour at least
    assert client.put("/api/account", json={"settings": {"timezone": zone}}).status_code == 200
    day = now().astimezone(ZoneInfo(zone)).date()
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees", "until": "2031-05-03"})
    gone = client.post("/api/memories", json={"memory_type": "fact", "content": "Lived in Porto"}).get_json()
    client.delete(f"/api/memories/{gone['memory_id']}")
    for form, words in (("text", f"[{day}] - Keeps bees"), ("markdown", "- Keeps bees"), ("json", '"Keeps bees"')):
        shown, file = download_export(client, run_jobs, what="memories", format=form)
        assert shown["filename"].startswith(f"memories-{day}.")
        assert words in file.text and "Porto" not in file.text
        assert form == "text" or "2031-05-03" in file.text
        assert form != "json" or file.get_json()["memories"][0]["created_at"].endswith("Z")
    _, file = download_export(client, run_jobs, what="memories", format="mem")
    with zipfile.ZipFile(io.BytesIO(file.data)) as bundle:
        assert "Keeps bees" in bundle.read("items/fact.jsonl").decode()
        assert "targetID" in bundle.read("audit/tombstones.jsonl").decode()
        assert b"Porto" not in b"".join(bundle.read(name) for name in bundle.namelist())


def test_memories_come_in_again(client, run_jobs, api, make_user):
    for place in ("Porto", "Lisbon"):
        known = {"memory_type": "fact", "fact_key": "identity/location", "fact_value": place}
        assert client.post("/api/memories", json={"content": f"Lives in {place}", **known}).status_code == 201
    for form in ("text", "markdown", "json", "mem"):
        shown, file = download_export(client, run_jobs, what="memories", format=form)
        other = api(make_user())
        done = bring(other, run_jobs, file.data, shown["filename"])
        known = [memory["content"] for memory in other.get("/api/memories?needs_review=true").get_json()["memories"]]
        assert "Lives in Lisbon" in known, (form, done)
        assert form != "json" or known == ["Lives in Lisbon"]


@pytest.mark.cases("code", "title", "kind", "about")
def test_memories_and_the_account_are_headed_in_the_language_of_their_person(
    client, run_jobs, code, title, kind, about
):
    assert client.put("/api/account", json={"settings": {"language": code}}).status_code == 200
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    _, file = download_export(client, run_jobs, what="memories", format="markdown")
    assert file.text == f"# {title}\n\n\n## {kind}\n\n- Keeps bees\n"
    _, file = download_export(client, run_jobs, what="account")
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        said = archive.read("README.txt").decode()
    assert said.startswith(about) and "tombstone_keys.jsonl" in said


def test_an_account_whole_as_its_schema_says(client, run_jobs, talk, user):
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    client.post("/api/folders", json={"name": "Garden"})
    client.post("/api/spaces", json={"kind": "project", "name": "Hive", "instructions": "Be brief."})
    _, file = download_export(client, run_jobs, what="account")
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        schema = json.loads(archive.read("schema.json"))
        files = {name: archive.read(name).decode().splitlines() for name in manifest["files"]}
        parts = {name: [json.loads(line) for line in lines] for name, lines in files.items()}
        everything = b"".join(archive.read(name) for name in archive.namelist()).decode()
    told = (manifest["format"], manifest["version"], manifest["account"]["email"])
    assert told == ("commonplace-export", 3, user.email)
    for name, rows in parts.items():
        for row in rows:
            validate(row, schema["$defs"][name])
    (conversation,) = parts["conversations.jsonl"]
    assert [m["content"] for m in conversation["messages"]][1:] == ["Old words", "**Nectar** and 花粉"]
    assert conversation["tags"] == ["garden"]
    assert parts["memories.jsonl"][0]["content"] == "Keeps bees"
    assert parts["revisions.jsonl"] and parts["change_sets.jsonl"]
    assert parts["spaces.jsonl"][0]["instructions"] == "Be brief."
    assert parts["folders.jsonl"][0]["name"] == "Garden"
    assert parts["audit.jsonl"][-1]["action"] == "export_made"
    assert "argon2" not in everything and user.token not in everything


@pytest.mark.parametrize(("name", "second"), [("Garden", "Garden (2)"), ("G" * 99, "G" * 99)])
def test_an_export_comes_back_in_as_any_other_programs_where_that_is_wished(
    app, client, api, make_user, run_jobs, user, talk, name, second
):
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    with app.app_context():  # of one name, as 1.0 allowed
        db.session.add_all([Folder(user_id=user.user_id, name=name), row := Folder(user_id=user.user_id, name=name)])
        db.session.commit()
        folder_id = row.folder_id
    client.put(f"/api/conversations/{talk}", json={"folder_id": folder_id})
    _, file = download_export(client, run_jobs, what="account")
    other = api(make_user())
    other.post("/api/folders", json={"name": name})
    done = bring(other, run_jobs, file.data, "me.zip", restore=False)
    assert (done["format"], done["counts"]["conversations imported"]) == ("commonplace", 1)
    assert done["counts"]["memories proposed"] == 1
    (found,) = other.get("/api/conversations").get_json()["conversations"]
    names = {row["folder_id"]: row["name"] for row in other.get("/api/folders").get_json()["folders"]}
    assert names[found["folder_id"]] == second  # not the first, if the number has room
    said = other.get(f"/api/conversations/{found['conversation_id']}").get_json()["messages"]
    assert [m["content"] for m in said] == ["What do <b>bees</b> eat?", "**Nectar** and 花粉"]


def test_bad_wishes_and_too_many_at_once_are_refused(client):
    for body in (
        {},
        {"what": "everything"},
        {"what": "account", "format": "pdf"},
        {"what": "memories", "format": "zip"},
        {"what": "conversation"},
        {"what": "conversation", "conversation_id": 2**40},
    ):
        assert client.post("/api/exports", json=body).status_code == 422, body
    made = [client.post("/api/exports", json={"what": "memories"}).status_code for _ in range(4)]
    assert made == [202, 202, 202, 409]


@pytest.fixture
def earlier_files(app):
    """The files of other tests."""
    with app.app_context():
        return set(storage.folder().iterdir())


def test_files_go_after_their_day(app, client, run_jobs, earlier_files):
    shown, _ = download_export(client, run_jobs, what="memories")
    changed = client.get(f"/api/exports/{shown['export_id']}/download", headers={"If-Match": '"another"'})
    assert changed.status_code == 412 and changed.json["status"] == 412
    change_row(app, Export, shown["export_id"], expires_at=now() - timedelta(seconds=1))
    assert client.get(f"/api/exports/{shown['export_id']}/download").status_code == 404
    with app.app_context():
        with write_transaction():
            assert export_jobs.purge(now()) == 1
        assert set(storage.folder().iterdir()) == earlier_files
    assert client.get(f"/api/exports/{shown['export_id']}").get_json()["status"] == "expired"


def test_files_of_exports_and_imports_go_with_the_account(app, api, make_user, run_jobs, earlier_files):
    leaver = make_user()
    download_export(api(leaver), run_jobs, what="memories")
    assert api(leaver).post("/api/imports", json={"text": "- Keeps bees"}).status_code == 202
    with app.app_context():
        assert len(set(storage.folder().iterdir()) - earlier_files) == 2
        with write_transaction():
            delete_user(leaver.user_id)
        assert set(storage.folder().iterdir()) == earlier_files


def test_made_twice_one_file_is_kept(app, client, earlier_files):
    made = client.post("/api/exports", json={"what": "memories"}).get_json()
    assert client.get(f"/api/exports/{made['export_id']}/download").status_code == 409
    with app.app_context():
        assert export_jobs.make(made["export_id"]) == "ready"
        assert export_jobs.make(made["export_id"]) == "ready"
        assert len(set(storage.folder().iterdir()) - earlier_files) == 1


def test_a_conversation_that_is_gone_by_then_fails_plainly(client, run_jobs, talk):
    made = client.post("/api/exports", json={"what": "conversation", "conversation_id": talk}).get_json()
    client.delete(f"/api/conversations/{talk}")
    run_jobs()
    shown = client.get(f"/api/exports/{made['export_id']}").get_json()
    assert (shown["status"], shown["error"]) == ("failed", "The conversation was deleted.")


def test_the_page_makes_and_offers_exports(run_jobs, browser):
    assert post_form(browser, "/exports", page="/transfer", what="memories", format="text").status_code == 303
    assert "Being prepared" in browser.get("/transfer").text
    run_jobs()
    text = browser.get("/transfer?part=exports", headers={"HX-Request": "true"}).text
    assert "Download" in text
    place = text.split('class="button" href="')[1].split('"')[0]
    with browser.get(place) as file:
        assert file.status_code == 200


def test_nobody_waits_while_an_export_is_written(app, client, run_jobs, monkeypatch):
    """On SQLite a transaction that may write keeps every other writer out; bytes may come from far away."""
    client.post("/api/files", data={"file": (io.BytesIO(b"Bees dance."), "bees.txt")})
    read, pieces, seen = account_tables.lines, file_storage.of(app).pieces, []

    def lines(*wanted):
        seen.append(("may write", writing.get()))
        return read(*wanted)

    def bytes_of(*wanted):
        seen.append(("in a transaction", db.session().in_transaction()))
        return pieces(*wanted)

    monkeypatch.setattr(account_tables, "lines", lines)
    monkeypatch.setattr(file_storage.of(app), "pieces", bytes_of)
    _, file = download_export(client, run_jobs, what="account")
    assert set(seen) == {("may write", False), ("in a transaction", False)}
    members = zipfile.ZipFile(io.BytesIO(file.data))
    assert [members.read(name) for name in members.namelist() if name.startswith("files/")] == [b"Bees dance."]


def test_an_account_is_exported_a_slice_at_a_time_whatever_is_deleted_in_between(app, client, talk):
    for name in ("bees", "cats", "dogs", "eels"):
        assert client.post("/api/memories", json={"memory_type": "fact", "content": f"Keeps {name}"}).status_code == 201
    made = client.post("/api/exports", json={"what": "account"}).get_json()["export_id"]
    status, slices = "waiting", 0
    while status == "waiting":
        with app.app_context():  # each in a session of its own, like a job
            status = export_jobs.make(made, seconds=0)
        slices += 1
        if slices == 2:
            client.delete(f"/api/conversations/{talk}")
    assert (status, slices > 4) == ("ready", True)
    with client.get(f"/api/exports/{made}/download") as file:
        memories = zipfile.ZipFile(io.BytesIO(file.data)).read("memories.jsonl").decode()
    assert [json.loads(line)["content"] for line in memories.splitlines()] == [
        f"Keeps {name}" for name in ("bees", "cats", "dogs", "eels")
    ]


SIZE = 3
COUNTS = [0, SIZE, 2 * SIZE + 1]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_rows, "BATCH", SIZE)


@pytest.mark.parametrize("count", COUNTS)
def test_summaries_are_exported_in_batches(app, user, make_user, count):
    for person, number in ((user, count), (make_user(), 2)):
        conversation_id = add_conversation(app, person.user_id)
        with app.app_context(), write_transaction():
            where = {"conversation_id": conversation_id, "user_id": person.user_id}
            rows = [
                {**where, "content": f"{person.name} {n}", "message_range_start": n + 1, "message_range_end": n + 1}
                for n in range(number)
            ]
            if rows:
                db.session.execute(insert(ConversationChunk), rows)
    with app.app_context(), count_queries() as sent:
        lines = []
        for line in PARTS["summaries.jsonl"].read(user.user_id):
            lines.append(line)
            assert len(db.session.identity_map) <= SIZE
        assert [line["content"] for line in lines] == [f"{user.name} {n}" for n in range(count)]
        assert sum("FROM conversation_chunks" in statement for statement in sent) == -(-count // SIZE) + 1
        mine = select(ConversationChunk.chunk_id).where(ConversationChunk.user_id == user.user_id)
        assert {line["chunk_id"] for line in lines} == set(db.session.scalars(mine))


@pytest.mark.parametrize("count", COUNTS)
def test_digests_are_exported_in_batches_each_with_its_versions(app, user, make_user, count):
    for person, number in ((user, count), (make_user(), 2)):
        for n in range(number):
            conversation_id = add_conversation(app, person.user_id)
            with app.app_context(), write_transaction():
                for topic in ("before", "now"):
                    data = ConversationMemoryData(main_topics=[f"{topic} {n}"], action=[], typical_observation="")
                    digests.upsert_digest(person.user_id, conversation_id, data)
    with app.app_context():
        lines = list(PARTS["digests.jsonl"].read(user.user_id))
    assert [line["memory_data"]["main_topics"] for line in lines] == [[f"now {n}"] for n in range(count)]
    told = [[version["memory_data"]["main_topics"][0] for version in line["versions"]] for line in lines]
    assert told == [[f"before {n}", f"now {n}"] for n in range(count)]


def _make(app, person, *titles):
    with app.app_context(), write_transaction():
        ids = []
        for title in titles:
            row = create_conversation(person.user_id, NewConversation(title=title))
            said = {"user": f"Ask about {title}", "assistant": f"Told of {title}"}
            add_past_messages(row, [Message(role=role, content=said[role], created_at=now()) for role in said])
            ids.append(row.conversation_id)
        return ids


def test_one_is_a_file_and_several_are_a_zip(app, user, browser):
    bees, tea = _make(app, user, "Bees", "Bees")
    assert 'action="/exports/chosen"' in browser.get(f"/c/{bees}").text
    assert 'formaction="/exports/chosen"' in browser.get("/organise").text
    one = post_form(browser, "/exports/chosen", page="/organise", id=bees)
    assert one.status_code == 200 and "Bees.md" in one.headers["Content-Disposition"]
    assert one.mimetype == "text/markdown" and "Told of Bees" in one.text
    both = post_form(browser, "/exports/chosen", page="/organise", id=[bees, tea, bees, "x"])
    with both, zipfile.ZipFile(io.BytesIO(both.data)) as archive:
        assert len(archive.namelist()) == 2
        assert all(b"Told of Bees" in archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize("in_memory", [conversation_download.MAX_IN_MEMORY, 1])
def test_many_are_written_to_the_disk_and_too_many_are_refused(app, user, monkeypatch, in_memory, browser):
    ids = _make(app, user, "Bees", "Tea", "Rain")
    monkeypatch.setattr(conversation_download, "MAX_IN_MEMORY", in_memory)
    whole = post_form(browser, "/exports/chosen", page="/organise", id=ids)
    with whole, zipfile.ZipFile(io.BytesIO(whole.data)) as archive:
        assert len(archive.namelist()) == 3 and archive.testzip() is None
    monkeypatch.setattr(conversation_download, "MAX_BYTES", 100)
    assert post_form(browser, "/exports/chosen", page="/organise", id=ids).status_code == 303
    assert "too many for one file" in browser.get("/organise").text


def test_nothing_chosen_says_so_and_what_is_anothers_stays_theirs(app, user, make_user, browser):
    (hers,) = _make(app, make_user(), "Secret")
    (his,) = _make(app, user, "Bees")
    assert post_form(browser, "/exports/chosen", page="/organise").status_code == 303
    assert "Select at least one" in browser.get("/organise").text
    assert post_form(browser, "/exports/chosen", page="/organise", id=hers).status_code == 404
    mixed = post_form(browser, "/exports/chosen", page="/organise", id=[his, hers])
    assert "Told of Bees" in mixed.text and "Secret" not in mixed.text
