"""The few HTML tags that models write in Markdown, without attributes: `<br>`, `<sub>`, `<details>` …; pure."""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import TypeVar, cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from webapp.markdown.math import INTERRUPTED_RULES

INLINE_TAGS = ("sub", "sup", "kbd", "mark", "u", "ins")
_INLINE = re.compile(rf"<(?:(/?)({'|'.join(INLINE_TAGS)})|(br)\s?/?)>", re.IGNORECASE)
_OPEN = re.compile(r"<details(?: open(?:=\"\")?)?>[ \t]*", re.IGNORECASE)
_ENDS = re.compile(r"<(/?)details(?: open(?:=\"\")?)?>", re.IGNORECASE)
_SUMMARY = re.compile(r"[ \t]*<summary>(.*?)</summary>[ \t]*", re.IGNORECASE)
Found = TypeVar("Found")


def html_tags_plugin(parser: MarkdownIt) -> None:
    """Teach a parser the tags. With `growing` in its environment, an unclosed block extends to the end."""
    parser.block.ruler.before("fence", "details", _details, {"alt": INTERRUPTED_RULES})
    parser.inline.ruler.before("autolink", "inline_tag", _inline_tag)


def _inline_tag(state: StateInline, silent: bool) -> bool:
    match = _INLINE.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "<" else None
    if match is None:
        return False
    closing, name = match[1], (match[2] or match[3]).lower()
    # An opening tag alone would go on to the end of what it stands in.
    if match[2] and not closing and _find_once(state, _last_closing_tags).get(name, -1) < match.end():
        return False
    if not silent:
        state.push("html_inline", "", 0).content = f"<{closing or ''}{name}>"
    state.pos = match.end()
    return True


def _find_once(state: StateBlock | StateInline, find: Callable[[str], Found]) -> Found:
    """Return what is found in a state's text, looked for once however many tags it has; kept with the rendering."""
    entry = state.env.get(find.__name__)
    if entry is None or entry[0] != state.src:
        entry = state.env[find.__name__] = (state.src, find(state.src))
    return cast("Found", entry[1])


def _last_closing_tags(text: str) -> dict[str, int]:
    """Return where the last closing tag of each name begins."""
    return {tag[2].lower(): tag.start() for tag in _INLINE.finditer(text) if tag[1]}


def _blocks(text: str) -> dict[int, tuple[int, int]]:
    """Return where each block that ends has its closing tag, by where it begins: the innermost open one is closed."""
    blocks: dict[int, tuple[int, int]] = {}
    stack: list[int] = []
    for tag in _ENDS.finditer(text):
        if not tag[1]:
            stack.append(tag.start())
        elif stack:
            blocks[stack.pop()] = tag.span()
    return blocks


def _details(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    begin = state.bMarks[start_line] + state.tShift[start_line]
    opening = _OPEN.match(state.src, begin, state.eMarks[start_line])
    if opening is None:
        return False
    last, end = _end(state, begin, start_line, end_line)
    is_closed = last >= 0
    if not is_closed:
        if not state.env.get("growing"):
            return False
        last, end = end_line - 1, state.eMarks[end_line - 1]
    if silent:
        return True
    token = state.push("details_open", "details", 1)
    token.block, token.map, token.meta = True, [start_line, last + 1], {"is_closed": is_closed}
    line, index = _summary(state, start_line, opening.end(), last)
    _content(state, line, index, last, end)
    state.push("details_close", "details", -1).block = True
    state.line = last + 1
    return True


def _end(state: StateBlock, begin: int, start_line: int, end_line: int) -> tuple[int, int]:
    """Return the line on which a block ends and where its closing tag begins; -1 for a block that does not end."""
    start, stop = _find_once(state, _blocks).get(begin, (-1, -1))
    line = bisect_right(state.bMarks, start, start_line, end_line) - 1
    is_whole = start >= 0 and stop <= state.eMarks[line] and not state.src[stop : state.eMarks[line]].strip()
    return (line, start) if is_whole else (-1, -1)


def _summary(state: StateBlock, line: int, index: int, last: int) -> tuple[int, int]:
    """Write the summary, if there is one; returns the line and the position at which the content begins."""
    while line < last and not state.src[index : state.eMarks[line]].strip():
        line += 1
        index = state.bMarks[line] + state.tShift[line]
    match = _SUMMARY.match(state.src, index, state.eMarks[line])
    state.push("summary_open", "summary", 1).block = True
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = match[1].strip() if match else "…", [line, line + 1], []
    state.push("summary_close", "summary", -1).block = True
    return line, match.end() if match else index


def _content(state: StateBlock, line: int, index: int, last: int, end: int) -> None:
    """Parse the content between a position on the first line and one on the last."""
    before = state.bMarks[line], state.tShift[line], state.sCount[line], state.eMarks[last], state.lineMax
    state.bMarks[line], state.tShift[line], state.sCount[line] = index, 0, 0
    state.eMarks[last], state.lineMax = end, last + 1
    parent, state.parentType = state.parentType, "blockquote"
    state.md.block.tokenize(state, line, last + 1)
    state.parentType = parent
    state.bMarks[line], state.tShift[line], state.sCount[line], state.eMarks[last], state.lineMax = before
