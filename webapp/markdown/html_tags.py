"""The few HTML tags that models write in Markdown, without attributes: `<br>`, `<sub>`, `<details>` …; pure."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

INLINE_TAGS = ("sub", "sup", "kbd", "mark", "u", "ins")
_INLINE = re.compile(rf"<(?:(/?)({'|'.join(INLINE_TAGS)})|(br)\s?/?)>", re.IGNORECASE)
_OPEN = re.compile(r"<details(?: open(?:=\"\")?)?>[ \t]*", re.IGNORECASE)
_ENDS = re.compile(r"<(/?)details(?: open(?:=\"\")?)?>", re.IGNORECASE)
_SUMMARY = re.compile(r"[ \t]*<summary>(.*?)</summary>[ \t]*", re.IGNORECASE)
MAX_LINES = 2_000
"""A block of more lines is taken for text: without a limit, every opening tag would be searched to the end."""
_INTERRUPTED = ["paragraph", "reference", "blockquote", "list"]


def html_tags_plugin(parser: MarkdownIt) -> None:
    """Teach a parser the tags. With `growing` in its environment, an unclosed block goes on to the end."""
    parser.block.ruler.before("fence", "details", _details, {"alt": _INTERRUPTED})
    parser.inline.ruler.before("autolink", "inline_tag", _inline_tag)


def _inline_tag(state: StateInline, silent: bool) -> bool:
    found = _INLINE.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "<" else None
    if found is None:
        return False
    closing, name = found[1], (found[2] or found[3]).lower()
    # An opening tag alone would go on to the end of what it stands in.
    if found[2] and not closing and f"</{name}>" not in state.src[found.end() : state.posMax].lower():
        return False
    if not silent:
        state.push("html_inline", "", 0).content = f"<{closing or ''}{name}>"
    state.pos = found.end()
    return True


def _details(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    begin = state.bMarks[start_line] + state.tShift[start_line]
    opening = _OPEN.match(state.src, begin, state.eMarks[start_line])
    if opening is None:
        return False
    last, end = _end(state, start_line, end_line)
    is_closed = last >= 0
    if not is_closed:
        if not state.env.get("growing"):
            return False
        last, end = end_line - 1, state.eMarks[end_line - 1]
    if silent:
        return True
    token = state.push("details_open", "details", 1)
    token.block, token.map, token.meta = True, [start_line, last + 1], {"is_closed": is_closed}
    line, at = _summary(state, start_line, opening.end(), last)
    _content(state, line, at, last, end)
    state.push("details_close", "details", -1).block = True
    state.line = last + 1
    return True


def _end(state: StateBlock, start_line: int, end_line: int) -> tuple[int, int]:
    """Return the line on which a block ends and where its closing tag begins; -1 for a block that does not end."""
    depth = 0
    for line in range(start_line, min(end_line, start_line + MAX_LINES)):
        for tag in _ENDS.finditer(state.src, state.bMarks[line], state.eMarks[line]):
            depth += -1 if tag[1] else 1
            if depth == 0:
                return (line, tag.start()) if not state.src[tag.end() : state.eMarks[line]].strip() else (-1, -1)
    return -1, -1


def _summary(state: StateBlock, line: int, at: int, last: int) -> tuple[int, int]:
    """Write the summary, if there is one; returns the line and the position at which the content begins."""
    while line < last and not state.src[at : state.eMarks[line]].strip():
        line += 1
        at = state.bMarks[line] + state.tShift[line]
    found = _SUMMARY.match(state.src, at, state.eMarks[line])
    state.push("summary_open", "summary", 1).block = True
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = found[1].strip() if found else "…", [line, line + 1], []
    state.push("summary_close", "summary", -1).block = True
    return line, found.end() if found else at


def _content(state: StateBlock, line: int, at: int, last: int, end: int) -> None:
    """Parse what is inside, from a position on the first line to one on the last."""
    before = state.bMarks[line], state.tShift[line], state.sCount[line], state.eMarks[last], state.lineMax
    state.bMarks[line], state.tShift[line], state.sCount[line] = at, 0, 0
    state.eMarks[last], state.lineMax = end, last + 1
    parent, state.parentType = state.parentType, "blockquote"
    state.md.block.tokenize(state, line, last + 1)
    state.parentType = parent
    state.bMarks[line], state.tShift[line], state.sCount[line], state.eMarks[last], state.lineMax = before
