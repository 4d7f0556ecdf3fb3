"""Membership of spaces through an OpenID provider's groups: joined and left at sign-in."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from sqlalchemy import select

from webapp.accounts import signals
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.extensions import app_settings
from webapp.spaces.members import join_by_group, remove
from webapp.spaces.models import Space, SpaceMember

log = logging.getLogger(__name__)


def init_group_spaces() -> None:
    """React to the groups the provider reports."""
    signals.vouched_for.connect(_on_vouched_for)


def _on_vouched_for(_sender: object, user_id: int, groups: Collection[str], **_more: Any) -> None:
    mapping = app_settings().spaces_of_groups
    if mapping:
        follow_groups(user_id, {space_id for name in groups for space_id in mapping.get(name, ())})


def follow_groups(user_id: int, wanted: Collection[int]) -> None:
    """Make the user a member of these spaces, and end other memberships that came from a group.

    Memberships granted by people are left alone, and so are owners. A space that is gone or full is skipped.
    """
    brought = db.session.scalars(
        select(SpaceMember.space_id).where(SpaceMember.user_id == user_id, SpaceMember.by_group)
    ).all()
    there = set(db.session.scalars(select(Space.space_id).where(Space.space_id.in_(wanted))))
    if missing := set(wanted) - there:
        log.warning("OIDC_SPACES names spaces that do not exist", extra={"spaces": sorted(missing)})
    for space_id in sorted({*brought, *there}):  # in order: each locks its space
        try:
            if space_id in there:
                join_by_group(user_id, space_id)
            else:
                remove(user_id, space_id, user_id)
        except Conflict:
            log.warning("membership not as the provider has it", extra={"user_id": user_id, "space": space_id})
