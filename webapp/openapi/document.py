"""Makes the generated OpenAPI document readable: only possible responses, examples, plain names. Pure."""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

INFO = """\
Everything the pages of Commonplace do with conversations can be done here too.

**Authentication.** Send `Authorization: Bearer <token>`. Make a token on the settings page, or with
`flask --app wsgi token create --email you@example.org`; it is shown once. In a browser the session cookie works as
well; requests that change something then need the page's CSRF token in the header `X-CSRFToken`. This page sends both
by itself when you are signed in. Service tokens are for operations that say so.

**Errors** are `application/problem+json` (RFC 9457). A 422 lists in `errors` what is wrong and where. What belongs to
somebody else answers 404, like what does not exist.

**Lists** take `limit` and `cursor`; `next_cursor` leads to the next page and is null on the last one.

**OpenAI's clients** find models, chat completions and responses under `/v1`, in OpenAI's own format and not described
here: point them at `/v1` with a token of the scope `chat`; `docs/gateway.md` says what they get. Programs of MCP
find memory at `/mcp` (`docs/mcp.md`).

**Idempotency.** Where an `Idempotency-Key` header is listed, the same key and body give the first answer again for a
day, and a different body 409. It makes retries safe.

**Streams** are server-sent events: `turn` first, then `delta` for each piece of text, then `done` or `error`. The
concatenated deltas are the reply. To resume, send the `id` of the last event received as `Last-Event-ID`.
"""

PROBLEMS = {
    "400": ("Malformed", "The body is not JSON, or not an object."),
    "401": ("Unauthenticated", "No valid token or session."),
    "403": ("Forbidden", "Not allowed with this token or session."),
    "404": ("NotFound", "Unknown, or somebody else's."),
    "409": ("Conflict", "In conflict with the present state, or an Idempotency-Key used for another request."),
    "412": ("PreconditionFailed", "The file is not the one that `If-Match` names."),
    "413": ("TooLarge", "The body is too large."),
    "415": ("UnsupportedMediaType", "The body is not declared as JSON."),
    "416": ("RangeNotSatisfiable", "The file has no such part."),
    "422": ("ValidationFailed", "Well-formed, but not acceptable; `errors` says what and where."),
    "429": ("TooManyRequests", "Too many requests; wait for as long as `Retry-After` says."),
    "503": ("Unavailable", "Something this needs is away for the moment."),
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}}
_HEADERS = {
    "401": {"WWW-Authenticate": {"description": "`Bearer`", "schema": {"type": "string"}}},
    "429": _RETRY_AFTER,
    "503": _RETRY_AFTER,
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Any text of your own that names this request; 1 to 255 printable characters.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_LAST_EVENT_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The id of the last event received; what came after it follows. Anything else is ignored.",
    "schema": {"type": "string"},
}
_UNCHANGED = {"description": "Still the file that `If-None-Match` names"}
_STREAM_EVENT = {
    "title": "StreamEvent",
    "description": "One event of the stream.",
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "id": {"type": "string", "description": "Where to resume after this event."},
        "event": {"type": "string", "description": "`turn`, `delta`, `tool`, `done`, `error`; more with `follow`."},
        "data": {"type": "string", "contentMediaType": "application/json", "description": "A JSON object."},
    },
}
_STREAM = """\
id: 1795298400000-0
event: turn
data: {"conversation_id": 7, "user_message_id": 41, "assistant_message_id": 42}

id: 1795298400120-0
event: delta
data: {"text": "Light layers, "}

id: 1795298401870-0
event: done
data: {"message": {"message_id": 42, "status": "complete", "content": "Light layers, …"}}

"""

EXAMPLES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
"""Examples of requests and responses, by name of their model; tests check them against it."""

METHODS = ("get", "put", "post", "patch", "delete")
_REF = "#/components/schemas/"


@dataclass(frozen=True)
class ViewFacts:
    """The declarations of a view: its access rule, whether service tokens may use it or none may, whether it is
    idempotent, and the models of its `bodies` by media type if it accepts files."""

    access: str = "user"
    services: bool = False
    session_only: bool = False
    idempotent: bool = False
    bodies: Mapping[str, type[BaseModel]] = field(default_factory=dict)


def refine(generated: Mapping[str, Any], facts: Mapping[tuple[str, str], ViewFacts]) -> dict[str, Any]:
    """Return the document to publish. `facts`: by method in lower case and path as in the document."""
    document = copy.deepcopy(dict(generated))
    document["info"]["description"] = INFO
    components = document["components"]
    for path, method, operation in operations(document):
        view = facts.get((method, path), ViewFacts())
        if view.bodies:
            operation["requestBody"] = {"content": {kind: _reference(model) for kind, model in view.bodies.items()}}
            components["schemas"] |= {model.__name__: model.model_json_schema() for model in view.bodies.values()}
        _refine(method, operation, view)
    components["responses"] = _problem_responses()
    components["schemas"]["StreamEvent"] = copy.deepcopy(_STREAM_EVENT)
    _describe_security(components["securitySchemes"])
    _mark_optional_bodies(document)
    _plain_names(document)
    _drop_unused(document)
    for name, example in EXAMPLES.items():
        if name in components["schemas"]:
            components["schemas"][name]["examples"] = [example]
    return document


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every operation as path, method, operation."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _refine(method: str, operation: dict[str, Any], facts: ViewFacts) -> None:
    _describe_operation(operation, facts)
    parameters = operation.setdefault("parameters", [])
    if facts.session_only:
        operation["security"] = [{"session": []}]
    if facts.idempotent:
        parameters.append(_IDEMPOTENCY_KEY)
    answers = operation["responses"]
    if any("text/event-stream" in answer.get("content", {}) for answer in answers.values()) and method == "get":
        parameters.append(_LAST_EVENT_ID)
    possible = _possible_statuses(method, operation) | answers.keys() - {"422"}  # which flask-openapi3 adds to each
    successes = {status: answer for status, answer in answers.items() if status.startswith("2")}
    if "*/*" in answers.get("200", {}).get("content", {}):
        possible |= {"412", "416"}
        successes |= {"206": {**answers["200"], "description": "The part that `Range` names"}, "304": _UNCHANGED}
    for status, answer in successes.items():
        if "text/event-stream" in answer.get("content", {}):
            answer["content"]["text/event-stream"] = {"schema": {"$ref": f"{_REF}StreamEvent"}, "example": _STREAM}
        if status == "202" and method == "get":
            answer["headers"] = _RETRY_AFTER
    problems = {
        status: {"$ref": f"#/components/responses/{name}"}
        for status, (name, _) in PROBLEMS.items()
        if status in possible
    }
    operation["responses"] = {**dict(sorted(successes.items())), **problems}
    if not parameters:
        del operation["parameters"]


def _possible_statuses(method: str, operation: Mapping[str, Any]) -> set[str]:
    """Return the statuses of the problems an operation can answer with; those it cannot are not listed."""
    possible = {"401", "403", "503"}
    has_body = "requestBody" in operation
    places = {parameter["in"] for parameter in operation["parameters"]}
    if has_body or places:
        possible.add("422")
    if method != "get":
        possible |= {"409", "429"}
    if "path" in places or has_body or "query" in places:
        possible.add("404")
    if has_body or method in ("post", "put", "patch"):
        possible |= {"400", "413", "415"}  # even a body that is not expected must be JSON
    return possible


def _reference(model: type[BaseModel]) -> dict[str, Any]:
    return {"schema": {"$ref": _REF + model.__name__}}


def _describe_operation(operation: dict[str, Any], facts: ViewFacts) -> None:
    """Make the first sentence the summary, and the others, with who may call the operation, the description."""
    summary, _, rest = operation.get("summary", "").strip().partition(". ")
    notes = [operation.get("description", "").replace("<br/>", "\n").strip(), rest.strip()]
    if facts.access == "admin":
        notes.append("For admins only.")
    elif facts.access == "service":
        notes.append("For service tokens and admins.")
    elif facts.services:
        notes.append("Service tokens may use it too.")
    operation["summary"] = summary.rstrip(".")
    description = "\n\n".join(note for note in notes if note)
    operation.pop("description", None)
    if description:
        operation["description"] = description


def _problem_responses() -> dict[str, Any]:
    responses = {}
    for status, (name, description) in PROBLEMS.items():
        content = {"application/problem+json": {"schema": {"$ref": f"{_REF}Problem"}}}
        responses[name] = {"description": description, "content": content}
        if status in _HEADERS:
            responses[name]["headers"] = _HEADERS[status]
    return responses


def _describe_security(schemes: dict[str, Any]) -> None:
    schemes["token"]["description"] = "A token made on the settings page."
    schemes["session"]["description"] = (
        "The browser's session cookie; unsafe methods also need the header `X-CSRFToken`. Nothing to enter here."
    )


def _mark_optional_bodies(document: Mapping[str, Any]) -> None:
    """Mark bodies without required fields as optional: a missing body counts as an empty object."""
    schemas = document["components"]["schemas"]
    for _, _, operation in operations(document):
        body = operation.get("requestBody", {"content": {}})
        for content in body["content"].values():
            body["required"] = bool(schemas[content["schema"]["$ref"].removeprefix(_REF)].get("required"))


def _plain_names(document: dict[str, Any]) -> None:
    """Call `ConversationOut` `Conversation` in the API: the suffix is for readers of the code."""
    schemas = document["components"]["schemas"]
    renamed = {name: name.removesuffix("Out") for name in schemas if name.endswith("Out")}
    renamed = {old: new for old, new in renamed.items() if new not in schemas}
    for old, new in renamed.items():
        schemas[new] = schemas.pop(old)
        if schemas[new].get("title") == old:
            schemas[new]["title"] = new
    for node in _nodes(document):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.removeprefix(_REF) in renamed:
            node["$ref"] = _REF + renamed[reference.removeprefix(_REF)]
        node.pop("$defs", None)  # flask-openapi3 has put them among the components


def _drop_unused(document: dict[str, Any]) -> None:
    """Leave out models that nothing refers to."""
    schemas = document["components"]["schemas"]
    reached: set[str] = set()
    unvisited = _references_in({name: part for name, part in document.items() if name != "components"})
    unvisited |= _references_in(document["components"]["responses"])
    while unvisited:
        name = unvisited.pop()
        if name in reached:
            continue
        reached.add(name)
        unvisited |= _references_in(schemas[name])
    for name in set(schemas) - reached:
        del schemas[name]


def _references_in(part: Any) -> set[str]:
    references = (node.get("$ref") for node in _nodes(part))
    return {match[1] for text in references if isinstance(text, str) and (match := re.fullmatch(f"{_REF}(.+)", text))}


def _nodes(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON document."""
    if isinstance(part, dict):
        yield part
        for value in list(part.values()):
            yield from _nodes(value)
    elif isinstance(part, list):
        for value in part:
            yield from _nodes(value)
