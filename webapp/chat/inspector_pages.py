"""The inspector: the whole prompt of a reply by sections, with what each cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import render_template
from sqlalchemy import select

from webapp.accounts.auth import current_user_id
from webapp.chat import service
from webapp.chat.models import PipelineStep
from webapp.conversations.messages import get_reasoning
from webapp.db.base import db
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.marks import N_

blueprint = PageBlueprint("inspector", __name__, access="user")

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


@dataclass(frozen=True, slots=True)
class SectionView:
    """A part of the prompt and its share; tokens and budget as the model counts."""

    label: str
    tokens: int
    budget: int
    percent: int


@dataclass(frozen=True, slots=True)
class Share:
    """A share of a prompt: `name` is its key in SHARES; start and percent in hundredths of the whole."""

    name: str
    label: str
    start: float
    percent: float


@blueprint.app_context_processor
def _steps() -> dict[str, Any]:
    """Return what the templates of receipts can call."""
    return {"looked_up": retrieval_summary, "prompt_shares": lambda message_id: shares_of(_step(message_id, "context"))}


def shares_of(context: Mapping[str, Any]) -> list[Share]:
    """Return the shares of a prompt in the order it is read, as its `context` step recorded them, if it did."""
    tokens = {item["name"]: int(item.get("tokens") or 0) for item in context.get("sections", ())}
    total, offset, shares = sum(tokens.values()), 0.0, []
    for name, (label, sections) in SHARES.items():
        if part := sum(tokens.get(section, 0) for section in sections):
            shares.append(Share(name, label, round(offset, 2), round(100 * part / total, 2)))
            offset += 100 * part / total
    return shares


def retrieval_summary(message_id: int | None) -> dict[str, Any]:
    """Return how retrieval went for a reply the caller may see: `with_meaning`, `indexed`; empty if there was none."""
    return _step(message_id, "retrieval")


def _step(message_id: int | None, name: str) -> dict[str, Any]:
    if message_id is None:
        return {}
    return (
        db.session.scalar(
            select(PipelineStep.data).where(PipelineStep.message_id == message_id, PipelineStep.name == name)
        )
        or {}
    )


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
        SectionView(
            SECTIONS.get(item["name"], item["name"].capitalize()),
            item["tokens"],
            item.get("budget") or 0,
            round(100 * item["tokens"] / total),
        )
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
    row = get_reasoning(current_user_id(), message_id)
    template = "chat/_reasoning.html" if wants_partial() else "chat/reasoning.html"
    return render_template(template, reasoning=row)
