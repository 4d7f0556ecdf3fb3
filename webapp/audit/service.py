"""Recording in the audit, and reading it."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from flask import has_request_context, request
from redis.exceptions import RedisError
from sqlalchemy import delete, select

from webapp.accounts.identity import current_identity
from webapp.accounts.service import names_of
from webapp.audit.actions import Action
from webapp.audit.models import AuditEvent
from webapp.db.base import after_commit, db, now, pending_actions, rows_changed
from webapp.extensions import redis
from webapp.http.paging import read_rows
from webapp.http.validation import Page, PageQuery

Kind = Literal["person", "token", "service", "system", "visitor"]


@dataclass(frozen=True, slots=True)
class Actor:
    """A copy of who acted. `name` is a person's, or a token's."""

    kind: Kind
    user_id: int | None = None
    name: str = ""
    token_id: int | None = None
    address: str = ""


SYSTEM = Actor("system")
"""Jobs, and commands run on the machine itself."""


def current_actor() -> Actor:
    """Return the sender of the current request; the system if there is none."""
    if not has_request_context():
        return SYSTEM
    identity, address = current_identity(), request.remote_addr or ""
    if identity is None:
        return Actor("visitor", address=address)
    if identity.via == "session":
        return Actor("person", identity.user_id, identity.name or identity.email, address=address)
    kind: Kind = "service" if identity.is_service else "token"
    return Actor(kind, identity.user_id, identity.token_name, identity.token_id, address)


PURGE_BATCH = 5_000


def record(
    user_id: int,
    action: str,
    target: str = "",
    *,
    detail: dict[str, Any] | None = None,
    actor: Actor | None = None,
    once_in: int = 0,
) -> None:
    """Add to the audit of `user_id` that `actor` (the sender of the request) did something; the caller commits.

    `action` is one of webapp/audit/actions.py. `target` names the thing (a token, "12 memories"); words need a line in
    webapp/audit/targets.py. Neither it nor `detail` (ids and counts) holds what a message or a memory says. `once_in`
    seconds an event of one actor is recorded once, for programs that read all day.
    """
    author = actor or current_actor()
    if once_in:
        mark = _mark_of_record(user_id, action, target, author, once_in)
        if mark.is_known():
            return
        after_commit(mark)
    db.session.add(
        AuditEvent(
            user_id=user_id,
            action=str(action),
            actor_kind=author.kind,
            actor_id=author.user_id,
            actor_name=author.name[:200],
            token_id=author.token_id,
            what=target[:300],
            detail=detail,
            # Where somebody else sat when they did it is their own business.
            address=author.address[:64] if author.user_id in (user_id, None) else "",
        )
    )
    db.session.flush()


def list_events(user_id: int | None, query: PageQuery) -> Page[AuditEvent]:
    """Return a page of what was done to or read from an account (admins: any), newest first. Raises Invalid."""
    statement = select(AuditEvent)
    if user_id is not None:
        statement = statement.where(AuditEvent.user_id == user_id)
    return read_rows("audit", query, statement, AuditEvent.event_id, scope=user_id)


def purge(days: int) -> int:
    """Delete events older than `days`, a few thousand at most; returns how many."""
    past = select(AuditEvent.event_id).where(AuditEvent.created_at < now() - timedelta(days=days))
    ids = db.session.scalars(past.order_by(AuditEvent.event_id).limit(PURGE_BATCH)).all()
    return rows_changed(delete(AuditEvent).where(AuditEvent.event_id.in_(ids))) if ids else 0


@dataclass(frozen=True)
class _RecordMark:
    """A note to all processes that something is recorded, left once it is committed: a rollback makes it due again."""

    key: str
    seconds: int

    def is_known(self) -> bool:
        """Return whether this was recorded lately, or is about to be; while Redis is away, only the latter is known."""
        if self in pending_actions(db.session()):
            return True
        try:
            return bool(redis().exists(self.key))
        except RedisError:
            return False

    def __call__(self) -> None:
        with suppress(RedisError):  # then it is recorded once more
            redis().set(self.key, b"1", ex=self.seconds)


def _mark_of_record(user_id: int, action: str, target: str, actor: Actor, seconds: int) -> _RecordMark:
    parts = repr((user_id, str(action), target, actor.kind, actor.user_id, actor.token_id))
    return _RecordMark(f"audit:{hashlib.sha256(parts.encode()).hexdigest()[:32]}", seconds)


def record_admin_access(admin_id: int, user_id: int, action: str, *, is_change: bool = False) -> None:
    """Record that an admin, also on the command line, viewed or changed somebody's data, for that person to see."""
    actor = current_actor()
    if actor == SYSTEM:
        actor = Actor("person", admin_id, names_of([admin_id])[admin_id])
    record(user_id, Action.ADMIN_CHANGED if is_change else Action.ADMIN_LOOKED, action, actor=actor)
