"""The places where a program may look, in the spaces that its token names or everywhere, and the tools it has."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from webapp.accounts import scopes
from webapp.accounts.auth import current_identity
from webapp.errors import Forbidden, NotFound
from webapp.mcp_server.schemas import SCHEDULE_TOOLS, TOOLS
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.lookup import scope_of
from webapp.retrieval.passages import NO_SPACE, FoundPassage, Scope

SCHEDULES = "/api/schedules"
_WRITE = frozenset({"mcp_write", "write"})
_PROPOSE = _WRITE | {"mcp"}


def may_call(tool: str) -> bool:
    """Return whether the token may call a tool: those for schedules take `mcp_schedules` or their API's scope."""
    hints = TOOLS[tool][2]
    if tool in SCHEDULE_TOOLS:
        method = "GET" if hints["readOnlyHint"] else "POST"
        return _has_scope({"mcp_schedules"} | scopes.required_scopes(method, SCHEDULES, "user"))
    return hints["readOnlyHint"] or _has_scope(_WRITE if hints["destructiveHint"] else _PROPOSE)


def may_write() -> bool:
    """Return whether the token has the scope `mcp_write`, `write`, or everything; others propose."""
    return _has_scope(_WRITE)


def _has_scope(wanted: Collection[str]) -> bool:
    identity = current_identity()
    return identity is not None and scopes.is_sufficient(identity.scopes, wanted)


def require_right(tool: str) -> None:
    """Raise Forbidden for a tool that the token may not call."""
    if may_call(tool):
        return
    if tool in SCHEDULE_TOOLS:
        raise Forbidden("This token is not allowed to do that with schedules. It needs the scope mcp_schedules.")
    if tool == "forget":
        raise Forbidden("This token is not allowed to forget. The user can do it on the memory page of Commonplace.")
    raise Forbidden("This token is only allowed to read.")


def is_limited() -> bool:
    """Return whether the token names spaces."""
    return _allowed_spaces() is not None


def includes(space_id: int | None) -> bool:
    """Return whether the token may look into a space; None stands for what is in no space."""
    only = _allowed_spaces()
    return only is None or (space_id or NO_SPACE) in only


def require(space_id: int | None) -> None:
    """Raise NotFound for a space that the token may not look into: to it, there is no such space."""
    if not includes(space_id):
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
