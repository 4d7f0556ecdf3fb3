"""Spaces: membership, and creating, listing, changing and deleting them. Other people's are treated as unknown."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Select, delete, func, select
from sqlalchemy.orm import aliased

from webapp.accounts.models import User
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.db.base import add_row, count_rows, db, now
from webapp.db.text_search import contains_words
from webapp.errors import Conflict, Forbidden, Invalid, NotFound, require
from webapp.http.paging import read_page
from webapp.http.validation import Page
from webapp.spaces import signals
from webapp.spaces.models import Space, SpaceDocument, SpaceMember, SpaceVersion
from webapp.spaces.personas import DEFAULT, PERSONAS
from webapp.spaces.schemas import NewSpace, SpaceChanges, SpaceOut, SpaceQuery
from webapp.spaces.signals import Answers, touch

MAX_SPACES = 200
"""The most spaces one owner can have."""


def spaces_of(user_id: int) -> Select[int]:
    """The only definition of membership: the ids of the spaces a user belongs to now, for use in other statements."""
    return select(SpaceMember.space_id).where(SpaceMember.user_id == user_id, SpaceMember.status == "active")


def member_space_ids(user_id: int) -> frozenset[int]:
    """Return the spaces a user belongs to now."""
    return frozenset(db.session.scalars(spaces_of(user_id)))


def lock_space(space_id: int, *, shared: bool = False) -> None:
    """Lock a space, as whoever changes its members does; `shared` with others who add something to it."""
    db.session.execute(select(Space.space_id).where(Space.space_id == space_id).with_for_update(read=shared))


def is_member(user_id: int, space_id: int, *, lock: bool = False) -> bool:
    """Return whether a user belongs to a space now; with `lock`, they do until the transaction ends.

    Whoever puts something into a space locks, or it would stay there after the member's other things have left.
    """
    if lock:
        lock_space(space_id, shared=True)
    return role_in(user_id, space_id) is not None


def role_in(user_id: int, space_id: int) -> str | None:
    """Return a user's role in a space; None if they do not belong to it now."""
    role = spaces_of(user_id).with_only_columns(SpaceMember.role)
    return db.session.scalar(role.where(SpaceMember.space_id == space_id))


def is_legacy(space_id: int | None) -> bool:
    """Return whether a place is a space about a person who is remembered; None is no space."""
    return space_id is not None and db.session.scalar(select(Space.kind).where(Space.space_id == space_id)) == "legacy"


def get_space(user_id: int, space_id: int, *, owner: bool = False, lock: bool = False) -> Space:
    """Return a space the user belongs to, or as `owner`; `lock` locks it. Raises NotFound, Forbidden."""
    if lock:
        lock_space(space_id)
    row = db.session.execute(
        select(Space, SpaceMember.role)
        .join(SpaceMember, SpaceMember.space_id == Space.space_id)
        .where(Space.space_id == space_id, SpaceMember.user_id == user_id, SpaceMember.status == "active")
        .execution_options(populate_existing=True)
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such space.")
    if owner and row.role != "owner":
        raise Forbidden("Only the owner of the space can do this.")
    space: Space = row.Space
    return space


def require_member(user_id: int, space_id: int, *, lock: bool = False) -> None:
    """Raises NotFound for a space the user does not belong to; `lock` as for `is_member`."""
    if not is_member(user_id, space_id, lock=lock):
        raise NotFound("There is no such space.")


def persona_in(user_id: int, space_id: int, persona: str | None) -> str | None:
    """Return the persona that speaks in a space, a legacy's own by default. Raises NotFound, Invalid."""
    lock_space(space_id, shared=True)
    space = get_space(user_id, space_id)
    if space.kind != "legacy":
        return persona
    if persona is not None and persona not in PERSONAS:
        raise Invalid.field("persona", "is not one of %(names)s", names=", ".join(PERSONAS))
    return persona or space.persona or DEFAULT


def create_space(user_id: int, fields: NewSpace) -> Space:
    """Return a new space with its creator as the owner and only member."""
    if count_rows(SpaceMember.user_id == user_id, SpaceMember.role == "owner") >= MAX_SPACES:
        raise Conflict("You can own at most %(max_spaces)s spaces.", max_spaces=MAX_SPACES)
    if fields.persona and fields.kind != "legacy":
        raise Invalid.field("persona", "only a legacy has one")
    moment = now()
    row = add_row(Space(**fields.model_dump(), created_at=moment, updated_at=moment))
    db.session.add(
        SpaceMember(
            space_id=row.space_id, user_id=user_id, role="owner", status="active", created_at=moment, joined_at=moment
        )
    )
    add_row(SpaceVersion(space_id=row.space_id, version=1))
    return row


def update_space(user_id: int, space_id: int, changes: SpaceChanges) -> None:
    """Change the given fields, as the owner. Raises NotFound, Forbidden, Invalid."""
    row = get_space(user_id, space_id, owner=True)
    values = changes.model_dump(exclude_unset=True)
    if values.get("persona") and row.kind != "legacy":
        raise Invalid.field("persona", "only a legacy has one")
    stops = row.has_portrait and values.get("has_portrait") is False
    for name, value in values.items():
        setattr(row, name, value)
    db.session.flush()
    if stops:  # the space is locked by now: no portrait is being stored
        signals.portrait_disabled.send(None, space_id=space_id)


def delete_space(user_id: int, space_id: int, *, forget: bool = False) -> None:
    """Delete a space, as its owner; with `forget`, also their memories in it. Raises NotFound, Forbidden."""
    space = get_space(user_id, space_id, owner=True, lock=True)
    end_space(space, forgetting_id=user_id if forget else None)


def end_membership(space: Space, user_id: int, *, forget: bool = False) -> Answers:
    """End an active member's membership, which nothing else does; returns the answers of `membership_ending`.

    What the member had in the space becomes theirs alone; with `forget`, their memories in it are forgotten.
    """
    space_id, name = space.space_id, space.name
    results = signals.membership_ending.send(None, space=space, user_id=user_id, forget=forget)
    audit.record(user_id, Action.SPACE_LEFT, name, detail={"space_id": space_id})
    db.session.execute(delete(SpaceMember).where(SpaceMember.space_id == space_id, SpaceMember.user_id == user_id))
    db.session.expire_all()
    touch(space_id)
    return results


def end_space(space: Space, *, forgetting_id: int | None = None) -> Answers:
    """End every membership and delete the space; returns the answers of `membership_ending`."""
    answers: Answers = []
    for member_id in sorted(active_members(space.space_id)):
        answers += end_membership(space, member_id, forget=member_id == forgetting_id)
    statement = select(SpaceDocument.digest).where(SpaceDocument.space_id == space.space_id)
    originals = db.session.scalars(statement.where(SpaceDocument.digest.is_not(None)).distinct()).all()
    db.session.execute(delete(Space).where(Space.space_id == space.space_id))
    db.session.expire_all()
    if originals:
        signals.originals_deleted.send(None, digests=originals)
    return answers


def active_members(space_id: int) -> Collection[int]:
    """Return the users who belong to a space now."""
    member_ids = db.session.scalars(
        select(SpaceMember.user_id).where(SpaceMember.space_id == space_id, SpaceMember.status == "active")
    )
    return [user_id for user_id in member_ids if user_id is not None]  # only an invited one may have no account yet


def list_spaces(user_id: int, query: SpaceQuery) -> Page[SpaceOut]:
    """Return the user's spaces and those they are invited to, newest first, keyset-paged. Raises Invalid."""
    statement = _select_spaces(user_id)
    if query.kind is not None:
        statement = statement.where(Space.kind == query.kind)
    return read_page("spaces", query, statement, Space.space_id, scope=user_id).map(_out)


def find_spaces(user_id: int, q: str, limit: int) -> Sequence[Space]:
    """Return the spaces a user belongs to whose names contain the words, newest first."""
    found = select(Space).where(Space.space_id.in_(spaces_of(user_id)), contains_words(Space.name, q))
    return db.session.scalars(found.order_by(Space.space_id.desc()).limit(limit)).all()


def view_space(user_id: int, space_id: int) -> SpaceOut:
    """Return a space as its member, or somebody invited to it, sees it. Raises NotFound."""
    row = db.session.execute(_select_spaces(user_id).where(Space.space_id == space_id)).one_or_none()
    return _out(require(row, "There is no such space."))


def names_of(space_ids: Collection[int]) -> dict[int, str]:
    """Return the names of some spaces. The caller makes sure that the reader belongs to them."""
    return dict(db.session.execute(select(Space.space_id, Space.name).where(Space.space_id.in_(space_ids))).all())


def _select_spaces(user_id: int) -> Select[*tuple[Any, ...]]:
    member = aliased(SpaceMember)
    members = (
        select(func.count())
        .select_from(member)
        .where(member.space_id == Space.space_id, member.status == "active")
        .scalar_subquery()
    )
    return (
        select(Space, SpaceMember.role, SpaceMember.status, members.label("members"), User.name, User.email)
        .join(SpaceMember, SpaceMember.space_id == Space.space_id)
        .outerjoin(User, User.user_id == SpaceMember.invited_by)
        .where(SpaceMember.user_id == user_id)
        .execution_options(populate_existing=True)
    )


def _out(row: Any) -> SpaceOut:
    space, invited = row.Space, row.status == "invited"
    hidden = {"instructions": "", "persona": None, "has_portrait": False} if invited else {}
    return SpaceOut.from_row(
        space,
        role=row.role,
        status=row.status,
        member_count=row.members,
        invited_by=(row.name or row.email) if invited else None,
        **hidden,
    )
