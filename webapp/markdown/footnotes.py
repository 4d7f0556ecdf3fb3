"""Footnotes in Markdown: `[^1]` in a text and `[^1]: …` for the note itself; pure.

A note stays where it was written and keeps its label, so that a text means the same in parts and as a whole.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_REFERENCE = re.compile(r"\[\^([\w.-]{1,40})\]")
_NOTE = re.compile(r"\[\^([\w.-]{1,40})\]:[ \t]*")


def footnote_plugin(parser: MarkdownIt) -> None:
    parser.block.ruler.before("reference", "footnote", _note, {"alt": ["paragraph", "reference"]})
    parser.inline.ruler.before("link", "footnote_reference", _reference)


def _note(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    match = _NOTE.match(_line(state, start_line))
    if match is None:
        return False
    if silent:
        return True
    lines = [_line(state, start_line)[match.end() :]]
    line = start_line + 1
    interruptions = state.md.block.ruler.getRules("paragraph")
    while line < end_line and not state.isEmpty(line):
        if state.sCount[line] - state.blkIndent <= 3 and any(
            rule(state, line, end_line, True) for rule in interruptions
        ):
            break
        lines.append(_line(state, line))
        line += 1
    state.line = line
    token = state.push("footnote_open", "div", 1)
    token.map = [start_line, line]
    token.meta = {"label": match.group(1)}
    inline = state.push("inline", "", 0)
    inline.content = "\n".join(lines).strip()
    inline.map = [start_line, line]
    inline.children = []
    state.push("footnote_close", "div", -1)
    return True


def _reference(state: StateInline, silent: bool) -> bool:
    match = _REFERENCE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("footnote_reference", "", 0).content = match.group(1)
    state.pos = match.end()
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
