"""MCP servers and their tools, as people and admins manage them, and as a turn gets them."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import delete, select, true

from webapp.accounts.auth import current_user_id
from webapp.db.base import add_row, db, delete_row, get_or_raise, now, own_row
from webapp.errors import Conflict, Forbidden, Invalid, NotFound, require
from webapp.extensions import app_settings, limiter
from webapp.llm.capabilities import tool_fingerprint
from webapp.providers.catalogue import models_for_user
from webapp.providers.clients import completions
from webapp.providers.key_encryption import Secrets, seal, unseal
from webapp.text.tokens import estimate_tokens
from webapp.tools.mcp_client import client
from webapp.tools.mcp_client.client import Server
from webapp.tools.mcp_client.tool_schemas import definition_of, original_arguments, schema_of
from webapp.tools.mcp_client.wire import ListedTool
from webapp.tools.models import ToolGrant, ToolServer
from webapp.tools.schemas import NewToolServer, ToolServerChanges
from webapp.tools.toolset import Output, Run, Tool, ToolContext, ToolFailed

MAX_SERVERS = 20
MAX_OFFERED = 40
CALL_SECONDS = 60.0
_COMPARED_FIELDS = ("description", "schema", "reads_only")


def servers_of(user_id: int | None) -> list[ToolServer]:
    """Return a user's own servers or, without a user, everybody's."""
    statement = select(ToolServer).where(ToolServer.user_id == user_id)
    return list(db.session.scalars(statement.order_by(ToolServer.server_id)))


def get_server(user_id: int, server_id: int, *, is_admin: bool) -> ToolServer:
    """Return a server that the caller manages: their own or, for admins, one of everybody's. Raises NotFound."""
    row = db.session.get(ToolServer, server_id)
    if row is None or not (row.user_id == user_id or (row.user_id is None and is_admin)):
        raise NotFound("There is no such server.")
    return row


def create_server(user_id: int, fields: NewToolServer, *, is_admin: bool) -> ToolServer:
    """Return a new server, whose tools are not known yet. Raises Forbidden, Conflict."""
    if fields.for_everyone and not is_admin:
        raise Forbidden("Only admins can add servers for everybody.")
    owner = None if fields.for_everyone else user_id
    if len(servers_of(owner)) >= MAX_SERVERS:
        raise Conflict("There are already %(most)s servers.", most=MAX_SERVERS)
    row = ToolServer(
        user_id=owner,
        name=fields.name,
        url=fields.url,
        secrets=seal(Secrets(fields.token)),
        key_set=bool(fields.token),
        is_enabled=True,
        tools=[],
    )
    return add_row(row)


def update_server(row: ToolServer, changes: ToolServerChanges) -> None:
    """Change the given fields. Raises Invalid for a new address without its token."""
    if changes.url is not None and changes.url != row.url:
        if row.key_set and changes.token is None:
            raise Invalid.field("token", "must be entered again when the URL changes: a token belongs to one server")
        # Another server: what was known and allowed applied to the one before.
        row.tools, row.age, row.tested_at, row.error = [], None, None, None
        db.session.execute(delete(ToolGrant).where(ToolGrant.server_id == row.server_id))
        row.url = changes.url
    row.name = changes.name or row.name
    row.is_enabled = row.is_enabled if changes.is_enabled is None else changes.is_enabled
    if changes.token is not None:
        row.secrets, row.key_set = seal(Secrets(changes.token)), bool(changes.token)
    if changes.tools_on is not None:
        names = set(changes.tools_on)
        row.tools = [{**tool, "is_on": tool["name"] in names} for tool in row.tools]
    db.session.flush()


def delete_server(row: ToolServer) -> None:
    """Delete a server with the permissions given for it."""
    forget_refusals(row)
    db.session.execute(delete(ToolGrant).where(ToolGrant.server_id == row.server_id))
    delete_row(row)


def _note_tools(row: ToolServer, age: str, tools: Sequence[ListedTool]) -> None:
    """Store a server's listed tools, off if changed, and offered again to models that refused them."""
    forget_refusals(row)
    previous = {tool["name"]: tool for tool in row.tools}
    row.tools = [
        {**asdict(tool), "is_on": _is_same(previous.get(tool.name), tool) and previous[tool.name]["is_on"]}
        for tool in tools
    ]
    changed_names = [name for name, tool in previous.items() if not any(_is_same(tool, other) for other in tools)]
    db.session.execute(delete(ToolGrant).where(ToolGrant.server_id == row.server_id, ToolGrant.tool.in_(changed_names)))
    row.age = age


def _is_same(previous: dict[str, Any] | None, tool: ListedTool) -> bool:
    """Return whether models see the same tool; what was stored by an earlier version is not clean."""
    if previous is None or previous["name"] != tool.name:
        return False
    fields = asdict(tool)
    return all({**previous, "schema": schema_of(previous)}[name] == fields[name] for name in _COMPARED_FIELDS)


def server_of(row: ToolServer) -> Server:
    """Return how to reach a server; people's own may be inside the network only if a setting allows it."""
    is_internal = row.user_id is None or app_settings().tool_servers_inside
    return Server(row.name, row.url, unseal(row.secrets).api_key, is_internal, row.age or "")


def grants_of(user_id: int) -> list[tuple[ToolGrant, str]]:
    """Return the permanent permissions somebody gave, with the names of the servers."""
    rows = db.session.execute(
        select(ToolGrant, ToolServer.name)
        .join(ToolServer, ToolServer.server_id == ToolGrant.server_id)
        .where(ToolGrant.user_id == user_id)
        .order_by(ToolGrant.grant_id)
    )
    return [(grant, name) for grant, name in rows]


def grant(user_id: int, server_id: int, tool: str) -> None:
    """Allow a tool permanently. Raises NotFound for a server that this person does not have."""
    # Locked, so that a button pressed twice makes one permission.
    row = db.session.get(ToolServer, server_id, with_for_update=True)
    if row is None or row.user_id not in (None, user_id):
        raise NotFound("There is no such server.")
    statement = select(ToolGrant.grant_id).where(
        ToolGrant.user_id == user_id, ToolGrant.server_id == server_id, ToolGrant.tool == tool
    )
    if db.session.scalar(statement) is None:
        add_row(ToolGrant(user_id=user_id, server_id=server_id, tool=tool))


def is_offered(user_id: int, server_id: int, tool: str) -> bool:
    """Return whether this person's turns may still use a tool: its server is theirs or everybody's, and both are on."""
    row = db.session.get(ToolServer, server_id)
    if row is None or not row.is_enabled or row.user_id not in (None, user_id):
        return False
    return any(entry["name"] == tool and entry["is_on"] for entry in row.tools)


def revoke(user_id: int, grant_id: int) -> None:
    """Ask again before this tool is called. Raises NotFound."""
    delete_row(require(own_row(ToolGrant, user_id, grant_id), "There is no such permission."))


def tools_for(user_id: int, tokens: int, names: Collection[str] = ()) -> list[Tool]:
    """Return a turn's tools of enabled servers, within the budget and without these names."""
    rows = db.session.scalars(
        select(ToolServer)
        .where(
            ToolServer.is_enabled == true(),
            (ToolServer.user_id == user_id) | ToolServer.user_id.is_(None),
        )
        .order_by(ToolServer.server_id)
    ).all()
    enabled = [(row, tool) for row in rows for tool in row.tools if tool["is_on"]]
    allowed: set[tuple[int, str]] = set()
    if any(not tool["reads_only"] for _, tool in enabled):
        statement = select(ToolGrant.server_id, ToolGrant.tool).where(ToolGrant.user_id == user_id)
        allowed = {(server_id, tool) for server_id, tool in db.session.execute(statement)}
    used_names = set(names)
    tools: list[Tool] = []
    for row, entry in enabled[:MAX_OFFERED]:
        definition = definition_of(client.name_for(row.name, entry["name"], used_names), entry)
        tokens -= estimate_tokens(str(definition))
        if tokens < 0:
            break
        tools.append(
            Tool(
                definition,
                "remote",
                _runner(server_of(row), entry),
                writes=not entry["reads_only"],
                asks=not entry["reads_only"] and (row.server_id, entry["name"]) not in allowed,
                seconds=CALL_SECONDS,
                server=row.name,
                server_id=row.server_id,
                title=entry["name"],
            )
        )
    return tools


def _runner(server: Server, tool: dict[str, Any]) -> Run:
    async def run(arguments: dict[str, Any], _context: ToolContext) -> Output:
        return await client.call(server, tool["name"], original_arguments(arguments, schema_of(tool)))

    return run


# A server that does not answer holds a thread for a while.
limit_tries = limiter.shared_limit("30 per minute", scope="tool_servers", key_func=lambda: f"user:{current_user_id()}")


def try_server(row: ToolServer) -> ToolServer:
    """Ask the server, store its tools, or why it failed, and commit; returns the row as it is then."""
    server_id, server = row.server_id, server_of(row)
    db.session.rollback()
    try:
        age, tools = asyncio.run(client.tools(server))
    except ToolFailed as error:
        row = get_or_raise(ToolServer, server_id)
        row.error = str(error)[:500]  # what is known of its tools stays
    else:
        row = get_or_raise(ToolServer, server_id)
        row.error = None
        _note_tools(row, age, tools)
    row.tested_at = now()
    db.session.commit()
    return row


def refusals_by_tool(row: ToolServer, user_id: int, *, is_admin: bool) -> dict[str, list[str]]:
    """Return, by the names of a server's tools, which of the models that this user may choose refuse them."""
    refusals: dict[str, list[str]] = {}
    tools = _fingerprints(row)
    for offer in models_for_user(user_id, is_admin=is_admin) if tools else ():
        names = completions().capabilities.tools_refused(offer.target.settings.endpoint()[0], offer.target.model)
        for name in (name for name, fingerprint in tools.items() if fingerprint in names):
            refusals.setdefault(name, []).append(offer.label)
    return refusals


def forget_refusals(row: ToolServer) -> None:
    """Offer the tools of a server to all models again."""
    tools = _fingerprints(row)
    for target in (offer.target for offer in models_for_user(0, is_admin=True)) if tools else ():
        completions().capabilities.forget_tools(target.settings.endpoint()[0], target.model, set(tools.values()))


def _fingerprints(row: ToolServer) -> dict[str, str]:
    return {tool["name"]: tool_fingerprint(definition_of("", tool)) for tool in row.tools}
