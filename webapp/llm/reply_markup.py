"""Separates what a model writes for its server from its answer: thoughts, channels, the marks of turns; pure.

A mark counts by where it stands, since an answer may be about it: never in code or a block quote; an opening one at the
beginning of a line or right before a word; a closing one at the beginning or end of a line or right after a word, where
without an opening one (eaten by a template) all before it was a thought; an end at a line's end or within a word;
the person's next turn at either end of a line or without a space before it, and with a space or word behind it.
"""

import re
from collections.abc import Iterator

from .dialects import ALL, ANSWERS, BARE_THOUGHT, MARK, THOUGHTS, TURNS, any_of, may_begin, overlap_of, plain
from .events import Event, Finish, ReasoningDelta, TextDelta, ThoughtSoFar
from .markdown_state import MarkdownState
from .partial_calls import ToolCall, own_id

_TRIGGERS = re.compile(r"[<\[\]◁]")
_HEADER = re.compile(
    r"(?:<\|start\|>assistant([^<]{0,100}))?(?:<\|channel\|>\s*(\w+)(.{0,100}?))?<\|message\|>",
    re.IGNORECASE | re.DOTALL,
)
_MAX_HEADER_LENGTH = 150
_CHANNEL_END = re.compile(r"<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)", re.IGNORECASE)
_RECIPIENT = re.compile(r"to=(?:functions\.)?([\w-]+)")
_MAX_TAG_LENGTH = 200
_TEXT, _THOUGHT = "text", "thought"


class ReplyMarkup:
    """A filter over the events of one answer, which begins within a thought if `unopened` is the mark that ends it."""

    def __init__(self, unopened: str = "") -> None:
        self._buffer = ""
        self._line = ""  # the last line of the text so far
        self._place = MarkdownState()
        self._output: list[str] = []  # the text since that place
        self._has_text = False
        self.has_thought = False
        self._is_over = False
        self._after_mark = True
        self._strips = False  # white space is dropped: it surrounded a mark
        self._strikes = False
        self._opening = ""
        self._closings: tuple[str, ...] = (unopened,) if unopened else ()  # the marks that end the thought that is open
        self._depth = 1 if unopened else 0
        self._thought: list[str] = []  # the one that is open
        self._answer_close = ""  # the mark that ends the answer, if one began it
        self._has_channel = False
        self._channel = ""  # the one that is open: _TEXT, _THOUGHT or the name of the tool it calls
        self._gap = ""  # what comes before the next text of the one that is open
        self._arguments = ""
        self._calls = 0

    def feed(self, event: Event) -> Iterator[Event]:
        """Yield an event as the consumer gets it."""
        if isinstance(event, TextDelta):
            if self._buffer or self._after_mark or self._closings or self._channel or _TRIGGERS.search(event.text):
                self._buffer += event.text
                yield from self._work(ended=False)
            elif not self._is_over:
                yield self._show(event.text)
        elif isinstance(event, ReasoningDelta):
            yield event
        else:
            yield from self._work(ended=True)
            yield from self._end(event)
            yield event

    def _work(self, ended: bool) -> Iterator[Event]:
        size = -1
        while self._buffer and len(self._buffer) != size:
            size = len(self._buffer)
            if self._is_over:
                self._buffer = ""
            elif self._closings:
                yield from self._read_thought(ended)
            elif self._channel:
                yield from self._read_channel(ended)
            else:
                yield from self._read_text(ended)

    def _read_text(self, ended: bool) -> Iterator[Event]:
        """Show text up to the first mark that counts, and take that; hold back what may become one."""
        if not self._has_text and not self._buffer.strip() and not ended:
            return
        if not self._has_text and not self.has_thought and self._is_bare_thought(ended) is not False:
            return
        place, read = self._place_here(), 0
        for match in _TRIGGERS.finditer(self._buffer):
            start = match.start()
            place, read = place.advance(self._buffer[read:start]), start
            if place.in_code or place.in_quote:
                continue
            mark = MARK.match(self._buffer, start)
            if mark is None:
                counts = None if not ended and may_begin(self._buffer[start : start + _MAX_TAG_LENGTH], ALL) else False
            else:
                counts = self._counts(mark, ended)
            if counts is False:
                continue
            before, self._buffer = self._buffer[:start], self._buffer[start:]
            if counts and mark and mark["closes"] and not self.has_thought:
                yield from self._withdraw(before, plain(mark[0]))
            elif before.strip() or (before and self._has_text):
                yield self._show(before)
            elif not counts:
                self._buffer = before + self._buffer  # white space, whose mark has not arrived in full
            if counts and mark:
                yield from self._take(mark)
            return
        text, self._buffer = self._buffer, ""
        yield self._show(text)

    def _is_bare_thought(self, ended: bool) -> bool | None:
        """Return whether a thought whose marks a server dropped begins the answer, and open it; None if it may."""
        opening, *closings = BARE_THOUGHT
        head = self._buffer[: len(opening) + 1]
        if not (opening.startswith(head) or (head.startswith(opening) and head[-1].isupper())):
            return False
        if not any(closing in self._buffer for closing in closings):
            return False if ended else None
        self._buffer = self._buffer[len(opening) :]
        self._opening, self._closings, self._depth = "", tuple(closings), 1
        return True

    def _counts(self, mark: re.Match[str], ended: bool) -> bool | None:
        """Return whether a mark is more than a word about it; None if that depends on what follows."""
        before, end = self._buffer[: mark.start()], mark.end()
        line = before.rpartition("\n")[2] if "\n" in before else self._line + before
        begins_line = not line.strip() or (self._after_mark and not before.strip())
        if mark["void"]:
            return begins_line or not mark[0].endswith("/>")
        if mark["answer"]:
            return self.has_thought and not self._has_text and not before.strip()
        if mark["answered"]:
            return mark[0].lower() == self._answer_close and not self._buffer[end:].strip() and (ended or None)
        if mark["channel"]:
            is_whole = _HEADER.match(self._buffer, mark.start())
            is_open = not ended and len(self._buffer) - mark.start() < _MAX_HEADER_LENGTH
            return True if is_whole else None if is_open else False
        if mark["opens"] and (begins_line or end < len(self._buffer) or ended):
            return begins_line or self._buffer[end : end + 1].isalnum() or self._buffer[end : end + 1] == "\n"
        if mark["turns"]:
            after = self._buffer[end : end + 1] or ("\n" if ended else "")
            is_part = begins_line or after == "\n" or not line[-1:].isspace()
            return is_part and (after.isspace() or after.isalnum()) if after else None
        rest = self._buffer[end:].lstrip(" \t")
        if mark["opens"] or (not rest and not ended):
            return None
        after = self._buffer[end : end + 1]
        is_glued = bool(line[-1:].strip()) and after.isalnum()
        if mark["closes"] and after == " " and (line[-1:].isalnum() or line[-1:] in (".", "!", "?")):
            is_glued = not any(tag in line.lower() for tag in THOUGHTS)
        if mark["closes"] and begins_line:
            return True
        if not ended and may_begin(self._buffer[mark.start() :][:_MAX_TAG_LENGTH], TURNS):
            return None
        if mark[0].lower() == "</s>":  # struck out in HTML, if that was opened
            return not rest and not self._strikes and "<s>" not in before.lower()
        if not rest or rest[0] == "\n" or is_glued or MARK.match(rest):
            return True
        return None if not ended and may_begin(rest[:_MAX_TAG_LENGTH], ALL) else False

    def _take(self, mark: re.Match[str]) -> Iterator[Event]:
        """Process the mark at the start of the buffer."""
        self._after_mark = True
        if mark["channel"] and (header := _HEADER.match(self._buffer)):
            self._buffer = self._buffer[header.end() :]
            recipient = _RECIPIENT.search(f"{header[1]} {header[3]}")
            channel = (header[2] or "").lower()
            is_thought = channel == "analysis"
            if channel == "final" and not self.has_thought and not self._has_channel and self._has_text:
                yield from self._withdraw("", mark[0].lower())
            self._has_channel = True
            self._channel = recipient[1] if recipient else _THOUGHT if is_thought else _TEXT
            self._gap = "\n\n" if self._has_text else ""
            return
        self._buffer = self._buffer[len(mark[0]) :]
        if mark["opens"]:
            self._opening = next(tag for tag in THOUGHTS if re.fullmatch(any_of([tag]), mark[0], re.IGNORECASE))
            self._closings, self._depth = THOUGHTS[self._opening], 1
        elif mark["ends"] or mark["turns"]:
            self._is_over = True
        else:
            self._answer_close = ANSWERS.get(mark[0].lower(), "")
            self._strips = not self._line.strip()

    def _withdraw(self, before: str, mark: str) -> Iterator[Event]:
        """Turn all text so far into a thought."""
        if self._has_text:
            yield ThoughtSoFar(mark)
        self._line, self._place, self._has_text, self.has_thought, self._strips = "", MarkdownState(), False, True, True
        self._output.clear()
        if before.strip():
            yield ReasoningDelta(before)

    def _read_thought(self, ended: bool) -> Iterator[Event]:
        low = plain(self._buffer)
        index, close = min(((low.find(mark), mark) for mark in self._closings if mark in low), default=(-1, ""))
        inner = low.find(self._opening) if self._opening else -1
        if inner >= 0 and (index < 0 or inner < index):
            if self._thought or low[:inner].strip():
                yield from self._think(inner + len(self._opening))
                self._depth += 1
            else:  # its server began it, too
                self._buffer = self._buffer[inner + len(self._opening) :]
        elif index >= 0:
            self._depth -= 1
            yield from self._think(index)
            self._buffer = self._buffer[len(close) :]
            if not self._depth:
                self._closings, self._after_mark, self.has_thought = (), True, True
                self._thought.clear()
                self._strips = not self._line.strip()
        else:
            overlap = 0 if ended else max(overlap_of(low, mark) for mark in (*self._closings, self._opening))
            yield from self._think(len(low) - overlap)

    def _think(self, size: int) -> Iterator[Event]:
        thought, self._buffer = self._buffer[:size], self._buffer[size:]
        thought = thought if self._thought else thought.lstrip()
        if thought:
            self._thought.append(thought)
            yield ReasoningDelta(thought)

    def _read_channel(self, ended: bool) -> Iterator[Event]:
        match = _CHANNEL_END.search(self._buffer)
        cut = self._buffer.rfind("<")
        is_partial = not match and not ended and cut >= 0 and len(self._buffer) - cut < len("<|channel|>")
        size = match.start() if match else cut if is_partial else len(self._buffer)
        part, self._buffer = self._buffer[:size], self._buffer[match.end() if match else size :]
        if part and self._channel == _TEXT:
            gap, self._gap = (self._gap, "") if part.strip() else ("", self._gap)
            yield self._show(gap + part.lstrip() if gap else part)
        elif part and self._channel == _THOUGHT:
            self.has_thought = True
            yield ReasoningDelta(part)
        else:
            self._arguments += part
        if match:
            self._is_over = match[0].lower() == "<|return|>"
            yield from self._end_channel()

    def _end_channel(self) -> Iterator[Event]:
        if self._channel not in ("", _TEXT, _THOUGHT):
            self._calls += 1
            yield ToolCall(own_id("chan", self._calls), self._channel, self._arguments.strip())
        if self._channel:
            self._strips = not self._line.strip()
        self._channel, self._arguments, self._after_mark = "", "", True

    def _show(self, text: str) -> TextDelta:
        if self._strips:
            text = text.lstrip()
        if text.strip():
            self._has_text, self._after_mark, self._strips = True, False, False
        self._line = text.rpartition("\n")[2] if "\n" in text else self._line + text
        self._output.append(text)
        return TextDelta(text)

    def _place_here(self) -> MarkdownState:
        text = "".join(self._output)
        self._output.clear()
        self._place, self._strikes = self._place.advance(text), self._strikes or "<s>" in text.lower()
        return self._place

    def _end(self, event: Event) -> Iterator[Event]:
        """Yield what the end of the answer decides: an unclosed thought without anything else was the answer."""
        yield from self._end_channel()
        is_normal = isinstance(event, Finish) and event.reason == "stop"
        if self._closings and is_normal and not self._has_text and not self.has_thought and self._thought:
            yield TextDelta(_answer_within("".join(self._thought)) or self._opening + "".join(self._thought))
        self._is_over = True


def _answer_within(thought: str) -> str:
    """Return what an unclosed thought has behind the last mark that closes another kind or begins an answer."""
    place, read, found = MarkdownState(), 0, None
    for mark in MARK.finditer(thought):
        place, read = place.advance(thought[read : mark.start()]), mark.start()
        if (mark["closes"] or mark["answer"]) and not (place.in_code or place.in_quote):
            found = mark
    if found is None:
        return ""
    return thought[found.end() :].strip().removesuffix(ANSWERS.get(found[0].lower(), "")).rstrip()


def answer_and_thought(text: str) -> tuple[str, str]:
    """Return a whole answer without marks, and its thoughts; what is only an unfinished thought is the answer."""
    markup, reply, thought = ReplyMarkup(), "", ""
    for event in (*markup.feed(TextDelta(text)), *markup.feed(Finish("stop"))):
        if isinstance(event, TextDelta):
            reply += event.text
        elif isinstance(event, ReasoningDelta):
            thought += event.text
        elif isinstance(event, ThoughtSoFar):
            reply, thought = "", reply + thought
    return reply, thought
