"""The page of the portrait, the first of the memory pages."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, url_for

from webapp.accounts.auth import current_user_id, login_required
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.http.views import ViewResult, wants_partial
from webapp.memories.portrait import service

blueprint = Blueprint("portrait_pages", __name__)


@blueprint.get("/memories/portrait")
@login_required
def page() -> ViewResult:
    """Return what is known of the person, or, while it is being written, the part of the page that asks again."""
    template = "_portrait" if wants_partial() else "portrait"
    return render_template(f"memories/{template}.html", portrait=service.portrait_of(current_user_id()))


@blueprint.post("/memories/portrait")
@login_required
def write() -> ViewResult:
    """Have it written anew."""
    problem, status = "", 200
    try:
        service.ask_for_portrait(current_user_id())
        db.session.commit()
    except Conflict as error:
        db.session.rollback()
        problem, status = error.detail, error.status
    if not problem and not wants_partial():
        return redirect(url_for(".page"), 303)
    template = "_portrait" if wants_partial() else "portrait"
    shown = service.portrait_of(current_user_id())
    return render_template(f"memories/{template}.html", portrait=shown, refused=problem), status
