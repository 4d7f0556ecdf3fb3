"""Markdown of a reply while it is being written, and the places where it can be split for good."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from markdown_it.token import Token
from markupsafe import Markup

from webapp.markdown.dialect import make_parser
from webapp.markdown.highlighting import GrowingCode
from webapp.markdown.rendering import render, render_growing

# A tail shorter than this is rendered at every delta; a longer one only after it has grown by a share of itself,
# so that a reply which is one enormous list costs time linear in its length.
SHORT_TAIL = 4_000
GROWTH = 16
# Unmatched brackets are expensive: a tail with hundreds of them is next looked at when it is twice as long.
MANY_BRACKETS = 400
CODE_GROWTH = 64  # code is cheap: escaped, highlighted now and then


class Update(NamedTuple):
    """The text to append for good, and the tail to show after it in place of the last tail (None: leave it)."""

    finished_html: list[Markup]
    tail_html: Markup | None


class StreamRenderer:
    """Renders a growing text: each finished block once (`split_stable`), the unfinished tail again."""

    def __init__(self) -> None:
        self._tail = ""
        self._wait_for_length = 0
        self._has_new_line = False
        self._code = GrowingCode()
        self._outline: list[int] = []

    def feed(self, delta: str) -> Update:
        """Add the next piece of text; return what it changes."""
        self._tail += delta
        # Only a new line can finish a block; a carriage return waits for what follows it.
        self._has_new_line = self._has_new_line or "\n" in delta or "\r" in self._tail
        if len(self._tail) < self._wait_for_length:
            return Update([], None)
        blocks, self._tail = split_stable(self._tail) if self._has_new_line else ([], self._tail)
        self._has_new_line = False
        if blocks:
            self._code.reset()
        finished = [render(block, self._outline) for block in blocks]  # the tail's headings stand under theirs
        growth = CODE_GROWTH if self._tail.lstrip().startswith(("```", "~~~")) else GROWTH
        self._wait_for_length = len(self._tail) + len(self._tail) // growth if len(self._tail) > SHORT_TAIL else 0
        if growth == GROWTH and self._tail.count("[") > MANY_BRACKETS:
            self._wait_for_length = 2 * len(self._tail)
        tail = render_growing(self._tail, self._code, self._outline) if self._tail.strip() else Markup("")
        return Update(finished, tail)

    def finish(self) -> Update:
        """Return the end of the text: the tail becomes final, nothing is left."""
        blocks, tail = split_stable(self._tail)
        self._tail = ""
        self._wait_for_length = 0
        last = [tail] if tail.strip() else []
        return Update([render(block, self._outline) for block in (*blocks, *last)], Markup(""))


_PARSER = make_parser(inline_definitions=True)
_LINE_END = re.compile(r"\r\n?|\n")
# What ends a link definition directly above; anything else may turn out to be its title.
_INTERRUPTS = {"math_block", "fence", "blockquote_open", "hr", "bullet_list_open", "ordered_list_open", "table_open"}
# What a blank line ends. Lists and indented code go on after one.
_ENDS_AT_BLANK = {"paragraph_open", "table_open", "blockquote_open", "definition", "footnote_open"}


@dataclass(frozen=True, slots=True)
class _Block:
    """A top-level block: first and last token type, lines (end exclusive), whether its fence is closed."""

    first: str
    last: str
    start: int
    end: int
    closed: bool


def split_stable(text: str) -> tuple[list[str], str]:
    """Return `text` as finished blocks, which later text does not change (but by a link definition), and the rest."""
    ends = _complete_lines(text)
    if not ends:
        return [], text
    lines = _LINE_END.split(text[: ends[-1]])[:-1]
    blocks = _top_level(lines)
    parts: list[str] = []
    cut = 0
    for position, block in enumerate(blocks):
        following = blocks[position + 1] if position + 1 < len(blocks) else None
        if not _is_finished(block, following, lines):
            break
        parts.append(text[cut : ends[block.end - 1]])
        cut = ends[block.end - 1]
    return parts, text[cut:]


def _complete_lines(text: str) -> list[int]:
    """Return offsets just past each line end; a carriage return at the very end may yet become a pair."""
    ends = [match.end() for match in _LINE_END.finditer(text)]
    if ends and text.endswith("\r"):
        ends.pop()
    return ends


def _top_level(lines: list[str]) -> list[_Block]:
    tokens: list[Token] = []
    _PARSER.block.parse("\n".join(lines) + "\n", _PARSER, {"growing": True}, tokens)
    blocks: list[_Block] = []
    for token in tokens:
        if token.level or token.nesting < 0 or token.map is None or token.type == "inline":
            continue
        block = _block(token)
        previous = blocks[-1] if blocks else None
        if previous and previous.first == "definition" and previous.end == block.start and not _interrupts(block):
            blocks[-1] = _Block("definition", block.last, previous.start, block.end, block.closed)
        else:
            blocks.append(block)
    return blocks


def _block(token: Token) -> _Block:
    assert token.map is not None
    start, end = token.map
    kind = "setext" if token.type == "heading_open" and token.markup in "=-" else token.type
    kind = "unclosed" if kind == "math_open" or not token.meta.get("is_closed", True) else kind
    is_closed = token.type == "fence" and end - start - 1 > token.content.count("\n")
    return _Block(kind, kind, start, end, is_closed)


def _interrupts(block: _Block) -> bool:
    return block.first in _INTERRUPTS or block.first == "heading_open"


def _is_finished(block: _Block, following: _Block | None, lines: list[str]) -> bool:
    if following is not None and following.first == "unclosed" and block.end == following.start:
        return False  # without an end it is text, and its lines may belong to this block
    if following is not None:
        # The first line of the next block has ended this one: every rule has already seen it.
        return block.first != "definition" or block.end < following.start or _interrupts(following)
    if block.end >= len(lines):
        # A second line can still turn a heading into the head of a table; only a closed fence is certain.
        return block.closed and block.first != "definition"
    if block.last in ("heading_open", "setext", "hr", "fence", "math_block"):
        return block.last != "fence" or block.closed
    return block.last in _ENDS_AT_BLANK and not lines[block.end].strip(" \t")
