"""The buttons under a reply that proposes to keep or to forget something."""

from typing import Any

from flask import flash, redirect, request, url_for

from webapp.accounts.auth import current_identity, current_user_id
from webapp.conversations import messages
from webapp.db.base import db
from webapp.errors import Conflict, Invalid, NotFound
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.request_language import gettext as _
from webapp.memories.review import proposals
from webapp.memories.web.pages import fragment

blueprint = PageBlueprint("memory_proposals", __name__, access="user")


@blueprint.app_context_processor
def _template_values() -> dict[str, Any]:
    return {"proposed_under": proposals_under_reply}


def proposals_under_reply(message: Any) -> list[proposals.Proposal]:
    """Return what a reply proposes to its reader and is still waiting."""
    return proposals.reply_proposals(current_user_id(), message) if current_identity() is not None else []


@blueprint.post("/turns/<int:message_id>/proposals")
def settle(message_id: int) -> ViewResult:
    """Carry out the answer to what a reply proposes: `accept` or `discard`, for the chosen ones."""
    user_id = current_user_id()
    reply = messages.get_message(user_id, message_id)
    decision = request.form.get("decision", "")
    answer = {"accept": proposals.accept, "discard": proposals.discard}.get(decision)
    if answer is None:
        raise Invalid.field("decision", "is not one of the choices offered")
    selection = [item for item in proposals.reply_proposals(user_id, reply) if item.key in request.form.getlist("ids")]
    results = []
    for item in selection:
        try:
            with db.session.begin_nested():
                results.append(answer(user_id, item.key))
        except (NotFound, Conflict):
            continue  # another page has settled it, or it went with one that says the same
    db.session.commit()
    if wants_partial():
        return fragment("chat/_proposals.html", message=reply, done=results, decision=decision, id=message_id)
    flash(_("Decided."), "message")
    location = url_for("conversations_pages.show", conversation_id=reply.conversation_id, _anchor=f"m-{message_id}")
    return redirect(location, 303)
