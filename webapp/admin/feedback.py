"""Feedback on replies: counts for admins, and the replies that people let them read."""

from __future__ import annotations

from flask import Blueprint, render_template

from webapp.accounts.auth import admin_only
from webapp.conversations import feedback
from webapp.conversations.feedback_schemas import WORDS
from webapp.db.base import db
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, requested_cursor
from webapp.i18n.request_language import translate

blueprint = Blueprint("admin_feedback", __name__)

DAYS = 30
SHOWN = 20


@blueprint.get("/admin/feedback")
@admin_only
def index() -> ViewResult:
    """Counts by day, model and prompt version; below them the replies that people agreed to share."""
    page = feedback.readable(PageQuery(limit=SHOWN, cursor=requested_cursor()))
    answer = render_template(
        "admin/feedback.html",
        counts=feedback.counts(DAYS),
        readable=page.items,
        next_cursor=page.next_cursor,
        words={reason: translate(word) for words in WORDS.values() for reason, word in words.items()},
    )
    db.session.commit()
    return answer


index.writes = True  # type: ignore[attr-defined]  # every look is recorded
