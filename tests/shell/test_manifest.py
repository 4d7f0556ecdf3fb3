"""Manifest, service worker and the page without a connection: for anybody, and nothing of anybody's in them."""

import io
import re
import struct
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.support.queries import scalar
from webapp.files.models import File

STATIC = Path(__file__).resolve().parents[2] / "static"


def test_the_manifest_makes_it_installable(user, anonymous):
    answer = anonymous.get("/manifest.webmanifest")
    assert answer.mimetype == "application/manifest+json"
    manifest = answer.get_json(force=True)
    assert (manifest["start_url"], manifest["scope"], manifest["display"]) == ("/", "/", "standalone")
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    for icon in manifest["icons"]:
        with anonymous.get(icon["src"]) as image:
            assert (image.status_code, image.mimetype) == (200, "image/png")
            width, height = struct.unpack(">II", image.data[16:24])
        assert icon["sizes"] == f"{width}x{height}"
    shared = manifest["share_target"]
    assert (shared["action"], shared["method"], shared["enctype"]) == ("/share", "POST", "multipart/form-data")
    assert set(shared["params"]) == {"title", "text", "url", "files"}
    assert "image/*" in shared["params"]["files"][0]["accept"]
    assert 'rel="manifest"' in anonymous.get("/login").text


def test_the_worker_is_never_old_and_may_look_at_the_whole_site(anonymous):
    answer = anonymous.get("/sw.js")
    assert answer.mimetype == "text/javascript"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["Service-Worker-Allowed"] == "/"
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    shell = re.search(r'"shell": \[(.*?)\]', answer.text)[1].replace('"', "").split(", ")
    assert len(shell) == 8
    for address in shell:
        with anonymous.get(address) as part:
            assert part.status_code == 200, address


@pytest.mark.parametrize("who", ["user", "anonymous"])
def test_what_no_worker_took_is_a_draft_and_nothing_is_stored(app, user, login, anonymous, who):
    sender = login(user) if who == "user" else anonymous
    picture = (io.BytesIO(b"\x89PNG"), "bees.png")
    answer = sender.post("/share", data={"text": "Bees & co", "url": "https://bees.example/", "files": picture})
    assert (answer.status_code, answer.location) == (303, "/?text=Bees+%26+co&url=https%3A%2F%2Fbees.example%2F")
    assert scalar(app, select(func.count()).select_from(File)) == 0
    assert sender.post("/share", data={"files": (io.BytesIO(b"x"), "x")}).location == "/"
    long = sender.post("/share", data={"text": "養蜂" * 4_000, "title": "Bees"}).location
    assert 6_000 < len(long) < 7_100 and "title=Bees" in long


def test_a_shared_draft_is_pasted_and_files_are_taken_by_a_script(user, login):
    page = login(user).get("/?shared=1&text=Bees").text
    assert "js/shared.js" in page and "pasted" in page
    assert "js/shared.js" not in login(user).get("/").text


def test_the_page_without_a_connection_is_the_same_for_everybody(app, user, login, anonymous):
    own, theirs = login(user).get("/offline"), anonymous.get("/offline")
    assert own.text == theirs.text
    assert "csrf" not in own.text and user.name not in own.text
    assert "Set-Cookie" not in theirs.headers


def test_modules_of_that_page_are_all_kept(anonymous):
    worker = anonymous.get("/sw.js").text
    waiting, seen = ["offline-page.js"], set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting += set(re.findall(r'from "\./([\w-]+\.js)"', (STATIC / "js" / name).read_text())) - seen
    assert all(f"/js/{name}" in worker for name in seen)
