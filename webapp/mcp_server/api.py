"""`POST /mcp`: one request in, one JSON answer out, no sessions; and where its protection is described."""

import json
import logging
from collections.abc import Sequence
from typing import Any

from flask import Flask, Response, request
from pydantic import ValidationError

from webapp.accounts.auth import current_user_id, login_required, public
from webapp.db.base import db
from webapp.errors import DomainError
from webapp.extensions import limiter
from webapp.http import problems
from webapp.http.views import PageBlueprint, ViewResult, absolute_url
from webapp.mcp_server import protocol, read_tools, tools
from webapp.mcp_server.protocol import Call, ProtocolError
from webapp.oauth.service import GRANTABLE

log = logging.getLogger(__name__)

blueprint = PageBlueprint("mcp", __name__)
RATE = "120 per minute"
_METADATA = "/.well-known/oauth-protected-resource"


def init_mcp_errors(app: Flask) -> None:
    """Report errors under /mcp in JSON-RPC; a 401 says where to find out about tokens."""
    problems.set_error_format(app, "/mcp", _error)


@blueprint.post("/mcp")
@login_required(scope="mcp")
@limiter.limit(RATE, key_func=lambda: f"mcp:{current_user_id()}")
def serve() -> ViewResult:
    """Answer a request of the protocol, in either of its ages."""
    call = None
    try:
        call = protocol.read(request.get_json(), {name.lower(): value for name, value in request.headers.items()})
        if call.id is None:
            return Response(status=202)
        result = _result(current_user_id(), call)
    except ProtocolError as error:
        number = (request.get_json() or {}).get("id")
        number = number if isinstance(number, str | int) else None
        body = protocol.error(number, error.code, error.message, error.data)
        return body, protocol.status_of(error, call)
    db.session.commit()
    return protocol.answer(call, result)


@blueprint.get(_METADATA)
@blueprint.get(f"{_METADATA}/mcp")
@public
def metadata() -> ViewResult:
    """Return how /mcp is protected (RFC 9728)."""
    return {
        "resource": absolute_url("/mcp"),
        "authorization_servers": [absolute_url()],
        "resource_name": "Commonplace memory",
        "bearer_methods_supported": ["header"],
        "scopes_supported": list(GRANTABLE),
        "resource_documentation": absolute_url("/settings/programs"),
    }


def _result(user_id: int, call: Call) -> dict[str, Any]:
    match call.method:
        case "server/discover" if call.is_stateless:
            return protocol.discovery()
        case "initialize" if not call.is_stateless:
            return protocol.initialize_result(call.params)
        case "ping":
            return {}
        case "tools/list":
            return {"tools": tools.tool_list()}
        case "tools/call":
            return _call_tool(user_id, call)
        case "resources/list":
            return {"resources": read_tools.resources(user_id)}
        case "resources/templates/list":
            return {"resourceTemplates": read_tools.resource_templates()}
        case "resources/read":
            return _read(user_id, call)
    raise ProtocolError(protocol.UNKNOWN_METHOD, "There is no such method here.")


def _call_tool(user_id: int, call: Call) -> dict[str, Any]:
    name = call.params.get("name")
    if not isinstance(name, str) or name not in tools.TOOLS:
        raise ProtocolError(protocol.INVALID_PARAMS, "There is no such tool.")
    given = {} if call.params.get("arguments") is None else call.params["arguments"]
    if not isinstance(given, dict):
        raise ProtocolError(protocol.INVALID_PARAMS, "arguments has to be an object.")
    try:
        args = tools.TOOLS[name].arguments.model_validate(given)
        tools.require_right(name)
        found = tools.TOOLS[name].run(user_id, args)
    except ValidationError as error:
        return _error_result(_invalid_arguments(problems.field_errors(error, given)))
    except DomainError as error:
        db.session.rollback()
        return _error_result(_invalid_arguments(error.errors) if error.errors else error.detail or error.title)
    log.info("mcp tool used", extra={"tool": name})
    text = json.dumps(found, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": found, "isError": False}


def _invalid_arguments(errors: Sequence[dict[str, Any]]) -> str:
    """Return what is wrong with some arguments, each by its name."""
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in errors[:3])


def _error_result(why: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": why}], "isError": True}


def _read(user_id: int, call: Call) -> dict[str, Any]:
    uri = str(call.params.get("uri", ""))
    try:
        found = read_tools.resource(user_id, uri)
    except DomainError as error:
        db.session.rollback()
        code = protocol.INVALID_PARAMS if call.is_stateless else protocol.UNKNOWN_RESOURCE
        raise ProtocolError(code, error.detail or error.title, {"uri": uri[:200]}) from None
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": json.dumps(found, ensure_ascii=False)}]}


def _error(status: int, message: str, _errors: Sequence[dict[str, Any]] | None) -> tuple[Any, ...]:
    code = {400: protocol.PARSE_ERROR}.get(status, protocol.INVALID_REQUEST)
    body = protocol.error(None, protocol.INTERNAL_ERROR if status >= 500 else code, message)
    source = f'Bearer resource_metadata="{absolute_url(f"{_METADATA}/mcp")}", scope="mcp"'
    return body, 400 if status == 422 else status, {"WWW-Authenticate": source} if status == 401 else {}
