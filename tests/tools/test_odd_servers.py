"""MCP servers that speak the protocol almost: what they mean is understood, and what is not said why."""

import asyncio
import json
import queue
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.tools.servers import Asked, Site
from webapp.tools.mcp_client import client as mcp, wire
from webapp.tools.mcp_client.tool_schemas import original_arguments, plain_schema
from webapp.tools.toolset import ToolFailed

JSON, STREAM = {"Content-Type": "application/json"}, {"Content-Type": "text/event-stream"}
SAID = {"content": [{"type": "text", "text": "It is."}]}
Answer = tuple[int, dict[str, str], Any]
Framing = Callable[[dict[str, Any]], Answer]


def data(message: Any, end: str = "\n\n") -> bytes:
    return f"event: message\ndata: {json.dumps(message)}".encode() + end.encode()


def odd(site: Site, framing: Framing, result: Any = None, older: bool = True) -> mcp.Server:
    """A server with a tool `look` that answers in this framing; `older` begins with a handshake."""

    def answer(asked: Asked) -> Answer:
        method = asked.json["method"] if asked.method == "POST" else ""
        if older and "mcp-method" in asked.headers:
            return 400, {}, b"Missing session"
        if "id" not in (asked.json if method else {}):
            return 202, {}, b""
        results = {
            "initialize": {"protocolVersion": wire.HANDSHAKE[0], "capabilities": {}, "serverInfo": {}},
            "tools/list": {"tools": [{"name": "look", "inputSchema": {}}]},
            "tools/call": SAID if result is None else result,
        }
        return framing({"jsonrpc": "2.0", "id": asked.json["id"], "result": results[method]})

    site.answer = answer
    return mcp.Server("Odd", site.url, is_internal=True, age=wire.HANDSHAKE[0] if older else wire.STATELESS)


def plain(message: dict[str, Any]) -> Answer:
    return 200, JSON, json.dumps(message).encode()


FRAMINGS: dict[str, Framing] = {
    "its number as text": lambda message: plain({**message, "id": str(message["id"])}),
    "a batch of one": lambda message: plain([message]),  # type: ignore[arg-type]
    "a batch on a stream": lambda message: (200, STREAM, data([{"method": "x"}, message])),
    "a stream without its last line": lambda message: (200, STREAM, data(message, "")),
    "a stream with one newline": lambda message: (200, STREAM, data(message, "\n")),
    "a stream of carriage returns": lambda message: (200, STREAM, data(message).replace(b"\n", b"\r")),
    "a stream called JSON": lambda message: (200, JSON, data(message)),
    "JSON called a stream": lambda message: (200, STREAM, json.dumps(message).encode()),
    "no media type": lambda message: (200, {}, json.dumps(message).encode()),
    "a line before it": lambda message: (200, JSON, b"Listening\n" + json.dumps(message).encode()),
    "a byte order mark": lambda message: (200, JSON, b"\xef\xbb\xbf" + json.dumps(message).encode()),
    "its own requests before": lambda message: (
        200, STREAM, data({"id": 1, "method": "roots/list"}) + b": wait\n\n" + data(message),
    ),
}  # fmt: skip


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_an_odd_framing_is_understood(site, framing, older):
    server = odd(site, FRAMINGS[framing], older=older)
    assert [tool.name for tool in asyncio.run(mcp.tools(server))[1]] == ["look"]
    assert asyncio.run(mcp.call(server, "look", {})) == {"text": "It is."}


@pytest.mark.cases("result", "text")
def test_an_odd_result_is_text(site, result, text):
    expected = text if isinstance(text, dict) else {"text": text}
    assert asyncio.run(mcp.call(odd(site, plain, result), "look", {})) == expected


@pytest.mark.parametrize("status", [400, 404, 405, 500])
def test_nothing_depends_on_what_a_notification_is_answered_with(site, status):
    server = odd(site, plain)
    usual = site.answer
    site.answer = lambda asked: (status, {}, b"no") if b"notifications/" in asked.body else usual(asked)
    assert asyncio.run(mcp.tools(server))[1] and asyncio.run(mcp.call(server, "look", {})) == {"text": "It is."}


@pytest.mark.parametrize("status", [307, 308])
def test_a_server_may_send_on_to_another_of_its_own_addresses(site, status):
    server = odd(site, plain)
    usual = site.answer
    site.answer = lambda asked: usual(asked) if asked.path == "/mcp/" else (status, {"Location": "/mcp/"}, b"")
    server = mcp.Server("Odd", f"{site.url}/mcp", is_internal=True, token="secret", age=server.age)
    assert asyncio.run(mcp.tools(server))[1] and asyncio.run(mcp.call(server, "look", {})) == {"text": "It is."}
    assert all(asked.headers["authorization"] == "Bearer secret" for asked in site.asked)


ELSEWHERE = ("http://localhost:{port}/stolen", "http://[::1", "//[")


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_token_goes_to_no_other_address(site, where):
    site.answer = lambda asked: (307, {"Location": where.format(port=site.port)}, b"")
    with pytest.raises(ToolFailed, match="another URL"):
        asyncio.run(mcp.tools(mcp.Server("Odd", f"{site.url}/mcp", is_internal=True, token="secret")))
    assert {asked.path for asked in site.asked} == {"/mcp"}


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((400, JSON, b'{"id": "N", "error": {"code": -32602, "message": "cups: not a number"}}'), "cups: not a number"),
        ((429, JSON, b'{"error": "slow down"}'), "slow down"),
        ((400, JSON, b'{"id": "N", "error": {"code": -32022}}'), "another version|does not say why"),
        ((500, {}, b"<html>"), r"an error \(500\)"),
        ((500, JSON, b'{"id": "N", "result": {"content": "It is."}}'), r"an error \(500\)"),
    ],
)
def test_the_reason_beside_a_status_is_said(site, answer, said, older):
    server = odd(site, plain, older=older)
    usual, (status, headers, body) = site.answer, answer
    body = body.replace(b"N", b"2" if older else b"1")
    site.answer = lambda asked: (status, headers, body) if b"tools/call" in asked.body else usual(asked)
    with pytest.raises(ToolFailed, match=said):
        asyncio.run(mcp.call(server, "look", {}))


@pytest.mark.parametrize(
    ("version", "is_known", "is_picky"),
    [
        *[("2024-10-07", True, False), ("2026-01-15", True, False), ("2024-11-05", True, True)],
        *[("2", False, False), (None, False, False)],
    ],
)
def test_any_dated_version_with_a_handshake_is_spoken(site, version, is_known, is_picky):
    def framing(message: dict[str, Any]) -> Answer:
        if "protocolVersion" in message["result"]:
            message["result"]["protocolVersion"] = version
        return plain(message)

    server = odd(site, framing)
    usual, refused = site.answer, {"error": {"code": -32602, "message": "Unsupported protocol version"}}
    site.answer = lambda asked: (
        plain({"id": 1, **refused}) if wire.HANDSHAKE[0].encode() in asked.body and is_picky else usual(asked)
    )
    if is_known:
        assert asyncio.run(mcp.tools(server))[0] == version
        assert asyncio.run(mcp.call(server, "look", {})) == {"text": "It is."}
    else:
        with pytest.raises(ToolFailed, match="does not speak any version"):
            asyncio.run(mcp.tools(server))


@pytest.mark.parametrize("name", ["inputSchema", "input_schema", "parameters"])
def test_a_schema_is_found_under_its_other_names_and_has_no_value_twice(name):
    parts = {"n": {"type": "INTEGER"}, "o": {"enum": ["a\0", "a", "\0"]}}
    (tool,) = wire.tools_of({"tools": [{"name": "look", name: {"properties": parts}}]})
    found = {"n": {"type": "integer"}, "o": {"type": "string", "enum": ["a"]}}
    assert tool.schema == {"type": "object", "properties": found}


@pytest.mark.parametrize("cursor", [str, int])
@pytest.mark.parametrize("pages", [9, 60])
def test_all_pages_of_tools_are_read(site, pages, cursor):
    def framing(message: dict[str, Any]) -> Answer:
        if "tools" in message["result"]:
            place = int(json.loads(site.asked[-1].body)["params"].get("cursor", 0))
            message["result"] = {"tools": [{"name": f"t{place}", "inputSchema": {}}]}
            message["result"] |= {"nextCursor": cursor(place + 1)} if place + 1 < pages else {}
        return plain(message)

    assert len(asyncio.run(mcp.tools(odd(site, framing)))[1]) == pages


@pytest.mark.parametrize("answer", [(404, JSON, b'{"error": {"message": "not found"}}'), (400, {}, b"no session")])
def test_a_session_that_a_server_has_lost_begins_again(site, answer):
    server, usual, lost = odd(site, plain), site.answer, [answer]

    def forget(asked: Asked) -> Answer:
        status, headers, body = lost.pop() if b"tools/call" in asked.body and lost else usual(asked)
        return status, {**headers, "Mcp-Session-Id": "s"}, body

    site.answer = forget
    assert asyncio.run(mcp.call(server, "look", {})) == {"text": "It is."}
    lost.append((answer[0], JSON, b'{"id": 2, "error": {"message": "half of it is done"}}'))
    with pytest.raises(ToolFailed, match="half of it is done"):
        asyncio.run(mcp.call(server, "look", {}))


def test_what_a_server_asks_for_is_refused_and_it_goes_on(site):
    server, usual, refused = odd(site, plain), site.answer, queue.Queue[Any]()

    def wait(number: int) -> Iterator[bytes]:
        yield data({"id": 99, "method": "elicitation/create"}) + data({"id": 98, "method": "ping"})
        said = [refused.get(timeout=3), refused.get(timeout=3)]
        yield data({"id": number, "result": {"content": json.dumps(said)}})

    def ask(asked: Asked) -> Answer:
        if b"tools/call" in asked.body:
            return 200, STREAM, wait(asked.json["id"])
        if asked.method == "POST" and "method" not in asked.json:
            refused.put(asked.json)
            return 202, {}, b""
        return usual(asked)

    site.answer = ask
    said = json.loads(asyncio.run(mcp.call(server, "look", {}))["text"])
    assert [answer["id"] for answer in said] == [99, 98]
    assert (said[0]["error"]["code"], said[1]["result"]) == (-32601, {})


def test_the_pages_before_one_that_is_refused_are_kept(site):
    server, usual = odd(site, plain), site.answer
    page = {"tools": [{"name": "look"}], "nextCursor": "2"}
    failures = [(500, {}, b""), plain({"error": {"message": "no such cursor"}})]
    site.answer = lambda asked: (
        usual(asked)
        if b"tools/list" not in asked.body
        else failures[0]
        if b"cursor" in asked.body
        else plain({"id": asked.json["id"], "result": page})
    )
    with pytest.raises(ToolFailed, match="500"):  # a server away: what is known of its tools, and allowed, stays
        asyncio.run(mcp.tools(server))
    del failures[0]
    assert [tool.name for tool in asyncio.run(mcp.tools(server))[1]] == ["look"]


def test_a_page_that_names_itself_as_the_next_is_read_once(site):
    def framing(message: dict[str, Any]) -> Answer:
        message["result"]["nextCursor"] = "again"
        return plain(message)

    assert len(asyncio.run(mcp.tools(odd(site, framing)))[1]) == 1
    assert sum(b"tools/list" in asked.body for asked in site.asked) <= 3


def first_transport(site: Site, endpoint: str = "/messages?session=1", status: int = 405) -> mcp.Server:
    """A server of the revision of 2024-11-05: a GET opens a stream, which says where to post, and answers there."""
    streams: list[queue.Queue[bytes]] = []

    def stream() -> Iterator[bytes]:
        streams.append(answers := queue.Queue())
        yield f": hello\n\nevent: endpoint\ndata: {endpoint}\n\n".encode()
        with suppress(queue.Empty):
            while True:
                yield data({"method": "notifications/message"}) + answers.get(timeout=3)

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            return 200, STREAM, stream()
        if not asked.path.startswith("/messages"):
            return status, {}, b"Method Not Allowed"
        if "id" in asked.json:
            results = {
                "initialize": {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {}},
                "tools/list": {"tools": [{"name": "look", "inputSchema": {}}]},
                "tools/call": SAID,
            }
            streams[-1].put(data({"jsonrpc": "2.0", "id": asked.json["id"], "result": results[asked.json["method"]]}))
        return 202, {}, b"Accepted"

    site.answer = answer
    return mcp.Server("Odd", f"{site.url}/sse", is_internal=True, token="secret-token", age=wire.HANDSHAKE[-1])


@pytest.mark.parametrize("status", [400, 404, 405])
def test_the_first_transport_is_spoken(site, status):
    server = first_transport(site, status=status)
    age, tools = asyncio.run(mcp.tools(server))
    assert (age, [tool.name for tool in tools]) == ("2024-11-05", ["look"])
    assert asyncio.run(mcp.call(server, "look", {})) == {"text": "It is."}
    assert all(asked.headers["authorization"] == "Bearer secret-token" for asked in site.asked)


@pytest.mark.parametrize("where", ELSEWHERE)
def test_requests_go_to_no_other_address_that_a_stream_names(site, where):
    server = first_transport(site, where.format(port=site.port))
    with pytest.raises(ToolFailed, match="another URL"):
        asyncio.run(mcp.tools(server))
    assert {asked.path for asked in site.asked} == {"/sse"}


def test_a_stream_is_opened_at_no_other_address(site):
    """What an admin names may be inside this network; where it sends us is not what they named."""
    server, other = first_transport(site), {"Location": f"http://localhost:{site.port}/inside"}
    site.answer = lambda asked: (307, other, b"") if asked.method == "GET" else (405, {}, b"")
    with pytest.raises(ToolFailed, match="redirects to another URL"):
        asyncio.run(mcp.tools(server))
    assert {asked.path for asked in site.asked} == {"/sse"}


def test_a_page_at_the_address_is_no_stream(site):
    site.answer = lambda asked: (
        (200, {"Content-Type": "text/html"}, b"<p>") if asked.method == "GET" else (405, {}, b"")
    )
    with pytest.raises(ToolFailed, match=r"an error \(405\)"):
        asyncio.run(mcp.tools(mcp.Server("Odd", site.url, is_internal=True)))


@pytest.mark.cases("own", "plain_name")
def test_an_argument_has_a_plain_name(own, plain_name):
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in own}, "required": own}
    told = plain_schema(schema)
    assert list(told["properties"]) == told["required"] == plain_name
    assert original_arguments(dict.fromkeys(plain_name, "x"), schema) == dict.fromkeys(own, "x")


def test_arguments_within_others_get_their_own_names_back():
    part = {"type": "object", "properties": {"$in": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": part},
            "either": {"anyOf": [{"type": "string"}, part]},
            "free": {"type": "object", "properties": {}, "additionalProperties": part},
        },
    }
    said = {"list": [{"in": "a"}], "either": {"in": "b"}, "free": {"any name": {"in": "c"}}, "other": 1}
    own = {"list": [{"$in": "a"}], "either": {"$in": "b"}, "free": {"any name": {"$in": "c"}}, "other": 1}
    assert "$" not in json.dumps(plain_schema(schema))
    assert original_arguments(said, schema) == own
    assert original_arguments({"either": "text"}, schema) == {"either": "text"}
