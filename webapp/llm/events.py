"""Events of a streamed chat completion, and the decoder from its bytes; no I/O here.

Reads may end within a character; all text of one is joined, because everything downstream costs per delta.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .chunks import Growth, OneAnswer, documents, end_of, text_of_parts, thoughts_of_parts, unwrap
from .dialects import finish_of
from .error_bodies import error_fields, quotable
from .errors import InterruptedAnswer, MalformedOutput, ModelError, RefusedByModel, classify_payload
from .lines import LineSplitter
from .partial_calls import PartialCalls, ToolCall
from .usage import THOUGHT_FIELDS, Usage, usage_of

_THOUGHT = ("text", "thinking", "summary", "content")
_DONE = b"[DONE]"
_ERROR_FIELDS = {"error", "detail", "errors"}
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
    """The end of the answer, always the last event: `reason` is `stop`, `length`, `tool_calls` or as sent."""

    reason: str
    usage: Usage | None = None
    model: str | None = None


Event = TextDelta | ReasoningDelta | ThoughtSoFar | ToolCall | Finish


class StreamDecoder:
    """Bytes of one streamed completion in, events out until `finished`; `error` holds the stream's own."""

    def __init__(self) -> None:
        self.finished = False
        self.started = False
        self.error: ModelError | None = None
        self._done = False
        self._progress = False
        self._lines = LineSplitter()
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._halves: dict[type[Event], str] = {}
        self._all: list[str] = []
        self._data: list[bytes] = []
        self._name = b""
        self._plain: list[bytes] = []
        self._words = ""  # the last that were no part of an answer: an error, if nothing ends it
        self._is_odd = False
        self._answer = OneAnswer()
        self._growth = {TextDelta: Growth(), ReasoningDelta: Growth()}
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
            rest = [b"\n".join(self._plain).replace(b"\n", b" ") + rest[0], b""]
        events = self._read(rest, is_end=True)
        if not self.finished and self.error is None:
            if self._reason is not None:
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

    def take_progress(self) -> bool:
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
        if self._thoughts and (thought := self._join_pieces(ReasoningDelta, self._thoughts)):
            events.append(ReasoningDelta(thought))
        if self._texts and (text := self._join_pieces(TextDelta, self._texts)):
            self.started = True
            self._all.append(text)
            events.append(TextDelta(text))
        if self._done and not self.finished and self.error is None:
            if self._reason is None and not self.started and not self._calls:
                self.error = MalformedOutput("The model gave no answer. Try again, or choose another model.")
            else:
                events += self._finish()
        return events

    def _join_pieces(self, kind: type[Event], pieces: list[str]) -> str:
        """Return the joined pieces, which are then empty, with the halves of surrogate pairs joined across reads."""
        text = self._halves.pop(kind, "") + "".join(pieces)
        pieces.clear()
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._halves[kind] = text[:-1], text[-1]
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _line(self, line: bytes) -> None:
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.startswith(b"data:"):
            data = line[6:] if line[5:6] == b" " else line[5:]
            if data == _DONE or (self._data and data.startswith(b"{") and self._data[-1].endswith(b"}")):
                self._end_event()  # a server that puts no empty line between its events
            self._data.append(data)
            if data == _DONE:
                self._end_event()
        elif not line:
            self._end_event()
        elif line.startswith(b"event:"):
            self._name = line[6:].strip()
        elif line.startswith(b"error:"):
            self._payload(line[6:], name=b"error")
        elif not line.startswith((b":", b"id:", b"retry:")):
            if not self.started:
                self._plain.append(line)
            self._note_words(line.decode("utf-8", "replace"))
            if line.startswith((b"{", b"[")):
                # An object instead of an event: an answer in one piece, or an error once the status was out.
                self._payload(line)

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
                raise classify_payload(payload)
            return
        if not isinstance(payload, Mapping):
            self._is_odd = True
            if isinstance(payload, str):
                self._note_words(payload)
            return
        payload = unwrap(payload)
        choices = payload.get("choices")
        is_error = bool(error_fields(payload.get("error"))[0])
        if not choices:
            is_error |= bool(_ERROR_FIELDS & payload.keys() or (name in _COMPLETIONS and error_fields(payload)[0]))
        if is_error and self._reason is None:
            raise classify_payload(payload)
        self._chunk(payload, choices)

    def _chunk(self, payload: Mapping[str, Any], choices: Any) -> None:
        self._note_usage(payload)
        if self._model is None and isinstance(payload.get("model"), str):
            self._model = payload["model"]
        if choices:
            for choice in self._answer.feed(choices, is_over=self._reason is not None):
                self._choice(choice, payload)

    def _choice(self, choice: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        self._note_usage(choice)
        delta = choice.get("delta")
        if delta is None or (not delta and not self.started):
            # Whole: an answer that is not streamed, or, after its pieces, once more; or a completion without roles.
            delta = choice.get("message") or ({"content": choice["text"]} if choice.get("text") else delta)
        if isinstance(delta, str):
            delta = {"content": delta}
        reason = end_of(payload, choice, delta or {}) if self._reason is None else choice.get("finish_reason")
        if delta and not (reason and self._repeats(delta)):
            text = delta.get("content")
            if text:
                if isinstance(text, str):
                    self._texts.append(self._growth[TextDelta].add(text))
                else:
                    self._thoughts += thoughts_of_parts(text)
                    self._texts += filter(None, [text_of_parts(text)])
            elif isinstance(delta.get("refusal"), str):
                self._texts.append(delta["refusal"])
            if len(delta) > 1 or not text:  # most deltas are nothing but text
                self._beside_text(delta)
        if reason:
            self._reason = finish_of(str(reason))
            if self._reason == "error":
                sources = (payload, choice, delta or {})
                source = next((source for source in sources if source.get("error")), None)
                raise classify_payload(source) if source else InterruptedAnswer()
            if self._reason == "content_filter" and not (self.started or self._texts):
                raise RefusedByModel

    def _repeats(self, delta: Mapping[str, Any]) -> bool:
        """Return whether the last piece is the whole answer once more."""
        text = delta.get("content")
        return isinstance(text, str) and len(text) > 1 and text == "".join((*self._all, *self._texts))

    def _beside_text(self, delta: Mapping[str, Any]) -> None:
        """Add what a delta has besides text: reasoning, which is sent under one of several names, and tool calls."""
        for name in THOUGHT_FIELDS:
            if thought := delta.get(name):
                self._progress = True
                thought = self._growth[ReasoningDelta].add(text_of_parts(thought, _THOUGHT))
                self._thoughts += filter(None, [thought])
                break
        calls = delta.get("tool_calls") or ([delta["function_call"]] if delta.get("function_call") else [])
        for piece in calls if isinstance(calls, list) else [calls]:
            if isinstance(piece, Mapping):
                self._progress = True
                self._calls.add(piece)

    def _note_words(self, text: str) -> None:
        if text[:1].isalpha() and " " in text.strip():
            self._words = quotable(text)

    def _note_usage(self, source: Mapping[str, Any]) -> None:
        """Take token counts from where they are; none at all do not replace those that came before."""
        if usage := source.get("usage"):
            found = usage_of(usage)
            if self._usage is None or found.prompt_tokens or found.completion_tokens:
                self._usage = found

    def _take_rest(self) -> None:
        """Take what waited for what would follow it, now that nothing does."""
        for choice in self._answer.rest():
            self._choice(choice, {})
        self._texts.append(self._growth[TextDelta].rest())
        self._thoughts.append(self._growth[ReasoningDelta].rest())

    def _finish(self) -> list[Event]:
        self.finished = True
        events: list[Event] = [*self._calls.complete()]
        events.append(Finish(self._reason or ("tool_calls" if self._calls else "stop"), self._usage, self._model))
        return events
