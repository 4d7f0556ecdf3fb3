"""What a bare model writes into its text that is not text: tool calls, which are made, and our prompt's tags; pure.

`<tool_call>{…}</tool_call>`, `<tools>…</tools>`, `<function=name>{…}</function>`, `[TOOL_CALLS] […]` or bare JSON. A
block with a readable call becomes that call; one that names a tool but cannot be read is hidden; everything else is
text. In code or a block quote a call is an example, and stays as it is. If a section of the prompt is echoed
(`<known>…</known>`), its tags are removed and its content stays; within code, a tag is somebody's own text. Nothing is
held back except what may still turn out to begin such a block or tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from .events import Event, TextDelta, ToolCall
from .markdown_state import Place
from .section_tags import SectionTags

_TAGS = ("tools", "tool", "tool_call", "tool_calls", "function_call", "function_calls", "|tool_call|")
_NAME_FIELDS = ("name", "tool", "tool_name", "function")
_ARGUMENT_FIELDS = ("arguments", "parameters", "args", "input")
_TRIGGERS = re.compile(r"[<\[{]")
_SPACE = re.compile(r"\s+")
_LONGEST_BLOCK = 20_000
_LONGEST_OPENER = 200
_DECODER = json.JSONDecoder()


class TextualCalls:
    """A filter over the text of one answer in which only tools with these names, if any, can be called."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        json_openers = [f'{{"{field}":"{name}"' for field in _NAME_FIELDS for name in sorted(self._names)]
        # Also `{"type": "function", "function": {"name": …`, as in the protocol itself.
        json_openers += ['{"type":"function"']
        self._openers = [f"<{tag}>" for tag in _TAGS] + ["<function=", "[TOOL_CALLS]"]
        self._openers += [f"{bracket}{start}" for bracket in ("", "[") for start in json_openers]
        if not self._names:
            self._openers = []
        self._tags = SectionTags()
        self._tag = 0  # the length of the one at the beginning of what is held
        self._place = Place()
        self._said: list[str] = []  # what was shown since that place
        self._held = ""
        self._block = False
        self._calls = 0

    def feed(self, text: str) -> list[Event]:
        """The part of the text so far that may be shown, and the completed calls."""
        if not self._held and not _TRIGGERS.search(text):
            return [self._shown(text)]
        self._held += text
        return list(self._work(ended=False))

    def end(self) -> list[Event]:
        """Return what was held back, now that nothing more comes."""
        return list(self._work(ended=True))

    def _work(self, ended: bool) -> Iterator[Event]:
        while self._held:
            if not self._block:
                start, opens = self._opening(ended)
                if start:
                    yield self._show(start)
                if opens is None:
                    return  # the rest may still be a beginning
                if self._tag:
                    self._drop_tag()
                    continue
                if not opens:
                    continue
                self._block = True
            size = self._size_of_block(ended)
            if size is None:
                return
            block, self._held, self._block = self._held[:size], self._held[size:], False
            calls = list(self._calls_in(block))
            yield from calls
            if not calls and not any(name in block for name in self._names):
                yield self._shown(block)

    def _show(self, size: int) -> TextDelta:
        text, self._held = self._held[:size], self._held[size:]
        return self._shown(text)

    def _shown(self, text: str) -> TextDelta:
        if text:
            self._said.append(text)
        return TextDelta(text)

    def _place_here(self) -> Place:
        """The place in the answer where what is held begins; worked out only if something may begin there."""
        self._place = self._place.after("".join(self._said))
        self._said.clear()
        return self._place

    def _drop_tag(self) -> None:
        self._held, self._tag = self._held[self._tag :], 0

    def _opening(self, ended: bool) -> tuple[int, bool | None]:
        """Return how much of what is held is certainly text, and whether a block follows; None if that is still
        open.
        """
        place, read = self._place_here(), 0
        for found in _TRIGGERS.finditer(self._held):
            at = found.start()
            place, read = place.after(self._held[read:at]), at
            if (found[0] != "<" and place.line) or place.in_code:
                continue  # within a line, a brace is just a brace
            if not place.in_quote:
                tail = _SPACE.sub("", self._held[at : at + _LONGEST_OPENER])
                if any(tail.startswith(opener) for opener in self._openers):
                    return at, True
                if not ended and any(opener.startswith(tail) for opener in self._openers):
                    return at, None
            if found[0] == "<":
                size = self._tags.size_at(self._held, at, ended)
                if size is None:
                    return at, None
                if size:
                    self._tag = size
                    return at, True
        return len(self._held), False

    def _size_of_block(self, ended: bool) -> int | None:
        """Return where the block at the beginning of what is held ends; None if more of it is still to come."""
        held = self._held
        if len(held) > _LONGEST_BLOCK:
            return len(held)
        if tag := re.match(r"<\|?\s*(\w+)", held):
            close = re.search(rf"</\s*\|?{tag[1]}\|?\s*>|<\|?/{tag[1]}\|?>", held)
            return close.end() if close else len(held) if ended else None
        start = re.match(r"\[TOOL_CALLS\]\s*", held)
        try:
            _, end = _DECODER.raw_decode(held, start.end() if start else 0)
        except (ValueError, RecursionError):
            return len(held) if ended else None
        return end

    def _calls_in(self, block: str) -> Iterator[ToolCall]:
        named = re.match(r"<function=([\w-]+)\s*>", block)
        at = 0
        while (at := block.find("{", at)) >= 0:
            try:
                value, end = _DECODER.raw_decode(block, at)
            except (ValueError, RecursionError):
                at += 1
                continue
            at = end
            call = self._call_of(value, named[1] if named else None)
            if call is not None:
                yield call

    def _call_of(self, value: Any, named: str | None) -> ToolCall | None:
        if not isinstance(value, dict):
            return None
        inner = value.get("function")
        if isinstance(inner, dict):
            value = inner
        name = named or next((value[f] for f in _NAME_FIELDS if isinstance(value.get(f), str)), None)
        if name not in self._names:
            return None
        given = value if named else next((value[f] for f in _ARGUMENT_FIELDS if f in value), {})
        self._calls += 1
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        return ToolCall(f"written-{self._calls}", name, text)
