"""Starting out: the starters of a new conversation, and the pages that say what this is and what is new."""

from typing import Any

from flask import render_template

from webapp.chat.starters import FOR_THE_TOUR, Starter, starters
from webapp.http.views import PageBlueprint, ViewResult
from webapp.memories.web.panel import has_memory, panel_state
from webapp.providers.status import status
from webapp.spaces.models import Space

blueprint = PageBlueprint("start", __name__, access="user")


@blueprint.app_context_processor
def _start() -> dict[str, Any]:
    """Return what the page of a conversation, or of a new one, needs; nothing is loaded unless it asks for it."""
    return {"load_starters": _starters, "panel_state": panel_state}


def _starters(space: Space | None) -> tuple[Starter, ...]:
    """Return what a new conversation could begin with, in the chosen space or in none."""
    if not status().is_connected:
        return FOR_THE_TOUR
    return starters(is_legacy=space is not None and space.kind == "legacy", has_memory=has_memory())


@blueprint.get("/help/memory")
def about_memory() -> ViewResult:
    """Return what is kept, where, and how to get rid of it, in plain words."""
    return render_template("help/memory.html")


@blueprint.get("/help/new")
def whats_new() -> ViewResult:
    """Return what changed lately."""
    return render_template("help/new.html")
