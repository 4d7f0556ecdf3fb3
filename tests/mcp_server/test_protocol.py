"""The envelope of both ages: no server."""

from typing import Any

import pytest

from webapp.mcp_server.protocol import (
    CAPABILITIES_KEY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    ProtocolError,
    initialize_result,
    read,
)

MODERN = "2026-07-28"


def modern(method: str = "tools/list", version: str = MODERN, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    meta = {VERSION_KEY: version, CAPABILITIES_KEY: {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return body, {"mcp-protocol-version": version, "mcp-method": method}


def test_a_request_that_stands_alone():
    body, headers = modern("tools/call", name="search")
    call = read(body, {**headers, "mcp-name": "search"})
    assert (call.id, call.method, call.is_stateless) == (1, "tools/call", True)
    assert read(body, {**headers, "mcp-name": "=?base64?c2VhcmNo?="}).method == "tools/call"


def test_an_older_request():
    body = {"jsonrpc": "2.0", "id": "a", "method": "tools/list"}
    assert read(body, {}).is_stateless is False
    assert read(body, {"mcp-protocol-version": "2025-06-18"}).is_stateless is False


def test_headers_have_to_say_the_same():
    body, headers = modern("tools/call", name="search")
    others = [("mcp-protocol-version", "2025-06-18"), ("mcp-method", "tools/list"), ("mcp-name", "fetch")]
    for name, value in (*others, ("mcp-name", "=?base64?!?=")):
        with pytest.raises(ProtocolError) as refused:
            read(body, {**headers, "mcp-name": "search", name: value})
        assert refused.value.code == HEADER_MISMATCH, value


def test_a_revision_to_come_is_told_what_there_is():
    with pytest.raises(ProtocolError) as refused:
        read(*modern(version="2031-01-01"))
    known = {"supported": [MODERN], "requested": "2031-01-01"}
    assert (refused.value.code, refused.value.data) == (UNSUPPORTED_VERSION, known)


def test_what_is_no_request():
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    bodies = [[], {}, {**ping, "id": None}, {**ping, "id": True}, {**ping, "params": [1]}]
    for body, code in zip(bodies, [*[INVALID_REQUEST] * 4, INVALID_PARAMS], strict=True):
        with pytest.raises(ProtocolError) as refused:
            read(body, {})
        assert refused.value.code == code, body


def test_the_revision_of_a_client_is_taken_where_it_is_known():
    assert initialize_result({"protocolVersion": "2025-03-26"})["protocolVersion"] == "2025-03-26"
    assert initialize_result({"protocolVersion": "1999-01-01"})["protocolVersion"] == "2025-11-25"
