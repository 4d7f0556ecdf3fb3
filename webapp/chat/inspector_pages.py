"""The inspector: the whole prompt of a reply by sections, with what each cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template
from sqlalchemy import select

from webapp.accounts.auth import current_user_id, login_required
from webapp.chat import service
from webapp.chat.models import PipelineStep
from webapp.conversations import messages
from webapp.conversations.reasoning import get_reasoning
from webapp.db.base import db
from webapp.errors import NotFound
from webapp.http.views import ViewResult, wants_partial
from webapp.i18n.marks import N_

blueprint = Blueprint("inspector", __name__)

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
STEPS = N_(
    {
        "context": "Putting the prompt together",
        "retrieval": "Looking things up",
        "model": "Writing the reply",
        "reply": "Writing the reply",
    }
)


@dataclass(frozen=True, slots=True)
class SectionView:
    """A part of the prompt and its share; tokens and budget as the model counts."""

    label: str
    tokens: int
    budget: int
    percent: int


@blueprint.app_context_processor
def _steps() -> dict[str, Any]:
    """Return what the templates of receipts can call."""
    return {"looked_up": retrieval_summary}


def retrieval_summary(message_id: int | None) -> dict[str, Any]:
    """Return how retrieval went for a reply that the caller may see: `with_meaning`, `indexed`; empty if there was
    none.
    """
    if message_id is None:
        return {}
    return (
        db.session.scalar(
            select(PipelineStep.data).where(PipelineStep.message_id == message_id, PipelineStep.name == "retrieval")
        )
        or {}
    )


@blueprint.get("/messages/<int:message_id>/prompt")
@login_required
def prompt(message_id: int) -> ViewResult:
    """Return what the model was sent for a reply."""
    user_id = current_user_id()
    reply = messages.get_message(user_id, message_id)
    if reply.role != "assistant":
        raise NotFound("There is no such reply.")
    steps = service.pipeline_steps(user_id, message_id)
    context = next((step for step in steps if step.name == "context"), None)
    data: dict[str, Any] = context.data if context else {}
    total = max(1, int(data.get("tokens") or 0))
    sections = [
        SectionView(
            SECTIONS.get(item["name"], item["name"].capitalize()),
            item["tokens"],
            item.get("budget") or 0,
            round(100 * item["tokens"] / total),
        )
        for item in data.get("sections", ())
        if item.get("tokens")
    ]
    took = [(STEPS.get(step.name, step.name.capitalize()), step.duration_ms) for step in steps if step.duration_ms]
    shown = {
        "message": reply,
        "sections": sections,
        "total": data.get("tokens"),
        "budget": data.get("budget"),
        "prompt": data.get("prompt") or [],
        "left_out": data.get("left_out") or [],
        "took": took,
    }
    template = "chat/_inspector.html" if wants_partial() else "chat/inspector.html"
    return render_template(template, **shown)


@blueprint.get("/messages/<int:message_id>/reasoning")
@login_required
def reasoning(message_id: int) -> ViewResult:
    """Return what the model thought for a reply: for the fold above it, or as a separate page."""
    row = get_reasoning(current_user_id(), message_id)
    template = "chat/_reasoning.html" if wants_partial() else "chat/reasoning.html"
    return render_template(template, reasoning=row)
