"""Starting out: the starters of a new conversation, and the pages that say what this is and what is new."""

from dataclasses import dataclass

from flask import render_template

from webapp.http.views import PageBlueprint, ViewResult
from webapp.memories.web.panel import has_memory, panel_state
from webapp.providers.model_choice import status
from webapp.spaces.models import Space
from webapp.tour import answers


@dataclass(frozen=True, slots=True)
class Starter:
    """A card: what it offers, what it is about, and the beginning that it puts into the composer; a temporary
    conversation is not offered those about memory."""

    title: str
    about: str
    draft: str
    is_about_memory: bool = False


INTRODUCTION = Starter(
    "Tell me about yourself",
    "See and change what I learn",
    "Let me tell you a little about myself: ",
    is_about_memory=True,
)
MEMORY = Starter(
    "What do you know about me?",
    "A look at what is remembered",
    "What do you remember about me, and what follows from that?",
    is_about_memory=True,
)
GENERAL_STARTERS = (
    Starter("Think something through", "A decision, a plan, a worry", "Help me think something through: "),
    Starter("Work on a text", "Shorten, translate, clarify", "Improve this text and say what you changed:\n\n"),
)
LEGACY_STARTERS = (
    Starter("Tell a story", "A moment you shared", "Let me tell you about a moment I remember: "),
    Starter("Describe them", "Their ways, voice, habits", "Let me describe what they were like: "),
    Starter(
        "Ask about their life", "From what is known so far", "Tell me about their life, from what is known so far."
    ),
    Starter("Find what is missing", "Questions still open", "What is still missing from their story? Ask me about it."),
)

TOUR_STARTERS = (
    Starter("Show me", "What a reply looks like", answers.EXAMPLE_REQUEST),
    Starter(
        "Introduce yourself",
        "These sentences are remembered, word for word",
        answers.INTRODUCTION,
        is_about_memory=True,
    ),
)
"""While no model is connected there is nothing else to begin."""


def starters(*, is_legacy: bool, has_memory: bool) -> tuple[Starter, ...]:
    """Return the cards of a legacy, or three that stand beside the one for journeys."""
    if is_legacy:
        return LEGACY_STARTERS
    return (MEMORY if has_memory else INTRODUCTION, *GENERAL_STARTERS)


blueprint = PageBlueprint("start", __name__, access="user")


def _starters(space: Space | None) -> tuple[Starter, ...]:
    """Return what a new conversation could begin with, in the chosen space or in none."""
    if not status().is_connected:
        return TOUR_STARTERS
    return starters(is_legacy=space is not None and space.kind == "legacy", has_memory=has_memory())


@blueprint.get("/help/memory")
def about_memory() -> ViewResult:
    """Return what is kept, where, and how to get rid of it, in plain words."""
    return render_template("help/memory.html")


@blueprint.get("/help/new")
def whats_new() -> ViewResult:
    """Return what changed lately."""
    return render_template("help/new.html")


blueprint.add_globals(load_starters=_starters, panel_state=panel_state)
