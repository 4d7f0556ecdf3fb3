"""Admins' view of a user's journeys, and the reset of a point; every look is recorded in the audit."""

from flask import render_template, url_for

from webapp.accounts.auth import current_user_id, writes
from webapp.accounts.service import get_user
from webapp.audit.service import record_admin_access
from webapp.http.views import PageBlueprint, ViewResult, commit, commit_and_redirect
from webapp.i18n.request_language import ngettext
from webapp.journeys import service
from webapp.memories.prompt.profile import get_profile
from webapp.memories.schemas import MemoryQuery
from webapp.memories.search import view_as_admin

blueprint = PageBlueprint("admin_journeys", __name__, access="admin")

PAGE_SIZE = 50


@blueprint.get("/admin/users/<int:user_id>/memory")
@writes  # every look is recorded
def look(user_id: int) -> ViewResult:
    """Return what is known about a user: profile, points by journey, memories."""
    user = get_user(user_id)
    page = view_as_admin(current_user_id(), user_id, MemoryQuery(limit=PAGE_SIZE))
    return commit(
        render_template(
            "journeys/admin.html",
            user=user,
            profile=get_profile(user_id),
            journeys=service.journeys_of(user_id),
            memories=page.items,
            more=page.next_cursor is not None,
        )
    )


@blueprint.post("/admin/users/<int:user_id>/journeys/<journey>/<point>/reset")
def reset(user_id: int, journey: str, point: str) -> ViewResult:
    """Forget what is known about a point and read the journey's conversations again."""
    user = get_user(user_id)
    count = service.reset_point(user.user_id, journey, point)
    record_admin_access(current_user_id(), user_id, "point reset", is_change=True)
    return commit_and_redirect(
        url_for(".look", user_id=user_id),
        ngettext(
            "The point is reset; %(num)s conversation will be read again.",
            "The point is reset; %(num)s conversations will be read again.",
            count,
        ),
    )
