"""Common needs of views: the kind of answer the caller wants, JSON bodies, and answers that commit.

What an answer says is read before the commit, or every row would be read again.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from flask import Blueprint, Request, Response as FlaskResponse, current_app, flash, redirect, request, session
from flask_openapi3 import APIBlueprint
from htmx_flask import request as htmx_request
from htmx_flask.requests import HtmxAwareRequest
from pydantic import BaseModel
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import BadRequest, NotFound, RequestEntityTooLarge
from werkzeug.routing import IntegerConverter
from werkzeug.wrappers import Response

from webapp.db.base import db
from webapp.db.encryption import seal, unseal
from webapp.errors import DomainError, Invalid, UnsupportedMediaType
from webapp.extensions import app_settings
from webapp.http.validation import MAX_CURSOR_LENGTH, MAX_ID

T = TypeVar("T")
V = TypeVar("V", bound=Callable[..., Any])

UPLOADS = {
    "/api/imports": "MAX_IMPORT_BYTES",
    "/imports": "MAX_IMPORT_BYTES",
    "/api/files": "MAX_FILE_BYTES",
    "/files": "MAX_FILE_BYTES",
    "/spaces/<id>/documents/files": "MAX_FILE_BYTES",
}
"""URLs that large files are posted to, and the setting that limits their size."""
_NUMBERS = re.compile(r"/[0-9]+(?=/)")

# What a view may return. Flask's own ResponseReturnValue has forward references, which flask-openapi3 cannot resolve.
Body = Response | str | dict[str, Any] | list[Any] | Iterator[str] | Iterator[bytes]
ViewResult = Body | tuple[Body, int] | tuple[Body, int, dict[str, str]] | tuple[Body, dict[str, str]]

PROGRAMS = ("/oauth/token", "/oauth/register", "/oauth/revoke", "/token")
"""OAuth URLs that are called only by programs."""
JSON_BODIES = ("/api/", "/memory/conversation/", "/v1/", "/mcp")
JSON_PREFIXES = (*JSON_BODIES, "/.well-known/", *PROGRAMS, "/healthz", "/readyz", "/metrics")


def bearer_token() -> str | None:
    """Return the bearer token of the request; None without one."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def is_for_programs() -> bool:
    """Return whether programs are answered at this URL, and with JSON; pages are for browsers."""
    return request.path.startswith(JSON_PREFIXES)


def wants_json() -> bool:
    """Return whether the caller is a program: a URL for programs, a token, or a request that asks for JSON."""
    if is_for_programs() or bearer_token() is not None:
        return True
    best = request.accept_mimetypes.best_match(["text/html", "application/json"], default="text/html")
    return best == "application/json"


def wants_partial() -> bool:
    """Return whether to answer with the fragment alone: an HTMX request that is not a boosted page load."""
    htmx = htmx_request.htmx
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


class PlainNumbers(IntegerConverter):
    """Numbers in addresses, in the digits 0 to 9 alone: two addresses of one row would be two rows to a cache."""

    regex = "[0-9]+"


class BoundedValues(ImmutableMultiDict[str, str]):
    """Parameters, fields or cookies; a number that no column can hold counts as missing."""

    def get(  # type: ignore[override]  # one signature for what werkzeug overloads
        self,
        key: str,
        default: Any = None,
        type: Any = None,  # noqa: A002
    ) -> Any:
        """Return the first value of this name, converted by `type`; the default where that fails."""
        value = super().get(key, default, type)
        return default if type is int and value is not None and abs(value) > MAX_ID else value


class BoundedRequest(HtmxAwareRequest):  # type: ignore[misc]  # htmx-flask has no types
    """A request whose parameters, fields and cookies contain no number that the database would refuse."""

    parameter_storage_class = BoundedValues
    dict_storage_class = BoundedValues

    @property
    def max_content_length(self) -> int | None:
        """Return the most bytes a body may have: more for uploads. Known before anything reads the body."""
        setting = UPLOADS.get(_NUMBERS.sub("/<id>", self.path)) if self.method == "POST" else None
        return int(current_app.config[setting]) if setting else super().max_content_length

    @max_content_length.setter
    def max_content_length(self, value: int | None) -> None:
        Request.max_content_length.fset(self, value)  # type: ignore[attr-defined]  # a property there, too

    def get_json(self, force: bool = False, silent: bool = False, cache: bool = True) -> Any:
        """Return the body as JSON; no body counts as an empty object."""
        try:
            return super().get_json(force, silent, cache) if has_body(self) else {}
        except RecursionError:  # nested too deep
            if silent:
                return None
            raise BadRequest("The body is not valid JSON.") from None

    def on_json_loading_failed(self, e: ValueError | None) -> Any:
        """Answer 413 if the limit is where the text ends: of a body without a length nobody knows it before."""
        self.stream.read(1)
        return super().on_json_loading_failed(e)


def has_body(sent: Request) -> bool:
    """Return whether anything was sent with a request."""
    return bool(sent.content_length) or "Transfer-Encoding" in sent.headers


SMALL_BYTES = 65_536
JSON, FORM_DATA = "application/json", "multipart/form-data"


def receive_body(*, large: bool) -> None:
    """Read the request's body: if `large`, one of more than SMALL_BYTES or of unknown length, else a smaller one.

    It comes at its sender's pace, and SQLite has one writer: nothing is held meanwhile.
    """
    if large == ((request.content_length or 0) > SMALL_BYTES or "Transfer-Encoding" in request.headers):
        if large:
            db.session.rollback()
        request.get_data(parse_form_data=True)


def accepts_files(form: type[BaseModel], json: type[BaseModel] | None = None) -> Callable[[V], V]:
    """Give a JSON endpoint its bodies, for `read_body`: a form as multipart form data and, if given, JSON instead."""

    def mark(view: V) -> V:
        view.bodies = {FORM_DATA: form} | ({JSON: json} if json else {})  # type: ignore[attr-defined]
        return view

    return mark


def check_ids() -> None:
    """Answer a page's URL that contains an impossible id with not found; for the JSON API its models tell."""
    if isinstance(current_app.blueprints.get(request.blueprint or ""), APIBlueprint):
        return
    if any(isinstance(value, int) and value > MAX_ID for value in (request.view_args or {}).values()):
        raise NotFound("There is nothing at this address.")


Access = Literal["user", "admin", "service"]
"""Who may call the views of a blueprint; a view with a mark of its own, which all public ones have, is an exception."""


class PageBlueprint(Blueprint):
    """A blueprint of pages, each with its mark where `access` does not say who may call it (accounts/access.py)."""

    def __init__(self, name: str, import_name: str, *, access: Access | None = None, **options: Any) -> None:
        super().__init__(name, import_name, **options)
        self.access = access

    def add_globals(self, **values: Any) -> None:
        """Give all templates these values and functions."""
        self.record_once(lambda state: state.app.jinja_env.globals.update(values))


def absolute_url(path: str = "") -> str:
    """Return the absolute URL of a path: below SITE_URL if set, since the client chooses the host in a request."""
    site = app_settings().site_url or request.url_root
    return site.rstrip("/") + path.removeprefix(request.script_root)


def previous_page() -> str:
    """Return the path and query of the page that a request comes from, as the browser says; empty for none."""
    with suppress(ValueError):  # anything may be in a header
        page = urlsplit(request.headers.get("HX-Current-URL") or request.referrer or "")
        return page.path + (f"?{page.query}" if page.query else "")
    return ""


def requested_cursor() -> str | None:
    """Return the cursor in the URL of a page, to be judged by its list; None on the first page."""
    return request.args.get("cursor", "")[:MAX_CURSOR_LENGTH] or None


def check_json_request() -> None:
    """Refuse a body that is not JSON before a model sees it: 415 for another type, 400 for malformed text."""
    if request.method not in ("POST", "PUT", "PATCH") or not request.path.startswith(JSON_BODIES):
        return
    if not has_body(request):
        return
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("Send the body as it is, without a Content-Encoding.")
    types = getattr(current_app.view_functions.get(request.endpoint or ""), "bodies", (JSON,))
    if request.mimetype == FORM_DATA and FORM_DATA in types:
        return
    if JSON not in types:
        raise UnsupportedMediaType("Send the file as multipart/form-data.")
    if not request.is_json:
        raise UnsupportedMediaType("Send JSON, with Content-Type: application/json.")
    try:
        body = request.get_json()
    except RequestEntityTooLarge:
        raise
    except Exception as error:
        raise DomainError("The body is not valid JSON.") from error
    if not isinstance(body, dict):
        raise Invalid.field("body", "must be a JSON object")


ONCE = "shown once"


def commit(answer: T) -> T:
    db.session.commit()
    return answer


def commit_and_redirect(url: str, message: str = "", undo: str = "message") -> FlaskResponse:
    """Commit, and send the browser to a page, which shows the message, with a button if there is a URL to undo it."""
    db.session.commit()
    if message:
        flash(message, undo)
    return redirect(url, 303)  # type: ignore[return-value]


def show_once(url: str, **values: Any) -> FlaskResponse:
    """Commit, and send the browser to a page that takes these values once, so that a reload repeats nothing."""
    db.session.commit()
    session[ONCE] = seal(ONCE.encode(), json.dumps({"path": urlsplit(url).path, "values": values}))
    return redirect(url, 303)  # type: ignore[return-value]


def pop_values() -> dict[str, Any]:
    """Return the values that this page is to show once; none if it is reloaded."""
    sealed = session.get(ONCE)
    stored = json.loads(unseal(ONCE.encode(), sealed) or "{}") if sealed else {}
    if stored.get("path") != request.script_root + request.path:
        return {}
    del session[ONCE]
    return dict(stored["values"])


def download(data: str | bytes, name: str, media_type: str) -> FlaskResponse:
    """Return a file to save under an ASCII name."""
    response = FlaskResponse(data, mimetype=media_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def redirect_to(url: str, status: int = 200) -> FlaskResponse:
    """Send the browser to a page, also if HTMX asked for a part of one, which gets an empty answer of this status."""
    if wants_partial():
        return FlaskResponse(status=status, headers={"HX-Redirect": url})
    return redirect(url, 303)  # type: ignore[return-value]
