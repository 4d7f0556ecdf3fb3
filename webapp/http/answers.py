"""How a view that changed something ends: it commits, and answers.

What an answer is made of is read before the commit, after which every row would be read again.
"""

from typing import Any

from flask import flash, redirect
from pydantic import BaseModel
from werkzeug.wrappers import Response

from webapp.db.base import db


def commit_json(answer: BaseModel, status: int = 200) -> tuple[dict[str, Any], int]:
    """Commit, and answer a program with a model."""
    body = answer.model_dump(mode="json")
    db.session.commit()
    return body, status


def commit_empty() -> tuple[str, int]:
    """Commit, and answer a program that there is nothing to say."""
    db.session.commit()
    return "", 204


def commit_and_go(url: str, message: str = "") -> Response:
    """Commit, and send the browser to a page, which shows the message."""
    db.session.commit()
    if message:
        flash(message)
    return redirect(url, 303)
