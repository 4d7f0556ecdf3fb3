"""Pages that switch between versions and branches, and that continue a reply."""

from typing import Any

from flask import flash, redirect, render_template, url_for

from webapp.accounts.auth import current_user_id
from webapp.chat import service
from webapp.chat.api import limit_turns
from webapp.chat.pages import launch_turn, place_of
from webapp.conversations import messages
from webapp.conversations.pages import render_conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.http.views import PageBlueprint, wants_partial
from webapp.i18n.request_language import gettext as _
from webapp.providers.model_choice import choices

blueprint = PageBlueprint("branches", __name__, access="user")


@blueprint.get("/messages/<int:message_id>/versions")
def versions(message_id: int) -> Any:
    """All versions of a message, side by side."""
    message = messages.get_message(current_user_id(), message_id)
    return render_template("chat/versions.html", message_id=message_id, versions=messages.versions_of(message))


@blueprint.post("/messages/<int:message_id>/versions/<int:version_id>/restore")
def restore(message_id: int, version_id: int) -> Any:
    """Switch the conversation to another version of a message, with what followed it then."""
    restored = service.restore_version(current_user_id(), message_id, version_id)
    db.session.commit()
    if not wants_partial():
        return redirect(place_of(restored.conversation_id, restored.message_id), 303)
    conversation = get_conversation(current_user_id(), restored.conversation_id)
    return render_conversation(conversation, switched_to=restored.message_id)


@blueprint.post("/messages/<int:message_id>/branch")
def branch(message_id: int) -> Any:
    """Branch off at a message into a new conversation."""
    conversation = service.branch(current_user_id(), message_id)
    db.session.commit()
    flash(_("This is a new branch. The conversation it came from is unchanged."))
    return redirect(url_for("conversations_pages.show", conversation_id=conversation.conversation_id), 303)


@blueprint.get("/turns/<int:message_id>/models")
def models(message_id: int) -> Any:
    """The models that could write a reply again: for HTMX as lines of its menu, empty if there is only one."""
    message = messages.get_message(current_user_id(), message_id)
    template = "_again_models.html" if wants_partial() else "again.html"
    offers = [] if message.role != "assistant" else choices()
    return render_template(f"chat/{template}", id=message_id, message=message, models=offers)


@blueprint.post("/turns/<int:message_id>/continue")
@limit_turns
def go_on(message_id: int) -> Any:
    """Ask the model to continue a reply that was cut short, in the language of the person asking."""
    words = _("Continue exactly where you stopped.")
    return launch_turn(service.continue_reply(current_user_id(), message_id, words), redraw=True)
