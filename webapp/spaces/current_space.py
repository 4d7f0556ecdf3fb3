"""The space a browser is working in: which conversations it lists, and where new ones are created."""

from functools import cache
from typing import NamedTuple

from flask import Response, request
from sqlalchemy import Row, Select, bindparam, select

from webapp.db.base import db
from webapp.http.validation import parse_id
from webapp.spaces.models import MEMBER_STATUSES, Space, SpaceMember
from webapp.spaces.service import spaces_of

COOKIE = "space"
COOKIE_SECONDS = 365 * 86_400
MAX_CHOICES = 100


def chosen_space(user_id: int) -> Space | None:
    """Return the chosen space, as long as the user belongs to it; None for everything."""
    value = request.args.get("into") or request.cookies.get(COOKIE, "")
    space_id = parse_id(value)
    if space_id is None:
        return None
    return db.session.scalar(select(Space).where(Space.space_id == space_id, Space.space_id.in_(spaces_of(user_id))))


def remember_choice(response: Response, space_id: int | None) -> Response:
    """Switch the browser to a space, or to none."""
    if space_id is None:
        response.delete_cookie(COOKIE, samesite="Lax")
    else:
        response.set_cookie(COOKIE, str(space_id), max_age=COOKIE_SECONDS, samesite="Lax", httponly=True)
    return response


Choice = Row[str, int, str, str]
"""A space as lists show it: `space_id`, `name`, `kind`."""


class Choices(NamedTuple):
    """A user's spaces by name, and how many invitations are waiting for them."""

    spaces: list[Choice]
    invitations: int


def choices(user_id: int) -> Choices:
    """Return what the switcher offers."""
    rows = db.session.execute(_memberships(), {"user": user_id}).all()
    spaces = [row for row in rows if row.status == "active"]
    return Choices(spaces[:MAX_CHOICES], sum(row.status == "invited" for row in rows))


@cache
def _memberships() -> Select[str, int, str, str]:
    return (
        select(SpaceMember.status, Space.space_id, Space.name, Space.kind)
        .join(Space, Space.space_id == SpaceMember.space_id)
        .where(SpaceMember.user_id == bindparam("user"), SpaceMember.status.in_(MEMBER_STATUSES))
        .order_by(Space.name, Space.space_id)
        .limit(2 * MAX_CHOICES)
    )
