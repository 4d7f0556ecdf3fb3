"""The digest of a conversation for its owner: in the header, as a page, being edited, and its history."""

from typing import Any

from flask import flash, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts.auth import current_user_id
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.digests import generation, service
from webapp.digests.schemas import ConversationMemoryData, ConversationMemoryVersionOut, stored_digest
from webapp.errors import Conflict, Invalid, Unavailable
from webapp.http.forms import require_version, sentences
from webapp.http.problems import field_errors
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _

blueprint = PageBlueprint("digests_pages", __name__, url_prefix="/c/<int:conversation_id>/digest", access="user")

LABELS = N_({"main_topics": "A topic", "action": "A suggestion", "typical_observation": "The observation"})


@blueprint.get("")
def show(conversation_id: int) -> ViewResult:
    """The digest, or with `edit` the form to change it."""
    conversation = get_conversation(current_user_id(), conversation_id)
    return _render(conversation, editing="edit" in request.args, values=_texts(conversation_id))


@blueprint.post("")
def save(conversation_id: int) -> ViewResult:
    conversation = get_conversation(current_user_id(), conversation_id)
    try:
        require_version(_texts(conversation_id))
        data = _form()
    except (Invalid, Conflict) as error:
        errors = sentences(error, LABELS, otherwise="typical_observation")
        return _render(conversation, editing=True, errors=errors, values=request.form), 422
    service.upsert_digest(current_user_id(), conversation_id, data)
    db.session.commit()
    return _report(conversation_id, _("The digest has been saved."))


@blueprint.post("/generate")
def generate(conversation_id: int) -> ViewResult:
    get_conversation(current_user_id(), conversation_id)
    try:
        generation.generate_now(conversation_id)
    except (Conflict, Unavailable) as error:
        return _render(get_conversation(current_user_id(), conversation_id), error=error.detail), error.status
    return _report(conversation_id, _("The digest is ready."))


@blueprint.get("/history")
def history(conversation_id: int) -> ViewResult:
    conversation = get_conversation(current_user_id(), conversation_id)
    rows = [ConversationMemoryVersionOut.of(row) for row in service.history(conversation_id)]
    return render_template("digests/history.html", conversation=conversation, versions=rows, partial=wants_partial())


@blueprint.post("/versions/<int:version>/restore")
def restore(conversation_id: int, version: int) -> ViewResult:
    service.restore_digest(current_user_id(), conversation_id, version)
    return commit_and_redirect(url_for(".show", conversation_id=conversation_id), _("That version has been restored."))


def _digest_values(conversation: Conversation) -> dict[str, Any]:
    row = service.find_digest(conversation.conversation_id)
    if row is None:
        return {"data": None, "is_stale": False, "version": 0, "updated_at": None}
    return {
        "data": stored_digest(row.memory_data),
        "is_stale": service.is_stale(row, conversation),
        "version": row.version,
        "updated_at": row.updated_at,
    }


def _texts(conversation_id: int) -> dict[str, str]:
    """Return the digest as the texts of its form."""
    row = service.find_digest(conversation_id)
    data = stored_digest(row.memory_data if row else {})
    lists = {"main_topics": "\n".join(data.main_topics), "action": "\n".join(data.action)}
    return {**lists, "typical_observation": data.typical_observation}


def _render(conversation: Conversation, **extra: Any) -> str:
    context: dict[str, Any] = {
        "conversation": conversation,
        "digest": _digest_values(conversation),
        "stored": _texts(conversation.conversation_id),
        "editing": False,
        "errors": {},
    }
    template = "digests/_digest.html" if wants_partial() else "digests/page.html"
    return render_template(template, **{**context, **extra})


def _report(conversation_id: int, message: str) -> ViewResult:
    if wants_partial():
        return _render(get_conversation(current_user_id(), conversation_id))
    flash(message)
    return redirect(url_for(".show", conversation_id=conversation_id), 303)


def _form() -> ConversationMemoryData:
    """Return the posted digest: lists have one item per line. Raises Invalid."""

    def lines(name: str) -> list[str]:
        return [line.strip() for line in request.form.get(name, "").splitlines() if line.strip()]

    try:
        return ConversationMemoryData(
            main_topics=lines("main_topics"),
            action=lines("action"),
            typical_observation=" ".join(request.form.get("typical_observation", "").split()),
        )
    except ValidationError as error:
        errors = field_errors(error)
        for item in errors:
            item["loc"] = item["loc"][:1]
        raise Invalid("", errors=errors) from None


blueprint.add_globals(load_digest=_digest_values)
