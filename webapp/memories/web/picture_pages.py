"""The pages of memory as a whole: the portrait of a person or a space, the timeline, and people and things."""

from typing import Any

from flask import redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.extensions import this_app
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n import date_texts
from webapp.i18n.request_language import gettext as _, language_of
from webapp.memories.portrait import service
from webapp.memories.showing import texts
from webapp.memories.showing.cards import MAX_COUNT
from webapp.memories.showing.facets import tiles
from webapp.memories.showing.name_map import map_of, name_page
from webapp.memories.showing.timeline import Period, timeline_of
from webapp.rendering import reader_zone
from webapp.spaces.schemas import SpaceOut
from webapp.spaces.service import view_space

blueprint = PageBlueprint("picture_pages", __name__, access="user")

_MAX_NAME_LENGTH = 500


@blueprint.get("/memories/timeline")
def timeline() -> ViewResult:
    """Return what was learned, held and replaced when; `year`, `month` and `kind` narrow it, and odd ones do not."""
    kind = request.args.get("kind", "")
    view = timeline_of(current_user_id(), reader_zone(), _period(), kind if kind in texts.KINDS else "")
    code = language_of(this_app()).code

    def name_of(period: Period) -> str:
        return date_texts.period_name(period.year, period.month, code)

    def place(period: Period | None = None, **changes: Any) -> dict[str, Any]:
        """Return the arguments of a link to the same page: of this period, or with these changes."""
        query = {"year": period and period.year, "month": period and period.month, "kind": view.kind, **changes}
        return {name: value for name, value in query.items() if value}

    return render_template("memories/timeline.html", timeline=view, name_of=name_of, place=place, kinds=texts.KINDS)


@blueprint.get("/memories/map")
def name_map() -> ViewResult:
    """Return the picture of people and things; with `name`, the memories that mention it, from the one at `start`."""
    code = language_of(this_app()).code
    if name := request.args.get("name", "")[:_MAX_NAME_LENGTH]:
        start = max(0, request.args.get("start", 0, type=int))
        return render_template("memories/map_name.html", found=name_page(current_user_id(), code, name, start))
    return render_template("memories/map.html", map=map_of(current_user_id(), code))


def _period() -> Period | None:
    year, month = request.args.get("year", 0, type=int), request.args.get("month", 0, type=int)
    return Period(year, month if 1 <= month <= 12 else 0) if 1970 < year < 9000 else None


@blueprint.get("/memories/portrait")
@blueprint.get("/spaces/<int:space_id>/portrait")
def portrait(space_id: int | None = None) -> ViewResult:
    """Return the portrait of the person, or of a space for its members, or the part of the page that asks again."""
    return _portrait(space_id)


@blueprint.post("/memories/portrait")
@blueprint.post("/spaces/<int:space_id>/portrait")
def write_portrait(space_id: int | None = None) -> ViewResult:
    """Request a new portrait."""
    try:
        service.ask_for_portrait(current_user_id(), space_id)
        db.session.commit()
    except Conflict as error:
        db.session.rollback()
        return _portrait(space_id, error.detail), error.status
    return _portrait(space_id) if wants_partial() else redirect(url_for(".portrait", space_id=space_id), 303)


def title_of(space: SpaceOut | None) -> str:
    """Return the title of a person's own portrait, or of a space's."""
    if space is None:
        return _("What I know about you")
    if space.kind == "legacy":
        return _("What is known of %(name)s", name=space.name)
    return _("What is shared in %(name)s", name=space.name)


def _portrait(space_id: int | None, problem: str = "") -> str:
    user_id = current_user_id()
    portrait = service.portrait_of(user_id, space_id)
    space = view_space(user_id, space_id) if space_id is not None else None
    context = {"portrait": portrait, "refused": problem, "space": space, "title": title_of(space)}
    if wants_partial():
        return render_template("memories/_portrait.html", **context)
    if space is not None:
        return render_template("spaces/portrait.html", tab="portrait", **context)
    return render_template("memories/portrait.html", tiles=tiles(user_id), most=MAX_COUNT, **context)
