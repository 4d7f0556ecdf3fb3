"""The page that shows the people and things around somebody, and the page of each."""

from flask import Blueprint, render_template, request

from webapp.accounts.auth import current_user_id, login_required
from webapp.extensions import this_app
from webapp.http.views import ViewResult
from webapp.i18n.request_language import language_of
from webapp.memories.showing.name_map import map_of, name_page

blueprint = Blueprint("map_pages", __name__)

_LONGEST = 500


@blueprint.get("/memories/map")
@login_required
def page() -> ViewResult:
    """Return the picture; with `name`, the memories that mention it, from the one numbered `start`."""
    code = language_of(this_app()).code
    if name := request.args.get("name", "")[:_LONGEST]:
        start = max(0, request.args.get("start", 0, type=int))
        view = name_page(current_user_id(), code, name, start)
        return render_template("memories/map_name.html", found=view)
    return render_template("memories/map.html", map=map_of(current_user_id(), code))
