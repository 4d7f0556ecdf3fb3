"""The protocol's envelope, in both ages: what is requested, whether it is allowed, how it is answered; pure.

Tested against `mcp-types`, whose thousands of lines are not worth loading into every web process.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.tools.mcp_client.wire import HANDSHAKE, IDENTITY, META, STATELESS

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
UNKNOWN_RESOURCE = -32002  # of the revisions with a handshake; later ones say INVALID_PARAMS

VERSION_KEY, CAPABILITIES_KEY = f"{META}protocolVersion", f"{META}clientCapabilities"
SERVER_KEY = f"{META}serverInfo"
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}}
INSTRUCTIONS = (
    "What the user has told their assistant Commonplace, kept by them: call get_context with the task at hand before "
    "answering about the user or their plans. Offer what they say of themselves with remember, quoting their words; it "
    "may wait for their approval. What they have forgotten is gone: do not bring it back."
)
_NAMED = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_BASE64 = re.compile(r"=\?base64\?(.*)\?=")
_CACHED = ("server/discover", "tools/list", "resources/list", "resources/read", "resources/templates/list")


class ProtocolError(Exception):
    """A request that the protocol does not allow."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


@dataclass(frozen=True, slots=True)
class Call:
    """A request: its id (None for a notification), its method and parameters, and whether it stands alone."""

    id: str | int | None
    method: str
    params: Mapping[str, Any]
    is_stateless: bool


def read(body: Any, headers: Mapping[str, str]) -> Call:
    """Return a request from its body and its headers, which have lower-case names. Raises ProtocolError."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
        raise ProtocolError(INVALID_REQUEST, "Send one JSON-RPC 2.0 request.")
    params, number = body.get("params") or {}, body.get("id")
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params has to be an object.")
    if "id" in body and (isinstance(number, bool) or not isinstance(number, str | int)):
        raise ProtocolError(INVALID_REQUEST, "id has to be a string or a number.")
    given = params.get("_meta")
    meta: Mapping[str, Any] = given if isinstance(given, dict) else {}
    requested = headers.get("mcp-protocol-version", "")
    is_stateless = VERSION_KEY in meta or (bool(requested) and requested not in HANDSHAKE)
    call = Call(number, body["method"], params, is_stateless)
    if is_stateless and number is not None:
        _check(call, meta, headers)
    return call


def answer(call: Call, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result in its envelope."""
    if call.is_stateless:
        result = {"resultType": "complete", **result, "_meta": {SERVER_KEY: IDENTITY}}
        if call.method in _CACHED:
            result |= {"ttlMs": 0, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": call.id, "result": result}


def error(number: str | int | None, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """Return an error in its envelope."""
    requested = {"code": code, "message": message, **({"data": data} if data is not None else {})}
    return {"jsonrpc": "2.0", "id": number, "error": requested}


def status_of(error: ProtocolError, call: Call | None) -> int:
    """Return the HTTP status of an error: before 2026-07-28, whatever answers a well-formed request comes with 200."""
    if call is not None and not call.is_stateless:
        return 200
    return 404 if error.code == UNKNOWN_METHOD else 400


def initialize_result(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to `initialize`: the client's revision if it is known, and no session."""
    requested = params.get("protocolVersion")
    version = requested if requested in HANDSHAKE else HANDSHAKE[0]
    return {
        "protocolVersion": version,
        "capabilities": CAPABILITIES,
        "serverInfo": IDENTITY,
        "instructions": INSTRUCTIONS,
    }


def discovery() -> dict[str, Any]:
    """Return the answer to `server/discover`."""
    return {"supportedVersions": [STATELESS], "capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}


def _check(call: Call, meta: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}.")
    version = meta[VERSION_KEY]
    if headers.get("mcp-protocol-version") != version:
        raise ProtocolError(HEADER_MISMATCH, "MCP-Protocol-Version is not the version in params._meta.")
    if headers.get("mcp-method") != call.method:
        raise ProtocolError(HEADER_MISMATCH, "Mcp-Method is not the method of the body.")
    wanted = call.params.get(_NAMED.get(call.method, ""))
    if wanted is not None and _decode(headers.get("mcp-name")) != wanted:
        raise ProtocolError(HEADER_MISMATCH, f"Mcp-Name is not params.{_NAMED[call.method]}.")
    if version != STATELESS:
        data = {"supported": [STATELESS], "requested": str(version)[:50]}
        raise ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def _decode(value: str | None) -> str | None:
    found = _BASE64.fullmatch(value or "")
    if found is None:
        return value
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
