"""Files as documents of a space: the same kinds, the same reading, found page by page."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.files.test_files import _send, docx, pdf
from tests.spaces.helpers import make_space
from tests.support.people import ApiClient, Person, post_form
from tests.support.work import work_off

HIVE = pdf("The apiary stands behind the mill.", "Seventeen hives were counted in May.", "")


def test_a_file_is_a_document_and_is_found_page_by_page(app: Flask, client: ApiClient) -> None:
    space = make_space(client)
    file = _send(client, HIVE, "bees.pdf").get_json()
    place = f"/api/spaces/{space}/documents"
    made = client.post(f"{place}/files", json={"file_id": file["file_id"]})
    assert made.status_code == 201
    assert (made.get_json()["title"], made.get_json()["pages"]) == ("bees.pdf", 3)
    work_off(app)
    whole = client.get(f"{place}/{made.get_json()['document_id']}").get_json()
    assert whole["status"] == "ready"
    assert "\f" not in whole["content"]
    found = client.get(f"/api/search?q=how many hives in May&space_id={space}").get_json()
    first = str(found)
    assert "bees.pdf, page 2" in first
    # The file may go: what it says stays in the space.
    client.delete(f"/api/files/{file['file_id']}")
    assert "Seventeen hives" in client.get(f"{place}/{made.get_json()['document_id']}").get_json()["content"]


def test_only_members_add_only_their_own_files(
    client: ApiClient,
    api: Callable[[Person], ApiClient],
    make_user: Callable[..., Person],
    anonymous: FlaskClient,
) -> None:
    space, other = make_space(client), api(make_user())
    mine = _send(client, docx("Bees dance."), "bees.docx").get_json()["file_id"]
    theirs = _send(other, b"Wasps sting.", "wasps.txt").get_json()["file_id"]
    place = f"/api/spaces/{space}/documents/files"
    assert client.post(place, json={"file_id": mine, "title": "On bees"}).get_json()["title"] == "On bees"
    assert client.post(place, json={"file_id": theirs}).status_code == 404
    assert other.post(place, json={"file_id": theirs}).status_code == 404
    assert anonymous.post(place, json={"file_id": mine}).status_code == 401


def test_a_file_without_text_is_refused_in_words(client: ApiClient) -> None:
    space = make_space(client)
    place = f"/api/spaces/{space}/documents/files"
    scanned = _send(client, pdf("", ""), "scan.pdf").get_json()["file_id"]
    broken = _send(client, b"%PDF-1.7 broken", "a.pdf").get_json()["file_id"]
    for file_id, words in ((scanned, "only pictures"), (broken, "damaged")):
        refused = client.post(place, json={"file_id": file_id})
        assert refused.status_code == 422
        assert words in refused.get_json()["errors"][0]["msg"]


@pytest.mark.once
def test_the_page_takes_files(
    app: Flask,
    client: ApiClient,
    login: Callable[[Person], FlaskClient],
    user: Person,
    make_user: Callable[..., Person],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = make_space(client)
    browser = login(user)
    place = f"/spaces/{space}/documents"
    assert f"{place}/files" in browser.get(place).text
    monkeypatch.setitem(app.config, "MAX_CONTENT_LENGTH", 20_000)
    large = b"word " * 8_000
    assert post_form(browser, f"{place}/files", file=[(io.BytesIO(large), "long.txt")]).status_code == 303
    files = [(io.BytesIO(HIVE), "bees.pdf"), (io.BytesIO(b"\x00\x01"), "x.bin")]
    assert post_form(browser, f"{place}/files", file=files).status_code == 303
    work_off(app)
    page = browser.get(place).text
    assert "bees.pdf" in page and "3 pages" in page
    assert "x.bin: This kind of file cannot be read." in page
    number = client.get(f"/api/spaces/{space}/documents").get_json()["documents"][0]["document_id"]
    assert "Page 2" in browser.get(f"{place}/{number}").text
    stranger = login(make_user())
    assert post_form(stranger, f"{place}/files", file=[(io.BytesIO(b"x"), "a.txt")], page="/files").status_code == 404
