"""The lines of a stream, and the contents of one event of a completion, in whatever shape a server sends them; pure."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic_core import from_json

from .error_bodies import error_fields
from .errors import MalformedOutput

_TEXT = ("text", "value", "content")
_PIECES = ("delta", "content_block", "item")
_ARGUMENTS = ("name", "arguments", "partial_json")
_ENDS = ("finish_reason", "stop_reason", "finishReason", "finish_details", "done_reason")
_THOUGHT_PARTS = ("thinking", "reasoning")
_DECODER = json.JSONDecoder(strict=False)

MAX_EVENT_BYTES = 8 * 1024 * 1024
MAX_ANSWER_BYTES = 128 * 1024 * 1024
"""A thousand bytes around each of as many tokens as no model writes: who sends more will never end."""


class LineSplitter:
    """Bytes in, complete lines out; lines end with LF, CR or CR LF, as server-sent events allow."""

    __slots__ = ("_after_cr", "_size", "_tail", "_total")

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._size = self._total = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by `chunk`, without their ends. Raises MalformedOutput for too much."""
        self._total += len(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        lines = chunk.splitlines()
        self._after_cr = chunk.endswith(b"\r")
        last = b"" if chunk.endswith((b"\r", b"\n")) else lines.pop()
        if lines:
            lines[0] = self.rest() + lines[0]
        self._tail.append(last)
        self._size += len(last)
        if self._size > MAX_EVENT_BYTES or self._total > MAX_ANSWER_BYTES:
            raise MalformedOutput("The model server sent more than an answer can be.", retryable=False)
        return lines

    def rest(self) -> bytes:
        """Return what was left unterminated at the end of the stream."""
        tail, self._tail, self._size = b"".join(self._tail), [], 0
        return tail


class ChoiceSelector:
    """Selects the choices of one answer, for servers that send several.

    Gateways number the parts of one answer, too: a first choice with a higher number waits for a lower one to follow.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._waiting: list[Mapping[str, Any]] = []
        self._others: set[int] = set()

    def feed(self, choices: Any, *, is_over: bool) -> list[Mapping[str, Any]]:
        """Return the choices to read now; once the answer `is_over`, other numbers are other answers."""
        choices = [choices] if isinstance(choices, dict) else choices
        number = min(map(_number_of, choices))
        self._others |= {_number_of(choice) for choice in choices} - {number}
        same = [choice for choice in choices if _number_of(choice) == number]
        if self._number is None:
            self._number = number
        if self._waiting and number < _number_of(self._waiting[0]):
            self._others.add(_number_of(self._waiting[0]))
            self._waiting = []
        if number in self._others or (is_over and number != self._number):
            return []
        ready, self._waiting = self._waiting, []
        if number > self._number:
            self._number = number if ready else self._number
            if not ready:
                self._waiting = same
                return []
        return [*ready, *same]

    def rest(self) -> list[Mapping[str, Any]]:
        """Return what still waits when the stream has ended."""
        rest, self._waiting = self._waiting, []
        return rest


def _number_of(choice: Mapping[str, Any]) -> int:
    number = choice.get("index")
    return number if isinstance(number, int) else 0


class RepeatedText:
    """Texts in, what each adds out, for servers that repeat all text: two in a row must begin with the one before."""

    def __init__(self) -> None:
        self._first = ""
        self._second = ""
        self._all: str | None = None
        self._is_settled = False

    def add(self, text: str) -> str:
        if self._is_settled:
            return text
        if self._all is not None:
            if text.startswith(self._all):
                text, self._all = text[len(self._all) :], text
            return text
        if self._second:
            if text.startswith(self._second):
                self._all = text
                return text[len(self._first) :]
            text = self.rest() + text
            self._is_settled = True
        elif not self._first:
            self._first = text if text.strip() else ""
        elif len(text) > len(self._first) and text.startswith(self._first) and any(map(str.isalnum, self._first)):
            self._second = text
            return ""
        else:
            self._is_settled = True
        return text

    def rest(self) -> str:
        """Return what waits for the next text, when none follows."""
        rest, self._second = "" if self._all is not None else self._second, ""
        return rest


class Pieces:
    """Pieces of text in, their text out, whole characters at a time: pairs of surrogates are joined across reads."""

    def __init__(self) -> None:
        self._growth = RepeatedText()
        self._pieces: list[str] = []
        self._half = ""

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, text: str) -> None:
        """Add a piece of a field that may hold all text so far each time."""
        self._pieces.append(self._growth.add(text))

    def add_part(self, text: str) -> None:
        """Add a piece as it is."""
        self._pieces += filter(None, [text])

    def flush_pending(self) -> None:
        """Add what waited for the next piece, when none follows."""
        self._pieces.append(self._growth.rest())

    def peek(self) -> str:
        """Return the pieces that were not taken."""
        return "".join(self._pieces)

    def take(self) -> str:
        """Return the joined pieces; there are none then."""
        text = self._half + "".join(self._pieces)
        self._half = ""
        self._pieces.clear()
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return join_surrogates(text)


def join_surrogates(text: str) -> str:
    """Return a text that can be encoded: with whole characters for pairs of surrogates, and marks for other halves."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def documents(data: bytes) -> list[Any]:
    """Return what an event holds: mostly one object, else several in a list or one after the other, or text."""
    try:
        payload = from_json(data)
    except ValueError:
        text = data.decode("utf-8", "replace")
        return values_of(text) or [text]
    if isinstance(payload, str) and payload.startswith("{"):
        return documents(payload.encode("utf-8", "replace"))  # a server that writes its JSON as JSON
    return payload if isinstance(payload, list) else [payload]


def values_of(text: str) -> list[Any]:
    """Return the JSON values that follow one another in a text, up to where it is no JSON."""
    values = []
    with suppress(ValueError, RecursionError):
        while text:
            value, end = _DECODER.raw_decode(text)
            values.append(value)
            text = text[end:].lstrip()
    return values


def unwrap(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the completion in an object: some gateways put it into another one, some servers send a choice alone, and
    some the events of Anthropic's protocol or of OpenAI's later one."""
    if "choices" in payload:
        return payload
    parts = [payload, *(part for part in payload.values() if isinstance(part, dict))]
    choices = ({"choices": [choice], **part} for part in parts if (choice := _choice_of(part)))
    return next(choices, None) or _piece_of(payload)


def _choice_of(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if "choices" in part or isinstance(part.get("message"), dict) or isinstance(part.get("response"), str):
        return part
    content = part.get("content") if "role" in part else part.get("output")
    if not isinstance(content, str | list):
        return None
    reason = part.get("status") if part.get("status") in ("completed", "incomplete") else None
    return {"finish_reason": reason, **part, "message": {"content": content}}


def _piece_of(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a piece of an answer as a part of its content; a text's kind is in the name of its event."""
    kind = str(payload.get("type"))
    piece = next((payload[name] for name in _PIECES if name in payload), None)
    if isinstance(piece, str):
        piece = {"thinking" if "reasoning" in kind else "arguments" if "arguments" in kind else "text": piece}
    if not isinstance(piece, dict) or kind.endswith(".done"):
        return payload
    return {**payload, "choices": [{**piece, "delta": {"content": [piece]}}]}


def end_of(*sources: Mapping[str, Any]) -> Any:
    """Return why an answer ends, wherever a server says so; `error` if an error is there instead."""
    for source in sources:
        if source.get("error") and error_fields(source["error"])[0]:
            return "error"
    reason = next(filter(None, [source.get(name) for source in sources for name in _ENDS]), None)
    if isinstance(reason, dict):
        reason = reason.get("type")
    return reason or ("stop" if True in [source.get("done") for source in sources] else None)


def text_of_parts(parts: object, fields: Sequence[str] = _TEXT) -> str:
    """Return the text of what some servers send instead of a string: parts, of which those that think are left out."""
    if isinstance(parts, list):
        return "".join(text_of_parts(part, fields) for part in parts if fields is not _TEXT or not _is_thought(part))
    if isinstance(parts, dict):
        return next(filter(None, (text_of_parts(parts.get(name)) for name in fields)), "")
    return parts if isinstance(parts, str) else str(parts) if type(parts) in (int, float) else ""


def split_parts(content: object) -> tuple[str, str, list[dict[str, Any]]]:
    """Return the thoughts, the text and the tool calls in a content that is not a string.

    A thought is a part like `{"type": "thinking", "thinking": [{"type": "text", "text": …}]}`.
    """
    parts = content if isinstance(content, list) else []
    thoughts = (text_of_parts(part, (*_THOUGHT_PARTS, "text", "summary")) for part in filter(_is_thought, parts))
    calls = [part for part in parts if isinstance(part, dict) and any(map(part.get, _ARGUMENTS))]
    return "".join(thoughts), text_of_parts(content), calls


def _is_thought(part: object) -> bool:
    return isinstance(part, dict) and (part.get("type") in _THOUGHT_PARTS or bool(part.get("thinking")))
