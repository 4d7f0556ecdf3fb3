"""Reports of failures to a person (page, HTMX fragment) or a program (RFC 9457 problem)."""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, current_app, g, json, redirect, render_template, request
from flask_limiter import RateLimitExceeded
from pydantic import ValidationError
from pydantic_core import PydanticKnownError
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TimeoutError as RedisTimeoutError,
)
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import MapAdapter, RequestRedirect
from werkzeug.wrappers import Response as AnyResponse

from webapp.db.base import db
from webapp.db.conflicts import forget_session
from webapp.db.failures import database_is_away, database_is_full, disk_takes_nothing
from webapp.errors import OUTDATED_PAGE, DomainError, TooMany, Unavailable, reason
from webapp.extensions import limiter
from webapp.http.views import wants_json, wants_partial
from webapp.i18n.marks import N_, Sentence
from webapp.llm.errors import ModelError

log = logging.getLogger(__name__)

ErrorFormat = Callable[[int, str, Sequence[dict[str, Any]] | None], tuple[Any, ...]]
"""Makes a body and a status from a status, a sentence and the errors of the fields."""
_SHAPES = "error_shapes"
UNKNOWN_PAGE = N_("This page does not exist.")
MAX_ERRORS = 100
"""The most of a body's errors that are reported: it may have as many as it has values."""


_PAGE_ALIASES = {
    "/memories": "/memory",
    "/facts": "/memory",
    "/imports": "/transfer",
    "/exports": "/transfer",
    "/conversations": "/organise",
    "/folders": "/organise",
}
"""Pages whose URL differs from the word in the form's URL."""
_TURN = re.compile(r"/turns/(\d+)\Z")


def set_error_format(app: Flask, prefix: str, shape: ErrorFormat) -> None:
    """Report errors under a path in the format of another protocol."""
    app.extensions.setdefault(_SHAPES, {})[prefix] = shape


def problem(
    status: int, title: str, detail: str = "", *, errors: list[Any] | None = None, retry_after: int | None = None
) -> Response:
    """Return an application/problem+json response, or its equivalent in another protocol."""
    errors = errors and [{**item, "loc": item["loc"] or ["body"]} for item in errors]
    if errors and detail in ("", errors[0]["msg"]):
        detail = f"{'.'.join(map(str, errors[0]['loc']))}: {errors[0]['msg']}"
    body: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    if errors is not None:
        body["errors"] = errors
    shapes: dict[str, ErrorFormat] = current_app.extensions.get(_SHAPES, {})
    shape = next((shape for prefix, shape in shapes.items() if request.path.startswith(prefix)), None)
    if shape is not None:
        response = current_app.make_response(shape(status, detail or title, errors))
    else:
        response = Response(json.dumps(body), status, content_type="application/problem+json")
    if retry_after is not None:
        response.headers["Retry-After"] = g.retry_after = str(retry_after)
    if status == 401:
        response.headers.setdefault("WWW-Authenticate", "Bearer")
    return response


def field_errors(error: ValidationError, body: object = None) -> list[dict[str, Any]]:
    """Return pydantic's findings as the contract's `{loc, msg}` list; the `body` they are about is not echoed.

    Of a value that may have several forms, it is named what is wrong with the one it has, not that it has no other.
    """
    first = error.errors(include_url=False)[:MAX_ERRORS]
    found = [(item, item["loc"] if body is None else _place(item, body)) for item in first]
    has_its_form = {
        place[:depth] for item, place in found for depth in range(1, len(place) + (not _is_about_form(item)))
    }
    named = [(item, place) for item, place in found if not (_is_about_form(item) and place in has_its_form)]
    return [{"loc": [*map(str, place)], "msg": _message(item)} for item, place in named]


def _is_about_form(item: Mapping[str, Any]) -> bool:
    return str(item["type"]).endswith("_type")


def _place(item: Mapping[str, Any], body: Any) -> tuple[object, ...]:
    """Return the names and numbers that lead to an error, without the types that pydantic tried on the way."""
    place: list[object] = []
    for part in item["loc"]:
        is_step = part in body if isinstance(body, dict) else isinstance(body, list) and isinstance(part, int)
        if is_step:
            body = body[part]
        if is_step or not place or (item["type"], item["loc"][-1]) == ("missing", part):
            place.append(part)
    return tuple(place)


def _message(item: Mapping[str, Any]) -> str:
    """Return the message of one of our validators, which can be translated, or pydantic's own."""
    raised = item.get("ctx", {}).get("error")
    if isinstance(raised, ValueError) and raised.args and isinstance(raised.args[0], Sentence):
        return raised.args[0]
    if item["type"] in ("too_short", "too_long") and isinstance(item.get("input"), str):  # whose characters are items
        kind: Any = f"string_{item['type']}"
        return PydanticKnownError(kind, item["ctx"]).message()
    return str(item["msg"]).removeprefix("Value error, ")


def validation_problem(error: ValidationError) -> Response:
    """Return the 422 for a request that does not fit its model; for an address that nothing can have, the 404."""
    if error.title == "Path":  # the error has no more of its model than the name
        return problem(404, "Not found", "There is nothing at this address.")
    body = request.get_json(silent=True)
    values = {**request.values, **(body if isinstance(body, dict) else {})}
    return problem(422, "Not acceptable", "", errors=field_errors(error, values))


def error_response(
    status: int, title: str, detail: str, *, errors: list[Any] | None = None, retry_after: int | None = None
) -> Response:
    """Return an error in the form its caller reads: a problem for a program, part of a page, or a page."""
    if wants_json():
        return problem(status, title, detail, errors=errors, retry_after=retry_after)
    template = "errors/_toast.html" if wants_partial() else "errors/page.html"
    if not wants_partial() and detail == UNKNOWN_PAGE:
        detail = ""  # the page's heading says it
    detail = detail or (errors[0]["msg"] if errors else "")
    body = render_template(template, status=status, title=title, detail=detail, request_id=g.get("request_id", ""))
    response = Response(body, status, mimetype="text/html")
    if wants_partial():
        response.headers["HX-Retarget"] = "#toasts"
        response.headers["HX-Reswap"] = "beforeend"
    if retry_after is not None:
        response.headers["Retry-After"] = g.retry_after = str(retry_after)
    return response


def _is_navigation() -> bool:
    """Return whether a browser opens the URL as a page: typed in, followed, or reloaded after a failed form."""
    is_page_request = request.method == "GET" and "text/html" in request.accept_mimetypes.values()
    return is_page_request and not wants_json() and not wants_partial()


def init_retry_after(app: Flask) -> None:
    """Keep the limiter, which always reports when its window ends, from setting Retry-After on other failures."""

    @app.after_request
    def _own(response: Response) -> Response:
        if seconds := g.pop("retry_after", None):
            response.headers["Retry-After"] = seconds
        elif response.status_code not in (429, 503) and limiter.current_limits:
            response.headers.pop("Retry-After", None)
        return response


def init_errors(app: Flask) -> None:
    """Register a presenter for every kind of failure."""

    @app.errorhandler(DomainError)
    def _domain(error: DomainError) -> Response:
        db.session.rollback()
        return error_response(
            error.status, error.title, error.detail, errors=error.errors, retry_after=error.retry_after
        )

    @app.errorhandler(ModelError)
    def _model(error: ModelError) -> Response:
        return _domain(Unavailable(error.detail))

    @app.errorhandler(ValidationError)
    def _validation(error: ValidationError) -> Response:
        db.session.rollback()
        return error_response(422, "Not acceptable", "", errors=field_errors(error))

    @app.errorhandler(HTTPException)
    def _http(error: HTTPException) -> AnyResponse | HTTPException:
        if error.response is not None or (error.code or 500) < 400:
            return error
        if isinstance(error, RateLimitExceeded):
            limit = limiter.current_limit
            return _domain(TooMany.within(max(1, round(limit.reset_at - time.time())) if limit else 60))
        adapter = current_app.create_url_adapter(request)
        if isinstance(error, MethodNotAllowed) and adapter and _is_navigation():
            return redirect(nearest_page(adapter, request.path))
        status = error.code or 500
        retry_after = getattr(error, "retry_after", None)
        detail = UNKNOWN_PAGE if error.description == NotFound.description else error.description or ""
        response = error_response(
            status,
            HTTPStatus(status).phrase.capitalize(),
            # Only a page of another version asks for a part that no route gives.
            OUTDATED_PAGE if wants_partial() and request.url_rule is None else detail,
            retry_after=retry_after if isinstance(retry_after, int) else None,
        )
        for name, value in error.get_headers(request.environ):
            if name.lower() in ("allow", "content-range", "retry-after"):
                response.headers[name] = value
        return response

    @app.errorhandler(Exception)
    def _unexpected(error: Exception) -> Response:
        forget_session()
        if outage := _outage(error):
            log.warning("unavailable: %s: %s", type(error).__name__, reason(error))
            return _domain(outage)
        log.exception("unexpected error", exc_info=error)
        if app.config.get("TESTING") and app.config.get("PROPAGATE_EXCEPTIONS"):
            raise error
        return error_response(
            500, N_("Something went wrong"), N_("The server made a mistake, and it has been written to the log.")
        )


def _outage(error: Exception) -> Unavailable | None:
    """Return what to say of a database, Redis or disk that is away, full or refuses writes; None for other errors."""
    if database_is_full(error):
        return Unavailable(N_("The database has no room left. Nothing was changed; the disk has to be cleared first."))
    if database_is_away(error):
        return Unavailable(N_("The database cannot be reached. Nothing was changed; try again soon."))
    is_refused = isinstance(error, ResponseError) and str(error).startswith(("MISCONF", "NOREPLICAS", "OOM"))
    if is_refused or isinstance(error, RedisConnectionError | RedisTimeoutError | OutOfMemoryError | ReadOnlyError):
        return Unavailable(N_("A service this needs cannot be reached. Try again soon."))
    if disk_takes_nothing(error):
        text = N_("The server's disk is full or cannot be written to. Nothing was changed; try again later.")
        return Unavailable(text, retry_after=60)
    return None


def nearest_page(adapter: MapAdapter, path: str) -> str:
    """Return the nearest page at or above a URL that does not answer GET; the first page if there is none."""
    while path:
        if endpoint := _page(adapter, path):
            return endpoint
        path = path.rpartition("/")[0]
    return "/"


def _page(adapter: MapAdapter, path: str) -> str | None:
    path = _TURN.sub(r"/messages/\1", path)
    if path in _PAGE_ALIASES:
        return _PAGE_ALIASES[path]
    try:
        adapter.match(path, method="GET")
    except RequestRedirect:
        return path
    except HTTPException:
        return None
    return path
