r"""Emphasis beside punctuation of any script, and `|` inside formulas in tables; pure.

CommonMark takes `**「重要」**です` for text. As in https://github.com/tats-u/markdown-cjk-friendly, only spaces decide:
for two marks always, for one beside a wide character.
"""

import re
import unicodedata

from markdown_it import MarkdownIt
from markdown_it.common.utils import isWhiteSpace
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

from webapp.markdown.math import dollar_end

_RULER = set("|:-> \t")
"""The characters of the line between the head of a table and its rows."""
_PIPE = re.compile(r"(?<!\\)\|")


def emphasis_plugin(parser: MarkdownIt) -> None:
    parser.inline.ruler.before("emphasis", "wide_emphasis", _asterisks)
    parser.core.ruler.after("normalize", "cells", _escape_pipes)


def _asterisks(state: StateInline, silent: bool) -> bool:
    if silent or state.src[state.pos] != "*":
        return False
    scanned = state.scanDelims(state.pos, True)
    before = state.src[state.pos - 1] if state.pos else " "
    after = state.src[state.pos + scanned.length : state.pos + scanned.length + 1] or " "
    can_open, can_close = scanned.can_open, scanned.can_close
    if scanned.length > 1 or is_wide(before) or is_wide(after):
        can_open, can_close = can_open or not _is_space(after), can_close or not _is_space(before)
    for _ in range(scanned.length):
        state.push("text", "", 0).content = "*"
        state.delimiters.append(
            Delimiter(
                marker=ord("*"),
                length=scanned.length,
                token=len(state.tokens) - 1,
                end=-1,
                open=can_open,
                close=can_close,
            )
        )
    state.pos += scanned.length
    return True


def is_wide(char: str) -> bool:
    """Return whether a character is of a script that is written without spaces, or of its punctuation."""
    return bool(char) and unicodedata.east_asian_width(char) in "WF"


def _is_space(char: str) -> bool:
    return isWhiteSpace(ord(char))


def _escape_pipes(state: StateCore) -> None:
    """Escape each `|` inside a formula in the rows of tables; elsewhere it ends a cell, in code too, as on GitHub."""
    if "|" not in state.src or "$" not in state.src:
        return
    lines = state.src.split("\n")
    is_inside = False
    for number, line in enumerate(lines):
        if "|" not in line:
            is_inside = False
        elif set(line) <= _RULER and "-" in line:
            is_inside = True
            lines[number - 1] = _escape(lines[number - 1]) if number else lines[number - 1]
        elif is_inside:
            lines[number] = _escape(line)
    state.src = "\n".join(lines)


def _escape(row: str) -> str:
    parts, index = [], 0
    while index < len(row):
        end = index + 1
        if row[index] == "$" and (closing := dollar_end(row, index, len(row))) > 0:
            end = closing + 1
        parts.append(_PIPE.sub(r"\\|", row[index:end]) if end > index + 1 else row[index])
        index = end
    return "".join(parts)
