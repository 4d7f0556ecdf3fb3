"""Asks a server which tools it has, from a view, with nothing held meanwhile."""

from __future__ import annotations

import asyncio

from webapp.accounts.auth import current_user_id
from webapp.db.base import db, get_or_raise
from webapp.extensions import limiter
from webapp.tools import servers
from webapp.tools.mcp_client import client
from webapp.tools.models import ToolServer
from webapp.tools.toolset import ToolFailed

# A server that does not answer holds a thread for a while.
limit_tries = limiter.shared_limit("30 per minute", scope="tool_servers", key_func=lambda: f"user:{current_user_id()}")


def try_server(row: ToolServer) -> ToolServer:
    """Ask the server, store the result, and commit; returns the row as it is then."""
    server_id, server = row.server_id, servers.server_of(row)
    db.session.rollback()
    try:
        age, listed = asyncio.run(client.tools(server))
        why = ""
    except ToolFailed as error:
        why = str(error)
    row = get_or_raise(ToolServer, server_id)
    if why:
        servers.note_failure(row, why)
    else:
        servers.note_tools(row, age, listed)
    db.session.commit()
    return row
