"""One streamed answer as its reader gets it: text, thoughts and calls, in whichever field they came; pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .events import Event, Finish, ReasoningDelta, TextDelta
from .partial_calls import ARGUMENT_FIELDS, ToolCall
from .reply_markup import ReplyMarkup
from .textual_calls import TextualCalls


class AnswerFilter:
    """Events of a decoder in, events of the answer out; only some `tools` can be called.

    The field for reasoning is read as an answer of its own: a server that reads the model's marks wrongly leaves them
    in there, and with them the answer or its calls, which count if there are no others.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]] = (), unopened: str = "") -> None:
        self._types = {tool["function"]["name"]: _types(tool["function"].get("parameters")) for tool in tools}
        self._calls = TextualCalls(self._types, self._types)
        self._markup = ReplyMarkup(unopened)
        self._field = ReplyMarkup()
        self._thoughts: list[str] = []  # in the field for reasoning
        self._behind: list[str] = []  # text in that field, behind a thought
        self._in_text: list[tuple[str, str]] = []  # the calls
        self._has_answer = False

    @property
    def has_thought(self) -> bool:
        """Return whether there was a thought in the text."""
        return self._markup.has_thought

    def feed(self, event: Event) -> Iterator[Event]:
        """Yield an event as the consumer gets it."""
        if isinstance(event, ReasoningDelta):
            yield from self._read_field(TextDelta(event.text))
            return
        if isinstance(event, Finish):
            yield from self._read_field(Finish(""))
        for part in self._markup.feed(event):
            for piece in self._without_calls(part):
                if isinstance(piece, Finish) and not self._has_answer:
                    yield from self._misplaced_answer(piece)
                if isinstance(piece, ToolCall) and self._is_again(piece, event):
                    continue
                self._has_answer |= isinstance(piece, ToolCall) or (
                    isinstance(piece, TextDelta) and bool(piece.text.strip())
                )
                yield piece

    def _read_field(self, event: Event) -> Iterator[Event]:
        for part in self._field.feed(event):
            if isinstance(part, TextDelta) and self._field.has_thought and not self._has_answer:
                self._behind.append(part.text)
            elif isinstance(part, (TextDelta, ReasoningDelta)):
                self._thoughts.append(part.text)
                yield ReasoningDelta(part.text)
            elif isinstance(part, ToolCall):
                self._has_answer = True
                yield from self._own_calls(part)

    def _misplaced_answer(self, end: Finish) -> Iterator[Event]:
        """Yield the answer that is in the field for reasoning: what is behind a thought, or the calls it ends with."""
        behind = "".join(self._behind).strip()
        found = [*self._calls.feed(behind or "".join(self._thoughts).strip()), *self._calls.end()]
        if behind:
            yield from found
        elif found and isinstance(found[-1], ToolCall) and end.reason != "length":
            yield from (event for event in found if isinstance(event, ToolCall))

    def _without_calls(self, event: Event) -> list[Event]:
        """Return an event with the calls written into the text as calls; they come before the end."""
        if isinstance(event, TextDelta):
            return self._calls.feed(event.text)
        if isinstance(event, ReasoningDelta):
            return [event]
        return [*self._calls.end(), *(self._own_calls(event) if isinstance(event, ToolCall) else [event])]

    def _own_calls(self, call: ToolCall) -> list[ToolCall]:
        """Return a call with its tool's name, or those in its arguments if it is of no tool."""
        name = self._calls.tool_name(call.name)
        if name in self._types:
            return [replace(call, name=name, arguments=self._own_arguments(name, call.arguments))]
        return [*self._calls.written.read(call.arguments)] or [replace(call, name=name)]

    def _own_arguments(self, name: str, arguments: str) -> str:
        """Return the arguments of a call, which some models put into an argument that the tool does not have."""
        with suppress(ValueError, RecursionError):
            given, own = json.loads(arguments), self._types[name]
            if own and isinstance(given, dict) and own.keys().isdisjoint(given):
                inner = next(filter(None, map(given.get, ARGUMENT_FIELDS)), None)
                inner = json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict) else inner
                return inner if isinstance(inner, str) and inner.startswith("{") else arguments
        return arguments

    def _is_again(self, call: ToolCall, event: Event) -> bool:
        """Return whether a call was sent by an `event` and stands in the text, too."""
        with suppress(ValueError, RecursionError):
            call = replace(call, arguments=json.dumps(json.loads(call.arguments), sort_keys=True))
        same = (call.name, call.arguments)
        if not (isinstance(event, ToolCall) and event.id == call.id):
            self._in_text.append(same)
        elif same in self._in_text:
            self._in_text.remove(same)
            return True
        return False


def _types(parameters: Any) -> dict[str, str]:
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    items = properties.items() if isinstance(properties, Mapping) else ()
    return {name: str(schema.get("type", "")) for name, schema in items if isinstance(schema, Mapping)}
