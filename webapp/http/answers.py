"""The ends of views that changed something, or lead elsewhere: commit, then answer.

What an answer is made of is read before the commit, after which every row would be read again.
"""

from typing import Any

from flask import Response, flash, redirect
from pydantic import BaseModel

from webapp.db.base import db
from webapp.http.views import wants_partial


def commit_json(answer: BaseModel, status: int = 200) -> tuple[dict[str, Any], int]:
    """Commit, and answer a program with a model."""
    body = answer.model_dump(mode="json")
    db.session.commit()
    return body, status


def commit_empty() -> tuple[str, int]:
    """Commit, and answer a program that there is nothing to say."""
    db.session.commit()
    return "", 204


def commit_and_redirect(url: str, message: str = "") -> Response:
    """Commit, and send the browser to a page, which shows the message."""
    db.session.commit()
    if message:
        flash(message)
    return redirect(url, 303)  # type: ignore[return-value]


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
