r"""The part of an unfinished text that can be shown: an incomplete table, formula or fence is held back; pure."""

import re

from webapp.markdown.math import ENVIRONMENT, MAX_INLINE, block_end, dollar_end

_FENCE = re.compile(r"(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*+(`{3,}|~{3,})")
# A line that has only marks so far: of a list, a heading, a rule, a quote, a fence, an underlined heading.
_MARKS = re.compile(r"[-*+=_#>`~: \t]*(?:\d{1,9}[.)]?[ \t]*)?(?:\[[ xX]?\]?)?")
_ROW = re.compile(r"[ \t]*\|")
_RULER = re.compile(r"[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*(?:(?::-*|-+):?[ \t]*)?)*")
_PART_OF_RULER = re.compile(r"[|:\- \t]*")
_BLANK = re.compile(r"\n[ \t]*(?=\n)")
_TOKEN = re.compile(r"\\.|`+|\$+|\\$", re.DOTALL)
_TAG = re.compile(r"</?[a-z]{0,7}$", re.IGNORECASE)
# A link or an image whose URL has not arrived yet; what never becomes one is shown after 300 characters.
_LINK = re.compile(r"!?\[[^\[\]\n]{0,300}(?:\](?:\([^()\s]{0,2000})?)?$")


def showable_part(text: str) -> str:
    """Return the text as far as it can be shown; an unclosed `**` at its end is closed."""
    lines = text.split("\n")
    fence = _open_fence(lines)
    last = lines[-1]
    if fence is not None:
        is_open, mark = fence
        return text[: len(text) - len(last)] if is_open or (last and not last.strip().strip(mark)) else text
    if last and _MARKS.fullmatch(last):
        text = text[: len(text) - len(last)]
        lines[-1] = ""
    table_start = _table_start(lines)
    if table_start:
        return text[: len(text) - table_start]
    blanks = list(_BLANK.finditer(text))
    start = blanks[-1].end() if blanks else 0
    return text[:start] + _inline(text[start:])


def _open_fence(lines: list[str]) -> tuple[bool, str] | None:
    """Return whether the last line opens the fence open at the end, and its mark; None if none is open."""
    mark = ""
    opened_at = -1
    for number, line in enumerate(lines):
        if not mark:
            match = _FENCE.match(line)
            if match and not (match.group(1)[0] == "`" and "`" in line[match.end() :]):
                mark, opened_at = match.group(1), number
        elif line.strip(" \t>").startswith(mark) and not line.strip(" \t>" + mark[0]) and number < len(lines) - 1:
            mark = ""
    return (opened_at == len(lines) - 1, mark[0]) if mark else None


def _table_start(lines: list[str]) -> int:
    """Return how many characters at the end may become the head of a table."""
    first = len(lines)
    if not lines[-1]:
        first -= 1
    end = first
    while first and _ROW.match(lines[first - 1]):
        first -= 1
    rows = lines[first:end]
    is_complete = not lines[-1]
    if not rows or any(_RULER.fullmatch(row) for row in rows[1 : len(rows) if is_complete else -1]):
        return 0
    if len(rows) == 1 or (len(rows) == 2 and not is_complete and _PART_OF_RULER.fullmatch(rows[1])):
        return sum(map(len, rows)) + len(rows) - (0 if is_complete else 1)
    return 0


def _inline(text: str) -> str:
    """Return the text without a formula, a code span or a link at its end that is not closed yet."""
    line_start = text.rfind("\n") + 1
    pos = 0
    while match := _TOKEN.search(text, pos):
        token, index = match.group(), match.start()
        pos = match.end()
        if token[0] == "`":
            end = text.find(token, pos)
            if end < 0:
                return text[:index] if index >= line_start else text
            pos = end + len(token)
            continue
        closing = None
        if token in ("\\(", "\\["):
            closing = "\\)" if token == "\\(" else "\\]"
        elif token == "$$":
            closing = "$$"
        elif environment := ENVIRONMENT.match(text, index):
            closing = f"\\end{{{environment.group(1)}}}"
        elif token == "$":
            end = dollar_end(text, index, len(text))
            if end >= 0:
                pos = end + 1
            elif index >= line_start and _may_be_formula(text, index):
                return text[:index]
            continue
        elif token == "\\":
            return text[:index]
        if closing is None:
            continue
        end = text.find(closing, pos, pos + MAX_INLINE)
        if end >= 0:
            pos = end + len(closing)
        elif len(text) - index < MAX_INLINE and (index >= line_start or block_end(text[index:]) is not None):
            return text[:index]
    rest = text[line_start:]
    for pattern in (_TAG, _LINK):
        if match := pattern.search(rest):
            text = text[: line_start + match.start()]
            rest = text[line_start:]
    emphasis = len(re.findall(r"(?<!\\)\*\*", re.sub(r"`[^`\n]*`", "", rest)))
    if emphasis % 2:
        return text[: -len("**")] if text.endswith("**") else text.rstrip("*") + "**"
    return text


def _may_be_formula(text: str, index: int) -> bool:
    """Return whether a single dollar sign may still turn out to open a formula; a price is shown at once."""
    if dollar_end(f"{text[: index + 1]}x$", index, index + 3) < 0:
        return False
    rest = text[index + 1 :]
    if not rest:
        return True
    if rest[0] in " \t\n$" or "`" in rest or len(rest) > MAX_INLINE or "$" in rest:
        return False
    return bool(re.search(r"[\\^_{]", rest)) or (not rest[0].isdigit() and len(rest) < 80)
