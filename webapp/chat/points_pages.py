"""The buttons of a journey and of its points: the assistant asks, in the conversation of the journey."""

from flask import make_response, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.chat import opening_messages, service
from webapp.chat.api import limit_turns
from webapp.conversations import message_views, messages
from webapp.conversations.pages import CHANGED
from webapp.db.base import db
from webapp.extensions import this_app
from webapp.http.answers import redirect_to
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.request_language import language_of
from webapp.journeys.builtin import questions_of
from webapp.journeys.models import Journey
from webapp.journeys.points import find_point

blueprint = PageBlueprint("chat_points_pages", __name__, access="user")


@blueprint.post("/journeys/<slug>/start")
@limit_turns
def start(slug: str) -> ViewResult:
    """Open a journey's conversation at its first question; `over` in the form starts a finished journey again."""
    language = language_of(this_app()).code
    starts_over = request.form.get("over") == "1"
    conversation, turn = opening_messages.start_journey(
        current_user_id(), slug[:100], language, starts_over=starts_over
    )
    question = messages.point_opened_by(turn.reply) if turn is not None else None
    place = url_for("conversations_pages.show", conversation_id=conversation.conversation_id, point=question)
    db.session.commit()
    if turn is not None:
        service.launch(turn)
    return redirect_to(place, 204)


@blueprint.post("/c/<int:conversation_id>/points/<slug>")
@limit_turns
def initiate(conversation_id: int, slug: str) -> ViewResult:
    """Have the assistant ask about a point; if its question is already there, show that question."""
    user_id = current_user_id()
    turn, is_new = opening_messages.start_point(user_id, conversation_id, slug)
    reply_id = turn.reply.message_id
    journey = db.session.get(Journey, turn.conversation.journey_id)
    point = find_point(turn.conversation, slug)
    questions = questions_of(journey, point, language_of(this_app()).code)
    db.session.commit()
    if is_new:
        service.launch(turn)
    if not wants_partial():
        anchor = f"m-{reply_id}"
        place = url_for("conversations_pages.show", conversation_id=conversation_id, point=slug, _anchor=anchor)
        return redirect(place, 303)
    reply = messages.get_message(user_id, reply_id)
    response = make_response(
        render_template(
            "journeys/_opened.html",
            messages=message_views.views(conversation_id, [reply], is_end=True) if is_new else [],
            active_turn=reply_id if reply.status == "streaming" else None,
            questions=questions,
            conversation=turn.conversation,
            reply_id=reply_id,
        )
    )
    response.headers["HX-Trigger"] = CHANGED
    return response
