"""JSON endpoints of ratings of replies."""

from webapp.accounts.auth import admin_only, current_user_id, writes
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
from webapp.http.answers import commit
from webapp.http.json_api import api_blueprint
from webapp.http.paging import PageQuery

blueprint = api_blueprint("feedback_api", __name__, tag="Feedback", access="user")


@blueprint.get("/messages/<int:message_id>/feedback")
def get_feedback(path: MessagePath) -> FeedbackOut:
    """Your rating of a reply."""
    return FeedbackOut.from_row(feedback.require_feedback(current_user_id(), path.message_id))


@blueprint.put("/messages/<int:message_id>/feedback")
def give_feedback(path: MessagePath, body: NewFeedback) -> FeedbackOut:
    """Rate a reply, or change its rating."""
    return commit(FeedbackOut.from_row(feedback.give_feedback(current_user_id(), path.message_id, body)))


@blueprint.delete("/messages/<int:message_id>/feedback")
def take_feedback_back(path: MessagePath) -> None:
    """Remove your rating of a reply."""
    feedback.take_back(current_user_id(), path.message_id)
    db.session.commit()


@blueprint.get("/feedback/counts")
@admin_only
def count_feedback(query: CountQuery) -> Counts:
    """Return how replies were rated, by day, model and version of the prompt."""
    return Counts(counts=feedback.counts(query.days))


@blueprint.get("/feedback")
@admin_only
@writes
def list_readable_feedback(query: PageQuery) -> ReadableList:
    """Replies whose owners let admins read them, with their ratings. The owners can see that they were read."""
    page = feedback.readable(query)
    items = [
        ReadableFeedback(**FeedbackOut.from_row(item.feedback).model_dump(), reply=item.reply) for item in page.items
    ]
    db.session.commit()
    return ReadableList(feedback=items, next_cursor=page.next_cursor)
