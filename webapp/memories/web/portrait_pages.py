"""The pages of portraits: a person's, the first of the memory pages, and a space's."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, redirect, render_template, url_for

from webapp.accounts.auth import current_user_id, login_required
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.http.views import ViewResult, wants_partial
from webapp.i18n.request_language import gettext as _
from webapp.memories.portrait import service
from webapp.memories.showing.cards import COUNTED_TO
from webapp.memories.showing.facets import tiles
from webapp.spaces.schemas import SpaceOut
from webapp.spaces.service import view_space

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
    user_id = current_user_id()
    problem, status = _ask(lambda: service.ask_for_portrait(user_id))
    if not problem and not wants_partial():
        return redirect(url_for(".page"), 303)
    return _page(problem), status


@blueprint.get("/spaces/<int:space_id>/portrait")
@login_required
def page_of_space(space_id: int) -> ViewResult:
    """Return what is shared in a space, for its members, or the part of the page that asks again."""
    return _page_of_space(space_id)


@blueprint.post("/spaces/<int:space_id>/portrait")
@login_required
def write_of_space(space_id: int) -> ViewResult:
    """Have it written anew."""
    user_id = current_user_id()
    problem, status = _ask(lambda: service.ask_for_portrait_of_space(user_id, space_id))
    if not problem and not wants_partial():
        return redirect(url_for(".page_of_space", space_id=space_id), 303)
    return _page_of_space(space_id, problem), status


def title_of(space: SpaceOut | None) -> str:
    """Return the title of a person's own portrait, or of a space's."""
    if space is None:
        return _("What I know of you")
    if space.kind == "legacy":
        return _("What is known of %(name)s", name=space.name)
    return _("What is shared in %(name)s", name=space.name)


def _ask(ask: Callable[[], None]) -> tuple[str, int]:
    """Ask for a portrait; returns why it was refused, empty if it was not, and the status of the answer."""
    try:
        ask()
        db.session.commit()
    except Conflict as error:
        db.session.rollback()
        return error.detail, error.status
    return "", 200


def _page(problem: str = "") -> str:
    user_id = current_user_id()
    context = {"portrait": service.portrait_of(user_id), "refused": problem, "space": None, "title": title_of(None)}
    if wants_partial():
        return render_template("memories/_portrait.html", **context)
    return render_template("memories/portrait.html", tiles=tiles(user_id), most=COUNTED_TO, **context)


def _page_of_space(space_id: int, problem: str = "") -> str:
    user_id = current_user_id()
    portrait, space = service.portrait_of_space(user_id, space_id), view_space(user_id, space_id)
    template = "memories/_portrait.html" if wants_partial() else "spaces/portrait.html"
    context = {"portrait": portrait, "refused": problem, "space": space, "title": title_of(space)}
    return render_template(template, tab="portrait", **context)
