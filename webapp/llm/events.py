"""Events of a streamed chat completion, and the decoder from its bytes; no I/O here.

Reads may end within a character; all text of one is joined, because everything downstream costs per delta.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import chunks
from .chunks import LineSplitter, Pieces, documents, end_of, split_parts, text_of_parts, unwrap, values_of
from .dialects import finish_of
from .error_bodies import clean_reason, is_error
from .errors import InterruptedAnswer, MalformedOutput, ModelError, RefusedByModel, classify_payload
from .partial_calls import PartialCalls, ToolCall
from .usage import THOUGHT_FIELDS, Usage, later_usage

_THOUGHT = ("text", "thinking", "summary", "content")
_DONE = b"[DONE]"
_COMPLETIONS = (b"", b"message", b"completion", b"chunk")


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer; concatenated in order, deltas are the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks before it answers; not part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtSoFar:
    """All text of the answer so far was reasoning, as only the mark at its end tells."""

    mark: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of the answer, always the last event: `reason` is `stop`, `length`, `tool_calls` or as sent.

    `reasoning` goes back to the server with the calls (`PartialCalls`).
    """

    reason: str
    usage: Usage | None = None
    model: str | None = None
    reasoning: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """The server could not answer, and is asked again in so many seconds."""

    seconds: float


Event = Pause | TextDelta | ReasoningDelta | ThoughtSoFar | ToolCall | Finish


class StreamDecoder:
    """Bytes of one streamed completion in, events out until `finished`; `error` holds the stream's own."""

    def __init__(self) -> None:
        self.finished = False
        self.started = False
        self.error: ModelError | None = None
        self._done = False
        self._progress = False
        self._lines = LineSplitter()
        self._texts = Pieces()
        self._thoughts = Pieces()
        self._all: list[str] = []
        self._data: list[bytes] = []
        self._name = b""
        self._plain: list[bytes] = []
        self._words = ""  # the last that were no part of an answer: an error, if nothing ends it
        self._is_odd = self._is_in_pieces = self._has_events = False
        self._objects = 0  # that came without being events
        self._answer = chunks.ChoiceSelector()
        self._calls = PartialCalls()
        self._reason: str | None = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._first_line = True

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events completed by one network read, their text joined; `error` may be set after it."""
        return self._read(self._lines.feed(chunk))

    def end(self) -> list[Event]:
        """Return the events left at the end of the bytes; the answer was cut short unless `finished` is true then."""
        rest = [self._lines.rest(), b""]
        if not self.started and self._plain:  # no stream: an object over several lines
            rest = [b" ".join([*self._plain, rest[0]]), b""]
        events = self._read(rest, is_end=True)
        if not self.finished and self.error is None:
            is_whole = self._objects == 1 and not self._has_events and (self.started or bool(self._calls))
            if self._reason is not None or is_whole:
                events += self._finish()  # servers without [DONE]: the finish reason is enough of an end
            elif self._words:
                self.error = classify_payload(self._words)
            elif self._is_odd and not self.started:
                self.error = MalformedOutput("The model server sent something that is not a valid stream. Try again.")
        return events

    @property
    def is_ending(self) -> bool:
        """Return whether the answer is said to be whole: at most its token counts are still to come."""
        return self._reason is not None

    def pop_progress(self) -> bool:
        """Return whether the model has worked on its answer since the last call, including reasoning and tool calls."""
        progress, self._progress = self._progress, False
        return progress

    def _read(self, lines: list[bytes], *, is_end: bool = False) -> list[Event]:
        for line in lines:
            try:
                self._line(line)
            except ModelError as error:
                self.error = error
                break
            except (AttributeError, TypeError, KeyError, IndexError, RecursionError):
                self._is_odd = True  # valid JSON of a different shape: a chunk that costs itself
            if self._done:
                break
        if is_end or self._done:
            self._take_rest()
        events: list[Event] = []
        if self._thoughts and (thought := self._thoughts.take()):
            events.append(ReasoningDelta(thought))
        if self._texts and (text := self._texts.take()):
            self.started = True
            self._all.append(text)
            events.append(TextDelta(text))
        if self._done and not self.finished and self.error is None:
            if self._reason is None and not self.started and not self._calls:
                self.error = MalformedOutput("The model gave no answer. Try again, or choose another model.")
            else:
                events += self._finish()
        return events

    def _line(self, line: bytes) -> None:
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.startswith(b"data:"):
            self._has_events = True
            data = line[6:] if line[5:6] == b" " else line[5:]
            if data == _DONE or (self._data and data.startswith(b"{") and self._data[-1].endswith(b"}")):
                self._end_event()  # a server that puts no empty line between its events
            self._data.append(data)
            if data == _DONE:
                self._end_event()
        elif not line:
            self._end_event()
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().lower()
        elif line.startswith(b"error:"):
            self._payload(line[6:], name=b"error")
        elif not line.startswith((b":", b"id:", b"retry:")):
            text = line.decode("utf-8", "replace")
            self._note_words(text)
            if line.startswith((b"{", b"[")) and values_of(text):
                # An object instead of an event: an answer in one piece, or an error once the status was out.
                self._objects += 1
                self._payload(line)
            elif not self.started:
                self._plain.append(line)

    def _end_event(self) -> None:
        name, self._name = self._name, b""
        data, self._data = self._data, []
        if data:
            self._payload(data[0] if len(data) == 1 else b"\n".join(data), name)

    def _payload(self, data: bytes, name: bytes = b"") -> None:
        data = data.strip()
        while data.startswith(b"data:"):
            data = data[5:].lstrip()  # a server that frames its events twice
        if data.strip(b'"').upper() == _DONE:
            self._done = True
        elif data:
            for payload in documents(data):
                self._document(payload, name)

    def _document(self, payload: Any, name: bytes) -> None:
        if name == b"error":
            if self._reason is None:
                self._fail(payload)
            return
        if not isinstance(payload, dict):
            self._is_odd = True
            if isinstance(payload, str):
                self._note_words(payload)
            return
        payload = unwrap(payload)
        if self._reason is None and is_error(payload, is_completion=name in _COMPLETIONS):
            self._fail(payload)
        else:
            self._chunk(payload, payload.get("choices"))

    def _fail(self, payload: Any) -> None:
        """Raise an error, unless it holds what the model wrote: a call that its server could not read."""
        error = payload.get("error") if isinstance(payload, dict) else None
        if not isinstance(error, dict) or not isinstance(error.get("failed_generation"), str):
            raise classify_payload(payload)
        self._texts.add_part(error["failed_generation"])
        self._reason = "stop"

    def _chunk(self, payload: Mapping[str, Any], choices: Any) -> None:
        self._usage = later_usage(self._usage, payload)
        if self._model is None and isinstance(payload.get("model"), str):
            self._model = chunks.join_surrogates(payload["model"])
        for choice in self._answer.feed(choices, is_over=self._reason is not None) if choices else [{}]:
            self._choice(choice, payload)

    def _choice(self, choice: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        self._usage = later_usage(self._usage, choice)
        delta = choice.get("delta")
        if delta is None or not (delta or self._calls):
            # Whole: an answer that is not streamed, or, after its pieces, once more; or a completion without roles.
            text = choice.get("text") or choice.get("response") or choice.get("content")
            delta = choice.get("message") or ({"content": text} if text else delta)
            if self._is_in_pieces and isinstance(delta, dict):
                delta = {"tool_calls": delta.get("tool_calls")}
        elif delta:
            delta = {"content": delta} if isinstance(delta, str) else delta
            self._is_in_pieces |= bool(delta.get("content"))
        reason = end_of(choice, delta or {}, payload) if self._reason is None else choice.get("finish_reason")
        if delta and not (reason and self._repeats(delta)):
            text = delta.get("content") or delta.get("text")
            if text:
                if isinstance(text, str):
                    self._texts.add(text)
                else:
                    thought, words, calls = split_parts(text)
                    self._thoughts.add_part(thought)
                    self._texts.add_part(words)
                    self._add_calls(calls)
            elif isinstance(delta.get("refusal"), str):
                self._texts.add_part(delta["refusal"])
            if len(delta) > 1 or not text:  # most deltas are nothing but text
                self._beside_text(delta)
        if "tool_calls" in choice:
            self._beside_text(choice)
        if reason:
            self._reason = finish_of(chunks.join_surrogates(str(reason)))
            if self._reason == "error":
                source = next((source for source in (payload, choice, delta or {}) if source.get("error")), None)
                raise classify_payload(source) if source else InterruptedAnswer()
            if self._reason == "content_filter" and not (self.started or self._texts):
                raise RefusedByModel

    def _repeats(self, delta: Mapping[str, Any]) -> bool:
        """Return whether the last piece is the whole answer once more."""
        text = delta.get("content")
        return isinstance(text, str) and len(text) > 1 and text == "".join((*self._all, self._texts.peek()))

    def _beside_text(self, delta: Mapping[str, Any]) -> None:
        """Add what a delta has besides text: reasoning, which is sent under one of several names, and tool calls."""
        for name in THOUGHT_FIELDS:
            if thought := delta.get(name):
                self._progress = True
                self._thoughts.add(text_of_parts(thought, _THOUGHT))
                break
        self._calls.add_reasoning(delta.get("reasoning_details"))
        calls = delta.get("tool_calls") or delta.get("function_call") or []
        if isinstance(calls, str):
            calls = next(iter(values_of(calls)), [])
        self._add_calls(calls if isinstance(calls, list) else [calls])

    def _add_calls(self, pieces: Iterable[object]) -> None:
        for piece in pieces:
            if isinstance(piece, dict):
                self._progress = True
                self._calls.add(piece)

    def _note_words(self, text: str) -> None:
        if text[:1].isalpha() and " " in text.strip():
            self._words = clean_reason(text)

    def _take_rest(self) -> None:
        """Take what waited for what would follow it, now that nothing does."""
        for choice in self._answer.rest():
            self._choice(choice, {})
        self._texts.flush_pending()
        self._thoughts.flush_pending()

    def _finish(self) -> list[Event]:
        self.finished = True
        reason = self._reason or ("tool_calls" if self._calls else "stop")
        return [*self._calls.complete(), Finish(reason, self._usage, self._model, tuple(self._calls.reasoning))]
