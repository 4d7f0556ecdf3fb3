r"""Formulas in Markdown: `\(a\)`, `\[a\]`, `$a$`, `$$a$$` and LaTeX environments keep their TeX; pure."""

import re
import unicodedata

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MAX_LINES = 100
"""A formula of more lines is taken for text: without a limit, every opening mark would be searched to the end."""
MAX_SPACED_LINES = 30
"""The most lines of a formula with blank ones: until it ends, everything below is held back while it is written."""
MAX_INLINE = 4_000
"""The most characters of a formula inside a paragraph."""

ENVIRONMENT_NAMES = (
    *("align", "alignat", "aligned", "array", "bmatrix", "Bmatrix", "cases", "CD", "equation", "gather", "gathered"),
    *("matrix", "multline", "pmatrix", "smallmatrix", "split", "vmatrix", "Vmatrix"),
)
ENVIRONMENT = re.compile(r"\\begin\{((?:" + "|".join(ENVIRONMENT_NAMES) + r")\*?)\}")
INTERRUPTED_RULES = ["paragraph", "reference", "blockquote", "list"]
"""The rules of markdown-it whose block ends where one of ours begins."""


def math_plugin(parser: MarkdownIt) -> None:
    """Teach a parser formulas. With `growing` in its environment, an unclosed block at the end gets its own token."""
    parser.block.ruler.before("fence", "math_block", _block, {"alt": INTERRUPTED_RULES})
    parser.inline.ruler.before("escape", "math_inline", _inline)


def dollar_end(text: str, start: int, limit: int) -> int:
    """Return the end of a formula opened by the dollar sign at `start`; -1 if it is just a sign.

    As in Pandoc: no space inside the signs; no letter or digit outside, except in scripts without spaces.
    """
    if start and (_is_word(text[start - 1]) or text[start - 1] == "$"):
        return -1
    if start + 1 >= limit or text[start + 1] in " \t\n$":
        return -1
    end = start
    while (end := text.find("$", end + 1, min(limit, start + MAX_INLINE))) >= 0:
        if text[end - 1] == "\\":
            continue
        if text[end - 1] in " \t\n" or (end + 1 < limit and _is_word(text[end + 1])):
            return -1
        return -1 if "`" in text[start:end] else end
    return -1


def _is_word(char: str) -> bool:
    return char.isalnum() and unicodedata.east_asian_width(char) not in "WF"


def block_end(opening: str) -> tuple[str, int] | None:
    """Return what closes the display formula that a line begins with, and where its TeX begins; or None."""
    if opening.startswith("$$"):
        return "$$", 2
    if opening.startswith("\\["):
        return "\\]", 2
    environment = ENVIRONMENT.match(opening)
    return (f"\\end{{{environment.group(1)}}}", 0) if environment else None


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    first = line_text(state, start_line)
    marks = block_end(first)
    if marks is None:
        return False
    closing, skipped = marks
    lines = [first[skipped:]]
    line = start_line
    is_closed = False
    limit = MAX_LINES
    while True:
        index = lines[-1].find(closing)
        if index >= 0:
            if lines[-1][index + len(closing) :].strip():
                return False  # there is more than a formula on this line: it belongs to a paragraph
            lines[-1] = lines[-1][: index + (0 if skipped else len(closing))]
            is_closed = True
            break
        line += 1
        if line >= end_line or line - start_line > limit:
            break
        is_blank = state.isEmpty(line)
        limit = MAX_SPACED_LINES if is_blank else limit
        if (is_blank and not skipped) or (state.sCount[line] < state.blkIndent and not is_blank):
            return False
        lines.append(line_text(state, line))
    is_unclosed_end = state.env.get("growing") and line >= end_line and line - start_line <= limit
    if not is_closed and not is_unclosed_end:
        return False
    if is_closed and not any(part.strip() for part in lines):
        return False
    if silent:
        return True
    state.line = min(line + 1, end_line)
    token = state.push("math_block" if is_closed else "math_open", "", 0)
    token.block = True
    token.content = "\n".join(lines).strip("\n")
    token.map = [start_line, state.line]
    return True


def _inline(state: StateInline, silent: bool) -> bool:
    text, pos = state.src, state.pos
    character = text[pos]
    if character == "\\":
        closing = {"(": "\\)", "[": "\\]"}.get(text[pos + 1 : pos + 2])
        if closing is None:
            return False
        begin, end = pos + 2, text.find(closing, pos + 2, min(state.posMax, pos + MAX_INLINE))
        display = closing == "\\]"
    elif character == "$":
        display = text.startswith("$$", pos)
        closing = "$$" if display else "$"
        begin = pos + len(closing)
        window = min(state.posMax, pos + MAX_INLINE)
        end = text.find("$$", begin, window) if display else dollar_end(text, pos, state.posMax)
    else:
        return False
    if end < 0 or not text[begin:end].strip():
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = text[begin:end].strip()
        token.meta = {"display": display}
    state.pos = end + len(closing)
    return True


def line_text(state: StateBlock, line: int) -> str:
    """Return a line without its indentation."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
