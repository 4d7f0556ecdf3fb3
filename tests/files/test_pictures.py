"""Pictures: turned, scaled and stripped for models that see, named for those that do not; scanned pages and quotes."""

import base64
import io
from typing import Any

import numpy as np
import PIL.Image
import pillow_heif
import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient
from testkit.work import run_queued_jobs
from tests.chat.helpers import offer
from tests.files.test_files import _send, pdf
from webapp.extensions import app_settings
from webapp.files import drawing, previews
from webapp.files.kinds import PDF
from webapp.files.picture import picture_tokens
from webapp.files.storage import file_storage, key_of, picture_key


def photo(width: int = 400, height: int = 200, form: str = "JPEG", *, turned: bool = False, mode: str = "RGB") -> bytes:
    """A picture, red on its left and blue on its right; with a place, and held on its side where it is `turned`."""
    if form == "HEIF":
        pillow_heif.register_heif_opener()
    made = PIL.Image.new(mode, (width, height), "blue")
    made.paste(PIL.Image.new(mode, (width // 2, height), "red"), (0, 0))
    exif = PIL.Image.Exif()
    if turned:
        exif[0x0112] = 6
    exif[0x010E] = "SECRET PLACE"
    exif.get_ifd(0x8825)[2] = (48.0, 8.0, 13.0)
    out = io.BytesIO()
    made.save(out, form, **({"exif": exif} if form in ("JPEG", "WEBP", "PNG") else {}))
    return out.getvalue()


def ask(client: ApiClient, text: str, *file_ids: int, **fields: Any) -> dict[str, Any]:
    """Send a message with files and wait for the reply; the reply."""
    if "conversation_id" not in fields:
        fields["conversation_id"] = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    body = {"content": text, "file_ids": list(file_ids)} | {k: v for k, v in fields.items() if k == "model"}
    sent = client.post(f"/api/conversations/{fields['conversation_id']}/messages", json=body)
    assert sent.status_code == 202, sent.text
    answer = client.get(f"/api/messages/{sent.get_json()['message']['message_id']}/response?wait=20")
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def chat_calls(model: ServerHandle) -> list[list[dict[str, Any]]]:
    """The messages of what was asked for replies."""
    return [call["messages"] for call in model.calls() if call["stream"]]


def sent_pictures(messages: list[dict[str, Any]]) -> list[PIL.Image.Image]:
    """The pictures in a request."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [PIL.Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
def test_a_picture_is_drawn_small_upright_and_without_its_place(form):
    turned = form != "GIF"
    wish = [{"page": 0, "edge": 1280, "words": ""}]
    (made,) = previews.draw(photo(2400, 1200, form, turned=turned), f"image/{form.lower()}", wish)
    data = base64.b64decode(made["data"])
    picture = PIL.Image.open(io.BytesIO(data))
    assert picture.size == ((640, 1280) if turned else (1280, 640))
    assert not picture.getexif() and b"SECRET PLACE" not in data
    red, _, blue = picture.convert("RGB").getpixel((5, 5))
    assert red > 200 and blue < 60


@pytest.mark.once
def test_a_picture_goes_to_the_model_small(client, model):
    file = _send(client, photo(2400, 1200, turned=True), "bees.jpeg").get_json()
    assert (file["status"], file["pages"]) == ("ready", 0)
    ask(client, "What is to be seen?", file["file_id"])
    (picture,) = sent_pictures(chat_calls(model)[-1])
    assert picture.size == (640, 1280) and not picture.getexif()
    assert file["tokens"] == picture_tokens(640, 1280)
    asked = chat_calls(model)[-1][-1]["content"]
    assert [part["text"] for part in asked if part["type"] == "text"][0] == "[bees.jpeg]"
    assert asked[-1]["text"].endswith("What is to be seen?")


def test_what_is_see_through_stands_on_white():
    out = io.BytesIO()
    PIL.Image.new("RGBA", (20, 20), (0, 0, 0, 0)).save(out, "PNG")
    (made,) = previews.draw(out.getvalue(), "image/png", [{"page": 0, "edge": 20, "words": ""}])
    assert PIL.Image.open(io.BytesIO(base64.b64decode(made["data"]))).getpixel((9, 9)) == (255, 255, 255)


def test_later_turns_begin_with_the_same_bytes_and_a_picture_is_no_evidence(app, client, model):
    file = _send(client, photo(), "bees.jpg").get_json()
    first = ask(client, "I keep bees. Look.", file["file_id"])
    ask(client, "And what else?", conversation_id=first["conversation_id"])
    one, two = chat_calls(model)
    assert two[: len(one)][0] == one[0]
    assert two[1]["content"][:2] == one[1]["content"][:2]
    assert len(sent_pictures(two)) == 1
    run_queued_jobs(app)
    background = [call for call in model.calls() if not call["stream"] and call["path"] == "chat"]
    assert background
    assert "image_url" not in str([call["messages"] for call in background])


def test_a_model_that_does_not_see_is_told_that_there_was_a_picture(client, admin, model):
    (blind,) = offer(admin, model, "blind")
    model.script(match="Look", reply="I cannot see it.", times=None)
    model.script(match="Look", fault={"refuse_images": True}, times=None)
    file = _send(client, photo(), "bees.jpg").get_json()
    reply = ask(client, "Look.", file["file_id"], model=blind)
    assert (reply["status"], reply["content"]) == ("complete", "I cannot see it.")
    sent = chat_calls(model)[-1][-1]["content"]
    assert isinstance(sent, str)
    assert "[bees.jpg]" in sent and "cannot see it" in sent
    before = len(chat_calls(model))
    ask(client, "Look again.", conversation_id=reply["conversation_id"], model=blind)
    assert len(chat_calls(model)) == before + 1  # it is known by now


def test_pictures_that_do_not_fit_are_named_and_the_newest_are_shown(client, model):
    ids = [_send(client, photo(1280, 1270 + n), f"{n}.jpg").get_json()["file_id"] for n in range(4)]
    first = ask(client, "The first ones.", ids[0], ids[1])
    ask(client, "The last ones.", ids[2], ids[3], conversation_id=first["conversation_id"])
    last = chat_calls(model)[-1]
    assert len(sent_pictures(last)) == 2
    assert "2.jpg" in str(last[-1]["content"])
    assert "no room to show it" in str(last[1]["content"])


def test_an_edited_message_keeps_its_pictures(client, model):
    file = _send(client, photo(), "bees.jpg").get_json()
    reply = ask(client, "Look.", file["file_id"])
    asked = client.get(f"/api/conversations/{reply['conversation_id']}/messages").get_json()["messages"][0]
    again = client.post(f"/api/messages/{asked['message_id']}/edit", json={"content": "Look closer."}).get_json()
    client.get(f"/api/messages/{again['message']['message_id']}/response?wait=20")
    assert len(sent_pictures(chat_calls(model)[-1])) == 1


@pytest.mark.once
def test_a_picture_that_is_broken_is_unreadable(client):
    broken = _send(client, photo()[:300], "bees.jpg").get_json()
    assert (broken["status"], broken["tokens"]) == ("unreadable", 0)


def test_pictures_are_shown_to_their_owner_and_go_with_their_file(app, client, browser):
    file = _send(client, photo(2000, 1000), "bees.jpg").get_json()
    place = f"/files/{file['file_id']}/picture"
    small = browser.get(f"{place}?size=small")
    assert small.mimetype == "image/jpeg"
    assert PIL.Image.open(io.BytesIO(small.data)).size == (320, 160)
    assert PIL.Image.open(io.BytesIO(client.get(f"/api{place}").data)).size == (1280, 640)
    assert place in browser.get(f"/files/{file['file_id']}").text
    assert client.get(f"/api{place}?page=1").status_code == 404
    assert client.get(f"/api{place}?page=x").status_code == 422
    text = _send(client, b"words", "a.txt").get_json()
    assert client.get(f"/api/files/{text['file_id']}/picture").status_code == 404
    assert list(_files(app).rglob("*.pictures"))
    client.delete(f"/api/files/{file['file_id']}")
    assert browser.get(place).status_code == 404


def _files(app: Flask) -> Any:
    with app.app_context():
        return app_settings().var_dir.absolute() / "files"


@pytest.mark.once
def test_scanned_pages_are_counted_and_sent_as_pictures(client, model, login, user):
    file = _send(client, pdf("Bees dance.", "", "They eat nectar.", ""), "scan.pdf").get_json()
    assert (file["status"], file["pages"], file["picture_pages"]) == ("ready", 4, 2)
    assert "2 of 4 pages are pictures" in login(user).get(f"/files/{file['file_id']}").text
    ask(client, "What does it say?", file["file_id"])
    sent = chat_calls(model)[-1]
    assert "Bees dance." in str(sent[1]["content"]) and "[This page is a picture.]" in str(sent[1]["content"])
    assert len(sent_pictures(sent)) == 2
    assert "[scan.pdf, page 2]" in str(sent[-1]["content"])
    whole = _send(client, pdf("", ""), "all.pdf").get_json()
    assert whole["picture_pages"] == 2
    ask(client, "And this?", whole["file_id"])
    assert len(sent_pictures(chat_calls(model)[-1])) == 2


@pytest.mark.once
def test_a_page_is_drawn_with_the_words_marked(client):
    file = _send(client, pdf("Nothing here.", "Bees dance\nin the dark of the hive."), "bees.pdf").get_json()
    place = f"/api/files/{file['file_id']}/picture?page=2"
    plain = client.get(place)
    marked = client.get(f"{place}&words=dance in the   DARK")
    assert plain.mimetype == marked.mimetype == "image/jpeg"
    assert not _yellow(plain.data)
    assert _yellow(marked.data)
    assert not _yellow(client.get(f"{place}&words=wasps").data)
    assert client.get(f"/api/files/{file['file_id']}/picture?page=3").status_code == 404
    assert client.get(f"/api/files/{file['file_id']}/picture").status_code == 404


def _yellow(data: bytes) -> bool:
    red, green, blue = np.moveaxis(np.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB")), 2, 0)
    return bool(((red > 230) & (green > 200) & (blue < 190)).any())


def test_only_so_many_pictures_are_kept(app_context, monkeypatch):
    monkeypatch.setattr(drawing, "MAX_KEPT", 3)
    data = pdf(*["A page."] * 5)
    digest = "f" * 64
    file_storage().write(key_of(digest), data)
    for page in range(1, 6):
        drawing.draw_picture(digest, PDF, drawing.PictureRequest(page, 100))
    assert len(list(file_storage().entries(picture_key(digest)))) == 3
    file_storage().delete(key_of(digest))
    assert not list(file_storage().entries(picture_key(digest)))
