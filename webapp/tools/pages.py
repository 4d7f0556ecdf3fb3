"""The settings page of the tools that replies may use."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, render_template, request, url_for

from webapp.accounts import service as accounts
from webapp.accounts.auth import current_user_id, signed_in
from webapp.accounts.schemas import AccountChanges, SettingsChanges
from webapp.conversations.tool_records import in_short, sources_of
from webapp.database import db
from webapp.web import ViewResult

blueprint = Blueprint("tools_pages", __name__)
blueprint.add_app_template_filter(sources_of, "tool_sources")
blueprint.add_app_template_filter(in_short, "tool_input")


@blueprint.get("/settings/tools")
@signed_in
def index() -> ViewResult:
    """The tools that replies to you may use."""
    return render_template("tools/index.html", wished=accounts.user_settings(current_user_id()))


@blueprint.post("/settings/tools")
@signed_in
def switch() -> ViewResult:
    """Switch the tools that come with the program on or off."""
    changes = SettingsChanges(builtin_tools_enabled="builtin_tools" in request.form)
    accounts.update_account(current_user_id(), AccountChanges(settings=changes))
    db.session.commit()
    flash("Saved.", "message")
    return redirect(url_for(".index"), 303)
