"""The parts that make the site an application on a device: manifest, service worker, the page without a connection."""

import json
from pathlib import Path
from urllib.parse import urlencode

from flask import Response, current_app, redirect, render_template, request, url_for

from webapp.accounts.auth import cookieless, public
from webapp.http.compression import read_asset
from webapp.http.forms import SHARED
from webapp.http.views import PageBlueprint, ViewResult
from webapp.templating import asset

blueprint = PageBlueprint("installing", __name__)

SHEETS = ("tokens", "base", "layout", "controls", "forms", "pages", "thread", "prose", "rich", "offline", "touch")
"""The style sheets of the page without a connection."""
MAX_FILES = 10
"""Of one share; a share sheet offers whole albums."""
MAX_QUERY = 7_000
"""Bytes of shared words in an address; servers take 8,190 with its path."""
WORKER_POLICY = "default-src 'none'; connect-src 'self'; script-src 'self'"


@blueprint.get("/manifest.webmanifest")
@public
def manifest() -> ViewResult:
    """The site as an application."""
    icons = [
        {"src": asset(f"icons/{name}.png"), "sizes": size, "type": "image/png", "purpose": purpose}
        for name, size, purpose in (
            ("icon-192", "192x192", "any"),
            ("icon-512", "512x512", "any"),
            ("maskable-512", "512x512", "maskable"),
        )
    ]
    home = url_for("conversations_pages.new")
    described = {
        "id": home,
        "name": "Commonplace",
        "short_name": "Commonplace",
        "description": "A chat workspace whose assistant remembers.",
        "start_url": home,
        "scope": home,
        "display": "standalone",
        "background_color": "#faf7f2",
        "theme_color": "#faf7f2",
        "icons": icons,
        "share_target": {
            "action": url_for(".share"),
            "method": "POST",
            "enctype": "multipart/form-data",
            "params": {
                **{name: name for name in SHARED},
                "files": [{"name": "files", "accept": ["image/*", "application/pdf", "text/*"]}],
            },
        },
    }
    return _with_caching(Response(json.dumps(described), mimetype="application/manifest+json"), "public, max-age=3600")


@blueprint.get("/sw.js")
@public
def worker() -> ViewResult:
    """The service worker, with the URLs of what it keeps; looked up each time, so that it is never out of date."""
    version = current_app.config["STATIC_VERSION"]
    source = read_asset(Path(current_app.static_folder or "static"), "js/worker.js", version)
    script = source[0].decode() if source else ""
    names = {
        "version": version,
        "offline": url_for(".offline"),
        "shell": [url_for(".offline"), *_shell()],
        "home": url_for("conversations_pages.new"),
        "share": url_for(".share"),
        "words": SHARED,
        "files": MAX_FILES,
        "address": MAX_QUERY,
    }
    response = Response(f"const SETTINGS = {json.dumps(names)};\n{script}", mimetype="text/javascript")
    response.headers["Service-Worker-Allowed"] = url_for("conversations_pages.new")
    response.headers["Content-Security-Policy"] = WORKER_POLICY
    return _with_caching(response, "no-cache")


@blueprint.post("/share")
@public
@cookieless
def share() -> ViewResult:
    """Redirect what was shared while no worker runs, which takes it otherwise, to the start page: its words only.

    It reads no cookie and stores nothing: whoever is led there sends the words themselves, or does not.
    """
    words = {name: word for name in SHARED if (word := request.form.get(name, ""))}
    while len(urlencode(words)) > MAX_QUERY:
        longest = max(words, key=lambda name: len(words[name]))
        words[longest] = words[longest][:-100]
    home = url_for("conversations_pages.new")
    return redirect(f"{home}?{urlencode(words)}" if words else home, 303)


@blueprint.get("/offline")
@public
def offline() -> ViewResult:
    """Return what is shown without a connection: conversations that this browser kept, and drafts."""
    return _with_caching(Response(render_template("offline.html", sheets=SHEETS)), "no-cache")


def _shell() -> list[str]:
    return [
        asset("vendor/fonts/fonts.css"),
        asset("vendor/fonts/source-sans-3-latin-wght-normal.woff2"),
        asset(f"css/{'+'.join(SHEETS)}.css"),
        asset("js/offline-page.js"),
        asset("js/dom.js"),
        asset("js/reading-cache.js"),
        asset("icon.svg"),
    ]


def _with_caching(response: Response, rule: str) -> Response:
    response.headers["Cache-Control"] = rule
    return response
