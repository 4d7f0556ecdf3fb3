"""Parts of a bare model's text that are not text: tool calls, which are made, and our prompt's tags; pure.

A call stands between the marks of a dialect (`dialects.json`), or as bare JSON; an unreadable one with a tool's name is
hidden. In code or a block quote a call or tag is an example, unless the answer begins with it in JSON (Qwen Coder).
Of an echoed section of the prompt (`<known>…</known>`) the tags are removed. Only what may still begin such a block or
tag is held back.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping

from .dialects import CALLS, CLOSINGS, may_begin_call, plain_call
from .events import Event, TextDelta
from .markdown_state import MarkdownState
from .section_tags import SectionTags
from .written_calls import NAME_FIELDS, WrittenCalls, inner_text, known_name

_TRIGGERS = re.compile(r"[<\[{]|^[cft`]", re.MULTILINE)  # some calls begin with a word
_JSON_CODE, _CODE_END = "```json", re.compile(r"\n\s{0,3}```")
_MAX_BLOCK_LENGTH = 20_000
_MAX_OPENER_LENGTH = 200
_DECODER = json.JSONDecoder()


class TextualCalls:
    """A filter over the text of one answer in which only tools with these names, if any, can be called."""

    def __init__(self, names: Collection[str], types: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._names = frozenset(names)
        self.written = WrittenCalls(self._names, types or {})
        json_openers = [f'{{"{field}":"{name.lower()}"' for field in NAME_FIELDS for name in sorted(self._names)]
        # Also `{"type": "function", "function": {"name": …`, as in the protocol itself.
        json_openers += ['{"type":"function"', '{"tool_calls":[', '{"tool_uses":[']
        json_openers = [f"{bracket}{start}" for bracket in ("", "[") for start in json_openers]
        self._openers = [*CALLS, *json_openers]
        self._openers += [f"[{name.lower()}(" for name in self._names]  # a call in Python
        self._first_openers = [*self._openers, *(f"{_JSON_CODE}{start}" for start in json_openers)]
        if not self._names:
            self._openers = self._first_openers = []
        self._tags = SectionTags()
        self._tag = 0  # the length of the one at the beginning of what is held
        self._place = MarkdownState()
        self._output: list[str] = []  # what was shown since that place
        self._buffer = ""
        self._block = False
        self._after_block = False
        self._has_text = False

    def tool_name(self, name: str) -> str:
        """Return the tool that a name means, without what a server's template has left around it."""
        return known_name(name, self._names)

    def feed(self, text: str) -> list[Event]:
        """Return the part of the text so far that may be shown, and the completed calls."""
        if not self._buffer and not self._after_block and not _TRIGGERS.search(text):
            return [self._text_delta(text)]
        self._buffer += text
        return list(self._work(ended=False))

    def end(self) -> list[Event]:
        """Return what was held back, now that nothing more comes."""
        return list(self._work(ended=True))

    def _work(self, ended: bool) -> Iterator[Event]:
        while self._buffer:
            if self._after_block and not self._drop_stray_mark(ended):
                return
            if not self._block:
                start, opening = self._opening(ended)
                if start:
                    yield self._show(start)
                if opening is None:
                    return  # the rest may still be a beginning
                if self._tag:
                    self._drop_tag()
                    continue
                if not opening:
                    continue
                self._block = True
            size = self._size_of_block(ended)
            if size is None:
                return
            block, self._buffer, self._block = self._buffer[:size], self._buffer[size:], False
            is_code = block.startswith(_JSON_CODE)  # which is what it says, unless a call can be read in it
            calls = list(self.written.read(block, is_whole=not is_code and (bool(self._buffer) or _ends(block))))
            yield from calls
            self._after_block = bool(calls)
            if not calls and (is_code or (inner_text(block) and not any(name in block for name in self._names))):
                yield self._text_delta(block)

    def _show(self, size: int) -> TextDelta:
        text, self._buffer = self._buffer[:size], self._buffer[size:]
        return self._text_delta(text)

    def _text_delta(self, text: str) -> TextDelta:
        if text:
            self._output.append(text)
            self._has_text = self._has_text or not text.isspace()
        return TextDelta(text)

    def _place_here(self) -> MarkdownState:
        """Return the Markdown state at the start of the buffer, computed only if a call may begin there."""
        self._place = self._place.advance("".join(self._output))
        self._output.clear()
        return self._place

    def _drop_tag(self) -> None:
        self._buffer, self._tag = self._buffer[self._tag :], 0

    def _opening(self, ended: bool) -> tuple[int, bool | None]:
        """Return how much of what is held is text, and whether a block follows; None if that is open."""
        place, read = self._place_here(), 0
        for match in _TRIGGERS.finditer(self._buffer):
            index = match.start()
            place, read = place.advance(self._buffer[read:index]), index
            if (match[0] != "<" and place.line.strip()) or place.in_code:
                continue  # within a line, a brace is just a brace
            if not place.in_quote:
                openers = self._openers if self._has_text or self._buffer[:index].strip() else self._first_openers
                tail = self._buffer[index : index + _MAX_OPENER_LENGTH]
                mark = plain_call(tail)
                if any(mark.startswith(opener) for opener in openers):
                    return index, True
                if not ended and openers and may_begin_call(tail, openers):
                    return index, None
            if match[0] == "<":
                size = self._tags.size_at(self._buffer, index, ended)
                if size is None:
                    return index, None
                if size:
                    self._tag = size
                    return index, True
        return len(self._buffer), False

    def _drop_stray_mark(self, ended: bool) -> bool:
        """Drop a mark that closes or parts calls, after one; False if it has not arrived in full."""
        rest = self._buffer.lstrip()
        for mark in CLOSINGS.values():
            if match := mark.match(rest):
                self._buffer = rest[match.end() :]
                return True
        if not ended and may_begin_call(rest, CLOSINGS):
            return False
        self._after_block = False
        return True

    def _size_of_block(self, ended: bool) -> int | None:
        """Return where the block at the beginning of what is held ends; None if more of it is still to come."""
        buffer = self._buffer
        if len(buffer) > _MAX_BLOCK_LENGTH:
            return len(buffer)
        tail = plain_call(buffer[:_MAX_OPENER_LENGTH])
        opening = max((opening for opening in CALLS if tail.startswith(opening)), key=len, default="")
        if closing := _CODE_END if buffer.startswith(_JSON_CODE) else CALLS.get(opening):
            match = closing.search(buffer, 1)
            return match.end() if match else len(buffer) if ended else None
        start = re.compile(r"[{\[]").search(buffer, len(opening.rstrip("[")))  # a bracket begins the JSON
        try:
            _, end = _DECODER.raw_decode(buffer, start.start() if start else len(buffer))
        except (ValueError, RecursionError):
            return len(buffer) if ended else None
        return end


def _ends(block: str) -> bool:
    """Return whether a block that the answer ends with is whole: it may have been cut off, and a call in it with it."""
    return plain_call(block[-_MAX_OPENER_LENGTH:]).endswith((*CLOSINGS, "}", "]", ")"))
