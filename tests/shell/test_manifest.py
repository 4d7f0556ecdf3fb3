"""Manifest, service worker and the page without a connection: for anybody, and nothing of anybody's in them."""

from __future__ import annotations

import re
import struct
from pathlib import Path

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
    assert (shared["action"], shared["method"], set(shared["params"])) == ("/", "GET", {"title", "text", "url"})
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
