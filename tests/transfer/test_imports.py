"""Imports from upload to undo: what arrives, what does not, running again, being killed, and whose it is."""

import io
import json
import os
import re

import pytest
from sqlalchemy import select

from testkit.exports import HIDDEN, chatgpt_conversation, claude_conversation, node, openwebui_chat, pack
from testkit.people import post_form
from tests.memories.conversing import answers, converse, operation
from tests.support.queries import scalars
from tests.transfer.moving import bring, download_export, lines_of, list_talks, upload
from webapp.background import job_specs
from webapp.conversations.messages import add_exchange
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import MAX_TAGS
from webapp.db.base import add_row, db, now, write_transaction
from webapp.files.models import MessageFile
from webapp.i18n.request_language import translate
from webapp.transfer import import_jobs, pages, service, storage
from webapp.transfer.models import Import


@pytest.fixture
def chatgpt():
    """An export of two conversations with memories."""
    return pack({"conversations.json": [chatgpt_conversation(1, is_archived=True), chatgpt_conversation(2)]})


def test_conversations_arrive_as_they_were_and_memories_as_proposals(client, run_jobs, model, chatgpt):
    made = upload(client, chatgpt).get_json()
    assert made["status"] == "reading"
    run_jobs()
    ready = client.get(f"/api/imports/{made['import_id']}").get_json()
    assert (ready["status"], ready["format"]) == ("ready", "chatgpt")
    assert ready["preview"]["counts"] == {"conversations": 2, "messages": 4, "memories": 4}
    assert re.fullmatch(r"2023-11-14T[\d:.]+Z", ready["preview"]["dates"]["from"])
    assert client.post(f"/api/imports/{made['import_id']}/start", json={}).status_code == 202
    run_jobs()
    done = client.get(f"/api/imports/{made['import_id']}").get_json()
    assert done["status"] == "done"
    assert done["counts"]["conversations imported"] == 2
    assert done["counts"]["memories proposed"] == 4
    noted = client.get("/api/audit").get_json()["events"]
    assert [event["what"] for event in noted if event["action"] == "import_made"] == [made["filename"]]
    (talk,) = list_talks(client)
    assert (talk["title"], talk["updated_at"][:10]) == ("Talk 2", "2023-11-14")
    assert lines_of(client, talk["conversation_id"]) == [("user", "Question 2"), ("assistant", "Answer 2.")]
    archived = client.get("/api/conversations?archived=true").get_json()["conversations"]
    assert [row["title"] for row in archived] == ["Talk 1"]
    memories = client.get("/api/memories?needs_review=true").get_json()["memories"]
    assert {row["content"] for row in memories} >= {"Lives in Lisbon.", "I am a beekeeper"}
    assert all(row["needs_review"] and row["origin"] == "import" for row in memories)
    assert not [call for call in model.calls() if "chat" in str(call)]  # nothing is sent to a model
    assert "Question 2" in client.get("/api/search?q=Question").text
    place = f"/api/imports/{made['import_id']}"
    page = client.get(f"{place}/items?limit=1").get_json()
    rest = client.get(f"{place}/items?limit=9&cursor={page['next_cursor']}").get_json()
    listed = [item["title"] for item in page["items"] + rest["items"] if item["kind"] == "conversation"]
    assert listed == ["Talk 1", "Talk 2"] and rest["next_cursor"] is None
    assert client.get(f"{place}/items?cursor=x").status_code == client.get("/api/imports?cursor=x").status_code == 422
    assert client.post(f"{place}/undo", json={}).status_code == 202
    assert list_talks(client) == client.get("/api/memories?needs_review=true").get_json()["memories"] == []
    assert client.post(f"{place}/undo", json={}).status_code == 409


def test_again_nothing_is_doubled_new_messages_are_added_and_edits_are_versions(client, run_jobs):
    first = chatgpt_conversation(1)
    bring(client, run_jobs, pack({"conversations.json": [first]}))
    again = bring(client, run_jobs, pack({"conversations.json": [first]}))
    assert again["counts"]["conversations unchanged"] == 1
    assert "conversations imported" not in again["counts"]
    assert again["error"].startswith("Nothing new")
    longer = chatgpt_conversation(1)
    longer["mapping"]["q2"] = node("q2", "a1", "user", "And then?", 1_700_000_020.0)
    longer["current_node"] = "q2"
    more = bring(client, run_jobs, pack({"conversations.json": [longer]}))
    assert (more["counts"]["conversations updated"], more["counts"]["messages"]) == (1, 1)
    (talk,) = list_talks(client)
    assert [text for _, text in lines_of(client, talk["conversation_id"])] == ["Question 1", "Answer 1.", "And then?"]
    edited = chatgpt_conversation(1)
    edited["mapping"]["a9"] = node("a9", "q1", "assistant", "Another answer", 1_700_000_030.0)
    edited["current_node"] = "a9"
    last = bring(client, run_jobs, pack({"conversations.json": [edited]}))
    assert [text for _, text in lines_of(client, talk["conversation_id"])] == ["Question 1", "Another answer"]
    shown = client.get(f"/api/conversations/{talk['conversation_id']}").get_json()
    assert shown["message_count"] == 2
    versions = client.get(f"/api/messages/{shown['messages'][1]['message_id']}/versions").get_json()
    assert "Answer 1." in json.dumps(versions)
    client.post(f"/api/imports/{last['import_id']}/undo", json={})
    (talk,) = list_talks(client)
    before = ["Question 1", "Answer 1.", "And then?"]
    assert [text for _, text in lines_of(client, talk["conversation_id"])] == before, "undoing it leaves the others"
    assert talk["message_count"] == 3


def test_importing_again_completes_what_was_missing_before(app, client, run_jobs):
    bare = chatgpt_conversation(1)
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-abc"}
    bare["mapping"]["q1"]["message"]["content"] = {"content_type": "multimodal_text", "parts": [picture, "Look"]}
    first = bring(client, run_jobs, pack({"conversations.json": [bare]}))
    assert first["counts"]["files that are not in the export left out"] == 1
    (item,) = client.get(f"/api/imports/{first['import_id']}/items?outcome=incomplete").get_json()["items"]
    missing = {"kind": "files that are not in the export", "count": 1}
    assert missing in first["left_out"] and missing in item["left_out"]
    (talk,) = list_talks(client)
    assert lines_of(client, talk["conversation_id"])[0] == ("user", "[image]\n\nLook")
    bare["mapping"]["a1"]["message"]["content"]["parts"] = ["Another wording."]
    whole = pack({"conversations.json": [bare], "file-abc-hive.md": b"# Hive"})
    again = bring(client, run_jobs, whole)
    assert again["counts"]["conversations updated"] == 1
    (talk,) = list_talks(client)
    assert [text for _, text in lines_of(client, talk["conversation_id"])] == ["Look", "Another wording."]
    shown = client.get(f"/api/conversations/{talk['conversation_id']}").get_json()["messages"][0]
    assert [file["name"] for file in shown["custom_payload"]["files"]] == ["hive.md"]
    assert bring(client, run_jobs, whole)["counts"]["conversations unchanged"] == 1


def test_importing_again_brings_back_no_words_changed_and_no_file_deleted_here(app, client, run_jobs):
    talk = chatgpt_conversation(1)
    talk["mapping"]["q1"]["message"]["metadata"] = {"attachments": [{"id": "file-abc", "name": "hive.md"}]}
    export = pack({"conversations.json": [talk], "file-abc-hive.md": b"# Hive"})
    bring(client, run_jobs, export)
    with app.app_context():
        reply = db.session.scalar(db.select(Message).where(Message.role == "assistant"))
        reply.content = "Taken out."  # as forgetting does
        db.session.commit()
    (file,) = client.get("/api/files").get_json()["files"]
    assert client.delete(f"/api/files/{file['file_id']}").status_code == 204
    talk["mapping"]["a1"]["message"]["content"]["parts"] = ["Another wording."]
    bring(client, run_jobs, pack({"conversations.json": [talk], "file-abc-hive.md": b"# Hive"}))
    (shown,) = list_talks(client)
    assert [text for _, text in lines_of(client, shown["conversation_id"])] == ["Question 1", "Taken out."]
    assert scalars(app, db.select(MessageFile)) == []


def test_what_has_no_date_is_not_dated_today(client, login, user, run_jobs):
    talk = chatgpt_conversation(1, create_time=None, update_time=0)
    for part in talk["mapping"].values():
        if part["message"]:
            part["message"]["create_time"] = None
    done = bring(client, run_jobs, pack({"conversations.json": [talk]}))
    (item,) = client.get(f"/api/imports/{done['import_id']}/items").get_json()["items"]
    assert item["reason"] == "It has no date in the export."
    german = login(user).get(f"/imports/{done['import_id']}", headers={"Accept-Language": "de"}).text
    assert "Im Export steht kein Datum." in german
    (shown,) = list_talks(client)
    assert shown["created_at"].startswith("1971-01-01")
    page = login(user).get(f"/c/{shown['conversation_id']}").text
    assert "no date" in page and "Undated" in page and "1971</time>" not in page


def test_what_was_gone_on_with_here_is_left_alone(app, client, run_jobs):
    bring(client, run_jobs, pack({"conversations.json": [chatgpt_conversation(1)]}))
    (talk,) = list_talks(client)
    with app.app_context():
        db.session.add(Message(conversation_id=talk["conversation_id"], role="user", content="Here"))
        db.session.commit()
    longer = chatgpt_conversation(1)
    longer["mapping"]["q2"] = node("q2", "a1", "user", "There", 1_700_000_020.0)
    longer["current_node"] = "q2"
    done = bring(client, run_jobs, pack({"conversations.json": [longer]}))
    assert done["counts"]["conversations skipped"] == 1
    items = client.get(f"/api/imports/{done['import_id']}/items").get_json()["items"]
    assert items[0]["reason"] == "You have continued it here."


def test_projects_become_spaces_with_their_memories(client, run_jobs):
    docs = [{"content": "Bees dance."}]
    members = {
        "conversations.json": [claude_conversation(1)],
        "projects.json": [{"uuid": "p", "name": "Thesis", "prompt_template": "Be strict.", "docs": docs}],
        "memories.json": [{"conversations_memory": "Keeps bees.", "project_memories": {"p": "Due in May."}}],
    }
    content = pack(members)
    done = bring(client, run_jobs, content)
    assert done["counts"]["projects imported"] == 1
    (space,) = client.get("/api/spaces").get_json()["spaces"]
    assert (space["name"], space["instructions"]) == ("Thesis", "Be strict.")
    memories = client.get("/api/memories?needs_review=true").get_json()["memories"]
    assert {(row["content"], row["space_id"]) for row in memories} == {
        ("Keeps bees.", None),
        ("Due in May.", space["space_id"]),
    }
    place = f"/api/spaces/{space['space_id']}/documents"
    (first,) = client.get(place).get_json()["documents"]
    members["projects.json"][0]["docs"] = [*docs, {"filename": "More", "content": "They sing."}]
    assert bring(client, run_jobs, pack(members))["counts"]["projects updated"] == 1
    client.delete(f"{place}/{first['document_id']}")
    assert bring(client, run_jobs, pack(members))["counts"]["projects unchanged"] == 1
    assert [row["title"] for row in client.get(place).get_json()["documents"]] == ["More"]
    made = upload(client, pack({"conversations.json": [claude_conversation(2)]})).get_json()["import_id"]
    run_jobs()
    client.post(f"/api/imports/{made}/start", json={"space_id": space["space_id"]})
    client.delete(f"/api/spaces/{space['space_id']}")
    run_jobs()
    assert client.get(f"/api/imports/{made}").get_json()["counts"]["conversations imported"] == 1, "by itself, then"
    assert bring(client, run_jobs, pack(members))["counts"]["projects imported"] == 1
    (space,) = client.get("/api/spaces").get_json()["spaces"]
    assert len(client.get(f"/api/spaces/{space['space_id']}/documents").get_json()["documents"]) == 2, "all anew"


def test_only_what_was_chosen_is_taken(client, run_jobs, chatgpt):
    done = bring(client, run_jobs, chatgpt, take=["memories"])
    assert list_talks(client) == []
    assert done["counts"]["memories proposed"] == 4
    late = bring(client, run_jobs, chatgpt, take=["conversations"], between={"from": "2024-01-01T00:00:00Z"})
    assert late["counts"]["conversations skipped"] == 2


def test_forgotten_things_and_secrets_do_not_come_back(client, run_jobs):
    statements = ("Lives in Porto", "Keeps bees", "Grows quinces")
    bodies = [{"memory_type": "fact", "content": content} for content in statements]
    porto, _, quinces = [client.post("/api/memories", json=body).get_json()["memory_id"] for body in bodies]
    assert client.delete(f"/api/memories/{porto}").status_code == 200
    text = "- Lives in Porto\n- keeps bees\n- My password is hunter2-Tr0ub4dor\n- Likes tea\n- Grows quinces\n"
    made = client.post("/api/imports", json={"text": text}).get_json()
    run_jobs()
    assert client.delete(f"/api/memories/{quinces}").status_code == 200
    sample = client.get(f"/api/imports/{made['import_id']}").get_json()["preview"]["sample"]
    assert [item["text"] for item in sample if item["text"] in text] == text[2:-1].split("\n- ")[1:4]
    client.post(f"/api/imports/{made['import_id']}/start", json={})
    run_jobs()
    done = client.get(f"/api/imports/{made['import_id']}").get_json()
    counts = {f"memories {end}": 1 for end in ("known", "secret", "proposed")}
    assert done["counts"] == {"memories forgotten": 2, **counts}


@pytest.mark.parametrize("restore", [False, True])
def test_an_export_made_before_a_forgetting_brings_nothing_of_it_back(app, client, user, run_jobs, restore):
    statement = "The cat Zebulon lives in Porto"
    with app.app_context(), write_transaction():
        row = add_row(Conversation(user_id=user.user_id, title="Zebulon the cat of Porto", title_source="auto"))
        conversation_id = row.conversation_id
        _, reply = add_exchange(row, "And the cat?", parent_id=None)
        reply.content, reply.status = f"As I know: {statement}.", "complete"
    memory = client.post("/api/memories", json={"memory_type": "fact", "content": statement}).get_json()
    digest = {"main_topics": [statement], "action": [], "typical_observation": "Tells of a cat"}
    client.post("/api/memories", json={"conversation_id": conversation_id, "memory_data": digest})
    export = download_export(client, run_jobs, what="account")[1].data
    assert client.delete(f"/api/memories/{memory['memory_id']}").status_code == 200
    client.delete(f"/api/conversations/{conversation_id}")
    done = bring(client, run_jobs, export, restore=restore)
    assert done["status"] == "done", done
    (talk,) = list_talks(client)
    assert client.get("/api/memories").get_json()["memories"] == []
    assert "Zebulon" not in talk["title"]
    assert [text for _, text in lines_of(client, talk["conversation_id"])] == [
        "And the cat?",
        "As I know: [forgotten].",
    ]
    assert client.get(f"/api/conversations/{talk['conversation_id']}/memory").status_code == 404


@pytest.mark.parametrize("later", [{"content": "Zebulon the cat has moved"}, {"is_archived": True}])
@pytest.mark.parametrize(
    ("way", "when"),
    [
        ({"take": ["conversations"]}, "before"),
        ({"take": ["conversations"]}, "while it is written"),
        ({"take": ["conversations", "memories"]}, "before"),
        ({"restore": True}, "before"),
    ],
)
def test_nor_what_it_said_before_or_as_more_than_a_current_memory(
    app, client, user, model, run_jobs, later, way, when, monkeypatch
):
    """An export has every wording and quote, and not only the memories that are taken in."""
    said = "By the way, my cat Zebulon lives in Porto"
    talk = converse(app, user.user_id, said, title="My cat Zebulon lives in Porto")
    answers(model, operation("my cat Zebulon lives in Porto", "The cat Zebulon lives in Porto"))
    client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True})
    (memory,) = client.get("/api/memories").get_json()["memories"]
    with app.app_context(), write_transaction():
        reply = db.session.scalars(select(Message).where(Message.role == "assistant")).one()
        reply.content = f"You wrote that my cat Zebulon lives in Porto. So: {memory['content']}!"
        db.session.get(Conversation, talk).title_source = "auto"
    client.put(f"/api/memories/{memory['memory_id']}", json=later)
    export = download_export(client, run_jobs, what="account")[1].data

    def forget():
        client.delete(f"/api/memories/{memory['memory_id']}")
        client.delete(f"/api/conversations/{talk}")
        return write_transaction()

    if when == "before":
        forget()
    else:
        monkeypatch.setattr(import_jobs, "write_transaction", forget)
    assert bring(client, run_jobs, export, **way)["status"] == "done"
    (back,) = list_talks(client)
    assert "Zebulon" not in back["title"]
    assert "Zebulon" not in client.get("/api/search?q=By+the+way").text
    texts = [text for _, text in lines_of(client, back["conversation_id"])]
    assert texts[0] == said and "Zebulon" not in texts[1]


@pytest.mark.parametrize("restore", [False, True])
def test_what_was_not_typed_in_a_message_is_known_where_it_comes_in(app, client, user, run_jobs, restore):
    with app.app_context(), write_transaction():
        row = add_row(Conversation(user_id=user.user_id, title="A letter", title_source="user"))
        conversation_id = row.conversation_id
        words = "I live in Oslo. Is that right?"
        _, reply = add_exchange(row, words, parent_id=None, spans=[(0, 15, "pasted")])
        reply.content, reply.status = "It is.", "complete"
    export = download_export(client, run_jobs, what="account")[1].data
    client.delete(f"/api/conversations/{conversation_id}")
    assert bring(client, run_jobs, export, restore=restore)["status"] == "done"
    with app.app_context():
        condition = Message.conversation_id != conversation_id, Message.role == "user"
        (message,) = db.session.scalars(select(Message).where(*condition))
        assert message.provenance == ((0, 15, "pasted"),)
        replies = select(Message.is_tainted).where(condition[0], Message.role == "assistant")
        assert list(db.session.scalars(replies)) == [True]


def test_a_killed_import_goes_on_where_it_was_and_does_nothing_twice(app, client, run_jobs, monkeypatch):
    monkeypatch.setattr(import_jobs, "MAX_WEIGHT", 2 * import_jobs.LEAST_WEIGHT)
    made = upload(client, pack({"conversations.json": [chatgpt_conversation(n) for n in range(6)]})).get_json()
    run_jobs()
    client.post(f"/api/imports/{made['import_id']}/start", json={})
    write, calls = import_jobs.write_conversation, []

    def kill_write(*args, **kwargs):
        calls.append(args)
        if len(calls) == 4:
            raise SystemExit
        return write(*args, **kwargs)

    monkeypatch.setattr(import_jobs, "write_conversation", kill_write)
    with app.app_context(), pytest.raises(SystemExit):
        import_jobs.run(made["import_id"])
    drop = storage.drop_file_of

    def killed_at_the_end(row):
        drop(row)
        raise SystemExit

    monkeypatch.setattr(storage, "drop_file_of", killed_at_the_end)
    with app.app_context(), pytest.raises(SystemExit):
        import_jobs.run(made["import_id"])
    monkeypatch.setattr(storage, "drop_file_of", drop)
    with app.app_context():
        assert import_jobs.run(made["import_id"]) == "done"
        assert import_jobs.run(made["import_id"]) == "done"
        assert db.session.query(Conversation).count() == 6
    memories = client.get("/api/memories?needs_review=true").get_json()["memories"]
    assert len({row["content"] for row in memories}) == len(memories) == 4


def test_files_that_a_killed_process_left_are_swept(app, client, run_jobs):
    named = upload(client, b"[]", "conversations.json").get_json()["import_id"]
    with app.app_context():
        kept = storage.path_of(db.session.get_one(Import, named).stored_as)
        left, new = storage.folder() / "left", storage.folder() / "new"
        for path in (left, new):
            path.write_bytes(b"of nobody")
        for path in (kept, left):
            os.utime(path, (0, 0))
        job_specs.push(app.extensions["redis"], job_specs.JobRequest("sweep_files"))
        assert storage.sweep() == 1 and storage.sweep() == 0
        assert kept.exists() and new.exists()
        os.utime(new, (0, 0))
    run_jobs()
    assert not new.exists()


def test_the_sweep_finds_what_stands_still(app, client, chatgpt):
    made = upload(client, chatgpt).get_json()
    with app.app_context():
        assert not any(service.stalled_jobs().values())
        row = db.session.get(Import, made["import_id"])
        row.updated_at = now() - 2 * service.STALLED_FOR
        db.session.commit()
        assert service.stalled_jobs()["look_at_import"] == [made["import_id"]]


def test_an_import_can_be_stopped(app, client, run_jobs, chatgpt):
    with app.app_context():
        before = set(storage.folder().iterdir())
    made = upload(client, chatgpt).get_json()
    run_jobs()
    client.post(f"/api/imports/{made['import_id']}/start", json={})
    assert client.post(f"/api/imports/{made['import_id']}/cancel", json={}).status_code == 202
    run_jobs()
    assert client.get(f"/api/imports/{made['import_id']}").get_json()["status"] == "cancelled"
    assert list_talks(client) == []
    with app.app_context():
        assert set(storage.folder().iterdir()) == before


def test_bad_parts_are_reported_and_stop_nothing_and_tags_come_along(client, run_jobs, browser):
    rows = [chatgpt_conversation(1), {"title": "Broken"}, chatgpt_conversation(2, title="x\x00y" * 200)]
    seen = upload(client, pack({"conversations.json": rows})).get_json()["import_id"]
    run_jobs()
    assert "“Broken”</bdi> · it has no messages" in browser.get(f"/imports/{seen}").text
    done = bring(client, run_jobs, pack({"conversations.json": rows}))
    assert done["counts"]["conversations imported"] == 2
    assert done["counts"]["problems skipped"] == 1
    items = client.get(f"/api/imports/{done['import_id']}/items?outcome=skipped").get_json()["items"]
    assert [(item["title"], item["kind"]) for item in items] == [("“Broken”", "problem")]
    assert HIDDEN not in json.dumps(list_talks(client))
    chat = openwebui_chat()
    chat["meta"] = {"tags": ["bee_keeping", "Bee keeping", "x" * 80, *map(str, range(30))]}
    bring(client, run_jobs, pack({"chats.json": [chat]}))
    (talk,) = client.get("/api/conversations?archived=true").get_json()["conversations"]
    assert talk["tags"][:2] == ["Bee keeping", "x" * 50] and len(talk["tags"]) == MAX_TAGS


def test_what_is_no_export_or_none_that_fits_is_refused(app, client, run_jobs, monkeypatch):
    for fields in ({}, {"format": "nonsense"}):
        assert client.post("/api/imports", data=fields, content_type="multipart/form-data").status_code == 422, fields
        assert upload(client, b"", **fields).status_code == 422, fields
    for pasted in ({"text": ""}, {"text": "- Likes tea", "formt": "list"}):
        assert client.post("/api/imports", json=pasted).status_code == 422, pasted
    assert client.post("/api/imports", data=b"x", content_type="application/octet-stream").status_code == 415
    made = upload(client, b"not json at all", "x.json").get_json()
    run_jobs()
    failed = client.get(f"/api/imports/{made['import_id']}").get_json()
    assert failed["status"] == "failed" and "not an export" in failed["error"]
    assert client.post(f"/api/imports/{made['import_id']}/start", json={}).status_code == 409
    monkeypatch.setitem(app.config, "MAX_IMPORT_BYTES", 10)
    assert upload(client, b"x" * 1_000).status_code == 413


def test_too_much_at_once_is_refused(client, run_jobs):
    for _ in range(3):
        assert client.post("/api/imports", json={"text": "- a"}).status_code == 202
    assert client.post("/api/imports", json={"text": "- a"}).status_code == 409
    run_jobs()
    for _ in range(7):
        assert client.post("/api/imports", json={"text": "- a"}).status_code == 202
        run_jobs()
    assert client.post("/api/imports", json={"text": "- a"}).status_code == 409, "ten wait to be started"


def test_the_same_key_makes_one_import(client):
    headers = {"Idempotency-Key": "once"}
    answers = []
    for content in (b"[]", b"[]", b"[1]"):
        data = {"file": (io.BytesIO(content), "a.json")}
        answers.append(client.post("/api/imports", data=data, content_type="multipart/form-data", headers=headers))
    assert answers[0].get_json() == answers[1].get_json()
    assert answers[2].status_code == 409


def test_the_page_leads_through_an_import(client, run_jobs, chatgpt, browser):
    page = "/transfer"
    made = post_form(browser, "/imports", page=page, file=(io.BytesIO(chatgpt), "chatgpt.zip"))
    assert made.status_code == 303
    place = made.location
    asked = {"path": f"{place}?part=progress", "headers": {"HX-Request": "true", "HX-Request-Type": "partial"}}
    moving = browser.get(**asked)
    assert "hx-get" in moving.text and "HX-Refresh" not in moving.headers
    run_jobs()
    done = browser.get(**asked)  # the page that asked is read anew, with what to do next
    assert "hx-get" not in done.text and done.headers["HX-Refresh"] == "true"
    preview = browser.get(place).text
    assert ">Import</button>" in preview and "<li>14 November 2023</li>" in preview
    assert post_form(browser, f"{place}/start", page=place, take=["conversations", "memories"]).status_code == 303
    run_jobs()
    text = browser.get(place).text
    assert "Talk 2" in text and "Review 4 memories" in text
    order = [text.index(words) for words in ("Open conversations", "Review 4", "data-ask=", "Undo this", "Details")]
    assert order == sorted(order)
    assert browser.get(re.search(r'href="([^"]+)">Open conversations', text)[1]).status_code == 200
    assert post_form(browser, f"{place}/undo", page=place).status_code == 303
    undone = browser.get(place).text
    assert "Undone" in undone and "conversations imported" not in undone.lower()
    listed = post_form(browser, "/imports", page=page, text="- Likes tea")
    run_jobs()
    discarded = post_form(browser, f"{listed.location}/cancel", page=page)
    assert discarded.location == page and "Nothing was imported." in browser.get(page).text
    assert post_form(browser, "/imports", page=page).status_code == 422
    fields = {"file": (io.BytesIO(b""), "chats.json"), "text": "- Likes <tea"}
    browser.environ_base["HTTP_ACCEPT_LANGUAGE"] = "de"
    refused = post_form(browser, "/imports", page=page, **fields)
    assert refused.status_code == 422 and "Die Datei ist leer." in refused.text
    assert "- Likes &lt;tea</textarea>" in refused.text


@pytest.mark.parametrize("form", pages.FORMS)
def test_what_is_kept_of_an_import_is_said_in_another_language(app, form):
    values = {
        "name": "a.json",
        "why": "The file is damaged, or not there any more.",
        "number": "7",
        "size": "20",
        "most_files": "9",
    }
    kept = form % values
    with app.test_request_context(headers={"Accept-Language": "de"}):
        said = translate(pages.as_sentence(kept))
    assert said != kept and not {"damaged", "file", "conversation", "memory", "line"} & {*re.findall(r"\w+", said)}
