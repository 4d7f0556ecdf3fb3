"""Groups of people, kept by admins: members are added by an admin or by an OpenID provider."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, delete, exists, func, select

from webapp.accounts import signals
from webapp.accounts.models import User, UserGroup, UserGroupMember
from webapp.db.base import add_row, db, delete_row, get_or_raise
from webapp.errors import Conflict, Invalid
from webapp.extensions import app_settings

MAX_GROUPS = 200


def list_groups() -> list[tuple[UserGroup, int]]:
    """Return all groups by name, with how many people are in each."""
    counted = (
        select(UserGroup, func.count(UserGroupMember.user_id))
        .outerjoin(UserGroupMember, UserGroupMember.group_id == UserGroup.group_id)
        .group_by(UserGroup.group_id)
        .order_by(UserGroup.name)
    )
    return [(group, count) for group, count in db.session.execute(counted)]


def get_group(group_id: int) -> UserGroup:
    """Return one group. Raises NotFound."""
    return get_or_raise(UserGroup, group_id)


def members_of(group_id: int) -> list[User]:
    """Return the people in a group, by address."""
    statement = select(UserGroupMember.user_id).where(UserGroupMember.group_id == group_id)
    return list(db.session.scalars(select(User).where(User.user_id.in_(statement)).order_by(User.email)))


def groups_of(user_id: int) -> Select[int]:
    """Return the ids of the groups that somebody is in, for use in other statements."""
    return select(UserGroupMember.group_id).where(UserGroupMember.user_id == user_id)


def create_group(name: str) -> UserGroup:
    """Create an empty group. Raises Invalid for a name that is taken, Conflict if there are too many."""
    if (db.session.scalar(select(func.count()).select_from(UserGroup)) or 0) >= MAX_GROUPS:
        raise Conflict("There are too many groups. Delete some first.")
    return add_row(UserGroup(name=_check_name(name, None)))


def rename_group(group_id: int, name: str) -> None:
    """Give a group another name. Raises NotFound, Invalid for a name that is taken."""
    get_group(group_id).name = _check_name(name, group_id)
    db.session.flush()


def delete_group(group_id: int) -> None:
    """Delete a group, its limits, and its access to the models restricted to it. Raises NotFound."""
    delete_row(get_group(group_id))


def set_members(group_id: int, user_ids: Collection[int]) -> None:
    """Make these people the members of a group; those the provider added stay. Raises NotFound, Invalid."""
    get_group(group_id)
    new_ids = set(user_ids)
    if new_ids - set(db.session.scalars(select(User.user_id).where(User.user_id.in_(new_ids)))):
        raise Invalid.field("user_ids", "names somebody who has no account")
    member_ids = set(db.session.scalars(select(UserGroupMember.user_id).where(UserGroupMember.group_id == group_id)))
    _remove(group_id, member_ids - new_ids)
    db.session.add_all(UserGroupMember(group_id=group_id, user_id=user_id) for user_id in sorted(new_ids - member_ids))
    db.session.flush()


def _remove(group_id: int, user_ids: Collection[int]) -> None:
    if user_ids:
        db.session.execute(
            delete(UserGroupMember).where(
                UserGroupMember.group_id == group_id, UserGroupMember.user_id.in_(list(user_ids))
            )
        )


def _check_name(name: str, group_id: int | None) -> str:
    other = db.session.scalar(select(UserGroup.group_id).where(UserGroup.name == name))
    if other is not None and other != group_id:
        raise Invalid.field("name", "is already the name of another group")
    return name


def are_used() -> bool:
    """Return whether anything here depends on the groups that a provider reports."""
    settings = app_settings()
    return bool(settings.oidc_admin_group or settings.spaces_of_groups) or bool(
        db.session.scalar(select(exists().select_from(UserGroup)))
    )


@signals.provider_sign_in.connect
def _on_provider_sign_in(_sender: object, user_id: int, groups: Collection[str], **_more: Any) -> None:
    """Add the user to the groups the provider reports by name, and remove them from others it had added them to."""
    rows = db.session.execute(
        select(UserGroup.group_id, UserGroup.name, UserGroupMember.by_provider).outerjoin(
            UserGroupMember,
            (UserGroupMember.group_id == UserGroup.group_id) & (UserGroupMember.user_id == user_id),
        )
    ).all()
    for group_id, name, by_provider in rows:
        if name in groups and by_provider is None:
            db.session.add(UserGroupMember(group_id=group_id, user_id=user_id, by_provider=True))
        elif name not in groups and by_provider:
            _remove(group_id, [user_id])
    db.session.flush()
