"""The audit as the API shows it."""

from typing import Any

from pydantic import BaseModel

from webapp.audit.actions import words
from webapp.audit.models import AuditEvent
from webapp.http.validation import Instant, ListOut, Output


class AuditActor(BaseModel):
    """The actor of an event. `kind`: you, person, token, service, system or visitor; `name`: theirs or the token's."""

    kind: str
    user_id: int | None
    name: str
    token_id: int | None


class AuditEventOut(Output):
    """Something that was read or changed about the caller."""

    event_id: int
    created_at: Instant
    action: str
    summary: str
    what: str
    detail: dict[str, Any] | None
    actor: AuditActor
    address: str

    @classmethod
    def of(cls, event: AuditEvent) -> "AuditEventOut":
        """Return the output for a row."""
        is_own = event.actor_kind == "person" and event.actor_id == event.user_id
        return cls.from_row(
            event,
            summary=words(event.action),
            actor=AuditActor(
                kind="you" if is_own else event.actor_kind,
                user_id=event.actor_id,
                name=event.actor_name,
                token_id=event.token_id,
            ),
        )


class AuditList(ListOut):
    """A page of events, newest first."""

    events: list[AuditEventOut]
