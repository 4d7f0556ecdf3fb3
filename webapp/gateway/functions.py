"""Functions that a client offers or demands, and the format in which it wants the answer; pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webapp.errors import Invalid
from webapp.llm.partial_calls import ToolCall, returned_fields
from webapp.llm.structured import describe_schema
from webapp.tools.calls import depth_of
from webapp.tools.client_tools import ClientTools

MAX_TOOLS = 128
MAX_DEFINITION = 32_000
"""The most characters of one definition as JSON."""
MAX_DEFINITIONS = 200_000
MAX_SCHEMA_DEPTH = 24
MAX_ROUNDS = 200
"""How often calls may be handed over and answered within one reply."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

_SIMPLE = {"auto", "none", "required"}


class UnsupportedRequest(Invalid):
    """A request that cannot be answered as it stands; `param` is the field responsible."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(message, errors=[{"loc": [param], "msg": message}])
        self.param = param


@dataclass(frozen=True, slots=True)
class Round:
    """The assistant's words when it called a client's tools, the calls, and their results by call id."""

    text: str
    calls: tuple[ToolCall, ...]
    results: Mapping[str, str]


def read_tools(tools: Sequence[Any] | None, choice: Any = None, parallel: bool | None = None) -> ClientTools | None:
    """Return the tools of a request; None if there are none, or none may be called. Raises UnsupportedRequest."""
    if not tools:
        if choice in (None, "none", "auto"):
            return None
        raise UnsupportedRequest("tool_choice", "can ask for a tool only when there are tools")
    if len(tools) > MAX_TOOLS:
        raise UnsupportedRequest("tools", f"At most {MAX_TOOLS} tools can be sent.")
    definitions = [_definition(tool, f"tools[{number}]") for number, tool in enumerate(tools)]
    names = [definition["function"]["name"] for definition in definitions]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise UnsupportedRequest(f"tools[{number}].function.name", f"There are two tools named '{name}'.")
    if sum(len(json.dumps(definition)) for definition in definitions) > MAX_DEFINITIONS:
        raise UnsupportedRequest("tools", f"All tools together can have at most {MAX_DEFINITIONS:,} characters.")
    return _allowed_tools(definitions, names, choice, parallel)


def _allowed_tools(
    definitions: list[dict[str, Any]], names: list[str], choice: Any, parallel: bool | None
) -> ClientTools | None:
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        allowed = choice.get("allowed_tools", choice)
        tools = allowed.get("tools") if isinstance(allowed, dict) else None
        chosen_names = {_function_name(tool, names) for tool in tools} if isinstance(tools, list) else set()
        definitions = [tool for tool in definitions if tool["function"]["name"] in chosen_names]
        choice = allowed.get("mode", "auto") if isinstance(allowed, dict) else "auto"
        if not definitions:
            raise UnsupportedRequest("tool_choice", "allowed_tools has to name some of the tools.")
    if choice is None or choice == "auto":
        return ClientTools(definitions, None, parallel)
    if choice == "none":
        return None
    if choice == "required":
        return ClientTools(definitions, "required", parallel, alone=True)
    if isinstance(choice, str):
        raise UnsupportedRequest("tool_choice", f"has to be one of {', '.join(sorted(_SIMPLE))}, or name a tool")
    name = _function_name(choice, names)
    return ClientTools(definitions, {"type": "function", "function": {"name": name}}, parallel, alone=True)


def _function_name(choice: Any, names: Sequence[str]) -> str:
    """Return the name in `{"function": {"name": …}}`, or in the flat form. Raises UnsupportedRequest."""
    function = choice.get("function", choice) if isinstance(choice, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or choice.get("type") != "function" or name not in names:
        raise UnsupportedRequest("tool_choice", "has to name one of the tools")
    return name


def _definition(tool: Any, param: str) -> dict[str, Any]:
    """Return a definition with the protocol's fields only. Raises UnsupportedRequest for one that no server accepts."""
    if not isinstance(tool, dict) or tool.get("type") != "function":
        raise UnsupportedRequest(f"{param}.type", "Only tools of the type 'function' can be called here.")
    function = tool.get("function")
    if not isinstance(function, dict):
        raise UnsupportedRequest(f"{param}.function", "A tool must have a function.")
    definition = read_definition(function, f"{param}.function", "parameters")
    if problem := _problem(definition.get("parameters")):
        name = definition["name"]
        raise UnsupportedRequest(f"{param}.function.parameters", f"Invalid schema for function '{name}': {problem}")
    return {"type": "function", "function": definition}


def read_definition(source: Mapping[str, Any], param: str, schema_field: str) -> dict[str, Any]:
    """Return the name, description, schema and `strict` of a function or a format. Raises UnsupportedRequest."""
    name = source.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UnsupportedRequest(f"{param}.name", "A name must have 1 to 64 letters, digits, underscores and hyphens.")
    if not isinstance(source.get("description"), str | None):
        raise UnsupportedRequest(f"{param}.description", "A description must be a text.")
    if not isinstance(source.get("strict"), bool | None):
        raise UnsupportedRequest(f"{param}.strict", "must be true or false")
    if depth_of(source.get(schema_field)) > MAX_SCHEMA_DEPTH:
        raise UnsupportedRequest(f"{param}.{schema_field}", f"A schema can have at most {MAX_SCHEMA_DEPTH} levels.")
    names = ("name", "description", schema_field, "strict")
    definition = {name: source[name] for name in names if source.get(name) is not None}
    try:
        text = json.dumps(definition, ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError:
        message = "A definition must not contain NaN, Infinity or half a surrogate pair."
        raise UnsupportedRequest(param, message) from None
    if len(text) > MAX_DEFINITION:
        raise UnsupportedRequest(param, f"A definition can have at most {MAX_DEFINITION:,} characters.")
    return definition


def _problem(schema: Any) -> str:
    """Return what is wrong with the schema of a function's parameters; empty if nothing is."""
    if schema is None:
        return ""
    if not isinstance(schema, dict):
        return "parameters have to be a JSON schema."
    if schema.get("type", "object") != "object":
        return f"its type has to be 'object', not {str(schema['type'])[:40]!r}."
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(value, dict | bool) for value in properties.values()):
        return "properties have to be an object of schemas."
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "required has to be a list of names."
    return ""


def read_calls(raw: Sequence[Any] | None) -> tuple[ToolCall, ...]:
    """Return the calls in a message by the assistant. Raises UnsupportedRequest."""
    calls = []
    for item in raw or ():
        function = item.get("function") if isinstance(item, dict) else None
        number = item.get("id") if isinstance(item, dict) else None
        name, arguments = (function.get("name"), function.get("arguments")) if isinstance(function, dict) else (None, 0)
        if not (isinstance(number, str) and number and isinstance(name, str) and isinstance(arguments, str)):
            raise UnsupportedRequest(
                "messages", "Each of tool_calls must have an id, and a function with a name and arguments."
            )
        calls.append(ToolCall(number, name, arguments, returned_fields(item)))
    return tuple(calls)


def read_rounds(lines: Sequence[tuple[str, str, tuple[ToolCall, ...], str]]) -> tuple[Round, ...]:
    """Return the rounds after the last user message: role, text, calls, tool_call_id. Raises UnsupportedRequest."""
    rounds: list[Round] = []
    for role, text, calls, call_id in lines:
        if role == "assistant":
            rounds.append(Round(text, calls, {}))
        elif role == "tool":
            if not rounds or call_id not in {call.id for call in rounds[-1].calls}:
                raise UnsupportedRequest(
                    "messages", "A message of the role 'tool' has to answer a call in 'tool_calls' before it."
                )
            rounds[-1] = Round(rounds[-1].text, rounds[-1].calls, {**rounds[-1].results, call_id: text})
    if len(rounds) > MAX_ROUNDS:
        raise UnsupportedRequest("messages", f"At most {MAX_ROUNDS} rounds of calls fit into one reply.")
    for item in rounds:
        missing = [call.id for call in item.calls if call.id not in item.results]
        if missing or not item.calls:
            raise UnsupportedRequest(
                "messages",
                "Each call in 'tool_calls' has to be answered by a message of the role 'tool'. "
                f"Not answered: {', '.join(missing)[:200] or 'a message without calls'}.",
            )
    return tuple(rounds)


MAX_SHOWN = 8_000
"""The most characters of a schema that is also shown to the model: not every server makes the model follow it."""
KINDS = ("text", "json_object", "json_schema")

_ANY_OBJECT = "Answer with exactly one JSON object and nothing else: no explanation, no code fence."


def read_format(value: Any, param: str) -> dict[str, Any] | None:
    """Return a `response_format` as it goes to the model; None for plain text. Raises UnsupportedRequest."""
    if value is None:
        return None
    kind = value.get("type", "text") if isinstance(value, dict) else None
    if kind not in KINDS:
        raise UnsupportedRequest(f"{param}.type", f"The type of a format must be one of {', '.join(KINDS)}.")
    if kind != "json_schema":
        return None if kind == "text" else {"type": "json_object"}
    return {"type": "json_schema", "json_schema": _named_schema(value.get("json_schema"), f"{param}.json_schema")}


def read_flat_format(source: Any) -> dict[str, Any] | None:
    """Return a `response_format` read from `text.format` of a response, whose fields are one level higher."""
    param = "text.format"
    if isinstance(source, dict) and source.get("type") == "json_schema":
        rest = {name: value for name, value in source.items() if name != "type"}
        return {"type": "json_schema", "json_schema": _named_schema(rest, param)}
    return read_format(source, param)


def flatten_format(form: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a format as a response reports it."""
    return {"type": "text"} if form is None else {"type": form["type"], **form.get("json_schema", {})}


def format_instructions(form: Mapping[str, Any] | None) -> str:
    """Return the instructions about it for the model; a long schema only says JSON object, text nothing."""
    if form is None:
        return ""
    if form["type"] == "json_object":
        return _ANY_OBJECT
    schema = form["json_schema"]
    words = describe_schema(schema["name"], schema["schema"])
    return words if len(words) <= MAX_SHOWN else _ANY_OBJECT


def _named_schema(value: Any, param: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnsupportedRequest(param, "must have a name and a schema")
    definition = read_definition(value, param, "schema")
    schema = definition.get("schema")
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise UnsupportedRequest(f"{param}.schema", "The schema has to be a JSON schema of the type 'object'.")
    return definition
