"""The settings pages of the tools that replies may use: a person's own, and the web for admins."""

from typing import Any

from flask import flash, redirect, render_template, request, url_for

from webapp.accounts import service as accounts
from webapp.accounts.auth import current_user_id
from webapp.conversations.schemas import ConversationChanges
from webapp.conversations.service import update_conversation
from webapp.conversations.tool_records import arguments_line, sources_of
from webapp.db.base import db
from webapp.http.forms import on_form, secret, validate
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.tools.api import run_web_test
from webapp.tools.error_texts import translate_result
from webapp.tools.schemas import WebAccessFields
from webapp.tools.web import service
from webapp.tools.web.providers import PROVIDERS

blueprint = PageBlueprint("tools_pages", __name__, access="user")
blueprint.add_app_template_filter(sources_of, "tool_sources")
blueprint.add_app_template_filter(arguments_line, "tool_input")


@blueprint.app_context_processor
def _globe() -> dict[str, Any]:
    """Return what the composer of any page may need."""
    return {"web_is_on": lambda: bool(service.web_of_site())}


@blueprint.post("/c/<int:conversation_id>/web")
def use_web(conversation_id: int) -> ViewResult:
    """Let replies in a conversation look on the web, or not."""
    update_conversation(current_user_id(), conversation_id, ConversationChanges(uses_web="uses_web" in request.form))
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
    accounts.change_settings(current_user_id(), builtin_tools_enabled="builtin_tools" in request.form)
    return commit_and_redirect(url_for(".index"), _("Saved."))


admin_blueprint = PageBlueprint("tools_admin", __name__, url_prefix="/admin/tools", access="admin")

WEB_LABELS = N_({"provider": "The engine", "address": "The address", "api_key": "The key"})


@admin_blueprint.get("", endpoint="index")
def show_web() -> ViewResult:
    """Return what replies may use of the web."""
    return _web_page()


@admin_blueprint.post("/web")
@on_form(lambda errors: _web_page(errors, _web_fields()), WEB_LABELS, otherwise="provider")
def set_web() -> ViewResult:
    """Set up the search engine, and switch the web on or off."""
    service.set_access(validate(WebAccessFields, _web_fields() | secret("api_key", "remove_key")))
    return commit_and_redirect(url_for(".index"), _("Saved."))


@admin_blueprint.post("/web/test")
def test_web() -> ViewResult:
    """Search for a word with what is set up."""
    flash(translate_result(run_web_test().detail), "message")
    return redirect(url_for(".index"), 303)


def _web_fields() -> dict[str, Any]:
    form = request.form
    address = form.get("address", "").strip()
    return {"provider": form.get("provider", ""), "address": address, "is_enabled": "is_enabled" in form}


def _web_page(errors: dict[str, str] | None = None, fields: dict[str, Any] | None = None) -> str:
    row = service.access()
    now = {"provider": row.provider, "address": row.address, "is_enabled": row.is_enabled} if row else {}
    return render_template(
        "tools/admin.html",
        values=fields or now,
        key_set=bool(row and row.key_set),
        is_set=row is not None,
        providers=PROVIDERS,
        errors=errors,
    )
