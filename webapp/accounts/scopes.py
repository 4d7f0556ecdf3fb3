"""The scopes of tokens, and which of them a request needs."""

from collections.abc import Collection
from typing import Literal, get_args

from webapp.i18n.marks import N_

Scope = Literal["read", "chat", "memory", "write", "mcp_read", "mcp", "mcp_write", "mcp_schedules", "admin"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
SCOPE_LABELS: dict[Scope, str] = N_(
    {
        "read": "Read everything that is yours",
        "chat": "Read and write conversations",
        "memory": "Read and change memories",
        "write": "Change everything else: spaces, files, imports, settings",
        "mcp_read": "Read memory through MCP",
        "mcp": "Read memory and propose changes through MCP",
        "mcp_write": "Read and change memory through MCP",
        "mcp_schedules": "See and change schedules through MCP",
        "admin": "Use your rights as an admin",
    }
)

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# By the beginning of the path; the first match counts. Without a match a request needs "read", or "write" if it
# changes something.
# "all": any token may read there, and only one without scopes may change something.
_AREAS: tuple[tuple[str, Scope | Literal["all"]], ...] = (
    *((path, "all") for path in ("/api/sessions", "/api/webhooks")),
    ("/mcp", "mcp"),
    ("/v1/", "chat"),
    ("/memory/conversation/", "chat"),
    *((path, "memory") for path in ("/api/memories", "/api/proposals", "/api/profile", "/api/ai/")),
    *((path, "chat") for path in ("/api/chat/", "/api/conversations", "/api/messages/", "/api/schedules")),
)


def required_scopes(method: str, path: str, access: str, scope_of_view: Scope | None = None) -> frozenset[Scope]:
    """Return the scopes any one of which suffices; none: only tokens without scopes may."""
    if access == "admin":
        return frozenset({"admin"})
    area: Scope | Literal["all"] | None = scope_of_view or next(
        (scope for beginning, scope in _AREAS if path.startswith(beginning)), None
    )
    if area == "mcp":
        return frozenset({"mcp_read", "mcp", "mcp_write"})
    if area == "all":
        return frozenset({"read"} if method in SAFE_METHODS else ())
    if method in SAFE_METHODS:
        return frozenset({"read", area} if area else {"read"})
    return frozenset({area or "write"})


def is_sufficient(scopes: Collection[str] | None, required: Collection[str]) -> bool:
    """Return whether a token with these scopes (None: it may do everything) may do what needs any of `required`."""
    return scopes is None or not set(required).isdisjoint(scopes)
