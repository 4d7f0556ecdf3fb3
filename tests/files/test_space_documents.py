"""Files as documents of a space: the same kinds, the same reading, found page by page."""

import hashlib
import io
import os
import threading

import pytest
from flask import Flask
from sqlalchemy import update

from testkit.people import post_form
from testkit.work import run_queued_jobs
from tests.chat.helpers import parse
from tests.files.test_files import _send, docx, pdf
from tests.files.test_pictures import ask, chat_calls, photo, sent_pictures
from tests.spaces.helpers import join, make_space
from tests.support.queries import execute
from webapp.db.base import write_transaction
from webapp.extensions import app_settings
from webapp.files import service as files, uploads
from webapp.files.citations import Citable, link_citations
from webapp.files.documents import add_to_space, citable_documents
from webapp.files.pages import page_url
from webapp.files.storage import digest_of, file_storage
from webapp.files.uploads import sweep_storage
from webapp.spaces.models import SpaceDocument

HIVE = pdf("The apiary stands behind the mill.", "Seventeen hives were counted in May.", "")


@pytest.fixture
def space(client):
    """One of the user's."""
    return make_space(client)


def test_a_file_is_a_document_and_is_found_page_by_page(app, client, space):
    file = _send(client, HIVE, "bees.pdf").get_json()
    place = f"/api/spaces/{space}/documents"
    made = client.post(f"{place}/files", json={"file_id": file["file_id"]})
    assert made.status_code == 201
    assert (made.get_json()["title"], made.get_json()["pages"]) == ("bees.pdf", 3)
    run_queued_jobs(app)
    whole = client.get(f"{place}/{made.get_json()['document_id']}").get_json()
    assert whole["status"] == "ready"
    assert "\f" not in whole["content"]
    found = client.get(f"/api/search?q=how many hives in May&space_id={space}").get_json()
    first = str(found)
    assert "bees.pdf, page 2" in first
    # The file may go: what it says stays in the space.
    client.delete(f"/api/files/{file['file_id']}")
    assert "Seventeen hives" in client.get(f"{place}/{made.get_json()['document_id']}").get_json()["content"]


def test_only_members_add_only_their_own_files_and_only_what_can_be_read(client, api, make_user):
    space, other = make_space(client), api(make_user())
    mine = _send(client, docx("Bees dance."), "bees.docx").get_json()["file_id"]
    theirs = _send(other, b"Wasps sting.", "wasps.txt").get_json()["file_id"]
    place = f"/api/spaces/{space}/documents/files"
    assert client.post(place, json={"file_id": mine, "title": "On bees"}).get_json()["title"] == "On bees"
    assert client.post(place, json={"file_id": theirs}).status_code == 404
    for name, data in (("a.pdf", b"%PDF-1.7 broken"), ("a.jpg", photo()[:300])):
        refused = client.post(place, json={"file_id": _send(client, data, name).get_json()["file_id"]})
        assert refused.status_code == 422
        assert "damaged" in refused.get_json()["errors"][0]["msg"], name


def test_pictures_and_scans_are_documents_that_models_see(app, client, model, browser, space):
    """Found by their title, shown with the question, and told by their name to models that take no pictures."""
    place = f"/api/spaces/{space}/documents"
    made = []
    for name, data in (("apiary plan.jpg", photo()), ("smoker invoice.pdf", pdf("", ""))):
        file_id = _send(client, data, name).get_json()["file_id"]
        answer = client.post(f"{place}/files", json={"file_id": file_id})
        assert answer.status_code == 201, answer.text
        made.append(answer.get_json())
    run_queued_jobs(app)
    assert [(row["pages"], row["media_type"]) for row in made] == [(1, "image/jpeg"), (2, "application/pdf")]
    plan = f"{place}/{made[0]['document_id']}"
    assert client.get(plan).get_json()["status"] == "ready"
    assert client.get(f"{plan}/picture?page=1").mimetype == "image/jpeg"
    assert client.get(f"{plan}/picture?page=2").status_code == 404
    for row, words in zip(made, ("A picture, without text", "Pictures, without text"), strict=True):
        page = browser.get(f"/spaces/{space}/documents/{row['document_id']}").text
        assert words in page and '<img class="file-picture"' in page
    talk = client.post("/api/conversations", json={"space_id": space}).get_json()["conversation_id"]
    ask(client, "What does the plan of the apiary show?", conversation_id=talk)
    sent = chat_calls(model)[-1]
    assert len(sent_pictures(sent)) == 1
    assert "[apiary plan.jpg]" in str(sent[-1]["content"])
    ask(client, "How much was the smoker invoice?", conversation_id=talk)
    assert len(sent_pictures(chat_calls(model)[-1])) >= 2  # both of its pages
    assert client.delete(plan).status_code == 204
    ask(client, "And the apiary plan?", conversation_id=talk)
    assert "[apiary plan.jpg]" not in str(chat_calls(model)[-1][-1]["content"])


def test_a_scanned_page_among_others_is_found_by_the_words_around_it(app, client, user, model, login, space):
    """Shown with the question as in a chat, alone of its document, and to readers where its text would stand."""
    place = f"/api/spaces/{space}/documents"
    data = pdf("The apiary stands behind the mill.", "The receipt of the smoker follows.", "", "Honey sells in June.")
    file_id = _send(client, data, "ledger.pdf").get_json()["file_id"]
    document = client.post(f"{place}/files", json={"file_id": file_id}).get_json()
    run_queued_jobs(app)
    assert client.get(f"{place}/{document['document_id']}").get_json()["chunks_total"] == 4
    shown = login(user).get(f"/spaces/{space}/documents/{document['document_id']}").text
    assert shown.count('<img class="file-picture"') == 1 and "page=3" in shown
    talk = client.post("/api/conversations", json={"space_id": space}).get_json()["conversation_id"]
    ask(client, "What does the receipt of the smoker say?", conversation_id=talk)
    sent = chat_calls(model)[-1]
    assert len(sent_pictures(sent)) == 1
    assert "[ledger.pdf, page 3]" in str(sent[-1]["content"])
    assert "A picture, without text: ledger.pdf, page 3" in str(sent)


def test_a_file_deleted_while_it_becomes_a_document_leaves_its_bytes(app, client):
    space, user_id = make_space(client), client.person.user_id
    file_id = _send(client, HIVE, "bees.pdf").get_json()["file_id"]
    went_wrong: list[Exception] = []

    def delete() -> None:
        with app.app_context():
            try:
                with write_transaction():
                    files.delete_file(user_id, file_id)
            except Exception as error:
                went_wrong.append(error)

    other = threading.Thread(target=delete)
    with app.app_context(), write_transaction():
        made = add_to_space(user_id, space, file_id)
        other.start()
        other.join(0.5)  # it has begun, and waits
    other.join(20)
    assert went_wrong == []
    assert client.get(f"/api/files/{file_id}").status_code == 404
    assert client.get(f"/api/spaces/{space}/documents/{made.document_id}/content").data == HIVE
    with app.app_context():
        uploads._drop(hashlib.sha256(HIVE).hexdigest())  # as by a deletion that looked before the document was there
    assert client.get(f"/api/spaces/{space}/documents/{made.document_id}/content").data == HIVE


@pytest.mark.once
def test_the_page_takes_files(app, client, monkeypatch, browser, space):
    place = f"/spaces/{space}/documents"
    assert f"{place}/files" in browser.get(place).text
    monkeypatch.setitem(app.config, "MAX_CONTENT_LENGTH", 20_000)
    large = b"word " * 8_000
    assert post_form(browser, f"{place}/files", file=[(io.BytesIO(large), "long.txt")]).status_code == 303
    files = [(io.BytesIO(HIVE), "bees.pdf"), (io.BytesIO(b"\x00\x01"), "x.bin")]
    assert post_form(browser, f"{place}/files", file=files).status_code == 303
    run_queued_jobs(app)
    page = browser.get(place).text
    assert "bees.pdf" in page and "3 pages" in page
    assert "x.bin: This kind of file cannot be read." in page
    number = client.get(f"/api/spaces/{space}/documents").get_json()["documents"][0]["document_id"]
    assert "Page 2" in browser.get(f"{place}/{number}").text


def _digests(app: Flask) -> set[str]:
    with app.app_context():
        return {found for key, _ in file_storage().entries() if (found := digest_of(key))}


def test_members_open_the_original_and_its_pages(app, client, api, login, make_user, browser):
    space, guest = make_space(client), make_user()
    member = api(guest)
    join(client, space, member)
    files = [(io.BytesIO(HIVE), "bees.pdf"), (io.BytesIO(docx("Bees dance.")), "dance.docx")]
    assert post_form(browser, f"/spaces/{space}/documents/files", file=files).status_code == 303
    assert client.get("/api/files").get_json()["files"] == []  # nobody's file besides
    dance, bees = client.get(f"/api/spaces/{space}/documents").get_json()["documents"]
    assert (bees["file_name"], bees["media_type"], dance["file_name"]) == ("bees.pdf", "application/pdf", "dance.docx")
    place = f"/spaces/{space}/documents/{bees['document_id']}"
    got = member.get(f"/api{place}/content")
    assert (got.status_code, got.data) == (200, HIVE)
    assert "bees.pdf" in got.headers["Content-Disposition"]
    assert "Seventeen hives" in member.get(f"/api{place}/pages/2").get_json()["text"]
    drawn = member.get(f"/api{place}/picture?page=2&words=Seventeen hives")
    assert (drawn.mimetype, drawn.data[:2]) == ("image/jpeg", b"\xff\xd8")
    other = f"/api/spaces/{space}/documents/{dance['document_id']}"
    assert member.get(f"{other}/pages/1").get_json()["text"] == "Bees dance."
    for missing in (
        f"/api{place}/pages/4",
        f"/api{place}/picture?page=4",
        f"/api{place}/picture",
        f"{other}/picture?page=1",
    ):
        assert member.get(missing).status_code == 404, missing
    page = login(guest).get(f"{place}/pages/2?words=hives").text
    assert f"{place}/picture?page=2&amp;words=hives" in page and "<mark>hives</mark>" in page
    assert f"{place}/content" in login(guest).get(place).text
    for part in ("content", "pages/2", "picture?page=2"):
        assert login(guest).get(f"{place}/{part}").status_code == 200
        for stranger in (make_user(), make_user(is_admin=True)):
            assert api(stranger).get(f"/api{place}/{part}").status_code == 404


def test_bytes_go_with_the_last_file_or_document_that_names_them(app, client):
    one, two = make_space(client), make_space(client)
    data = pdf("Kept once, named three times.")
    digest = hashlib.sha256(data).hexdigest()
    file_id = _send(client, data, "once.pdf").get_json()["file_id"]
    places = [
        f"/api/spaces/{space}/documents/"
        + str(client.post(f"/api/spaces/{space}/documents/files", json={"file_id": file_id}).get_json()["document_id"])
        for space in (one, two)
    ]
    assert client.delete(f"/api/files/{file_id}").status_code == 204
    assert client.get(f"{places[0]}/content").data == data
    assert client.delete(places[0]).status_code == 204
    assert client.get(f"{places[1]}/content").data == data
    with app.app_context():
        for path in (app_settings().var_dir / "files").rglob("*"):
            os.utime(path, (0, 0))
        sweep_storage()
    assert digest in _digests(app)  # the sweep knows documents
    assert client.delete(f"/api/spaces/{two}").status_code == 204
    assert digest not in _digests(app)


def test_a_document_without_an_original_says_so(app, client, browser, space):
    file_id = _send(client, HIVE, "old.pdf").get_json()["file_id"]
    made = client.post(f"/api/spaces/{space}/documents/files", json={"file_id": file_id}).get_json()["document_id"]
    execute(app, update(SpaceDocument).values(digest=None, media_type=None, file_name=None))
    place = f"/spaces/{space}/documents/{made}"
    refused = client.get(f"/api{place}/content")
    assert refused.status_code == 404 and "only its text" in refused.get_json()["detail"]
    assert client.get(f"/api{place}").get_json()["file_name"] is None
    assert "The original file is not kept, only its text." in browser.get(place).text
    page = browser.get(f"{place}/pages/2").text
    assert "Seventeen hives" in page and '<img class="file-picture"' not in page


def test_a_reply_elsewhere_links_the_page_of_a_document_it_drew_on(app, client, user, model, login, space):
    file_id = _send(client, HIVE, "bees.pdf").get_json()["file_id"]
    made = client.post(f"/api/spaces/{space}/documents/files", json={"file_id": file_id}).get_json()["document_id"]
    unused = _send(client, docx("Wasps sting."), "wasps.docx").get_json()["file_id"]
    client.post(f"/api/spaces/{space}/documents/files", json={"file_id": unused})
    run_queued_jobs(app)
    model.script(match="hives", reply="“Seventeen hives were counted” (bees.pdf, page 2).", times=None)

    def talk() -> int:
        answer = client.post("/api/chat/stream", json={"message": "How many hives were counted in May?"})
        return int(parse(answer.text)[0].data["conversation_id"])

    link = f"/spaces/{space}/documents/{made}/pages/2"
    assert link not in login(user).get(f"/c/{talk()}").text  # not before its person allows it
    client.put("/api/account", json={"settings": {"space_documents_enabled": True}})
    allowed = talk()
    assert link in login(user).get(f"/c/{allowed}").text
    with app.app_context():
        assert citable_documents(user.user_id, allowed) == [Citable(made, "bees.pdf", 3, space)]
        assert citable_documents(user.user_id + 1_000, allowed) == []


def test_a_reply_in_the_space_links_the_page_it_names(app, client, user, space):
    file_id = _send(client, HIVE, "bees.pdf").get_json()["file_id"]
    made = client.post(f"/api/spaces/{space}/documents/files", json={"file_id": file_id}).get_json()["document_id"]
    talk = client.post("/api/conversations", json={"space_id": space}).get_json()["conversation_id"]
    with app.app_context():
        assert citable_documents(user.user_id, talk) == [Citable(made, "bees.pdf", 3, space)]
        assert citable_documents(user.user_id + 1_000, talk) == []
    said = "“Seventeen hives” (bees.pdf, page 2).</p><p>And page 3 of something else."
    with app.test_request_context():
        linked = link_citations(f"<p>{said}</p>", [Citable(made, "bees.pdf", 3, space)], page_url)
    assert f"/spaces/{space}/documents/{made}/pages/2?words=Seventeen+hives" in linked
    assert linked.count("<a ") == 1
