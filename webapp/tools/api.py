"""JSON endpoints of tools: what admins set up of the web, and MCP servers."""

import asyncio

from webapp.accounts import idempotency
from webapp.accounts.auth import admin_only, current_user_id, session_only
from webapp.accounts.identity import is_admin
from webapp.db.base import db
from webapp.extensions import limiter
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id
from webapp.tools import servers
from webapp.tools.models import ToolServer
from webapp.tools.schemas import (
    NewToolServer,
    ToolServerChanges,
    ToolServerList,
    ToolServerOut,
    WebAccessFields,
    WebAccessOut,
    WebTest,
)
from webapp.tools.servers import limit_tries, refusals_by_tool, try_server
from webapp.tools.toolset import ToolFailed
from webapp.tools.web import service as web

blueprint = api_blueprint("tools_api", __name__, tag="Tools", access="user")


@blueprint.get("/web-access")
@admin_only
def get_web_access() -> WebAccessOut:
    """The search engine that replies may use."""
    return WebAccessOut.of(web.access())


@blueprint.put("/web-access")
@admin_only
def set_web_access(body: WebAccessFields) -> WebAccessOut:
    """Set up the search engine, and switch the web on or off. The key goes in and never comes out."""
    return WebAccessOut.of(web.set_access(body))


@blueprint.post("/web-access/test")
@admin_only
@limiter.limit("30 per minute")
def try_web_access() -> WebTest:
    """Search for a word with what is set up."""
    engine = web.engine_of(web.access())
    db.session.rollback()  # nothing is held meanwhile
    if engine is None:
        return WebTest(ok=True, detail="No search engine is set up; URLs that people write are opened.")
    try:
        return WebTest(ok=True, detail=asyncio.run(web.search_test(engine)))
    except ToolFailed as error:
        return WebTest(ok=False, detail=str(error))


@blueprint.get("/tool-servers")
def list_tool_servers() -> ToolServerList:
    """Your own MCP servers, and, for admins, everybody's."""
    rows = servers.servers_of(current_user_id()) + (servers.servers_of(None) if is_admin() else [])
    return ToolServerList(servers=[_out(row) for row in rows])


@blueprint.post("/tool-servers", status=201)
@session_only
@idempotency.idempotent
def create_tool_server(body: NewToolServer) -> ToolServerOut:
    """Add an MCP server. Its token goes in and never comes out; its tools are known once it is tested, and off."""
    return _out(servers.create_server(current_user_id(), body, is_admin=is_admin()))


@blueprint.get("/tool-servers/<int:server_id>")
def get_tool_server(server_id: Id) -> ToolServerOut:
    """One server with its tools."""
    return _out(own_server(server_id))


@blueprint.patch("/tool-servers/<int:server_id>")
@session_only
def change_tool_server(server_id: Id, body: ToolServerChanges) -> ToolServerOut:
    """Change a server, or which of its tools are on."""
    row = own_server(server_id)
    servers.update_server(row, body)
    return _out(row)


@blueprint.delete("/tool-servers/<int:server_id>")
@session_only
def delete_tool_server(server_id: Id) -> None:
    """Delete a server with what was allowed on it."""
    servers.delete_server(own_server(server_id))


@blueprint.post("/tool-servers/<int:server_id>/test")
@limit_tries
def try_tool_server(server_id: Id) -> ToolServerOut:
    """Ask a server which tools it has."""
    return _out(try_server(own_server(server_id)))


def own_server(server_id: int) -> ToolServer:
    """Return a server that the caller manages. Raises NotFound."""
    return servers.get_server(current_user_id(), server_id, is_admin=is_admin())


def _out(row: ToolServer) -> ToolServerOut:
    return ToolServerOut.of(row, refusals_by_tool(row, current_user_id(), is_admin=is_admin()))
