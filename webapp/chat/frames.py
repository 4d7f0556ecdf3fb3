"""Frames with policies of their own, without anybody's data: one draws diagrams, one shows an image from elsewhere."""

from urllib.parse import urlsplit

from flask import Response, make_response, render_template, request

from webapp.accounts.auth import public
from webapp.errors import Invalid
from webapp.http.views import PageBlueprint

blueprint = PageBlueprint("frames", __name__)

MAX_URL_LENGTH = 2_000


@blueprint.get("/diagrams")
@public
def diagrams() -> Response:
    """Return where Mermaid runs: without an origin, so that it reaches none of the reader's data, and no network."""
    policy = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'"
    return _frame_response(render_template("chat/diagrams.html"), policy)


@blueprint.get("/image")
@public
def image() -> Response:
    """Show an image from elsewhere that the reader asked for; only its own host is contacted. Raises Invalid."""
    url = request.args.get("src", "")
    host = image_host(url)
    if host is None:
        raise Invalid("This is not the address of an image.")
    policy = f"sandbox; default-src 'none'; img-src {host}; style-src 'self'"
    answer = _frame_response(render_template("chat/image.html", src=url), policy)
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def image_host(url: str) -> str | None:
    """Return scheme, host and port of an absolute URL, as a content policy names them; None for anything else."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        host = (parts.hostname or "").encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        return None
    is_plain = host.replace("-", "").replace(".", "").replace("_", "").isalnum()
    if parts.scheme not in ("http", "https") or not is_plain or len(url) > MAX_URL_LENGTH:
        return None
    return f"{parts.scheme}://{host}{port}"


def _frame_response(html: str, policy: str) -> Response:
    answer = make_response(html)
    answer.headers["Content-Security-Policy"] = f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    answer.headers["X-Frame-Options"] = "SAMEORIGIN"
    return answer
