"""The settings page for the tools that replies may use."""

from typing import Any

from flask import redirect, render_template, request, url_for

from webapp.accounts import service as accounts
from webapp.accounts.auth import current_user_id
from webapp.accounts.schemas import AccountChanges, SettingsChanges
from webapp.conversations.schemas import ConversationChanges
from webapp.conversations.service import update_conversation
from webapp.conversations.tool_records import arguments_line, sources_of
from webapp.db.base import db
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, wants_partial
from webapp.i18n.request_language import gettext as _
from webapp.tools.web.service import web

blueprint = PageBlueprint("tools_pages", __name__, access="user")
blueprint.add_app_template_filter(sources_of, "tool_sources")
blueprint.add_app_template_filter(arguments_line, "tool_input")


@blueprint.app_context_processor
def _globe() -> dict[str, Any]:
    """Return what the composer of any page may need."""
    return {"web_is_on": lambda: web.get() is not None}


@blueprint.post("/c/<int:conversation_id>/web")
def use_web(conversation_id: int) -> ViewResult:
    """Let replies in a conversation look on the web, or not."""
    changes = ConversationChanges(uses_web="uses_web" in request.form)
    update_conversation(current_user_id(), conversation_id, changes)
    db.session.commit()
    if wants_partial():
        return "", 204
    return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)


@blueprint.get("/settings/tools")
def index() -> ViewResult:
    """The tools that replies to the user may use."""
    return render_template("tools/index.html", wished=accounts.user_settings(current_user_id()))


@blueprint.post("/settings/tools")
def switch() -> ViewResult:
    """Switch the built-in tools on or off."""
    changes = SettingsChanges(builtin_tools_enabled="builtin_tools" in request.form)
    accounts.update_account(current_user_id(), AccountChanges(settings=changes))
    return commit_and_redirect(url_for(".index"), _("Saved."))
