"""The pages that show memories along time, and the people and things they name."""

from typing import Any

from flask import render_template, request

from webapp.accounts.auth import current_user_id
from webapp.extensions import this_app
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n import calendar
from webapp.i18n.request_language import language_of
from webapp.memories.showing import texts
from webapp.memories.showing.name_map import map_of, name_page
from webapp.memories.showing.timeline import Period, timeline_of
from webapp.rendering import reader_zone

blueprint = PageBlueprint("picture_pages", __name__, access="user")

_LONGEST_NAME = 500


@blueprint.get("/memories/timeline")
def timeline() -> ViewResult:
    """Return what was learned, held and replaced when; `year`, `month` and `kind` narrow it, and odd ones do not."""
    kind = request.args.get("kind", "")
    view = timeline_of(current_user_id(), reader_zone(), _period(), kind if kind in texts.KINDS else "")
    code = language_of(this_app()).code

    def name_of(period: Period) -> str:
        return calendar.period_name(period.year, period.month, code)

    def place(period: Period | None = None, **changes: Any) -> dict[str, Any]:
        """Return the arguments of a link to the same page: of this period, or with these changes."""
        query = {"year": period and period.year, "month": period and period.month, "kind": view.kind, **changes}
        return {name: value for name, value in query.items() if value}

    return render_template("memories/timeline.html", timeline=view, name_of=name_of, place=place, kinds=texts.KINDS)


@blueprint.get("/memories/map")
def name_map() -> ViewResult:
    """Return the picture of people and things; with `name`, the memories that mention it, from the one at `start`."""
    code = language_of(this_app()).code
    if name := request.args.get("name", "")[:_LONGEST_NAME]:
        start = max(0, request.args.get("start", 0, type=int))
        return render_template("memories/map_name.html", found=name_page(current_user_id(), code, name, start))
    return render_template("memories/map.html", map=map_of(current_user_id(), code))


def _period() -> Period | None:
    year, month = request.args.get("year", 0, type=int), request.args.get("month", 0, type=int)
    return Period(year, month if 1 <= month <= 12 else 0) if 1970 < year < 9000 else None
