"""The actor of an audit event: the person or the program behind a request, or the system itself."""

from dataclasses import dataclass
from typing import Literal

from flask import has_request_context, request

from webapp.accounts.identity import current_identity

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
