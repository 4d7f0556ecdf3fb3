"""Thumbs under a reply, and the small form that asks why."""

from flask import redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.conversations import feedback
from webapp.conversations.messages import get_message
from webapp.conversations.models import MessageFeedback
from webapp.conversations.schemas import WORDS, NewFeedback
from webapp.db.base import db
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.request_language import translate

blueprint = PageBlueprint("feedback_pages", __name__, access="user")


@blueprint.get("/messages/<int:message_id>/feedback")
def show(message_id: int) -> ViewResult:
    """The form to change one's rating of a reply."""
    row = feedback.find_feedback(current_user_id(), message_id)
    context = {"id": message_id, "row": row, **_words(row)}
    if wants_partial():
        return render_template("conversations/_why.html", is_asked_for=True, **context)
    return render_template("conversations/why.html", back=_place(message_id), **context)


@blueprint.post("/messages/<int:message_id>/feedback")
def rate(message_id: int) -> ViewResult:
    """A thumb: rates the reply, or removes that rating if it is already set."""
    row = feedback.find_feedback(current_user_id(), message_id)
    rating = "down" if request.form.get("rating") == "down" else "up"
    if row is not None and row.rating == rating:
        feedback.remove_rating(current_user_id(), message_id)
        row = None
    else:
        row = feedback.give_feedback(current_user_id(), message_id, NewFeedback(rating=rating))
    db.session.commit()
    if wants_partial():
        return render_template("conversations/_rated.html", id=message_id, row=row, **_words(row))
    return redirect(url_for(".show", message_id=message_id) if row else _place(message_id), 303)


@blueprint.post("/messages/<int:message_id>/feedback/why")
def explain(message_id: int) -> ViewResult:
    """Keep the reasons for a rating."""
    row = feedback.require_feedback(current_user_id(), message_id)
    fields = NewFeedback(
        rating="down" if row.rating == "down" else "up",
        reasons=[reason for reason in WORDS[row.rating] if reason in request.form.getlist("reason")],
        comment=request.form.get("comment", "").replace("\x00", "").replace("\r\n", "\n").strip()[:2_000],
        may_read="may_read" in request.form,
    )
    feedback.give_feedback(current_user_id(), message_id, fields)
    db.session.commit()
    if wants_partial():
        return render_template("conversations/_why_kept.html", id=message_id)
    return redirect(_place(message_id), 303)


def _words(row: MessageFeedback | None) -> dict[str, dict[str, str]]:
    return {"words": {reason: translate(word) for reason, word in WORDS[row.rating].items()} if row else {}}


def _place(message_id: int) -> str:
    message = get_message(current_user_id(), message_id)
    place = url_for("conversations_pages.show", conversation_id=message.conversation_id, at=message_id)
    return f"{place}#m-{message_id}"
