"""Members of a space: invitations, joining, leaving, removing, handing over, and an OpenID provider's groups."""

import logging
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from webapp.accounts import signals
from webapp.accounts.models import User
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.db.base import count_rows, db, get_or_raise, now, rows_changed
from webapp.errors import Conflict, Forbidden, NotFound, require
from webapp.extensions import app_settings
from webapp.spaces.models import Space, SpaceMember
from webapp.spaces.schemas import MemberOut
from webapp.spaces.service import end_membership, end_space, get_space, lock_space, spaces_of
from webapp.spaces.signals import Answers, Consequence, consequences, touch

log = logging.getLogger(__name__)

MAX_MEMBERS = 100


def list_members(user_id: int, space_id: int) -> list[MemberOut]:
    """Return members, the owner first; the owner sees addresses and open invitations. Raises NotFound."""
    get_space(user_id, space_id)
    rows = db.session.execute(
        select(SpaceMember, User.name, User.email)
        .outerjoin(User, User.user_id == SpaceMember.user_id)
        .where(SpaceMember.space_id == space_id)
        .order_by(SpaceMember.status, SpaceMember.space_member_id)
        .execution_options(populate_existing=True)
    ).all()
    is_owner = any(row.SpaceMember.user_id == user_id and row.SpaceMember.role == "owner" for row in rows)
    members = []
    for member, name, email in rows:
        if member.status == "invited":
            if is_owner:
                members.append(_invitation(member))
            continue
        is_you = member.user_id == user_id
        members.append(
            MemberOut.from_row(
                member,
                invitation_id=None,
                name=display_name(name, email),
                email=email if is_owner or is_you else None,
                is_you=is_you,
            )
        )
    return sorted(members, key=lambda item: item.role != "owner")


def display_name(name: str | None, email: str | None) -> str:
    """Return the name under which other members see a member: never the full address."""
    return name or (email or "").partition("@")[0] or "Somebody"


def names_of(user_ids: Collection[int]) -> dict[int, str]:
    """Return the names under which other members of their spaces see some users."""
    rows = db.session.execute(select(User.user_id, User.name, User.email).where(User.user_id.in_(user_ids)))
    return {user_id: display_name(name, email) for user_id, name, email in rows}


def invite(user_id: int, space_id: int, email: str) -> MemberOut:
    """Invite an address, as the owner, alike whether or not it is known. Raises NotFound, Forbidden, Conflict."""
    get_space(user_id, space_id, owner=True, lock=True)
    rows = db.session.scalars(select(SpaceMember).where(SpaceMember.space_id == space_id)).all()
    invitee_id = db.session.scalar(select(User.user_id).where(User.email == email, User.is_active))
    if any(row.status == "active" and row.user_id == invitee_id for row in rows if invitee_id is not None):
        raise Conflict("They are already a member.")
    row = next((row for row in rows if row.email == email), None)
    if row is None:
        if len(rows) >= MAX_MEMBERS:
            raise Conflict("A space can have %(max_members)s members and invitations.", max_members=MAX_MEMBERS)
        # The account may already be invited under an earlier address: the invitation moves to the new one.
        row = next((row for row in rows if invitee_id is not None and row.user_id == invitee_id), None)
        row = row or SpaceMember(
            space_id=space_id, user_id=invitee_id, role="member", status="invited", created_at=now()
        )
        row.email, row.invited_by = email, user_id
        db.session.add(row)
    elif row.user_id is None and invitee_id is not None and not any(other.user_id == invitee_id for other in rows):
        row.user_id = invitee_id  # the owner invites them again, and the account has been created since
    try:
        with db.session.begin_nested():
            db.session.flush()
    except IntegrityError:
        raise Conflict("The members of this space are being changed. Try again.") from None
    return _invitation(row)


def _invitation(row: SpaceMember) -> MemberOut:
    """Return an invitation by its address as it was typed: who it reaches is not revealed."""
    return MemberOut.from_row(row, user_id=None, invitation_id=row.space_member_id, name=None, is_you=False)


def withdraw_invitation(user_id: int, space_id: int, invitation_id: int) -> None:
    """Withdraw an invitation, as the owner. Raises NotFound, Forbidden."""
    get_space(user_id, space_id, owner=True, lock=True)
    count = rows_changed(
        delete(SpaceMember).where(
            SpaceMember.space_id == space_id,
            SpaceMember.space_member_id == invitation_id,
            SpaceMember.status == "invited",
        )
    )
    if count == 0:
        raise NotFound("There is no such invitation.")


def accept(user_id: int, space_id: int) -> None:
    """Join a space the user is invited to; joining twice changes nothing. Raises NotFound."""
    row = require(_membership(user_id, space_id), "There is no such space.")
    if row.status == "invited":
        row.status, row.email, row.joined_at = "active", None, now()
        db.session.flush()
        touch(space_id)
        audit.record(user_id, Action.SPACE_JOINED, _name(space_id))


def join_by_group(user_id: int, space_id: int) -> None:
    """Make somebody a member, also if invited, because of a group. Raises Conflict if the space is full."""
    row = _membership(user_id, space_id)
    if row is not None and row.status == "active":
        return
    if row is None:
        if count_rows(SpaceMember.space_id == space_id) >= MAX_MEMBERS:
            raise Conflict("A space can have %(max_members)s members and invitations.", max_members=MAX_MEMBERS)
        row = SpaceMember(space_id=space_id, user_id=user_id, role="member", created_at=now())
        db.session.add(row)
    row.status, row.email, row.joined_at, row.by_group = "active", None, now(), True
    db.session.flush()
    touch(space_id)
    audit.record(user_id, Action.SPACE_JOINED, _name(space_id))


def remove(user_id: int, space_id: int, member_id: int, *, forget: bool = False) -> None:
    """Decline an invitation, leave a space, or, as its owner, remove a member.

    What the member had in the space becomes theirs alone; with `forget`, their memories in it are forgotten. Raises
    NotFound, Forbidden, and Conflict for the owner, who has to hand over or delete the space instead.
    """
    membership = _membership(user_id, space_id)
    if membership is None or (membership.status == "invited" and member_id != user_id):
        raise NotFound("There is no such space.")
    row = membership if member_id == user_id else _membership(member_id, space_id)
    if row is not membership and membership.role != "owner":
        # A member sees who else belongs to the space, so this tells them nothing.
        raise Forbidden("Only the owner of the space can remove others.")
    if row is None or (row.status == "invited" and row is not membership):
        raise NotFound("There is no such member.")
    if row.role == "owner":
        raise Conflict("The owner cannot leave. Hand the space over first, or delete it.")
    if row.status == "active":
        end_membership(get_or_raise(Space, space_id), member_id, forget=forget and member_id == user_id)
    else:
        db.session.execute(delete(SpaceMember).where(SpaceMember.space_member_id == row.space_member_id))
        db.session.expire_all()


def hand_over(user_id: int, space_id: int, member_id: int) -> None:
    """Make another active member the owner; the owner becomes a member. Raises NotFound, Forbidden."""
    get_space(user_id, space_id, owner=True, lock=True)
    row = _membership(member_id, space_id)
    if row is None or row.status != "active":
        raise NotFound("There is no such member.")
    membership = _membership(user_id, space_id)
    if membership is not None:
        membership.role = "member"
    row.role, row.by_group = "owner", False
    db.session.flush()


def leave_consequences(user_id: int, space_id: int) -> list[Consequence]:
    """Return what happens to the user's own things if they leave a space, or it is deleted. Raises NotFound."""
    return consequences(get_space(user_id, space_id), user_id)


def lock_spaces(user_id: int) -> Sequence[Space]:
    """Return the spaces a user belongs to, locked in order."""
    statement = select(Space).where(Space.space_id.in_(spaces_of(user_id)))
    return db.session.scalars(statement.order_by(Space.space_id).with_for_update()).all()


def leave_all(user_id: int) -> Answers:
    """End every membership and invitation of an account; returns what the receivers of `membership_ending` did.

    A space of its own goes to the longest-standing other member; without one, it is deleted.
    """
    answers: Answers = []
    for space in lock_spaces(user_id):
        membership = _membership(user_id, space.space_id)
        if membership is not None and membership.role == "owner":
            heir = db.session.scalar(
                select(SpaceMember)
                .where(
                    SpaceMember.space_id == space.space_id,
                    SpaceMember.status == "active",
                    SpaceMember.user_id != user_id,
                )
                .order_by(SpaceMember.joined_at, SpaceMember.space_member_id)
                .limit(1)
            )
            if heir is None:
                answers += end_space(space)
                continue
            heir.role, heir.by_group = "owner", False
            db.session.flush()
        answers += end_membership(space, user_id)
    db.session.execute(delete(SpaceMember).where(SpaceMember.user_id == user_id))
    return answers


def _membership(user_id: int, space_id: int) -> SpaceMember | None:
    """Return the user's row in a space, with the space locked."""
    lock_space(space_id)
    return db.session.scalar(
        select(SpaceMember)
        .where(SpaceMember.space_id == space_id, SpaceMember.user_id == user_id)
        .execution_options(populate_existing=True)
    )


def _name(space_id: int) -> str:
    return db.session.scalars(select(Space.name).where(Space.space_id == space_id)).one()


@signals.provider_sign_in.connect
def _on_provider_sign_in(_sender: object, user_id: int, groups: Collection[str], **_more: Any) -> None:
    mapping = app_settings().spaces_of_groups
    if mapping:
        follow_groups(user_id, {space_id for name in groups for space_id in mapping.get(name, ())})


def follow_groups(user_id: int, space_ids: Collection[int]) -> None:
    """Make the user a member of these spaces, if possible, and end other memberships by groups."""
    rows = db.session.scalars(
        select(SpaceMember.space_id).where(SpaceMember.user_id == user_id, SpaceMember.by_group)
    ).all()
    existing = set(db.session.scalars(select(Space.space_id).where(Space.space_id.in_(space_ids))))
    if missing := set(space_ids) - existing:
        log.warning("OIDC_SPACES names spaces that do not exist", extra={"spaces": sorted(missing)})
    for space_id in sorted({*rows, *existing}):  # in order: each locks its space
        try:
            if space_id in existing:
                join_by_group(user_id, space_id)
            else:
                remove(user_id, space_id, user_id)
        except Conflict:
            log.warning("membership not as the provider has it", extra={"user_id": user_id, "space": space_id})
