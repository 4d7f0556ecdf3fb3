"""The ends of views: read what the answer says, commit, then answer, or every row would be read again."""

import json
from typing import Any, TypeVar
from urllib.parse import urlsplit

from flask import Response, flash, redirect, request, session

from webapp.db.base import db
from webapp.db.encryption import seal, unseal
from webapp.http.views import wants_partial

T = TypeVar("T")
ONCE = "shown once"


def commit(answer: T) -> T:
    db.session.commit()
    return answer


def commit_and_redirect(url: str, message: str = "", undo: str = "message") -> Response:
    """Commit, and send the browser to a page, which shows the message, with a button if there is a URL to undo it."""
    db.session.commit()
    if message:
        flash(message, undo)
    return redirect(url, 303)  # type: ignore[return-value]


def show_once(url: str, **values: Any) -> Response:
    """Commit, and send the browser to a page that takes these values once, so that a reload repeats nothing."""
    db.session.commit()
    session[ONCE] = seal(ONCE.encode(), json.dumps({"path": urlsplit(url).path, "values": values}))
    return redirect(url, 303)  # type: ignore[return-value]


def take_values() -> dict[str, Any]:
    """Return the values that this page is to show once; none if it is reloaded."""
    sealed = session.get(ONCE)
    stored = json.loads(unseal(ONCE.encode(), sealed) or "{}") if sealed else {}
    if stored.get("path") != request.script_root + request.path:
        return {}
    del session[ONCE]
    return dict(stored["values"])


def download(data: str | bytes, name: str, media_type: str) -> Response:
    """Return a file to save under an ASCII name."""
    response = Response(data, mimetype=media_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def redirect_to(url: str, status: int = 200) -> Response:
    """Send the browser to a page, also if HTMX asked for a part of one, which gets an empty answer of this status."""
    if wants_partial():
        return Response(status=status, headers={"HX-Redirect": url})
    return redirect(url, 303)  # type: ignore[return-value]
