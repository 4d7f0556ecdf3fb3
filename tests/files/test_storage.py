"""Where bytes lie: a folder and a bucket on a real server keep the same promises."""

import hashlib
import io
import logging
import os
import socket
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from tests.files.test_files import _ask, _prompts, _send, pdf
from tests.files.test_pictures import photo
from tests.support.buckets import SECRET, BucketServer, bucket_server, stored_in
from webapp.accounts.service import delete_user
from webapp.admin.backups.backup import check_backup, make_backup
from webapp.admin.doctor.checks import files as look_at_files
from webapp.background.time_slices import ENDLESS
from webapp.db.base import db, write_transaction
from webapp.errors import Unavailable
from webapp.extensions import app_settings
from webapp.files import bucket as buckets, uploads
from webapp.files.bucket import Bucket
from webapp.files.models import File
from webapp.files.storage import Folder, file_storage, key_of
from webapp.files.uploads import sweep_storage
from webapp.transfer import account_erasure

KEY = f"ab/ab{'0' * 62}"


@pytest.fixture(scope="module")
def server() -> Iterator[BucketServer]:
    with bucket_server() as made:
        yield made


@pytest.fixture
def bucket(app: Flask, server: BucketServer, tmp_path: Path) -> Iterator[BucketServer]:
    """The application keeps its files in the bucket."""
    server.empty()
    with stored_in(app, server.settings, tmp_path):
        yield server


@pytest.fixture(params=["folder", "bucket"])
def storage(request: pytest.FixtureRequest, app: Flask, tmp_path: Path) -> Folder | Bucket:
    if request.param == "folder":
        return Folder(tmp_path / "files")
    server: BucketServer = request.getfixturevalue("server")
    server.empty()
    return Bucket(app_settings.of(app).model_copy(update=server.settings | {"var_dir": tmp_path}))


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_both_places_keep_give_list_and_delete(storage, tmp_path):
    data = os.urandom(200_000)
    with storage.store(KEY, io.BytesIO(data)) as path:
        assert path.read_bytes() == data
        assert path.stat().st_mode & 0o077 == 0
    storage.write(f"{KEY}.pictures/0-320.jpg", b"small")
    assert storage.size(KEY) == 200_000
    assert b"".join(storage.pieces(KEY)) == data
    assert b"".join(storage.pieces(KEY, 10, 70_000)) == data[10:70_010]
    assert max(map(len, storage.pieces(KEY))) <= 64 * 1024
    assert storage.read(f"{KEY}.pictures/0-320.jpg") == b"small"
    with storage.on_disk(KEY) as path:
        assert path.read_bytes() == data
    found = dict(storage.entries("ab/"))
    assert sorted(found) == [KEY, f"{KEY}.pictures/0-320.jpg"]
    assert all(abs(written - time.time()) < 3_600 for written in found.values())
    storage.delete(KEY)
    storage.delete(KEY)
    assert list(storage.entries()) == [] and storage.size(KEY) is None
    for missing in (storage.pieces, storage.read):
        with pytest.raises(FileNotFoundError):
            missing(KEY)
    with pytest.raises(FileNotFoundError), storage.on_disk(KEY):
        pass
    assert not list((tmp_path / "files" / "parts").glob("*"))
    storage.check()
    assert list(storage.entries()) == []


class Breaking(io.BytesIO):
    """Data whose source goes away in the middle."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 100_000:
            raise ConnectionResetError
        return super().read(size)


def test_what_breaks_off_in_the_middle_leaves_nothing(storage, tmp_path):
    with pytest.raises(ConnectionResetError), storage.store(KEY, Breaking(b"x" * 1_000_000)):
        pass
    assert list(storage.entries()) == [] and storage.size(KEY) is None
    assert not list((tmp_path / "files" / "parts").glob("*"))


def test_large_files_go_to_the_bucket_in_parts(app, server, tmp_path, monkeypatch):
    server.empty()
    made = Bucket(app_settings.of(app).model_copy(update=server.settings | {"var_dir": tmp_path}))
    data = os.urandom(12 * 1024**2)
    with made.store(KEY, io.BytesIO(data)):
        pass
    found = server.client.head_object(Bucket="files", Key=f"commonplace/{KEY}")
    assert found["ETag"].strip('"').endswith("-2")  # two parts
    assert b"".join(made.pieces(KEY)) == data
    made.delete(KEY)

    client, calls = made._client(), []

    def breaks(**named: Any) -> Any:
        calls.append(named["PartNumber"])
        if named["PartNumber"] == 2:
            raise buckets.ClientError(
                {"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}, "UploadPart"
            )
        return send(**named)

    send = client.upload_part
    monkeypatch.setattr(client, "upload_part", breaks)
    with pytest.raises(Unavailable), made.store(KEY, io.BytesIO(data)):
        pass
    assert calls == [1, 2] and server.list_keys() == []
    assert not server.client.list_multipart_uploads(Bucket="files").get("Uploads")


def test_uploads_that_a_dead_process_left_are_given_up(storage, server, tmp_path):
    parts = tmp_path / "files" / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    (parts / "1-left").write_bytes(b"half")
    left = 1
    if isinstance(storage, Bucket):
        server.client.create_multipart_upload(Bucket="files", Key=f"commonplace/{KEY}")
        left = 2
    assert storage.drop_parts(1.0) == 0
    assert storage.drop_parts(time.time() + 5) == left
    assert storage.drop_parts(time.time() + 5) == 0


def test_files_live_in_the_bucket_from_the_upload_to_the_last_deletion(
    bucket, app, client, api, make_user, model, tmp_path
):
    data = pdf("Bees dance.", "They eat nectar.")
    file = _send(client, data, "bees.pdf").get_json()
    other = _send(api(make_user()), data, "same.pdf").get_json()
    picture = _send(client, photo(), "bees.jpg").get_json()
    assert (file["status"], file["pages"], picture["status"]) == ("ready", 2, "ready")
    assert sum(key.startswith("commonplace/") and ".pictures" not in key for key in bucket.list_keys()) == 2
    place = f"/api/files/{file['file_id']}"
    with client.get(f"{place}/content") as found:
        assert found.data == data and found.headers["Accept-Ranges"] == "bytes"
    assert client.get(f"{place}/picture?page=2&words=nectar").data[:3] == b"\xff\xd8\xff"
    assert any("2-1280-" in key for key in bucket.list_keys())
    _ask(client, "What do they eat?", file_ids=[file["file_id"], picture["file_id"]])
    assert "They eat nectar." in str(_prompts(model)[0][1]) and "data:image/jpeg" in str(_prompts(model)[0][-1])
    assert not list((tmp_path / "files").rglob("*.jpg")) and not list((tmp_path / "files" / "parts").iterdir())
    assert client.delete(place).status_code == 204
    assert any("2-1280-" in key for key in bucket.list_keys())  # the other's
    with app.app_context(), write_transaction():
        delete_user(db.session.get_one(File, other["file_id"]).user_id or 0)
    client.delete(f"/api/files/{picture['file_id']}")
    assert bucket.list_keys() == []


RANGES = (
    ("bytes=0-3", 206, slice(0, 4)),
    ("bytes=5-", 206, slice(5, None)),
    ("bytes=-4", 206, slice(-4, None)),
    ("lines=1-2", 200, slice(None)),
    ("bytes=0-1,4-5", 200, slice(None)),
)


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_a_range_of_a_file(request, client, place):
    if place == "bucket":
        request.getfixturevalue("bucket")
    address = f"/api/files/{_send(client, b'Bees dance.', 'Bienen & tänze.txt').get_json()['file_id']}/content"
    for wanted, status, part in RANGES:
        with client.get(address, headers={"Range": wanted}) as found:
            assert (found.status_code, found.data) == (status, b"Bees dance."[part]), wanted
            assert found.content_length == len(found.data)
            assert "UTF-8''Bienen%20%26%20t%C3%A4nze.txt" in found.headers["Content-Disposition"]
            etag = found.headers["ETag"]
    assert client.get(address, headers={"If-None-Match": etag}).status == "304 NOT MODIFIED"
    assert client.get(address, headers={"If-Match": '"other"'}).content_type == "application/problem+json"
    beyond = client.get(address, headers={"Range": "bytes=99-"})
    assert (beyond.status_code, beyond.content_type) == (416, "application/problem+json")
    assert beyond.headers["Content-Range"] == "bytes */11"


def _away(app: Flask, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(buckets, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(buckets, "RETRY_SECONDS", 0.0)
    return stored_in(
        app, {"s3_bucket": "files", "s3_endpoint": endpoint, "s3_access_key": "a", "s3_secret_key": SECRET}, tmp_path
    )


@pytest.mark.parametrize("how", ["silent", "refused", "wrong"])
def test_a_bucket_that_is_away_is_a_503_in_plain_words_and_loses_nothing(
    app, bucket, silent, client, tmp_path, monkeypatch, caplog, how
):
    file = _send(client, pdf("Bees dance."), "bees.pdf").get_json()["file_id"]
    endpoint = {"silent": silent, "refused": "http://127.0.0.1:9", "wrong": f"{bucket.endpoint}/nothing/here"}[how]
    caplog.set_level(logging.DEBUG)
    with _away(app, endpoint, tmp_path, monkeypatch):
        for answer in (
            _send(client, b"new words", "new.txt"),
            *([client.get(f"/api/files/{file}/content")] if how != "wrong" else []),
            *([client.get(f"/api/files/{file}/picture?page=1")] if how != "wrong" else []),
        ):
            assert answer.status_code == 503, answer.text
            assert "cannot be reached" in answer.get_json()["detail"] and answer.headers["Retry-After"]
            assert SECRET not in answer.text
    assert [row["name"] for row in client.get("/api/files").get_json()["files"]] == ["bees.pdf"]
    with client.get(f"/api/files/{file}/content") as found:
        assert found.data == pdf("Bees dance.") or found.data[:5] == b"%PDF-"
    assert SECRET not in caplog.text


def test_what_is_deleted_while_the_bucket_is_away_goes_with_the_next_sweep(app, bucket, client, tmp_path, monkeypatch):
    gone, kept = (_send(client, words, "a.txt").get_json()["file_id"] for words in (b"gone", b"kept"))
    with _away(app, "http://127.0.0.1:9", tmp_path, monkeypatch):
        assert client.delete(f"/api/files/{gone}").status_code == 204
    assert client.get(f"/api/files/{gone}").status_code == 404 and len(bucket.list_keys()) == 2
    with app.app_context():
        assert sweep_storage() == 0  # it is young: its row might not be committed yet
        monkeypatch.setattr("webapp.files.uploads.MIN_AGE_SECONDS", -5)
        assert sweep_storage() == 1 and sweep_storage() == 0
    assert len(bucket.list_keys()) == 1
    assert client.get(f"/api/files/{kept}/content").data == b"kept"


def test_a_sweep_leaves_alone_what_else_is_in_the_bucket(app, server, tmp_path, monkeypatch):
    server.empty()
    monkeypatch.setattr("webapp.files.uploads.MIN_AGE_SECONDS", -5)
    with stored_in(app, server.settings | {"s3_prefix": ""}, tmp_path), app.app_context():
        server.client.put_object(Bucket="files", Key="backups/commonplace.zip", Body=b"dear")
        upload = server.client.create_multipart_upload(Bucket="files", Key="backups/next.zip")
        file_storage().write(KEY, b"of nobody")
        assert sweep_storage() == 1
        assert server.list_keys() == ["backups/commonplace.zip"]
        assert server.client.list_multipart_uploads(Bucket="files")["Uploads"][0]["UploadId"] == upload["UploadId"]
    server.client.abort_multipart_upload(Bucket="files", Key="backups/next.zip", UploadId=upload["UploadId"])
    server.empty()


def test_a_sweep_spares_what_is_taken_in_while_it_deletes(app, client, tmp_path, monkeypatch):
    monkeypatch.setattr("webapp.files.uploads.MIN_AGE_SECONDS", -5)
    with stored_in(app, {}, tmp_path), app.app_context():
        storage = file_storage()
        first, second = sorted((hashlib.sha256(words).hexdigest(), words) for words in (b"some words", b"other words"))
        for digest, words in (first, second):
            storage.write(key_of(digest), words)
        delete, taken = storage.delete, []

        def slow(key: str) -> None:
            if not taken:
                other = first if key == key_of(second[0]) else second
                taken.append(_send(client, other[1], "a.txt").get_json()["file_id"])
            delete(key)

        monkeypatch.setattr(storage, "delete", slow)
        assert sweep_storage() == 1
        assert client.get(f"/api/files/{taken[0]}/content").data in (b"some words", b"other words")


def test_a_content_is_deleted_before_its_pictures(bucket, app, monkeypatch):
    with app.app_context():
        storage = file_storage()
        for key in (KEY, f"{KEY}.pictures/0-320.jpg"):
            storage.write(key, b"bytes")
        client, deleted = storage._client(), []
        monkeypatch.setattr(client, "delete_object", lambda **named: deleted.append(named["Key"]))
        storage.delete(KEY)
    assert deleted == [f"commonplace/{KEY}", f"commonplace/{KEY}.pictures/0-320.jpg"]


def test_an_account_is_not_gone_before_its_files_are(app, bucket, api, make_user, tmp_path, monkeypatch):
    person = make_user()
    _send(api(person), b"mine alone", "a.txt")
    monkeypatch.setattr(account_erasure.deletion, "begin_due", lambda user_id: True)
    reports: list[dict[str, Any]] = []
    monkeypatch.setattr(account_erasure.deletion, "finish", lambda user_id, report: reports.append(report))
    with app.app_context():
        with _away(app, "http://127.0.0.1:9", tmp_path, monkeypatch), pytest.raises(Unavailable):
            account_erasure.delete_account(person.user_id, seconds=ENDLESS)
        db.session.rollback()
        assert db.session.query(File).count() == 1 and reports == []
        assert account_erasure.delete_account(person.user_id, seconds=ENDLESS) == "done"
    assert bucket.list_keys() == [] and reports[0]["files_left"] == 0


def test_a_content_that_goes_while_it_is_taken_in_again_is_not_lost(bucket, client, monkeypatch):
    read = uploads.run_bounded

    def work(*file: str) -> Any:
        found = read(*file)
        bucket.empty()
        return found

    monkeypatch.setattr(uploads, "run_bounded", work)
    number = _send(client, b"same words", "a.txt").get_json()["file_id"]
    assert client.get(f"/api/files/{number}/content").data == b"same words"


def test_nothing_is_held_while_the_storage_is_asked(app, client, monkeypatch):
    storage, held = file_storage.of(app), []

    def watch(name: str) -> None:
        asked = getattr(storage, name)

        def ask(*wanted: Any) -> Any:
            held.append((name, db.session().in_transaction()))
            return asked(*wanted)

        monkeypatch.setattr(storage, name, ask)

    for name in ("store", "size", "pieces", "delete"):
        watch(name)
    number = _send(client, b"read without a connection", "a.txt").get_json()["file_id"]
    client.get(f"/api/files/{number}/content").close()
    client.delete(f"/api/files/{number}")
    assert {name for name, _ in held} == {"store", "size", "pieces", "delete"}
    assert [name for name, is_held in held if is_held] == []


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_a_content_that_is_deleted_while_it_is_read_is_read_to_its_end(
    request, app, client, tmp_path, monkeypatch, place
):
    if place == "bucket":
        request.getfixturevalue("bucket")
    with stored_in(app, {} if place == "folder" else app_settings.of(app).model_dump(), tmp_path):
        first = _send(client, b"same words", "a.txt").get_json()["file_id"]
        read = uploads.run_bounded

        def work(*file: str) -> Any:
            assert client.delete(f"/api/files/{first}").status_code == 204
            return read(*file)

        monkeypatch.setattr(uploads, "run_bounded", work)
        second = _send(client, b"same words", "b.txt").get_json()
        assert (second["status"], second["pages"]) == ("ready", 1)
        assert client.get(f"/api/files/{second['file_id']}/content").data == b"same words"


def test_backups_and_exports_hold_what_is_in_the_bucket(app, bucket, client, run_jobs, tmp_path):
    file = _send(client, b"Bees dance.", "bees.txt").get_json()
    made = client.post("/api/exports", json={"what": "account"}).get_json()
    run_jobs()
    with client.get(f"/api/exports/{made['export_id']}/download") as found:
        members = zipfile.ZipFile(io.BytesIO(found.data))
    assert [members.read(name) for name in members.namelist() if name.startswith("files/")] == [b"Bees dance."]
    with app.app_context():
        make_backup(tmp_path / "backup.zip")
        assert check_backup(tmp_path / "backup.zip").attachments == 1
        digest = db.session.get_one(File, file["file_id"]).digest
    bucket.empty()
    with app.app_context(), zipfile.ZipFile(tmp_path / "backup.zip") as archive:
        from webapp.admin.backups.restore import _restore_files

        _restore_files(archive)
        assert file_storage().read(key_of(digest)) == b"Bees dance."


def test_the_doctor_tries_the_bucket(app, bucket, tmp_path, monkeypatch):
    with app.app_context():
        assert [(one.state, "can be written to, read and deleted from" in one.text) for one in look_at_files()] == [
            ("ok", True)
        ]
        Folder(tmp_path / "files").write(KEY, b"old")
        assert "files move" in [one.advice for one in look_at_files()][-1]
        told = app.test_cli_runner().invoke(args=["files", "move"])
        assert "1 files are now in files" in told.output and bucket.list_keys() == [f"commonplace/{KEY}"]
        bucket.client.put_bucket_versioning(Bucket="files", VersioningConfiguration={"Status": "Enabled"})
        assert "keeps versions" in [one.text for one in look_at_files()][-1]
        bucket.client.put_bucket_versioning(Bucket="files", VersioningConfiguration={"Status": "Suspended"})
        with _away(app, "http://127.0.0.1:9", tmp_path, monkeypatch):
            (fault,) = look_at_files()
        assert fault.state == "fault" and SECRET not in str(fault)
