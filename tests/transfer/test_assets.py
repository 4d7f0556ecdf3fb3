"""Files of imported conversations: found in each export, attached to their message, within the limits of uploads."""

import base64
import io
from functools import partial

import pytest

from testkit.exports import chatgpt_conversation, claude_conversation, pack
from tests.files.test_pictures import photo
from tests.support.interleaving import killed_at
from tests.support.queries import scalars
from tests.transfer.moving import bring, list_talks, upload
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.files import uploads
from webapp.files.models import File, MessageFile
from webapp.transfer import import_jobs

png = partial(photo, form="PNG")


def talk_with(number: int, *pointers: str, **metadata: object) -> dict:
    """A ChatGPT conversation whose question shows pictures or carries files."""
    talk = chatgpt_conversation(number)
    message = talk["mapping"]["q1"]["message"]
    pictures = [{"content_type": "image_asset_pointer", "asset_pointer": pointer} for pointer in pointers]
    message["content"] = {"content_type": "multimodal_text", "parts": [*pictures, f"Question {number}"]}
    message["metadata"] = metadata
    return talk


@pytest.fixture
def export() -> bytes:
    """An export with a picture under either kind of pointer, one called .dat, a document, and one that is missing."""
    document = {"id": "file-Doc7", "name": "plan.md", "mime_type": "text/markdown"}
    rows = [
        talk_with(1, "file-service://file-AbC123", "sediment://file_00ff"),
        talk_with(2, "file-service://file-Gone9", attachments=[document, {"id": 7}, "x"]),
    ]
    return pack(
        {
            "conversations.json": rows,
            "file-AbC123-hive.png": png(10),
            "user-x/file_00ff-1.dat": png(20),
            "file-Doc7-plan.md": b"# Plan\nKeep bees.",
            "file-Unused1-other.png": png(30),
        }
    )


def _files_of(client, title):
    talk = next(talk for talk in list_talks(client) if talk["title"] == title)
    page = client.get(f"/api/conversations/{talk['conversation_id']}").get_json()
    return [
        (message["content"], [file["name"] for file in (message["custom_payload"] or {}).get("files", ())])
        for message in page["messages"]
    ]


def test_pictures_and_documents_of_chatgpt_are_attached_to_their_message(app, client, run_jobs, export):
    bring(client, run_jobs, export, take=["memories"])
    bring(client, run_jobs, export, take=["conversations"], between={"from": "2030-01-01T00:00:00Z"})
    assert scalars(app, db.select(File)) == [], "what is not taken brings no files"
    done = bring(client, run_jobs, export)
    assert done["counts"]["conversations imported"] == 2
    assert _files_of(client, "Talk 1")[0] == ("Question 1", ["hive.png", "1.png"])
    assert _files_of(client, "Talk 2")[0] == ("Question 2", ["plan.md"])
    with app.app_context():
        rows = {row.name: row for row in db.session.query(File)}
        assert rows.keys() == {"hive.png", "1.png", "plan.md"}
        assert rows["1.png"].media_type == "image/png" and rows["plan.md"].pages == 1
        assert db.session.query(Conversation).filter_by(has_files=True).count() == 2


def test_what_uploads_may_not_be_is_left_out_and_said(app, client, login, user, run_jobs, monkeypatch, export):
    monkeypatch.setattr(uploads, "MAX_FILES", 2)
    done = bring(client, run_jobs, export)
    items = client.get(f"/api/imports/{done['import_id']}/items").get_json()["items"]
    reasons = [item["reason"] for item in items if item["kind"] == "conversation"]
    assert reasons[0] is None and reasons[1].startswith("“plan.md” was left out: You already have 2 files.")
    assert _files_of(client, "Talk 2")[0] == ("Question 2", [])
    page = login(user).get(f"/imports/{done['import_id']}", headers={"Accept-Language": "de"}).text
    assert "„plan.md“ wurde weggelassen: Du hast schon 2 Dateien." in page


def test_too_large_or_unreadable_files_are_left_out(app, client, run_jobs, monkeypatch):
    settings = app.extensions["settings"]
    monkeypatch.setitem(app.extensions, "settings", settings.model_copy(update={"max_file_bytes": 100_000}))
    talk = talk_with(1, "file-service://file-Big1", "file-service://file-Odd2", "file-service://file-Zip3")
    export = pack(
        {
            "conversations.json": [talk],
            "file-Big1-a.png": png() + bytes(100_000),
            "file-Odd2-b.bin": b"\x00\x01\x02" * 50,
            "file-Zip3-c.zip": b"PK\x03\x04 broken",
        }
    )
    done = bring(client, run_jobs, export)
    items = client.get(f"/api/imports/{done['import_id']}/items").get_json()["items"]
    (item,) = [row for row in items if row["kind"] == "conversation"]
    assert item["outcome"] == "imported" and item["reason"].startswith("“a.png” was left out: ")
    assert scalars(app, db.select(File)) == []


def test_run_again_or_killed_between_nothing_is_doubled(app, client, run_jobs, monkeypatch, export):
    made = upload(client, export).get_json()
    run_jobs()
    client.post(f"/api/imports/{made['import_id']}/start", json={})
    with app.app_context():
        with killed_at("INSERT INTO conversations"):
            import_jobs.run(made["import_id"])
        assert db.session.query(File).count() == 3
        assert import_jobs.run(made["import_id"]) == "done"
        assert db.session.query(File).count() == db.session.query(MessageFile).count() == 3
    bring(client, run_jobs, export)
    assert len(scalars(app, db.select(File))) == len(scalars(app, db.select(MessageFile))) == 3


def test_undoing_takes_the_files_back_but_those_that_are_used(app, client, run_jobs, export):
    mine = {"file": (io.BytesIO(png(10)), "hive.png")}
    assert client.post("/api/files", data=mine, content_type="multipart/form-data").status_code == 201
    done = bring(client, run_jobs, export)
    client.post(f"/api/imports/{done['import_id']}/undo", json={})
    assert [row.name for row in scalars(app, db.select(File))] == ["hive.png"], "it was there before"


def test_long_attachments_of_claude_are_attached_as_text(app, client, run_jobs):
    talk = claude_conversation(1)
    asked = next(row for row in talk["chat_messages"] if row["sender"] == "human")
    asked["attachments"] = [
        {"file_name": "short.txt", "extracted_content": "A short one."},
        {"file_name": "report.pdf", "extracted_content": "Bees dance. " * 5_000},
        {"file_name": "empty.pdf", "extracted_content": ""},
        "nonsense",
    ]
    bring(client, run_jobs, pack({"conversations.json": [talk]}))
    with app.app_context():
        (row,) = db.session.query(File)
        assert (row.name, row.status) == ("report.pdf.txt", "ready")
        message = db.session.get(Message, db.session.query(MessageFile).one().message_id)
        assert "A short one." in message.content and "[report.pdf]" in message.content
        assert "Bees dance" not in message.content
        assert db.session.query(MessageFile).one().mode == "search"


def test_open_webui_and_librechat_bring_what_their_export_holds(app, client, run_jobs):
    url = "data:image/png;base64," + base64.b64encode(png(90)).decode()
    files = [
        {"type": "file", "file": {"filename": "n.md", "data": {"content": "Notes on bees"}}},
        {"type": "image", "url": "https://elsewhere.example/x.png"},
        {"type": "image", "url": "data:image/png;base64,@@"},
        None,
    ]
    content = [{"type": "text", "text": "Look"}, {"image_url": {"url": url}}]
    message = {"id": "a", "role": "user", "content": content, "timestamp": 1_700_000_000, "files": files}
    history = {"currentId": "a", "messages": {"a": message}}
    webui = {"id": "w", "title": "Web", "chat": {"history": history}}
    bring(client, run_jobs, pack({"chats.json": [webui]}))
    assert _files_of(client, "Web") == [("Look", ["picture.png", "n.md"])]
    content = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": url}}]
    files = [{"filename": "t.docx", "text": "What it said"}, {"filename": "none.bin"}]
    message = {"messageId": "m", "isCreatedByUser": True, "content": content, "files": files}
    libre = {"conversationId": "l", "title": "Libre", "messages": [message]}
    bring(client, run_jobs, pack({"libre.json": libre}))
    assert _files_of(client, "Libre") == [("See", ["picture.png", "t.docx.txt"])]
