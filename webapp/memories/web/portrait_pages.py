"""The page of the portrait, the first of the memory pages."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, url_for

from webapp.accounts.auth import current_user_id, login_required
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.http.views import ViewResult, wants_partial
from webapp.memories.portrait import service
from webapp.memories.showing.cards import COUNTED_TO
from webapp.memories.showing.facets import tiles

blueprint = Blueprint("portrait_pages", __name__)


@blueprint.get("/memories/portrait")
@login_required
def page() -> ViewResult:
    """Return what is known of the person, or, while it is being written, the part of the page that asks again."""
    return _page()


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
    return _page(problem), status


def _page(refused: str = "") -> str:
    user_id = current_user_id()
    portrait = service.portrait_of(user_id)
    if wants_partial():
        return render_template("memories/_portrait.html", portrait=portrait, refused=refused)
    return render_template(
        "memories/portrait.html", portrait=portrait, refused=refused, tiles=tiles(user_id), most=COUNTED_TO
    )
