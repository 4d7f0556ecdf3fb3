"""Starting out: the cards of a new conversation, and the pages that say what this is and what is new."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, url_for

from webapp.accounts.auth import current_user_id, signed_in
from webapp.chat.starters import FOR_THE_TOUR, starters
from webapp.conversations.listing import list_conversations
from webapp.conversations.schemas import ConversationQuery
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.schemas import MemoryQuery
from webapp.memories.service import list_memories
from webapp.models.catalogue import is_demonstration
from webapp.spaces.choosing import chosen_space
from webapp.web import ViewResult, wants_partial

blueprint = Blueprint("start", __name__)

LOOKED_AT = 20
PLANS = frozenset({"goal", "goals", "plan", "plans", "project", "projects", "work", "learning"})
"""Categories of memories that suggest a next step."""


@blueprint.get("/starters")
@signed_in
def cards() -> ViewResult:
    """What a new conversation could begin with."""
    if not wants_partial():
        return redirect(url_for("conversations_pages.new"), 303)
    if is_demonstration():
        return render_template("chat/_starters.html", starters=FOR_THE_TOUR)
    user_id = current_user_id()
    space = chosen_space(user_id)
    space_id = space.space_id if space else None
    known = list_memories(user_id, MemoryQuery(limit=LOOKED_AT, space_id=space_id, needs_review=False)).items
    talks = list_conversations(user_id, ConversationQuery(limit=1, space_id=space_id)).items
    known = [memory for memory in known if memory.memory_type != MemoryType.INSTRUCTION.value]
    is_plan = [(m.category or "").lower() in PLANS or m.memory_type == MemoryType.PROJECT.value for m in known]
    plans = [memory.content for memory, plan in zip(known, is_plan, strict=True) if plan]
    shown = starters(
        plans,
        [memory.content for memory in known if memory.content not in plans],
        [(row.conversation_id, row.title) for row in talks if row.title],
    )
    return render_template("chat/_starters.html", starters=shown)


@blueprint.get("/help/memory")
@signed_in
def about_memory() -> ViewResult:
    """What is kept, where, and how to get rid of it, in plain words."""
    return render_template("help/memory.html")


@blueprint.get("/help/new")
@signed_in
def whats_new() -> ViewResult:
    """What changed lately."""
    return render_template("help/new.html")
