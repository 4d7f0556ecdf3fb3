"""JSON endpoints of ratings of replies."""

from typing import Any

from webapp.accounts.auth import admin_only, current_user_id, login_required, writes
from webapp.conversations import feedback
from webapp.conversations.feedback_schemas import (
    CountQuery,
    Counts,
    FeedbackOut,
    NewFeedback,
    ReadableFeedback,
    ReadableList,
)
from webapp.conversations.schemas import MessagePath
from webapp.db.base import db
from webapp.http.answers import commit_empty, commit_json
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, api_blueprint

blueprint = api_blueprint("feedback_api", __name__, tag="Feedback")


@blueprint.get("/messages/<int:message_id>/feedback", responses={200: FeedbackOut})
@login_required
def get_feedback(path: MessagePath) -> dict[str, Any]:
    """Your rating of a reply."""
    return FeedbackOut.from_row(feedback.require_feedback(current_user_id(), path.message_id)).model_dump(mode="json")


@blueprint.put("/messages/<int:message_id>/feedback", responses={200: FeedbackOut})
@login_required
def give_feedback(path: MessagePath, body: NewFeedback) -> ViewResult:
    """Rate a reply, or change its rating."""
    return commit_json(FeedbackOut.from_row(feedback.give_feedback(current_user_id(), path.message_id, body)))


@blueprint.delete("/messages/<int:message_id>/feedback", responses={204: None})
@login_required
def take_feedback_back(path: MessagePath) -> ViewResult:
    """Remove your rating of a reply."""
    feedback.take_back(current_user_id(), path.message_id)
    return commit_empty()


@blueprint.get("/feedback/counts", responses={200: Counts})
@admin_only
def count_feedback(query: CountQuery) -> dict[str, Any]:
    """Return how replies were rated, by day, model and version of the prompt."""
    return Counts(counts=feedback.counts(query.days)).model_dump(mode="json")


@blueprint.get("/feedback", responses={200: ReadableList})
@admin_only
@writes
def list_readable_feedback(query: PageQuery) -> dict[str, Any]:
    """Replies whose owners let admins read them, with their ratings. The owners can see that they were read."""
    page = feedback.readable(query)
    items = [
        ReadableFeedback(**FeedbackOut.from_row(item.feedback).model_dump(), reply=item.reply) for item in page.items
    ]
    db.session.commit()
    return ReadableList(feedback=items, next_cursor=page.next_cursor).model_dump(mode="json")
