"""The scopes of a program's token, and the places where it may look: the spaces that the token names, or everywhere."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from webapp.accounts import scopes
from webapp.accounts.auth import current_identity
from webapp.errors import NotFound
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.lookup import scope_of
from webapp.retrieval.passages import NO_SPACE, FoundPassage, Scope

WRITE = frozenset({"mcp_write", "write"})
PROPOSE = WRITE | {"mcp"}


def has_scope(wanted: Collection[str]) -> bool:
    """Return whether the token has one of these scopes, or everything."""
    identity = current_identity()
    return identity is not None and scopes.is_sufficient(identity.scopes, wanted)


def is_limited() -> bool:
    """Return whether the token names spaces."""
    return _allowed_spaces() is not None


def may_see(space_id: int | None) -> bool:
    """Return whether the token may look into a space; None stands for what is in no space."""
    only = _allowed_spaces()
    return only is None or (space_id or NO_SPACE) in only


def require_space(space_id: int | None) -> None:
    """Raise NotFound for a space that the token may not look into: to it, there is no such space."""
    if not may_see(space_id):
        raise NotFound("There is no such space.")


def scope(user_id: int) -> Scope:
    """Return what the token may find."""
    return replace(scope_of(user_id), only=_allowed_spaces())


def readable_passages(user_id: int, found: Iterable[FoundPassage]) -> list[FoundPassage]:
    """Return the passages that the token may see, in their order."""
    items = list(found)
    if not is_limited():
        return items
    seen = load_passages([item.key for item in items], scope(user_id))
    return [item for item in items if item.key in seen]


def _allowed_spaces() -> frozenset[int] | None:
    identity = current_identity()
    return identity.space_ids if identity else None
