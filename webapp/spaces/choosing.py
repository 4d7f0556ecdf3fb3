"""The space a browser is working in: what its list of conversations shows and where a new one begins."""

from __future__ import annotations

from flask import Response, request
from sqlalchemy import select

from webapp.database import db
from webapp.spaces.models import Space, SpaceMember
from webapp.spaces.service import spaces_of
from webapp.validation import MAX_ID

COOKIE = "space"
COOKIE_SECONDS = 365 * 86_400
MOST = 100


def chosen_space(user_id: int) -> Space | None:
    """The space that was chosen, as long as the user belongs to it; None for everything."""
    wish = request.args.get("into") or request.cookies.get(COOKIE, "")
    if not wish.isdecimal() or not 1 <= int(wish[:11]) <= MAX_ID:
        return None
    return db.session.scalar(
        select(Space).where(Space.space_id == int(wish), Space.space_id.in_(spaces_of(user_id)))
    )


def remember_choice(response: Response, space_id: int | None) -> Response:
    """Let the browser go on in a space, or in none."""
    if space_id is None:
        response.delete_cookie(COOKIE, samesite="Lax")
    else:
        response.set_cookie(COOKIE, str(space_id), max_age=COOKIE_SECONDS, samesite="Lax", httponly=True)
    return response


def spaces_to_choose(user_id: int) -> list[Space]:
    """The user's spaces by name, for the switcher."""
    return list(db.session.scalars(
        select(Space).where(Space.space_id.in_(spaces_of(user_id))).order_by(Space.name, Space.space_id).limit(MOST)
    ))  # fmt: skip


def count_invitations(user_id: int) -> int:
    """How many invitations wait for the user."""
    rows = select(SpaceMember.space_id).where(SpaceMember.user_id == user_id, SpaceMember.status == "invited")
    return len(db.session.scalars(rows.limit(MOST)).all())
