"""The admin's page of tools: the web."""

from typing import Any

from flask import flash, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.db.base import db
from webapp.errors import Invalid
from webapp.http.forms import sentences
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.tools.api import run_web_test
from webapp.tools.error_texts import translate_result
from webapp.tools.schemas import WebAccessFields
from webapp.tools.web import service as web
from webapp.tools.web.providers import PROVIDERS

blueprint = PageBlueprint("tools_admin", __name__, url_prefix="/admin/tools", access="admin")

LABELS = N_({"provider": "The engine", "address": "The address", "api_key": "The key"})


@blueprint.get("")
def index() -> ViewResult:
    """Return what replies may use of the web."""
    return _page()


@blueprint.post("/web")
def set_web() -> ViewResult:
    """Set up the search engine, and switch the web on or off."""
    fields: dict[str, Any] = {
        "provider": request.form.get("provider", ""),
        "address": request.form.get("address", "").strip(),
        "is_enabled": "is_enabled" in request.form,
    }
    key = request.form.get("api_key", "").strip()
    if key or "remove_key" in request.form:
        fields["api_key"] = "" if "remove_key" in request.form else key
    try:
        web.set_access(WebAccessFields(**fields))
    except (ValidationError, Invalid) as error:
        db.session.rollback()
        return _page(errors=sentences(error, LABELS, otherwise="provider"), fields=fields), 422
    return commit_and_redirect(url_for(".index"), _("Saved."))


@blueprint.post("/web/test")
def test_web() -> ViewResult:
    """Search for a word with what is set up."""
    result = run_web_test()
    flash(translate_result(result.detail), "message")
    return redirect(url_for(".index"), 303)


def _page(*, errors: dict[str, str] | None = None, fields: dict[str, Any] | None = None) -> str:
    row = web.access()
    now = {"provider": row.provider, "address": row.address, "is_enabled": row.is_enabled} if row else {}
    key_set = bool(row and row.key_set)
    return render_template(
        "tools/admin.html",
        values=fields or now,
        key_set=key_set,
        is_set=row is not None,
        providers=PROVIDERS,
        errors=errors,
    )
