"""The pages of portraits: a person's, the first of the memory pages, and a space's."""

from flask import redirect, render_template, url_for

from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.request_language import gettext as _
from webapp.memories.portrait import service
from webapp.memories.showing.cards import COUNTED_TO
from webapp.memories.showing.facets import tiles
from webapp.spaces.schemas import SpaceOut
from webapp.spaces.service import view_space

blueprint = PageBlueprint("portrait_pages", __name__, access="user")


@blueprint.get("/memories/portrait")
@blueprint.get("/spaces/<int:space_id>/portrait")
def page(space_id: int | None = None) -> ViewResult:
    """Return the portrait of the person, or of a space for its members, or the part of the page that asks again."""
    return _page(space_id)


@blueprint.post("/memories/portrait")
@blueprint.post("/spaces/<int:space_id>/portrait")
def write(space_id: int | None = None) -> ViewResult:
    """Have it written anew."""
    try:
        service.ask_for_portrait(current_user_id(), space_id)
        db.session.commit()
    except Conflict as error:
        db.session.rollback()
        return _page(space_id, error.detail), error.status
    if wants_partial():
        return _page(space_id)
    return redirect(url_for(".page", space_id=space_id), 303)


def title_of(space: SpaceOut | None) -> str:
    """Return the title of a person's own portrait, or of a space's."""
    if space is None:
        return _("What I know of you")
    if space.kind == "legacy":
        return _("What is known of %(name)s", name=space.name)
    return _("What is shared in %(name)s", name=space.name)


def _page(space_id: int | None, problem: str = "") -> str:
    user_id = current_user_id()
    portrait = service.portrait_of(user_id, space_id)
    space = view_space(user_id, space_id) if space_id is not None else None
    context = {"portrait": portrait, "refused": problem, "space": space, "title": title_of(space)}
    if wants_partial():
        return render_template("memories/_portrait.html", **context)
    if space is not None:
        return render_template("spaces/portrait.html", tab="portrait", **context)
    return render_template("memories/portrait.html", tiles=tiles(user_id), most=COUNTED_TO, **context)
