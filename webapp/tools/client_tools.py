"""Tools that the requesting program supplies: offered to the model beside ours and called by that program; and the
format in which it wants the answer; pure."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webapp.llm.partial_calls import ToolCall, returned_fields
from webapp.text.tokens import estimate_tokens, shorten
from webapp.tools.calls import ToolRun, clean_record, parse_arguments
from webapp.tools.toolset import Tool, Toolset

CLIENT = "client"
"""Who carries out a call, as its record says."""
WAITING = {"status": "waiting"}
"""The output of a call that was handed over and not yet answered."""
MAX_CLIENT_TOOLS = 64
"""The most calls handed over at once; more are not passed on."""
MAX_RESULT = 100_000
"""The most characters kept of the result of a client's call."""
NOT_ANSWERED = "This call was not answered."
_PREFIX = "client_"
_MAX_NAME_LENGTH = 64
_ARGUMENTS = 1_000_000
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class ClientTools:
    """The tools that a request supplies for the model, and the format of the answer, in the protocol's terms.

    `choice`, `parallel` and `form` (a `response_format`) go to the model unchanged; with `alone`, none of our tools are
    offered, because one of these must be called.
    """

    definitions: Sequence[dict[str, Any]] = ()
    choice: str | dict[str, Any] | None = None
    parallel: bool | None = None
    alone: bool = False
    form: dict[str, Any] | None = None


def with_clients(toolset: Toolset, client_tools: ClientTools | None) -> Toolset:
    """Return a turn's tools, the client's after our cached ones, renamed `client_…` where they clash."""
    if client_tools is None:
        return toolset
    options = {"response_format": client_tools.form} if client_tools.form else {}
    if not client_tools.definitions:
        return replace(toolset, parameters={**toolset.parameters, **options}) if options else toolset
    tools = [] if client_tools.alone else list(toolset.tools)
    used_names = {tool.name for tool in toolset.tools} | {
        str(entry["function"]["name"]) for entry in client_tools.definitions
    }
    new_tools, names = [], {}
    for definition in client_tools.definitions:
        name = own_name = str(definition["function"]["name"])
        if toolset.get(own_name) is not None:
            name = _free(own_name, used_names)
            used_names.add(name)
            definition = {**definition, "function": {**definition["function"], "name": name}}
        names[own_name] = name
        new_tools.append(Tool(definition, "client", title=own_name))
    parameters: dict[str, Any] = options
    if isinstance(choice := client_tools.choice, dict):
        parameters["tool_choice"] = {"type": "function", "function": {"name": names[choice["function"]["name"]]}}
    elif choice is not None:
        parameters["tool_choice"] = choice
    if client_tools.parallel is not None:
        parameters["parallel_tool_calls"] = client_tools.parallel
    return Toolset([*tools, *new_tools], toolset.now, parameters)


def _free(base: str, names: set[str]) -> str:
    name = (_PREFIX + base)[:_MAX_NAME_LENGTH]
    number = 2
    while name in names:
        name = f"{(_PREFIX + base)[: _MAX_NAME_LENGTH - 4]}_{number}"
        number += 1
    return name


def client_call_record(call: ToolCall, tool: Tool, turn_id: int, number: int) -> ToolRun:
    """Return the record of a call that is handed to the client, under an id of ours: those from servers repeat."""
    return ToolRun(waiting_record(tool.title, call.arguments, call_id(turn_id, number), call.returned))


def waiting_record(name: str, arguments: str, own_id: str, returned: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the record of a call waiting for the client, with the `arguments` that are no JSON object."""
    raw = arguments[:_ARGUMENTS] or "{}"
    parsed = parse_arguments(raw, limit=_ARGUMENTS, repair=False)
    record: dict[str, Any] = {"tool_name": name, "input": parsed, "output": dict(WAITING)}
    record |= {"by": CLIENT, "call_id": own_id, **(returned or {})}
    if not parsed and raw.strip() != "{}":
        record["arguments"] = raw
    return clean_record(record)


def call_id(turn_id: int, number: int) -> str:
    """Return the id of a call: nine letters and digits, which even the strictest servers (Mistral's) accept back."""
    value = int.from_bytes(hashlib.sha256(f"{turn_id}/{number}".encode()).digest()[:8], "big")
    letters = []
    for _ in range(8):
        value, place = divmod(value, len(_ALPHABET))
        letters.append(_ALPHABET[place])
    return "c" + "".join(letters)


def arguments_of(record: Mapping[str, Any]) -> str:
    """Return the arguments of a recorded call as JSON text, or as the model wrote them if that was not JSON."""
    return str(record.get("arguments") or json.dumps(record.get("input") or {}, ensure_ascii=False))


def result_of(text: str) -> dict[str, Any]:
    """Return the result of a call as its record keeps it: bounded, with a mark if something is missing."""
    text = text.replace("\x00", "")
    if len(text) > MAX_RESULT:
        text = f"{text[:MAX_RESULT]}\n[… {len(text) - MAX_RESULT:,} characters left out …]"
    return {"text": text}


def rounds_as_prompt(
    rounds: Iterable[tuple[int, str, Sequence[Mapping[str, Any]]]], limit: int
) -> list[dict[str, Any]]:
    """Return the earlier parts of a reply (id, text, calls) as messages, their answers cut to `limit` tokens in all."""
    rounds = list(rounds)
    calls_by_round = [[_answer_text(call) for call in calls] for _, _, calls in rounds]
    count = _largest_share([estimate_tokens(text) for texts in calls_by_round for text in texts], limit)
    prompt: list[dict[str, Any]] = []
    for (turn_id, text, calls), answers in zip(rounds, calls_by_round, strict=True):
        ids = [str(call.get("call_id") or call_id(turn_id, number)) for number, call in enumerate(calls)]
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {
                    "id": name,
                    "type": "function",
                    "function": {"name": call["tool_name"], "arguments": arguments_of(call)},
                    **returned_fields(call),
                }
                for name, call in zip(ids, calls, strict=True)
            ]
        prompt.append(message)
        prompt += [
            {"role": "tool", "tool_call_id": name, "content": shorten(answer, count) if count else answer}
            for name, answer in zip(ids, answers, strict=True)
        ]
    return prompt


def _answer_text(call: Mapping[str, Any]) -> str:
    output = call.get("output") or {}
    if call.get("by") != CLIENT:
        return json.dumps(output, ensure_ascii=False)
    return NOT_ANSWERED if output == WAITING else str(output.get("text", ""))


def _largest_share(sizes: Sequence[int], limit: int) -> int:
    """Return the most tokens that one answer may have so that all of them fit into `limit`; 0 if they do anyway."""
    left, count = limit, len(sizes)
    if sum(sizes) <= limit:
        return 0
    for size in sorted(sizes):
        if size * count > left:
            break
        left, count = left - size, count - 1
    return max(1, left // max(1, count))
