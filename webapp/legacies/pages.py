"""Pages of facts, of moving a conversation, and what the home of a space lists of both."""

from flask import flash, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.conversations import service as conversations
from webapp.conversations.lists import list_conversations
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import ConversationChanges, ConversationQuery
from webapp.db.base import db
from webapp.http.forms import read_form, redisplay_form
from webapp.http.validation import Page, parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.legacies import facts, memory_moves
from webapp.legacies.fact_list import CATEGORIES
from webapp.legacies.schemas import NewFact, VisibilityChange
from webapp.memories.models import Memory
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.schemas import MemoryQuery
from webapp.memories.service import list_memories
from webapp.spaces import current_space, service

blueprint = PageBlueprint("legacies_pages", __name__, access="user")

LABELS = N_({"content": "The fact", "category": "The category"})
HOME_PAGE_FACTS = 5
"""Conversations and facts that the home of a space lists."""


def _conversations(space_id: int) -> Page[Conversation]:
    """Return the user's latest conversations in a space."""
    return list_conversations(current_user_id(), ConversationQuery(limit=HOME_PAGE_FACTS, space_id=space_id))


def _facts(space_id: int) -> list[Memory]:
    """Return the facts of a space changed last: the user's own, and what others share there."""
    query = MemoryQuery(limit=HOME_PAGE_FACTS, space_id=space_id, needs_review=False)
    is_fact = Memory.memory_type != MemoryType.INSTRUCTION.value
    return list(list_memories(current_user_id(), query, is_fact, part="facts").items)


@blueprint.get("/spaces/<int:space_id>/facts")
def index(space_id: int) -> ViewResult:
    """The facts of a legacy: the reader's own and the shared ones, or, with `as=member`, what another member sees."""
    return _index(space_id)


@blueprint.post("/spaces/<int:space_id>/facts")
@redisplay_form(lambda errors, space_id: _index(space_id, errors), LABELS, otherwise="content")
def add(space_id: int) -> ViewResult:
    user_id = current_user_id()
    service.require_member(user_id, space_id)
    fields = read_form(NewFact)
    facts.add_fact(user_id, space_id, fields.category, fields.content, shared=fields.visibility == "shared")
    return commit_and_redirect(url_for(".index", space_id=space_id))


@blueprint.post("/facts/<int:memory_id>/visibility")
def set_visibility(memory_id: int) -> ViewResult:
    fact = facts.set_visibility(current_user_id(), memory_id, read_form(VisibilityChange).visibility)
    db.session.commit()
    space_id = fact.memory.space_id or 0  # a fact about a person is always in their space
    if wants_partial():
        space = service.view_space(current_user_id(), space_id)
        return render_template("spaces/_fact.html", fact=fact, space=space, refocus=True)
    flash(
        _("Shared.") if fact.memory.visibility == "shared" else _("Withdrawn. Nobody else sees it any more."), "message"
    )
    return redirect(url_for(".index", space_id=space_id), 303)


@blueprint.post("/facts/<int:memory_id>/delete")
def delete(memory_id: int) -> ViewResult:
    space_id = facts.get_fact(current_user_id(), memory_id).memory.space_id
    facts.delete_fact(current_user_id(), memory_id)
    return commit_and_redirect(url_for(".index", space_id=space_id), _("Forgotten for good."))


@blueprint.get("/c/<int:conversation_id>/move")
def ask(conversation_id: int) -> ViewResult:
    """Show where a conversation can be moved to, and what that does."""
    user_id = current_user_id()
    conversation = conversations.get_conversation(user_id, conversation_id)
    has_target, to = "to" in request.args, parse_id(request.args.get("to", ""))
    move = memory_moves.plan_move(user_id, conversation_id, to) if has_target else None
    spaces = current_space.choices(user_id).spaces
    return render_template(
        "spaces/move.html",
        conversation=conversation,
        spaces=spaces,
        to=to,
        chosen=has_target,
        move=move,
        names={space.space_id: space.name for space in spaces},
    )


@blueprint.post("/c/<int:conversation_id>/move")
def move(conversation_id: int) -> ViewResult:
    """Move a conversation; the form has said what happens to memories."""
    to = parse_id(request.form.get("to", ""))
    changes = ConversationChanges(space_id=to, confirm=request.form.get("confirm") == "1")
    conversations.update_conversation(current_user_id(), conversation_id, changes)
    return commit_and_redirect(url_for("conversations_pages.show", conversation_id=conversation_id), _("Moved."))


def _index(space_id: int, errors: dict[str, str] | None = None) -> str:
    user_id = current_user_id()
    preview = request.args.get("as") == "member"
    listing = facts.view_as_member(user_id, space_id) if preview else facts.list_facts(user_id, space_id)
    return render_template(
        "spaces/facts.html",
        space=service.view_space(user_id, space_id),
        facts=listing,
        preview=preview,
        waiting=facts.count_waiting(user_id, space_id),
        categories=CATEGORIES,
        tab="facts",
        errors=errors or {},
        values=request.form,
    )


blueprint.add_globals(load_space_conversations=_conversations, load_space_facts=_facts)
