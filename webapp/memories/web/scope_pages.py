"""The reach of personal conversations: the switch for documents of the user's spaces."""

from flask import redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.accounts.schemas import AccountChanges, SettingsChanges
from webapp.accounts.service import update_account, user_settings
from webapp.db.base import db
from webapp.http.views import PageBlueprint, ViewResult, wants_partial

blueprint = PageBlueprint("memory_scopes", __name__, access="user")


@blueprint.app_context_processor
def _template_values() -> dict[str, object]:
    return {"space_documents_on": lambda: user_settings(current_user_id()).space_documents_enabled}


@blueprint.post("/memories/space-documents")
def switch_space_documents() -> ViewResult:
    """Let replies in personal conversations look into documents of the user's spaces, or not."""
    is_on = request.form.get("on") == "1"
    update_account(current_user_id(), AccountChanges(settings=SettingsChanges(space_documents_enabled=is_on)))
    db.session.commit()
    if not wants_partial():
        return redirect(url_for("memories.page"), 303)
    return render_template("memories/_space_documents.html")
