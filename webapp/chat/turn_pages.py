"""Pages of a turn: versions, branches, more of it, permission for a call, a journey's next point, and its prompt."""

from collections.abc import Mapping
from typing import Any

from flask import flash, make_response, redirect, render_template, request, url_for
from sqlalchemy import select

from webapp.accounts.auth import current_user_id
from webapp.chat import opening_messages, service
from webapp.chat.api import limit_turns
from webapp.chat.models import PipelineStep
from webapp.chat.pages import conversation_url, launch_turn
from webapp.chat.schemas import ToolDecision
from webapp.chat.tool_answers import answer, send_decision
from webapp.conversations import message_views, messages
from webapp.conversations.pages import CHANGED, render_conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.extensions import this_app
from webapp.http.forms import read_form
from webapp.http.views import PageBlueprint, ViewResult, redirect_to, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, language_of
from webapp.journeys.definitions import questions_of
from webapp.journeys.models import Journey
from webapp.journeys.points import find_point
from webapp.providers.model_choice import choices

blueprint = PageBlueprint("turn_pages", __name__, access="user")


@blueprint.get("/messages/<int:message_id>/versions")
def versions(message_id: int) -> ViewResult:
    """Show all versions of a message, side by side."""
    message = messages.get_message(current_user_id(), message_id)
    return render_template("chat/versions.html", message_id=message_id, versions=messages.versions_of(message))


@blueprint.post("/messages/<int:message_id>/versions/<int:version_id>/restore")
def restore(message_id: int, version_id: int) -> ViewResult:
    """Switch the conversation to another version of a message, with what followed it then."""
    restored = service.restore_version(current_user_id(), message_id, version_id)
    db.session.commit()
    if not wants_partial():
        return redirect(conversation_url(restored.conversation_id, restored.message_id), 303)
    conversation = get_conversation(current_user_id(), restored.conversation_id)
    return render_conversation(conversation, switched_to=restored.message_id)


@blueprint.post("/messages/<int:message_id>/branch")
def branch(message_id: int) -> ViewResult:
    """Branch off at a message into a new conversation."""
    conversation = service.branch(current_user_id(), message_id)
    db.session.commit()
    flash(_("This is a new branch. The conversation it came from is unchanged."))
    return redirect(url_for("conversations_pages.show", conversation_id=conversation.conversation_id), 303)


@blueprint.get("/turns/<int:message_id>/models")
def models(message_id: int) -> ViewResult:
    """Show the models that could write a reply again: for HTMX as lines of its menu, empty if there is only one."""
    message = messages.get_message(current_user_id(), message_id)
    template = "_again_models.html" if wants_partial() else "again.html"
    offers = [] if message.role != "assistant" else choices()
    return render_template(f"chat/{template}", id=message_id, message=message, models=offers)


@blueprint.post("/turns/<int:message_id>/continue")
@limit_turns
def continue_reply(message_id: int) -> ViewResult:
    """Ask the model to continue a reply that was cut short, in the language of the person asking."""
    words = _("Continue exactly where you stopped.")
    return launch_turn(service.continue_reply(current_user_id(), message_id, words), redraw=True)


@blueprint.post("/turns/<int:message_id>/tools/<int:number>")
def decide(message_id: int, number: int) -> ViewResult:
    """Allow a call, allow the tool for good, or don't."""
    decision = read_form(ToolDecision).decision
    answer(current_user_id(), message_id, number, decision)
    db.session.commit()
    send_decision(message_id, number, decision)
    if wants_partial():
        return "", 204
    return redirect(request.referrer or url_for("conversations_pages.new"), 303)


@blueprint.post("/journeys/<slug>/start")
@limit_turns
def start(slug: str) -> ViewResult:
    """Open a journey's conversation at its first question; `restart` in the form starts a finished journey again."""
    language = language_of(this_app()).code
    is_restart = request.form.get("restart") == "1"
    conversation, turn = opening_messages.start_journey(current_user_id(), slug[:100], language, is_restart=is_restart)
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
    questions = questions_of(journey, find_point(turn.conversation, slug), language_of(this_app()).code)
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
            questions=questions,
            conversation=turn.conversation,
        )
    )
    response.headers["HX-Trigger"] = CHANGED
    return response


SECTIONS = N_(
    {
        "instructions": "Instructions",
        "standing": "Standing instructions",
        "known": "Always known",
        "facts": "Facts of the legacy",
        "files": "Attached files",
        "summaries": "Summaries of earlier parts",
        "messages": "Messages, word for word",
        "retrieved": "Found for this message",
        "overhead": "Between the parts",
    }
)
SHARES = {
    "instructions": (SECTIONS["instructions"], ("instructions", "standing", "overhead")),
    "known": (SECTIONS["known"], ("known", "facts")),
    "retrieved": (SECTIONS["retrieved"], ("retrieved",)),
    "files": (SECTIONS["files"], ("files",)),
    "messages": (N_("The conversation"), ("summaries", "messages")),
}
"""The shares a prompt is shown in: each with its label and the sections it adds up."""

STEPS = N_(
    {"context": "Putting the prompt together", "retrieval": "Looking things up", "model": "Writing the reply"},
)


def shares_of(context: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the SHARES of a prompt in the order it is read, as its `context` step recorded them, in hundredths."""
    tokens = {item["name"]: int(item.get("tokens") or 0) for item in context.get("sections", ())}
    total, offset, shares = sum(tokens.values()), 0.0, []
    for name, (label, sections) in SHARES.items():
        if part := sum(tokens.get(section, 0) for section in sections):
            percent = round(100 * part / total, 2)
            shares.append({"name": name, "label": label, "start": round(offset, 2), "percent": percent})
            offset += 100 * part / total
    return shares


def _step(message_id: int | None, name: str) -> dict[str, Any]:
    if message_id is None:
        return {}
    statement = select(PipelineStep.data).where(PipelineStep.message_id == message_id, PipelineStep.name == name)
    return db.session.scalar(statement) or {}


@blueprint.get("/messages/<int:message_id>/prompt")
def prompt(message_id: int) -> ViewResult:
    """Return what the model was sent for a reply."""
    user_id = current_user_id()
    reply = service.get_reply(user_id, message_id)
    steps = service.pipeline_steps(user_id, message_id)
    context = next((step for step in steps if step.name == "context"), None)
    data: dict[str, Any] = context.data if context else {}
    total = max(1, int(data.get("tokens") or 0))
    sections = [
        {
            "label": SECTIONS.get(item["name"], item["name"].capitalize()),
            "tokens": item["tokens"],
            "percent": round(100 * item["tokens"] / total),
        }
        for item in data.get("sections", ())
        if item.get("tokens")
    ]
    durations = [(STEPS.get(step.name, step.name.capitalize()), step.duration_ms) for step in steps if step.duration_ms]
    values = {
        "message": reply,
        "sections": sections,
        "total": data.get("tokens"),
        "budget": data.get("budget"),
        "prompt": data.get("prompt") or [],
        "shares": shares_of(data),
        "left_out": data.get("left_out") or [],
        "took": durations,
    }
    template = "chat/_inspector.html" if wants_partial() else "chat/inspector.html"
    return render_template(template, **values)


@blueprint.get("/messages/<int:message_id>/reasoning")
def reasoning(message_id: int) -> ViewResult:
    """Return what the model thought for a reply: for the fold above it, or as a separate page."""
    row = messages.get_reasoning(current_user_id(), message_id)
    template = "chat/_reasoning.html" if wants_partial() else "chat/reasoning.html"
    return render_template(template, reasoning=row)


blueprint.add_globals(
    looked_up=lambda message_id: _step(message_id, "retrieval"),
    prompt_shares=lambda message_id: shares_of(_step(message_id, "context")),
)
