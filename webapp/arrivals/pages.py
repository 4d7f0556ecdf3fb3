"""The row on the page of a new conversation that says what came since last time."""

from collections.abc import Mapping

from flask import redirect, render_template, request, url_for

from webapp.accounts.auth import current_identity, current_user_id
from webapp.accounts.preferences import UserSettings
from webapp.accounts.service import user_settings
from webapp.arrivals import service
from webapp.db.base import db
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, wants_partial

blueprint = PageBlueprint("arrivals", __name__, url_prefix="/arrivals", access="user")


@blueprint.get("")
def row() -> ViewResult:
    if not wants_partial():
        return redirect(url_for("conversations_pages.new"), 303)
    identity = current_identity()
    return _row(UserSettings.of(identity.settings if identity else None).dismissed_arrivals)


@blueprint.post("/dismiss")
def dismiss() -> ViewResult:
    """Dismiss the arrivals of one kind so far, on every device."""
    kind, newest = request.form.get("kind", ""), parse_id(request.form.get("newest", ""))
    if kind in service.KINDS and newest:
        service.dismiss(current_user_id(), kind, newest)
        db.session.commit()
    if wants_partial():
        return _row(user_settings(current_user_id()).dismissed_arrivals)
    return redirect(url_for("conversations_pages.new"), 303)


def _row(dismissed: Mapping[str, int]) -> str:
    return render_template("arrivals/_row.html", arrivals=service.arrivals_of(current_user_id(), dismissed))
