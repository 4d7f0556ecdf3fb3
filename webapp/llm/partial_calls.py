"""The tool calls of a streamed answer, put together from their pieces, whatever numbers and ids a server gives them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .chunks import join_surrogates, values_of
from .errors import MalformedOutput

ARGUMENT_FIELDS = ("arguments", "parameters", "args", "input", "partial_json")
RETURNED_FIELDS = ("extra_content", "provider_specific_fields")
"""What servers send beside a call and want back with it, such as the signature of the thought before it."""
MAX_RETURNED = 50_000
"""The most characters of that, as JSON, in each call."""
MAX_CALLS = 256
"""The most calls of one answer: a model that asks for more will never end."""
_DETAIL_TEXTS = ("text", "summary", "data")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call the model asks for; `arguments` is the JSON text as sent, which may be invalid.

    `returned` are the fields of the server's own that go back to it with the call.
    """

    id: str
    name: str
    arguments: str
    returned: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    returned: dict[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class PartialCalls:
    """Pieces in, calls out, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self.reasoning: list[dict[str, Any]] = []
        """The thoughts before the calls in a server's own form, which go back to it with them."""

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, piece: Mapping[str, Any]) -> None:
        """Add an item of `tool_calls`, or a `function_call` of the protocol's first version. Raises MalformedOutput."""
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else piece
        name, arguments = function.get("name"), next(filter(None, map(function.get, ARGUMENT_FIELDS)), None)
        name = name if isinstance(name, str) else ""
        call = self._call_of(_index(piece.get("index")), str(piece.get("id") or ""), name)
        if name:
            call.name = name if name.startswith(call.name) else call.name + name
        call.returned |= returned_fields(piece)
        if isinstance(arguments, str):
            call.pieces.append(arguments)
        elif arguments:  # an object instead of its text; an empty one comes before the pieces of the real one
            call.pieces.append(json.dumps(arguments, ensure_ascii=False))

    def add_reasoning(self, details: object) -> None:
        """Add `reasoning_details`: pieces of an item have its type and number."""
        for detail in details if isinstance(details, list) else ():
            if not isinstance(detail, Mapping):
                continue
            last = self.reasoning[-1] if self.reasoning else None
            if last is not None and all(detail.get(name) == last.get(name) for name in ("type", "index")):
                more = {name: value for name, value in detail.items() if value}
                texts = [
                    name
                    for name in _DETAIL_TEXTS
                    if isinstance(last.get(name), str) and isinstance(more.get(name), str)
                ]
                last |= more | {name: last[name] + more[name] for name in texts}
            else:
                self.reasoning.append(dict(detail))

    def complete(self) -> Iterator[ToolCall]:
        """Yield the calls, each with an id of its own; one that a server sends once more is the same."""
        ids: set[str] = set()
        seen: set[tuple[str, str, str]] = set()
        for number, call in enumerate(self._calls):
            arguments = join_surrogates(_whole(call.pieces))
            call.id, call.name = join_surrogates(call.id), join_surrogates(call.name)
            if call.id and (call.id, call.name, arguments) in seen:
                continue
            seen.add((call.id, call.name, arguments))
            call_id = call.id if call.id and call.id not in ids else own_id("call", number)
            ids.add(call_id)
            yield ToolCall(call_id, call.name, arguments, call.returned)

    def _call_of(self, index: int | None, call_id: str, name: str) -> _Call:
        """Return the call a piece belongs to: the last with its number, if any, unless it begins another."""
        candidates = [
            call
            for call in self._calls
            if index is None or call.index in (None, index) or (call_id and call.id == call_id)
        ]
        matches = [
            call for call in candidates if call_id and call.id == call_id and (index is None or call.index == index)
        ]
        if not candidates and not (call_id or name):
            candidates = self._calls  # no call begins like this: its pieces are numbered
        last = (matches or candidates)[-1] if candidates else None
        if last is None or self._begins_call(last, call_id, name):
            if len(self._calls) == MAX_CALLS:
                raise MalformedOutput("The model asked for too many tools at once.", retryable=False)
            last = _Call(index, call_id)
            self._calls.append(last)
        last.id = last.id or call_id
        return last

    @staticmethod
    def _begins_call(last: _Call, call_id: str, name: str) -> bool:
        """Return whether a piece is of another call than the last: by its id, or by a name after whole arguments."""
        if call_id and last.id and call_id != last.id:
            return bool(name) or _is_json(last.arguments)  # some give each piece of a call an id of its own
        return bool(name and last.name and last.pieces and _is_json(last.arguments))


def returned_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a call that go back with it to the server they are from; none if they are too long."""
    fields = {name: item[name] for name in RETURNED_FIELDS if item.get(name)}
    return fields if len(json.dumps(fields)) <= MAX_RETURNED else {}


def own_id(kind: str, number: int) -> str:
    """Return an id for a call that came without one: nine letters and digits, as the strictest servers want it."""
    return f"{kind}{number:0{9 - len(kind)}}"


def _index(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _whole(pieces: list[str]) -> str:
    """Return the arguments in some pieces: the last, if each repeats those before, or if all are sent again."""
    text = "".join(pieces)
    if _is_json(text):
        inner = json.loads(text)
        return inner if isinstance(inner, str) and _is_json(inner) else text  # some write the text as text again
    if len(pieces) > 1 and all(map(str.startswith, pieces[1:], pieces)):
        return pieces[-1]
    values = values_of(text)
    is_again = len(values) > 1 and all(value in ({}, values[-1]) for value in values)
    return json.dumps(values[-1], ensure_ascii=False) if is_again and text.endswith("}") else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
